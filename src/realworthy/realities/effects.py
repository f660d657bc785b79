"""Effects that a twin lacks, as a reality file describes them.

Units are those of a hinge; on a slide read N for N·m and m for rad. Every number is
above zero unless it says otherwise.
"""

import math

import msgspec

from realworthy.errors import RealworthyError

_MAY_BE_ZERO = ("damping",)
_MAY_BE_NEGATIVE = ("rest", "position")
_SHARES = ("loss",)


class _Effect(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
):
    """Something that real robots have and models do not; abstract."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, int | float):
                    self._check(name, float(number))

    def _check(self, name: str, number: float) -> None:
        allowed, wanted = number > 0, "above 0"
        if name in _SHARES:
            allowed, wanted = 0 < number < 1, "between 0 and 1"
        elif name in _MAY_BE_ZERO:
            allowed, wanted = number >= 0, "0 or more"
        elif name in _MAY_BE_NEGATIVE:
            allowed, wanted = True, "a number"
        if not (allowed and math.isfinite(number)):
            kind = self.__struct_config__.tag
            raise RealworthyError(
                f"effects: {name} of {kind} is {number:g}; it must be {wanted}."
            )


class Stribeck(_Effect, frozen=True, kw_only=True, tag="stribeck"):
    """Dry friction that is larger at low speed: + static · exp(−(q̇/velocity)²)."""

    joint: str
    static: float
    """[N·m] beyond Coulomb friction."""
    velocity: float = 0.05
    """[rad/s]"""


class Backlash(_Effect, frozen=True, kw_only=True, tag="backlash"):
    """Free play between motor and link; the encoder sits on the motor."""

    joint: str
    width: float
    """[rad]"""


class Hysteresis(_Effect, frozen=True, kw_only=True, tag="hysteresis"):
    """Torque that depends on where the joint came from (Dahl's model of presliding)."""

    joint: str
    torque: float
    """[N·m] at which it slips."""
    stiffness: float
    """[N·m/rad] around rest; twice that right after a reversal."""


class Flexibility(_Effect, frozen=True, kw_only=True, tag="flexibility"):
    """A spring and damper between motor and link; the encoder sits on the motor."""

    joint: str
    stiffness: float
    """[N·m/rad]"""
    damping: float = 0.0
    """[N·m·s/rad]"""


class Drag(_Effect, frozen=True, kw_only=True, tag="drag"):
    """Air around the link: − coefficient · q̇ |q̇|."""

    joint: str
    coefficient: float
    """[N·m·s²/rad²]"""


class LoadFriction(_Effect, frozen=True, kw_only=True, tag="load_friction"):
    """Dry friction that grows with what the gears transmit: + coefficient · |τ|."""

    joint: str
    coefficient: float
    """N·m of friction per N·m of motor torque."""


class Saturation(_Effect, frozen=True, kw_only=True, tag="saturation"):
    """A motor that gives less than it should: its torque ends at a lower limit."""

    joint: str
    limit: float
    """[N·m]"""


class ThermalFade(_Effect, frozen=True, kw_only=True, tag="thermal_fade"):
    """A motor that weakens as it warms up: strength 1 − loss · heat.

    heat approaches (τ/rated_torque)², 1 at most, with the time constant.
    """

    joint: str
    time_constant: float
    """[s]"""
    loss: float
    """Share of the torque that is gone when hot, below 1."""
    rated_torque: float | None = None
    """[N·m]; half of the actuator's limit where left out."""


class SupplySag(_Effect, frozen=True, kw_only=True, tag="supply_sag"):
    """A battery whose voltage falls under load: strength 1 − loss · load.

    load approaches the mean over all motors of |torque asked for|/limit, 1 at most.
    """

    loss: float
    """Share of all torque gone when every motor is asked for its limit, below 1."""
    time_constant: float = 0.02
    """[s]"""


class Quantisation(_Effect, frozen=True, kw_only=True, tag="quantisation"):
    """An encoder with coarse steps; its velocity stays fine."""

    joint: str
    step: float
    """[rad]"""


class Cable(_Effect, frozen=True, kw_only=True, tag="cable"):
    """A cable that pulls the link towards a rest angle."""

    joint: str
    stiffness: float
    """[N·m/rad]"""
    rest: float = 0.0
    """[rad], of either sign."""


class Slosh(_Effect, frozen=True, kw_only=True, tag="slosh"):
    """Liquid in a body: a pendulum inside it that adds its mass.

    It hangs along gravity in the initial pose with the mass at the body's centre of
    mass, and swings with √(g/length) while the body stands still.
    """

    body: str
    mass: float
    """[kg]"""
    length: float
    """[m]"""
    damping: float = 0.001
    """[N·m·s/rad]"""


class Contact(_Effect, frozen=True, kw_only=True, tag="contact"):
    """A box, fixed in the world, that stands in the way and that the twin lacks."""

    position: tuple[float, float, float]
    """[m] of its centre."""
    size: tuple[float, float, float]
    """[m] half sizes."""


Effect = (
    Stribeck
    | Backlash
    | Hysteresis
    | Flexibility
    | Drag
    | LoadFriction
    | Saturation
    | ThermalFade
    | SupplySag
    | Quantisation
    | Cable
    | Slosh
    | Contact
)
EFFECTS: dict[str, type[msgspec.Struct]] = {
    str(kind.__struct_config__.tag): kind for kind in Effect.__args__
}
