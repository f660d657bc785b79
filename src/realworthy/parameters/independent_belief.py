"""Every parameter on its own: boxes, bells and choices without correlation."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import BadBelief
from realworthy.parameters.belief import Belief, check_same_space, check_unit_cube
from realworthy.parameters.marginals import (
    Fixed,
    Marginal,
    compute_kl,
    compute_moments,
    is_discrete,
)
from realworthy.parameters.space import ParameterSpace

Floats = NDArray[np.float64]


class IndependentBelief(Belief):
    """A product of marginals; parameters without one are fixed at their nominal."""

    def __init__(
        self, space: ParameterSpace, marginals: Mapping[str, Marginal]
    ) -> None:
        self.space = space
        for name, marginal in marginals.items():
            _check_support(space, name, marginal)
        self.marginals: dict[str, Marginal] = {
            p.name: marginals.get(p.name, Fixed(p.nominal)) for p in space
        }

    @property
    def width(self) -> int:
        return len(self.space)

    def quantile(self, u: Floats) -> Floats:
        u = check_unit_cube(u, self.width)
        columns = [m.quantile(u[:, i]) for i, m in enumerate(self.marginals.values())]
        return np.stack(columns, axis=1) if columns else np.empty((len(u), 0))

    def log_density(self, e: ArrayLike) -> Floats:
        e = np.asarray(e, dtype=np.float64)
        parts = [
            m.log_density(e[..., i]) for i, m in enumerate(self.marginals.values())
        ]
        return np.sum(parts, axis=0)

    def marginal(self, names: Sequence[str]) -> "IndependentBelief":
        kept = {name: self.marginals[name] for name in self.space.select(names).names}
        return IndependentBelief(self.space.select(names), kept)

    def condition(self, known: Mapping[str, float]) -> "IndependentBelief":
        return self.marginal(self.space.without(known).names)

    @property
    def mean(self) -> dict[str, float]:
        return {name: compute_moments(m)[0] for name, m in self.marginals.items()}

    @property
    def sd(self) -> dict[str, float]:
        return {name: compute_moments(m)[1] for name, m in self.marginals.items()}

    def correlation(self) -> Floats:
        return np.eye(len(self.space))

    def kl(self, other: Belief, *, count: int = 20_000) -> float:
        """Sum of the marginals' divergences where both sides are independent."""
        if not isinstance(other, IndependentBelief):
            if any(is_discrete(m) for m in self.marginals.values()):
                return float("inf")
            return super().kl(other, count=count)
        check_same_space(self, other)
        return sum(
            compute_kl(m, other.marginals[name]) for name, m in self.marginals.items()
        )


def _check_support(space: ParameterSpace, name: str, marginal: Marginal) -> None:
    parameter = space[name]
    ends = marginal.quantile(np.array([1e-15, 1 - 1e-15]))
    slack = 1e-9 * max(1.0, float(np.abs(ends).max()))
    if ends[0] < parameter.lower - slack or ends[1] > parameter.upper + slack:
        raise BadBelief(
            f"The belief about '{name}' reaches from {ends[0]:.6g} to {ends[1]:.6g} "
            f"{parameter.unit}, beyond its bounds [{parameter.lower:g}, "
            f"{parameter.upper:g}].",
            hint="Narrow the belief, or give a truncated_normal lower and upper.",
        )
