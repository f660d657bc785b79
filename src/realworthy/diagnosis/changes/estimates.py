"""What changes as a twin sees it: e fitted to each recording for itself.

The twin may be wrong, before as now: what counts is where e moved between the two, and
how far it moves anyway from one recording to the next.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.changes.scatter import Family, Pattern
from realworthy.identification import (
    LeastSquaresSettings,
    ParameterVerdict,
    Problem,
    check_identifiability,
    fit_least_squares,
)
from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.solver.least_squares import estimate_covariance, to_prior
from realworthy.identification.solver.levenberg_marquardt import minimise
from realworthy.parameters import GaussianBelief, Parameter, ParameterSpace
from realworthy.recordings import Recording
from realworthy.twins import Twin

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]
"""Called with how many steps are done, of how many."""

_STRENGTHS = ("torque_constant", "kp", "gear")
"""Kinds that say how strong a motor is; each actuator's first one is looked at."""
_OTHERS = ("mass", "damping", "coulomb_friction", "torque_limit", "sensor_bias")
_PIECE = 1.0
"""[s] simulated from one measured start: short enough for errors to stay small."""
_LONGEST = 12.0
"""[s] that are fitted at a time."""
_STEPS = 4
"""Of the fit to each recording."""
_FEWEST = 4
"""Parts into which few recordings are cut."""
_SHORTEST = 2.0
"""[s] of such a part."""
_UNSEEN = 3.0
"""How much larger than the noise residuals are expected to be."""
_FLOOR = 0.01
"""Scales of z by which e moves from recording to recording on any machine."""
_DELAY, _LATE = "all.delay", 0.01
"""The loop's delay, and where a search for it also begins [s]."""
_MISFIT_SD = 0.3
"""The same of the logarithm of residuals."""
MISFIT = "misfit"
"""Name of the pattern in which nothing that was fitted explains what is there now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """e of every recording, and how large the residuals stayed."""

    space: ParameterSpace
    parameters: Family
    """In transformed coordinates."""
    misfit: Family
    """log of root mean square residuals."""
    parts: bool
    """Whether the scatter is that of parts of recordings, since those were few."""

    def in_units(
        self, name: str, size: float, ends: tuple[float, float]
    ) -> list[float]:
        """Before, now, and the ends of the interval of now, in the parameter's unit."""
        parameter = self.space[name]
        middle = float(self.parameters.before.mean(0)[self.space.index(name)])
        places = (middle, middle + size, middle + ends[0], middle + ends[1])
        return [
            float(np.clip(parameter.from_z(z), parameter.lower, parameter.upper))
            for z in places
        ]


def estimate_changes(
    twin: Twin,
    before: Sequence[Recording],
    now: Sequence[Recording],
    *,
    progress: Progress | None = None,
) -> Estimates:
    """Fits every recording; raises where the twin cannot replay them."""
    old, cut = _cut(before)
    new = _cut(now)[0] if cut else list(now)
    tell = progress or (lambda done, total: None)
    total = len(old) + len(new) + 2
    space = _choose_seen(twin, [*old, *new])
    tell(1, total)
    start = _fit_all(_pose(twin, old, space))
    tell(2, total)
    fits = []
    for recording in (*old, *new):
        fits.append(_fit_one(twin, recording, space, start))
        tell(2 + len(fits), total)
    return _gather(space, fits, len(old), cut)


