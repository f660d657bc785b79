"""How a condition differs from nominal while a policy runs."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from realworthy.twins.variants import Variant

_Share = Annotated[float, Meta(ge=0, lt=1)]
_Seconds = Annotated[float, Meta(ge=0)]
_Count = Annotated[int, Meta(ge=0)]
Engine: TypeAlias = Literal["mujoco", "warp", "drake", "sapien"]


class Condition(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """One deviation, or several together; everyday by default.

    Everyday is the task's own measurement noise, and no pushes.
    """

    engine: Engine = "mujoco"
    variant: Variant = Variant()
    times: dict[str, Annotated[float, Meta(gt=0)]] = {}
    """Parameter → factor of its value, such as `all.mass: 1.15`, which is of the robot
    and leaves objects beside it as they are."""
    plus: dict[str, float] = {}
    """Parameter → added to its value, such as `all.delay: 0.01`."""
    noise: Annotated[float, Meta(ge=0)] = 1.0
    """Factor of the task's own measurement noise."""
    dropout: _Share = 0.0
    """Probability that a measurement is missing; the last one is seen again."""
    late_steps: _Count = 0
    """Control steps by which measurements are late."""
    jitter_steps: _Count = 0
    """Control steps by which a measurement may be older, drawn at every step."""
    loss: _Share = 0.0
    """Probability that a command is lost; the last one holds."""
    hold_steps: Annotated[int, Meta(ge=1)] = 1
    """Control steps for which every command is held: 2 is half the rate."""
    delay_steps: _Count = 0
    """Control steps by which commands are late."""
    lag: _Seconds = 0.0
    """[s] time constant with which drives follow commands."""
    push_speed: Annotated[float, Meta(ge=0)] = 0.0
    """[m/s] of a floating base, else [rad/s] of the robot's joints: largest push, every
    1 to 3 s."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """That it moves, by name."""
        return tuple(dict.fromkeys((*self.times, *self.plus)))
