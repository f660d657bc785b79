"""The worst case a belief allows: where in p(e) a policy fails, and how near.

e is given as u in [0, 1]^m, each coordinate the prior's distribution function, so that
equal volumes are equally likely. A score is a graded margin: positive is fine, zero and
less has failed, and it must fall on the way there (time until the fall, least distance
to a limit): a mere yes or no gives a search nothing to descend. Points are scored in
batches, with common seeds, so that differences come from e alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from realworthy.certification.rollouts.trace import Floats
from realworthy.errors import RealworthyError

Score = Callable[[Floats], Floats]
"""(k, m) points of the unit cube → (k,) margins."""

_STALE = 10
"""Generations without a better margin after which a search starts anew."""
_BETTER = 1e-3
"""Share of the first points' range by which a margin must fall to be better."""
_SECTIONS = 15
"""Points in one batch of a refined bisection: 16 times finer each."""


@dataclass(kw_only=True, slots=True)
class CubeSearchSettings:
    """How the worst case is sought."""

    evaluations: int = 400
    """Points that are scored in all; some 200 to 600 are usual."""
    sobol: int = 64
    """Of these spread evenly at first; a power of two."""
    spread: float = 0.3
    """First standard deviation of CMA-ES, in units of the cube."""
    population: int | None = None
    """Points a generation; None: 8 + 3 ln m."""
    edge: float = 1e-3
    """Probability at each end of a coordinate that is left out: many priors have tails
    without end, and a search would walk down them for ever."""
    stops_at_failure: bool = False
    """Whether the first failure ends the search; else it looks for the deepest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorstCase:
    """The lowest margin found, and everything that was tried."""

    point: Floats
    """(m,) In [0, 1]."""
    margin: float
    points: Floats
    """(evaluations, m) In the order in which they were scored."""
    margins: Floats
    """(evaluations,)"""
    start_count: int
    """Times that CMA-ES began."""

    @property
    def is_failure(self) -> bool:
        return self.margin <= 0

    @property
    def first_failure(self) -> int | None:
        """Index of the first point that failed; None: none did."""
        failed = np.flatnonzero(self.margins <= 0)
        return int(failed[0]) if len(failed) else None


def search_worst(
    score: Score,
    dimension: int,
    settings: CubeSearchSettings | None = None,
    *,
    seed: int = 0,
) -> WorstCase:
    """Lowest margin within the budget: a Sobol sequence, then CMA-ES from its worst.

    CMA-ES walks without bounds and is folded into the cube, so a worst case on the
    border is reached. Where it comes to rest it starts anew from the worst Sobol point
    that lies far from all starts before. Not finding a failure proves nothing.
    """
    from cmaes import CMA
    from scipy.stats.qmc import Sobol

    settings = settings or CubeSearchSettings()
    _check_search(settings, dimension)
    tried = _Tried(score, settings)
    first_count = min(settings.sobol, settings.evaluations)
    sobol = Sobol(dimension, rng=np.random.default_rng(seed))
    spread_points = sobol.random_base2((first_count - 1).bit_length())[:first_count]
    better = _BETTER * float(np.ptp(tried.add(spread_points)))
    population = settings.population or round(8 + 3 * math.log(dimension))
    starts: list[Floats] = []
    while not tried.is_done:
        starts.append(_choose_start(spread_points, tried.all_margins, starts))
        evolution = CMA(
            mean=starts[-1],
            sigma=settings.spread,
            seed=seed + len(starts),
            population_size=population,
        )
        lowest, stale = math.inf, 0
        while not tried.is_done and stale < _STALE and not evolution.should_stop():
            asked = np.array([evolution.ask() for _ in range(population)])
            margins = tried.add(fold(asked))
            if len(margins) < population:
                break
            evolution.tell(list(zip(asked, margins.tolist(), strict=True)))
            is_better = margins.min() < lowest - better
            stale = 0 if is_better else stale + 1
            lowest = float(margins.min()) if is_better else lowest
    points, margins = tried.all_points, tried.all_margins
    worst = int(margins.argmin())
    return WorstCase(
        point=points[worst],
        margin=float(margins[worst]),
        points=points,
        margins=margins,
        start_count=len(starts),
    )


class _Tried:
    """All scored points, edges kept clear, and whether there may be more."""

    def __init__(self, score: Score, settings: CubeSearchSettings) -> None:
        self._score, self._settings = score, settings
        self._points: list[Floats] = []
        self._margins: list[Floats] = []

    @property
    def all_points(self) -> Floats:
        return np.concatenate(self._points)

    @property
    def all_margins(self) -> Floats:
        return np.concatenate(self._margins)

    @property
    def is_done(self) -> bool:
        margins = self.all_margins
        has_failed = self._settings.stops_at_failure and bool((margins <= 0).any())
        return has_failed or len(margins) >= self._settings.evaluations

    def add(self, points: Floats) -> Floats:
        """Margins of as many points as the budget still allows."""
        spent = sum(map(len, self._margins))
        edge = self._settings.edge
        points = edge + (1 - 2 * edge) * points[: self._settings.evaluations - spent]
        margins = evaluate(self._score, points)
        self._points.append(points)
        self._margins.append(margins)
        return margins


def _choose_start(points: Floats, margins: Floats, starts: list[Floats]) -> Floats:
    """The worst point among the half that lies farthest from all starts so far."""
    margins = margins[: len(points)]
    if starts:
        apart = np.linalg.norm(points[:, None] - np.array(starts), axis=-1).min(axis=1)
        margins = np.where(apart >= np.median(apart), margins, np.inf)
    return points[int(margins.argmin())]


def fold(points: Floats) -> Floats:
    """Points reflected at the faces of the unit cube until they lie inside."""
    return 1 - np.abs(1 - np.mod(points, 2))


def evaluate(score: Score, points: Floats) -> Floats:
    """(k,) Margins of (k, m) points; a margin that is no number counts as failed.

    Such a point has diverged: it ranks as the worst of all, −∞ replaced by the lowest
    float so that searches can go on.
    """
    margins = np.asarray(score(points), np.float64)
    if margins.shape != (len(points),):
        raise RealworthyError(
            f"A score of {len(points)} points gave {margins.shape}; expected one "
            "margin for each."
        )
    bottom = np.finfo(np.float64).min / 1e10
    return np.nan_to_num(margins, nan=bottom, neginf=bottom, posinf=-bottom)


@dataclass(frozen=True, kw_only=True, slots=True)
class Deviation:
    """How far from the nominal e towards the worst one a policy stays safe."""

    safe: float
    """Share of the way up to which every point tried was safe; 0: the start fails."""
    failing: float
    """Share at which the nearest failure was found."""
    point: Floats
    """(m,) That failure: the smallest known deviation."""


def find_smallest_deviation(
    score: Score,
    start: ArrayLike,
    worst: ArrayLike,
    *,
    tolerance: float = 1e-3,
) -> Deviation:
    """First failure on the straight way from `start` to `worst`.

    Each batch cuts the way into 16 parts and keeps the one in which the first failure
    appears, so a failing stretch narrower than a sixteenth may be missed.
    """
    begin, end = np.asarray(start, np.float64), np.asarray(worst, np.float64)
    ends = evaluate(score, np.stack([begin, end]))
    if ends[1] > 0:
        raise RealworthyError(
            f"The worst point has a margin of {ends[1]:g}; it does not fail.",
            hint="Search longer, or there may be nothing to find.",
        )
    if ends[0] <= 0:
        return Deviation(safe=0.0, failing=0.0, point=begin)
    low, high = 0.0, 1.0
    while high - low > tolerance:
        shares = np.linspace(low, high, _SECTIONS + 2)[1:-1]
        margins = evaluate(score, begin + shares[:, None] * (end - begin))
        failed = np.flatnonzero(margins <= 0)
        first = int(failed[0]) if len(failed) else len(shares)
        edges = [low, *shares.tolist(), high]
        low, high = edges[first], edges[first + 1]
    return Deviation(safe=low, failing=high, point=begin + high * (end - begin))


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivity:
    """What one coordinate alone changes, the others held at a point."""

    levels: Floats
    """(levels,) Values given to each coordinate: middles of equally likely parts."""
    margins: Floats
    """(m, levels)"""
    effect: Floats
    """(m,) Range of the margin over the coordinate."""
    escape: Floats
    """(m,) Smallest change of it alone that is safe; infinite where none is, zero
    where the point itself is safe."""


def measure_sensitivity(
    score: Score, point: ArrayLike, *, level_count: int = 17
) -> Sensitivity:
    """One-at-a-time sweep around a point, as one batch."""
    centre = np.asarray(point, np.float64)
    m, levels = len(centre), (np.arange(level_count) + 0.5) / level_count
    swept = np.tile(centre, (m, level_count, 1))
    swept[np.arange(m), :, np.arange(m)] = levels
    batch = np.concatenate([centre[None], swept.reshape(-1, m)])
    found = evaluate(score, batch)
    margins = found[1:].reshape(m, level_count)
    change = np.abs(levels - centre[:, None])
    escape = np.where(margins > 0, change, np.inf).min(axis=1)
    return Sensitivity(
        levels=levels,
        margins=margins,
        effect=np.ptp(margins, axis=1),
        escape=np.zeros(m) if found[0] > 0 else escape,
    )


def _check_search(settings: CubeSearchSettings, dimension: int) -> None:
    if dimension < 1 or settings.evaluations < 1 or settings.sobol < 1:
        raise RealworthyError(
            f"A search needs a dimension, evaluations and first points above zero; got "
            f"{dimension}, {settings.evaluations} and {settings.sobol}."
        )