def _cut(recordings: Sequence[Recording]) -> tuple[list[Recording], bool]:
    """Recordings, or their parts where there are fewer than three."""
    if len(recordings) >= 3:
        return list(recordings), False
    parts = []
    for whole in recordings:
        wanted = -(-_FEWEST // len(recordings))
        count = max(1, min(wanted, int(whole.duration / _SHORTEST)))
        ends = np.linspace(whole.time[0], whole.time[-1], count + 1)
        parts += [whole.crop(a, b) for a, b in pairwise(ends)]
    return parts, True


def list_candidates(twin: Twin, recordings: Sequence[Recording]) -> list[str]:
    """Numbers of a twin that payload, wear, a new zero or a slower loop would move."""
    joints = set.intersection(*(set(r.joints) for r in recordings))
    strong = {
        element: kind
        for kind in reversed(_STRENGTHS)
        for element in (p.element for p in twin.space.of_kind(kind))
    }
    return [p.name for p in twin.space if _is_candidate(p, joints, strong)]


def _is_candidate(p: Parameter, joints: set[str], strong: dict[str, str]) -> bool:
    if p.kind == "delay":
        return p.element == "all"
    if p.element == "all":
        return False
    if p.kind == "sensor_bias":
        return p.element.removesuffix(".position") in joints
    if p.kind in _STRENGTHS:
        return strong[p.element] == p.kind
    return p.kind in _OTHERS


def _choose_seen(twin: Twin, recordings: Sequence[Recording]) -> ParameterSpace:
    """Candidates that move the residuals of these recordings at all."""
    space = twin.space.select(list_candidates(twin, recordings))
    problem = _pose(twin, recordings, space)
    found = check_identifiability(problem, noise_factor=_UNSEEN)
    unseen = found.named(ParameterVerdict.NOT_EXCITED)
    return space.without(unseen)


def _pose(
    twin: Twin, recordings: Sequence[Recording], space: ParameterSpace
) -> Problem:
    """Short pieces, as many as fill `_LONGEST`."""
    problem = Problem(twin, recordings, space)
    problem = problem.cut_anew(min(_PIECE, problem.horizon.seconds))
    every = int(problem.seconds / _LONGEST) + 1
    return problem.thinned(every) if every > 1 else problem


def _fit_all(problem: Problem) -> Floats:
    """(d,) z of all recordings together, the better of two starts.

    A delay of zero lies on its bound, where a search for it can get stuck.
    """
    starts: list[dict[str, float]] = [{}]
    if _DELAY in problem.space:
        starts.append({_DELAY: _LATE})
    fits = [fit_least_squares(problem, start) for start in starts]
    return min(fits, key=lambda fit: fit.reduced_chi2).z


@dataclass(frozen=True, slots=True)
class _Own:
    """What one recording says: (d,) z, its (d, d) covariance, log of its residuals."""

    z: Floats
    covariance: Floats
    misfit: float


def _fit_one(
    twin: Twin, recording: Recording, space: ParameterSpace, start: Floats
) -> _Own:
    """A few steps from (d,) z of all recordings from before together."""
    problem = _pose(twin, [recording], space)
    width = problem.coordinates.scale
    belief = GaussianBelief(space, start, np.diag(width**2))
    prior = to_prior(problem, belief, start)
    settings = LeastSquaresSettings(iterations=_STEPS)
    at = minimise(problem, start, prior, settings).at
    covariance, _ = estimate_covariance(problem, at)
    return _Own(at.point.z, covariance, 0.5 * float(np.log(at.variance)))


def _gather(
    space: ParameterSpace, fits: Sequence[_Own], before_count: int, cut: bool
) -> Estimates:
    z = np.array([fit.z for fit in fits])
    scale = FitCoordinates(space).scale
    known = sorted(
        (fit.covariance for fit in fits[:before_count]),
        key=lambda covariance: float(np.sum(np.diag(covariance) / scale**2)),
    )
    own = known[len(known) // 2]  # one fit that got stuck says nothing of the others
    floor = np.diag((_FLOOR * scale) ** 2)
    patterns = [
        Pattern(name, row)
        for name, row in zip(space.names, np.eye(len(space)), strict=True)
    ]
    misfit = np.array([[fit.misfit] for fit in fits])
    return Estimates(
        space=space,
        parameters=Family(
            names=space.names,
            before=z[:before_count],
            now=z[before_count:],
            assumed=own + floor,
            patterns=tuple(patterns),
        ),
        misfit=Family(
            names=(MISFIT,),
            before=misfit[:before_count],
            now=misfit[before_count:],
            assumed=np.array([[_MISFIT_SD**2]]),
            patterns=(Pattern(MISFIT, np.ones(1)),),
        ),
        parts=cut,
    )
