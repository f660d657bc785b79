"""Where a search may go in z, how far a step is, and when a number is known."""

import math

import numpy as np
from numpy.typing import NDArray

from realworthy.actuators.kinds import KINDS, compute_box
from realworthy.parameters import Parameter, ParameterSpace, Transform

Floats = NDArray[np.float64]
_MAX_LOG_REACH = 7.0
"""Furthest a log or logit coordinate goes: a factor of 1,100, or 0.1 % from an end."""
_END_SLACK = 1e-9
"""Share of a range within which a value lies on its end."""
_LOGIT_INSIDE = 4.0
"""Where a logit coordinate starts when its value lies on the end of its box."""
_TYPICAL_SIZE = {
    "delay": 0.01,
    "sensor_delay": 0.01,
    "sensor_bias": 0.1,
    "sensor_scale": 1.0,
    "centre_of_mass": 0.05,
    "gravity_tilt": 0.1,
    "initial_position": 0.1,
    "initial_velocity": 0.1,
}
"""Kind → size that is neither small nor large, in its unit."""
_INERTIA_REACH = {"a": math.log(10) / 2, "d": math.log(2), "s": 0.5, "t": 0.5}
"""First letter of a log-Cholesky coordinate → how far it may go from nominal.

Mass by a factor of ten, stretch by two, shear by 0.5, the centre by 0.5 m: the boxes of
mujoco.sysid. Every point of them is a body that can exist.
"""


class FitCoordinates:
    """Bounds and scales of z for every parameter of a space, (d,) each."""

    def __init__(self, space: ParameterSpace) -> None:
        self.space = space
        ends = [_find_ends(parameter) for parameter in space]
        self.lower = np.array([low for low, _ in ends])
        self.upper = np.array([high for _, high in ends])
        self.scale = np.array([_find_scale(parameter) for parameter in space])
        """One step of moderate size: e-fold, or the box, or what is typical."""

    def to_z(self, e: Floats) -> Floats:
        """(…, d) values as coordinates within the bounds."""
        z = self.space.to_z(e)
        for i, parameter in enumerate(self.space):
            if parameter.transform is Transform.LOGIT:
                z[..., i] = np.clip(z[..., i], -_LOGIT_INSIDE, _LOGIT_INSIDE)
        return np.clip(z, self.lower, self.upper)

    def from_z(self, z: Floats) -> Floats:
        """(…, d) coordinates as values within the bounds of the space.

        What rounding left beside an end is that end: a delay of 1e-50 s would be one of
        a whole time step.
        """
        e = self.space.from_z(z)
        lower, upper = self.space.lower, self.space.upper
        slack = _END_SLACK * np.where(np.isfinite(upper - lower), upper - lower, 0.0)
        e = np.where(e < lower + slack, lower, e)
        return np.where(e > upper - slack, upper, e)

    def slope(self, z: Floats) -> Floats:
        """(d,) |de/dz|, to carry a standard deviation from z to e."""
        e = self.space.from_z(z)
        slopes = [
            -parameter.log_slope(value)
            for parameter, value in zip(self.space, e, strict=True)
        ]
        return np.exp(np.array(slopes))

    def tolerance(self, z: Floats, share: float) -> Floats:
        """(d,) sd in e up to which a number counts as known: a share of its size."""
        e = np.abs(self.space.from_z(z))
        return share * np.maximum(e, [_find_typical(p) for p in self.space])


def _find_ends(parameter: Parameter) -> tuple[float, float]:
    lower, upper = (
        float(parameter.to_z(e)) for e in (parameter.lower, parameter.upper)
    )
    if parameter.transform is Transform.LOG:
        middle = math.log(parameter.nominal) if parameter.nominal > 0 else 0.0
        return max(lower, middle - _MAX_LOG_REACH), min(upper, middle + _MAX_LOG_REACH)
    if parameter.transform is Transform.LOGIT:
        return -_MAX_LOG_REACH, _MAX_LOG_REACH
    if parameter.kind == "inertia":
        reach = _INERTIA_REACH[parameter.component[0]]
        middle = parameter.nominal
        return max(lower, middle - reach), min(upper, middle + reach)
    return lower, upper


def _find_scale(parameter: Parameter) -> float:
    if parameter.transform is not Transform.IDENTITY:
        return 1.0
    if parameter.kind == "inertia":
        return 0.2 * _INERTIA_REACH[parameter.component[0]]
    width = parameter.upper - parameter.lower
    if math.isfinite(width) and width > 0:
        return width
    return max(abs(parameter.nominal), _find_typical(parameter)) or 1.0


def _find_typical(parameter: Parameter) -> float:
    """A size for what may be zero; 0 where only ratios make sense."""
    if parameter.kind == "inertia":
        return 0.1 * _INERTIA_REACH[parameter.component[0]]
    if parameter.kind in _TYPICAL_SIZE:
        return _TYPICAL_SIZE[parameter.kind]
    if parameter.transform is Transform.LOG:
        return 0.0
    if parameter.kind in KINDS:
        lower, upper = compute_box(parameter.kind, parameter.nominal)
        return 0.1 * (upper - lower)
    return abs(parameter.nominal)
