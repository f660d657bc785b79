"""Combinations of parameters that are identifiable where single ones are not.

Ten inertial numbers of a link are never all told by the motion of a robot: some act
only in sums with those of its neighbours (base parameters; Gautier and Khalil 1990). A
fit in log-Cholesky coordinates stays physical whatever it does; this says which
combinations of its numbers the data have decided, and which the prior.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.identifiability.verdicts import Identifiability

Floats = NDArray[np.float64]
_MIN_PART_SHARE = 0.02
"""Share of a combination's main part below which another is left out."""
_MIN_EIGENVALUE_SHARE = 1e-6
"""Share of the largest eigenvalue below which differences of finite step tell none."""


@dataclass(frozen=True, slots=True)
class Combination:
    """A weighted sum of parameters that recordings identify as one."""

    main: str
    parts: tuple[tuple[str, float], ...]
    """Parameter and weight, in tolerances; the main one first, with weight one."""
    sd: float
    """How well it is known, in tolerances of the main part."""

    def to_words(self) -> str:
        others = [f"{w:+.2g} × {name}" for name, w in self.parts[1:]]
        return " ".join([self.main, *others])


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseParameters:
    """Identifiable combinations, and the parameters that each belongs to."""

    combinations: tuple[Combination, ...]
    """As many as there are independent facts in the recordings, about one e."""
    riding: tuple[str, ...]
    """Parameters identifiable only within those combinations."""
    silent: tuple[str, ...]
    """Parameters that no recording depends on."""

    @property
    def rank(self) -> int:
        """How many independent combinations are known."""
        return len(self.combinations)

    def to_words(self) -> str:
        """One line per combination, then what cannot be told."""
        lines = [f"{c.to_words()}: known to {c.sd:.2g}" for c in self.combinations]
        if self.riding:
            lines.append(f"Only within these: {', '.join(self.riding)}.")
        if self.silent:
            lines.append(f"Not identifiable: {', '.join(self.silent)}.")
        return "\n".join(lines)


def find_base(
    found: Identifiability, *, worst: float = 1.0, prior_precision: Floats | None = None
) -> BaseParameters:
    """Combinations known to `worst` tolerances or better, around the e looked at.

    `prior_precision` (d, d) is taken off the information, so that belief does not count
    as data; None takes off nothing. Main parts are chosen by pivoting, the best told
    first, as base parameters are.
    """
    names = [finding.name for finding in found.findings]
    information = found.information
    if prior_precision is not None:
        information = information - prior_precision
    scale = _tolerances_z(found)
    scaled = information * np.outer(scale, scale)
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    known = values > max(1 / worst**2, _MIN_EIGENVALUE_SHARE * float(values[-1]))
    rank = int(known.sum())
    if rank == 0:
        return BaseParameters(combinations=(), riding=(), silent=tuple(names))
    space = vectors[:, known] * np.sqrt(values[known])  # rows: parameters
    order = _pivot(space)
    main, rest = order[:rank], order[rank:]
    weights = np.linalg.solve(space[main].T, space[rest].T)  # (rank, rest)
    covariance = np.linalg.inv(space[main] @ space[main].T)
    combinations = []
    for row, i in enumerate(main):
        parts = [
            (names[j], float(w))
            for j, w in zip(rest, weights[row], strict=True)
            if abs(w) > _MIN_PART_SHARE
        ]
        combinations.append(
            Combination(
                names[i],
                ((names[i], 1.0), *sorted(parts, key=lambda part: -abs(part[1]))),
                float(np.sqrt(covariance[row, row])),
            )
        )
    ridden = {name for c in combinations for name, _ in c.parts[1:]}
    return BaseParameters(
        combinations=tuple(combinations),
        riding=tuple(names[j] for j in rest if names[j] in ridden),
        silent=tuple(names[j] for j in rest if names[j] not in ridden),
    )


def _tolerances_z(found: Identifiability) -> Floats:
    """(d,) tolerances in z: sd in z over sd in e is the same for every tolerance."""
    covariance = np.linalg.inv(found.information)
    sd_z = np.sqrt(np.diag(covariance))
    return np.array(
        [
            f.tolerance * sd / max(f.sd, 1e-300)
            for f, sd in zip(found.findings, sd_z, strict=True)
        ]
    )


def _pivot(rows: Floats) -> list[int]:
    """Rows by how much each adds to those before it (Gram and Schmidt, pivoted)."""
    left, order = rows.copy(), []
    size = np.linalg.norm(left, axis=1)
    for _ in range(rows.shape[1]):
        best = int(np.argmax(size))
        order.append(best)
        along = left[best] / size[best]
        left = left - np.outer(left @ along, along)
        size = np.linalg.norm(left, axis=1)
        size[order] = -1.0
    return order + [i for i in range(len(rows)) if i not in order]
