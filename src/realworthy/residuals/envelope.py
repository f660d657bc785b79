"""Where a learned term may be believed: near what it was trained on."""

from dataclasses import dataclass, replace

import array_api_compat as api
import numpy as np

from realworthy.residuals.arrays import Array, Floats, constant

_SEEN = 0.995
"""Share of the training inputs that lies within the ellipsoid."""
_SHARPNESS = 6.0
"""How fast the gate closes: 5 % is left at one and a half times the edge."""
_MIN_HALF_RANGE = 1e-6
"""Of an input that never changed: keeps its division finite."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Envelope:
    """The box that training inputs filled, and an ellipsoid around nearly all of them.

    The box stops each input alone, the ellipsoid combinations of ordinary inputs that
    were not seen together. Both are blind to a hole in the middle of the data.
    """

    lower: Floats
    """(inputs,) least that was seen."""
    upper: Floats
    """(inputs,)"""
    mean: Floats
    """(inputs,)"""
    whitening: Floats
    """(inputs, inputs): whitening @ (x − mean) has covariance 1."""
    reach: float
    """Length of the whitened inputs at the edge of the ellipsoid."""

    def distance(self, inputs: Array) -> Array:
        """(rows,) 1 at the edge, less inside, for (rows, inputs)."""
        xp = api.array_namespace(inputs)
        lower, upper = constant(self.lower, inputs), constant(self.upper, inputs)
        middle = 0.5 * (lower + upper)
        half = xp.clip(0.5 * (upper - lower), min=_MIN_HALF_RANGE)
        of_box = xp.max(xp.abs(inputs - middle) / half, axis=1)
        white = (inputs - constant(self.mean, inputs)) @ constant(
            self.whitening.T, inputs
        )
        of_ellipsoid = xp.sqrt(xp.sum(white * white, axis=1)) / self.reach
        return xp.maximum(of_box, of_ellipsoid)

    def to(self, like: Array) -> "Envelope":
        """The same in the library, dtype and device of `like`."""
        names = ("lower", "upper", "mean", "whitening")
        return replace(self, **{n: constant(getattr(self, n), like) for n in names})

    def widen(self, room: float) -> "Envelope":
        """The same shapes about the same middles, `room` times as large."""
        middle, half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        return replace(
            self,
            lower=middle - room * half,
            upper=middle + room * half,
            reach=room * self.reach,
        )

    def gate(self, inputs: Array) -> Array:
        """(rows,) 1 inside, towards 0 outside."""
        return close(self.distance(inputs))


def close(distance: Array) -> Array:
    """Share of a learned term to believe at `distance`, in units of the edge's."""
    xp = api.array_namespace(distance)
    return xp.exp(-_SHARPNESS * xp.clip(distance - 1.0, min=0.0))


def surround(inputs: Floats) -> Envelope:
    """The envelope of (rows, inputs); directions that never moved count as tiny."""
    mean = inputs.mean(0)
    variance, axes = np.linalg.eigh(np.atleast_2d(np.cov(inputs, rowvar=False)))
    scale = np.sqrt(np.maximum(variance, 1e-6 * max(variance.max(), _MIN_HALF_RANGE)))
    whitening = axes.T / scale[:, None]
    lengths = np.linalg.norm((inputs - mean) @ whitening.T, axis=1)
    return Envelope(
        lower=inputs.min(0),
        upper=inputs.max(0),
        mean=mean,
        whitening=whitening,
        reach=float(np.quantile(lengths, _SEEN)),
    )
