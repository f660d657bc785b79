"""One physical unknown: what it is called, measured in, bounded by and bound to."""

import enum
import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError

Floats = NDArray[np.float64]


class Transform(enum.StrEnum):
    """The map z = T(e) into coordinates where a Gaussian makes sense."""

    IDENTITY = "identity"
    LOG = "log"
    LOGIT = "logit"
    """Logit of the place within the bounds: every z lies inside them."""


class Scope(enum.StrEnum):
    """How often a new value may be drawn."""

    BOOT = "boot"
    """Changes the structure of the model, which is compiled again."""
    EPISODE = "episode"
    STEP = "step"
    """Moves while the robot runs; see `processes`."""


class Operation(enum.StrEnum):
    """What a value does to the nominal number of each element it is bound to."""

    SET = "set"
    SCALE = "scale"
    ADD = "add"


class Binding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The elements of a twin that a parameter moves, and how."""

    elements: tuple[str, ...]
    operation: Operation = Operation.SET


class Parameter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One unknown, named `<element>.<kind>` or `<element>.<kind>.<component>`.

    `trunk.mass`, `all.delay` and `trunk.centre_of_mass.x` are such names; the kind
    decides which writer of `twins/writers` puts the value into a model.
    """

    name: str
    kind: str
    unit: str
    nominal: float
    binding: Binding
    component: str = ""
    lower: float = -math.inf
    upper: float = math.inf
    transform: Transform = Transform.IDENTITY
    scope: Scope = Scope.EPISODE

    def __post_init__(self) -> None:
        if not self.lower <= self.nominal <= self.upper:
            raise RealworthyError(
                f"Parameter '{self.name}': nominal {self.nominal:g} {self.unit} is not "
                f"within [{self.lower:g}, {self.upper:g}].",
                hint="Widen the bounds, or correct the nominal value.",
            )
        unbounded = math.isinf(self.lower) or math.isinf(self.upper)
        if self.transform == Transform.LOG and self.lower < 0:
            raise RealworthyError(
                f"Parameter '{self.name}' has a log transform and may be negative "
                f"(lower bound {self.lower:g}).",
                hint="Use lower: 0, or another transform.",
            )
        if self.transform == Transform.LOGIT and (
            unbounded or self.upper <= self.lower
        ):
            raise RealworthyError(
                f"Parameter '{self.name}' has a logit transform without two bounds.",
                hint="Give lower < upper, or use transform: identity.",
            )

    @property
    def element(self) -> str:
        """The name without kind and component."""
        tail = f".{self.kind}" + (f".{self.component}" if self.component else "")
        return self.name.removesuffix(tail)

    def to_z(self, e: Floats | float) -> Floats:
        """Transformed coordinate; ±inf at a bound of a log or logit transform."""
        value = np.asarray(e, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.transform == Transform.LOG:
                return np.log(value)
            if self.transform == Transform.LOGIT:
                return np.log(value - self.lower) - np.log(self.upper - value)
        return value

    def from_z(self, z: Floats | float) -> Floats:
        """Value in the parameter's unit."""
        z = np.asarray(z, dtype=np.float64)
        if self.transform == Transform.LOG:
            return np.exp(z)
        if self.transform == Transform.LOGIT:
            half = 0.5 * (self.upper - self.lower)
            return self.lower + half * (1 + np.tanh(0.5 * z))
        return z

    def log_slope(self, e: Floats | float) -> Floats:
        """log |dz/de|: what a density in z gains when it is read per unit of e."""
        value = np.asarray(e, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.transform == Transform.LOG:
                return -np.log(value)
            if self.transform == Transform.LOGIT:
                width = self.upper - self.lower
                inside = (value - self.lower) * (self.upper - value)
                return np.log(width) - np.log(inside)
        return np.zeros_like(value)
