"""How far numbers of an unchanged machine scatter, and which shifts lie beyond.

Each recording gives k numbers. Their covariance C is what the recordings from before
show, held up by what is assumed of any machine: with so few recordings the sample alone
would call many things steady. A pattern is a direction d in these numbers, such as "one
motor works harder". Its size in the shift Δ from before to now is the generalised least
squares estimate δ = dᵀC⁻¹Δ / dᵀC⁻¹d, and t = δ √(dᵀC⁻¹d) is compared with Student's t.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ASSUMED = 4.0
"""Recordings that what is assumed of the scatter counts for."""
LEVEL = 0.05
"""How often anything may be named on an unchanged machine."""
_MOST = 3
"""Shifts of one family that are looked for."""
_SHADOW = 0.3
"""Share of the first t below which a further shift may be what the first one casts."""
_AS_WELL = 4.0
"""Drop in t² up to which another pattern explains a shift as well."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A way in which the numbers of a family may move together."""

    name: str
    direction: Floats
    """(k,)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Numbers that are judged together, by recording."""

    names: tuple[str, ...]
    before: Floats
    """(n, k)"""
    now: Floats
    """(m, k)"""
    assumed: Floats
    """(k, k) covariance from recording to recording, expected of any machine."""
    patterns: tuple[Pattern, ...]

    def leave_out(self, i: int) -> "Family":
        """The same with one recording from before in the place of those from now."""
        rest = np.delete(self.before, i, axis=0)
        return replace(self, before=rest, now=self.before[i : i + 1])

    @property
    def shift(self) -> Floats:
        """(k,) from the mean before to the mean now."""
        return self.now.mean(0) - self.before.mean(0)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the covariance."""
        return ASSUMED + len(self.before) - 1

    def covariance(self) -> Floats:
        """(k, k) of the shift of an unchanged machine.

        Recordings from now were made together and share what a day brings, so their
        mean is no better known than one of them. Where recordings scatter more than was
        assumed, that is scaled up as a whole.
        """
        n, k = self.before.shape
        off = self.before - self.before.mean(0)
        squares = off.T @ off
        excess = np.trace(np.linalg.solve(self.assumed, squares))
        factor = max(1.0, (ASSUMED + excess) / (ASSUMED + k * (n - 1)))
        joined = (ASSUMED * factor * self.assumed + squares) / self.freedom
        return joined * (1 + 1 / n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """A pattern that moved by more than chance."""

    family: Family
    pattern: Pattern
    size: float
    sd: float
    t: float
    rate: float
    """How often anything on an unchanged machine would stand out as much."""
    as_well: tuple[str, ...]
    """Other patterns of the family that explain it as well."""

    @property
    def interval(self) -> tuple[float, float]:
        """90 %."""
        return self._reach(self.size, self.sd)

    def plain(self, name: str) -> tuple[float, tuple[float, float]]:
        """How far one number of the family moved by itself, with its interval."""
        place = self.family.names.index(name)
        size = float(self.family.shift[place])
        sd = float(np.sqrt(self.family.covariance()[place, place]))
        return size, self._reach(size, sd)

    def _reach(self, size: float, sd: float) -> tuple[float, float]:
        from scipy.stats import t

        reach = float(t.ppf(0.95, self.family.freedom)) * sd
        return size - reach, size + reach


def find_shifts(families: Sequence[Family]) -> list[Shift]:
    """Shifts beyond chance, corrected for all that was looked at; the clearest first.

    Leaving out each recording from before in turn shows how often this very baseline
    cries wolf; no rate is stated below that.
    """
    count = sum(len(family.patterns) for family in families)
    found = [shift for family in families for shift in _explain(family, count)]
    if not found:
        return []
    alarms = leave_one_out(families)
    raised = [replace(shift, rate=_raise(shift.rate, alarms)) for shift in found]
    kept = [shift for shift in raised if shift.rate <= 2 * LEVEL]
    return sorted(kept, key=lambda shift: -abs(shift.t))


def leave_one_out(families: Sequence[Family]) -> list[float]:
    """For each recording from before: the rate at which it stands out of the others."""
    count = sum(len(family.patterns) for family in families)
    length = min((len(family.before) for family in families), default=0)
    if length < 3:
        return []
    return [
        min(_least_rate(family.leave_out(i), count) for family in families)
        for i in range(length)
    ]


def _raise(rate: float, alarms: Sequence[float]) -> float:
    """The stated rate, or the share of unchanged recordings that stood out as much."""
    share = sum(alarm <= rate for alarm in alarms) / len(alarms) if alarms else 0.0
    return max(rate, share)


def _least_rate(family: Family, count: int) -> float:
    return min(_test(family, [], pattern, count)[3] for pattern in family.patterns)


def _explain(family: Family, count: int) -> list[Shift]:
    """Patterns, one after the other, each given those already found."""
    found: list[Shift] = []
    while len(found) < min(_MOST, len(family.names)):
        known = [shift.pattern for shift in found]
        open_ = [p for p in family.patterns if p not in known]
        tests = {p.name: _test(family, known, p, count) for p in open_}
        if not tests:
            break
        best = max(open_, key=lambda p: abs(tests[p.name][2]))
        size, sd, t, rate = tests[best.name]
        if rate > LEVEL or (found and abs(t) < _SHADOW * abs(found[0].t)):
            break
        rivals = [
            name
            for name, test in tests.items()
            if name != best.name and test[2] ** 2 > t**2 - _AS_WELL
        ]
        found.append(
            Shift(
                family=family,
                pattern=best,
                size=size,
                sd=sd,
                t=t,
                rate=rate,
                as_well=tuple(rivals),
            )
        )
    return found


def _test(
    family: Family, known: Sequence[Pattern], pattern: Pattern, count: int
) -> tuple[float, float, float, float]:
    """Size, sd and t of a pattern beside known ones, and its corrected rate."""
    from scipy.stats import t as student

    covariance = family.covariance()
    design = np.stack([p.direction for p in (*known, pattern)], axis=1)
    weighted = np.linalg.solve(covariance, design)
    information = design.T @ weighted
    if np.linalg.cond(information) > 1e10:
        return 0.0, np.inf, 0.0, 1.0
    inverse = np.linalg.inv(information)
    size = float((inverse @ weighted.T @ family.shift)[-1])
    sd = float(np.sqrt(inverse[-1, -1]))
    rate = 2 * float(student.sf(abs(size / sd), family.freedom))
    return size, sd, size / sd, min(1.0, count * rate)
