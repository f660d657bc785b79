"""Several parameters in a fixed order: the coordinates of e."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError, UnknownParameter
from realworthy.parameters.parameter import Parameter

Floats = NDArray[np.float64]


class ParameterSpace:
    """An ordered set of parameters; vectors of e and z follow this order.

    `owner` and `listing`, the command that lists all that the owner has, are for
    messages.
    """

    def __init__(
        self,
        parameters: Iterable[Parameter],
        *,
        owner: str = "the space",
        listing: str = "",
    ) -> None:
        self.parameters = tuple(parameters)
        self.owner, self.listing = owner, listing
        self._index = {p.name: i for i, p in enumerate(self.parameters)}
        if len(self._index) < len(self.parameters):
            names = [p.name for p in self.parameters]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise RealworthyError(f"Parameters named twice: {', '.join(twice)}.")

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:4]) + (", …" if len(self) > 4 else "")
        return f"<{len(self)} parameters: {shown}>"

    def __len__(self) -> int:
        return len(self.parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self.parameters)

    def __contains__(self, name: str) -> bool:
        return name in self._index

    def __getitem__(self, name: str) -> Parameter:
        return self.parameters[self.index(name)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParameterSpace) and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash(self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._index)

    @property
    def nominal(self) -> Floats:
        return np.array([p.nominal for p in self.parameters])

    @property
    def lower(self) -> Floats:
        return np.array([p.lower for p in self.parameters])

    @property
    def upper(self) -> Floats:
        return np.array([p.upper for p in self.parameters])

    def index(self, name: str) -> int:
        """Column of a parameter; a name that is not here is an `UnknownParameter`."""
        try:
            return self._index[name]
        except KeyError:
            raise UnknownParameter(
                name, self.names, owner=self.owner, listing=self.listing
            ) from None

    def select(self, names: Sequence[str]) -> "ParameterSpace":
        """The named parameters, in the order given."""
        return self._keep(self[name] for name in names)

    def without(self, names: Iterable[str]) -> "ParameterSpace":
        """All parameters but the named ones."""
        dropped = {self[name].name for name in names}
        return self._keep(p for p in self.parameters if p.name not in dropped)

    def of_kind(self, *kinds: str) -> "ParameterSpace":
        """The parameters of some kinds, such as `mass` and `damping`."""
        return self._keep(p for p in self.parameters if p.kind in kinds)

    def vector(self, values: Mapping[str, float]) -> Floats:
        """e with the given values, nominal elsewhere."""
        e = self.nominal
        for name, value in values.items():
            e[self.index(name)] = value
        return e

    def values(self, e: ArrayLike) -> dict[str, float]:
        """Name → value of one vector e."""
        vector = np.asarray(e, dtype=np.float64)
        return dict(zip(self.names, vector.tolist(), strict=True))

    def to_z(self, e: ArrayLike) -> Floats:
        """(…, d) values in units → (…, d) transformed coordinates."""
        return self._each(Parameter.to_z, e)

    def from_z(self, z: ArrayLike) -> Floats:
        """(…, d) transformed coordinates → (…, d) values in units."""
        return self._each(Parameter.from_z, z)

    def log_slope(self, e: ArrayLike) -> Floats:
        """Sum over parameters of log |dz/de|, shape (…)."""
        return self._each(Parameter.log_slope, e).sum(-1)

    def contains(self, e: ArrayLike) -> NDArray[np.bool_]:
        """Whether every coordinate is finite and within its bounds, shape (…)."""
        vector = np.asarray(e, dtype=np.float64)
        inside = (vector >= self.lower) & (vector <= self.upper)
        return np.asarray(inside.all(-1))

    def _keep(self, parameters: Iterable[Parameter]) -> "ParameterSpace":
        return ParameterSpace(parameters, owner=self.owner, listing=self.listing)

    def _each(
        self, transform: Callable[[Parameter, Floats], Floats], e: ArrayLike
    ) -> Floats:
        vector = np.asarray(e, dtype=np.float64)
        out = np.empty_like(vector)
        for i, parameter in enumerate(self.parameters):
            out[..., i] = transform(parameter, vector[..., i])
        return out
