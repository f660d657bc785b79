"""Several beliefs about different numbers, side by side."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import BadBelief
from realworthy.parameters.belief import Belief, check_unit_cube
from realworthy.parameters.space import ParameterSpace

Floats = NDArray[np.float64]


class JoinedBelief(Belief):
    """A product: each part is as it was, independent of the others."""

    def __init__(self, *parts: Belief) -> None:
        self.parts = tuple(parts)
        names = [name for part in parts for name in part.space.names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise BadBelief(f"Two of these beliefs contain {', '.join(twice)}.")
        self.space = ParameterSpace([p for part in parts for p in part.space])

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    def quantile(self, u: Floats) -> Floats:
        u = check_unit_cube(u, self.width)
        ends = np.cumsum([part.width for part in self.parts])[:-1]
        split = np.split(u, ends, axis=1)
        pairs = zip(self.parts, split, strict=True)
        return np.concatenate([part.quantile(x) for part, x in pairs], axis=1)

    def log_density(self, e: ArrayLike) -> Floats:
        e = np.asarray(e, dtype=np.float64)
        ends = np.cumsum([len(part.space) for part in self.parts])[:-1]
        pairs = zip(self.parts, np.split(e, ends, axis=-1), strict=True)
        return np.sum([part.log_density(x) for part, x in pairs], axis=0)

    def marginal(self, names: Sequence[str]) -> "JoinedBelief":
        """In the order of the parts."""
        self.space.select(names)  # says which are unknown
        kept = [[n for n in part.space.names if n in names] for part in self.parts]
        pairs = zip(self.parts, kept, strict=True)
        return JoinedBelief(*(part.marginal(few) for part, few in pairs if few))

    def condition(self, known: Mapping[str, float]) -> "JoinedBelief":
        self.space.without(known)
        parts = []
        for part in self.parts:
            own = {name: x for name, x in known.items() if name in part.space}
            if len(own) < len(part.space):
                parts.append(part.condition(own) if own else part)
        return JoinedBelief(*parts)

    @property
    def mean(self) -> dict[str, float]:
        return {name: x for part in self.parts for name, x in part.mean.items()}

    @property
    def sd(self) -> dict[str, float]:
        return {name: x for part in self.parts for name, x in part.sd.items()}

    def correlation(self) -> Floats:
        from scipy.linalg import block_diag

        return np.asarray(block_diag(*(part.correlation() for part in self.parts)))
