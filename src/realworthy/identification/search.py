"""What every search over whole candidates shares: costs, places, and a fair ending."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.least_squares import to_prior
from realworthy.identification.linearised import compute_costs
from realworthy.identification.normal import Prior
from realworthy.identification.problem import Problem
from realworthy.parameters import Belief

Floats = NDArray[np.float64]


class Search:
    """Costs of candidates around a start; x is z from there in scales of z.

    Pieces start from smoothed measurements. Worlds that blow up cost much, and finitely
    so. `lower` and `upper` are (d,) bounds of x.
    """

    def __init__(
        self, problem: Problem, start: Mapping[str, float] | None, prior: Belief | None
    ) -> None:
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
        return compute_costs(z, starts, residuals, self.prior, np.inf)
