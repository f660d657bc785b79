"""What a sensor does to one signal, as a twin file describes it.

`KINDS` lists the numbers of e that a sensor has, with their possible range, a default
box to search in, and the coordinates to search by. As a unit, `signal` is the unit of
the signal itself.
"""

import math
from typing import Literal

import msgspec

from realworthy.errors import RealworthyError
from realworthy.parameters.kind import Kind
from realworthy.parameters.parameter import Transform

Interpolation = Literal["linear", "hold"]
IDENTITY, LOG, LOGIT = Transform.IDENTITY, Transform.LOG, Transform.LOGIT


class BadSensor(RealworthyError, ValueError):
    """A sensor that cannot exist, or that cannot be built at this timestep."""


KINDS: dict[str, Kind] = {
    "bias": Kind("signal", IDENTITY, lower=-math.inf),
    "scale": Kind("1", LOG, (0.8, 1.25)),
    "noise": Kind("signal", LOGIT),
    "delay": Kind("s", LOGIT, (0.0, 0.04)),
    "filter": Kind("s", LOGIT, (0.0, 0.02)),
    "quantum": Kind("signal", LOGIT),
    "rate": Kind("Hz", LOG),
    "dropout": Kind("1", LOGIT, (0.0, 0.2), upper=1.0),
}


class Sensor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Description of one measured signal; `build_law` makes it run."""

    signal: str
    """As recordings name it, such as `elbow.position` or `base.gyro.x`."""
    scale: float = 1.0
    bias: float = 0.0
    """Added after the scale."""
    noise: float = 0.0
    """Standard deviation of each reading."""
    delay: float = 0.0
    """[s] how old a reading is when it arrives."""
    delay_limit: float | None = None
    """[s] longest delay that a world may have; sizes the buffer. None: `delay`."""
    interpolation: Interpolation = "linear"
    filter: float = 0.0
    """[s] time constant of a first-order low pass before scale and bias. 0: none."""
    quantum: float = 0.0
    """Step of an encoder; readings are rounded to its multiples. 0: none."""
    rate: float | None = None
    """[Hz] of new readings; between them the last one stands. None: every timestep."""
    dropout: float = 0.0
    """Probability that a new reading is lost and the last one stands."""

    def __post_init__(self) -> None:
        for kind, value in self.parameters().items():
            check_number(kind, value, signal=self.signal)
        limit = self.get_delay_limit()
        if not 0.0 <= limit < math.inf:
            raise BadSensor(
                f"sensor of '{self.signal}': delay_limit is {limit:g}; it must be at"
                " least 0.",
                hint="Its unit is s.",
            )
        check_delay(self.delay, limit, signal=self.signal)

    def parameters(self) -> dict[str, float]:
        """Nominal numbers of e by kind; `KINDS` has their units."""
        fields = {kind: getattr(self, kind) for kind in KINDS}
        return {kind: float(v) for kind, v in fields.items() if v is not None}

    def get_delay_limit(self) -> float:
        """[s] for which the signal is kept."""
        return self.delay if self.delay_limit is None else self.delay_limit


def check_number(kind: str, value: float, *, signal: str) -> None:
    """Raises `BadSensor` for a number outside the possible range of its kind."""
    described = KINDS[kind]
    if described.is_possible(value):
        return
    raise BadSensor(
        f"sensor of '{signal}': {kind} is {value:g}; it must be "
        f"{described.range_in_words}.",
        hint=f"Its unit is {described.unit}.".replace("signal", "that of the signal"),
    )


def check_delay(delay: float, limit: float, *, signal: str) -> None:
    """Raises `BadSensor` for a delay for which the signal is not kept."""
    if delay <= limit * 1.0001:
        return
    raise BadSensor(
        f"sensor of '{signal}': delay {delay:g} s is beyond its delay_limit of"
        f" {limit:g} s.",
        hint=f"Set delay_limit: {delay:g} or more (it sizes the buffer), or a shorter"
        " delay.",
    )
