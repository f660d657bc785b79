"""What a fit found: e, how well it is known, and what to be wary of."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.solver.levenberg_marquardt import Ending, Iteration
from realworthy.identification.solver.linearisation import Linearised
from realworthy.parameters import GaussianBelief, ParameterSpace

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Fit:
    """An estimate of e with its covariance; `belief` is what goes on."""

    space: ParameterSpace
    z: Floats
    """(d,) estimate in transformed coordinates."""
    covariance_z: Floats
    """(d, d); holds if the twin can be right at all, see `reduced_chi2`."""
    starts: Floats = field(repr=False)
    """(pieces, k) how far pieces start from what was measured, in sd."""
    residuals: Floats = field(repr=False)
    """(N,) simulated minus measured over the noise's sd."""
    rmse: dict[str, dict[str, float]]
    """Recording → joint → root mean square position error [rad or m]."""
    reduced_chi2: float
    """Squared residuals per degree of freedom: 1 where noise explains all of them."""
    inflation: float
    """Variance of the estimate over that under white noise; 1 + 2 Σ ρ_k at its most."""
    outlier_share: float
    """Share of residuals that the robust loss held back."""
    ending: Ending
    warnings: tuple[str, ...]
    trace: tuple[Iteration, ...] = field(repr=False)
    seconds: float
    evaluation_count: int
    """Candidates that were simulated."""
    diverged_count: int
    at: Linearised | None = field(default=None, repr=False)
    """The problem around the answer; None where that is of other pieces."""

    @property
    def converged(self) -> bool:
        return self.ending is Ending.CONVERGED

    @property
    def misfit(self) -> float:
        """How much larger residuals are than white noise, squared; 1 or more."""
        return max(1.0, self.reduced_chi2 * self.inflation)

    @property
    def e(self) -> dict[str, float]:
        """Name → estimate, in the parameter's unit."""
        return self.space.values(FitCoordinates(self.space).from_z(self.z))

    @cached_property
    def belief(self) -> GaussianBelief:
        """Correlated Gaussian in z, cut at the bounds."""
        return GaussianBelief(self.space, self.z, self.covariance_z)

    @property
    def sd(self) -> dict[str, float]:
        """Name → standard deviation to first order, in the parameter's unit."""
        slope = FitCoordinates(self.space).slope(self.z)
        return self.space.values(slope * np.sqrt(np.diag(self.covariance_z)))

    def interval(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """Name → ends between which the truth lies with this probability.

        One-sided for a parameter on a bound of its space.
        """
        from scipy.special import ndtri

        bounds = FitCoordinates(self.space)
        reach = ndtri(0.5 + level / 2) * np.sqrt(np.diag(self.covariance_z))
        low = bounds.from_z(np.maximum(self.z - reach, bounds.lower))
        high = bounds.from_z(np.minimum(self.z + reach, bounds.upper))
        ends = zip(low.tolist(), high.tolist(), strict=True)
        return dict(zip(self.space.names, ends, strict=True))

    def to_words(self) -> str:
        """Every parameter with its interval, then what to be wary of."""
        interval = self.interval()
        width = max(map(len, self.space.names))
        lines = [
            f"{p.name:<{width}}  {self.e[p.name]:.4g} {p.unit}"
            f"  ({interval[p.name][0]:.4g} … {interval[p.name][1]:.4g})"
            for p in self.space
        ]
        return "\n".join([*lines, *self.warnings])
