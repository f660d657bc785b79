"""What every search over whole candidates shares: costs, places, and a fair ending."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.fit import Fit
from realworthy.identification.least_squares import to_prior
from realworthy.identification.linearised import compute_costs
from realworthy.identification.normal import Prior
from realworthy.identification.problem import Problem
from realworthy.parameters import Belief

Floats = NDArray[np.float64]


class Search:
    """Costs of candidates around a start; x is z from there in scales of z.

    Pieces start from smoothed measurements. Worlds that blow up cost much, and finitely
    so. `lower` and `upper` are (d,) bounds of x. `progress` hears which share of the
    `budget` of candidates is used.
    """

    def __init__(
        self,
        problem: Problem,
        start: Mapping[str, float] | None,
        prior: Belief | None,
        *,
        budget: float = np.inf,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self._budget, self._spent, self._progress = budget, 0, progress
        self.problem, bounds = problem, problem.coordinates
        self.z = bounds.to_z(problem.space.vector(start or {}))
        self.prior: Prior = to_prior(problem, prior, self.z)
        self.lower = (bounds.lower - self.z) / bounds.scale
        self.upper = (bounds.upper - self.z) / bounds.scale

    def to_z(self, x: Floats) -> Floats:
        """(…, d) coordinates z of (…, d) x."""
        return self.z + self.problem.coordinates.scale * x

    def costs(self, x: Floats) -> Floats:
        """(n,) sums of squared residuals with what the prior adds."""
        z = np.atleast_2d(self.to_z(x))
        starts = np.zeros((len(z), len(self.problem.pieces), 0))
        residuals = self.problem.residuals(z, starts).values
        self._spent += len(z)
        if self._progress is not None:
            self._progress(min(1.0, self._spent / self._budget))
        return compute_costs(z, starts, residuals, self.prior, np.inf)


def widen_to_minimum(fit: Fit) -> Fit:
    """The fit with a covariance that reaches the minimum which a full step promises.

    The step Δ lowers the cost by p = Δᵀ H Δ, and the covariance is s² H⁻¹, inflation
    included in s². With (1 + p / s²) times that, the minimum lies within one sd. A
    search that ends in the minimum (p = 0) keeps its covariance.
    """
    variance = fit.reduced_chi2 * fit.inflation
    promised = fit.trace[-1].promised
    if not promised > 0 or not variance > 0:
        return fit
    return replace(fit, covariance_z=(1 + promised / variance) * fit.covariance_z)
