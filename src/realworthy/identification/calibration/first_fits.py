"""First fits from afar: shared numbers over decades, then each joint around them.

The published gain of a hobby servo may be eighty times the real one. A search that is
free to move every joint's numbers from there ends anywhere. Numbers that all joints
share are few enough to be scanned over decades; from what they give, the others are
near.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.calibration.parameter_choice import (
    find_shared_factors,
    restore_dampings,
)
from realworthy.identification.calibration.priors import make_alike_prior
from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.problem.joint_by_joint import (
    SINGLE_JOINT_KINDS,
    JointByJointProblem,
    PositionServo,
)
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.least_squares import (
    polish,
    to_prior,
)
from realworthy.identification.solver.levenberg_marquardt import (
    LeastSquaresSettings,
    minimise,
)
from realworthy.identification.solver.linearisation import (
    Prior,
)
from realworthy.parameters import Transform

Floats = NDArray[np.float64]
_SCAN_ROUNDS = 2
"""How often every shared number is scanned."""
_SCAN_REACH, _SCAN_STEP = 6.0, 1.0
"""How far a ratio is scanned either way and in which steps, as logarithms."""
_SCAN_PLACES = 6
"""Places at which a number with two ends is scanned."""
ROUGH_FIT = LeastSquaresSettings(iterations=12, share=1e-3)
_REWEIGHTINGS, _REWEIGHTED_FIT = 3, LeastSquaresSettings(iterations=4, share=1e-3)
"""How often recordings are weighed anew, and the steps that are taken in between."""
_SHARED_PIECES = 24
"""Pieces that tell what joints share."""
_JUDGING_SECONDS, _JUDGING_PIECES = 10.0, 30
"""[s] of the pieces that say whether it was worth it, and how many there are."""
_OUTLYING_RATIO, _MIN_FOR_USUAL = 10.0, 5
"""Times the usual error from which a recording is not like the others, and how many
recordings tell what is usual."""


def scan_decades(problem: Problem | JointByJointProblem) -> Floats:
    """(d,) z from which a fit can begin: every number in turn over all its decades."""
    z = problem.start_z
    for _ in range(_SCAN_ROUNDS):
        for i in range(len(z)):
            places = np.append(_list_places(problem.coordinates, i), z[i])
            candidates = np.tile(z, (len(places), 1))
            candidates[:, i] = places
            size = np.abs(problem.residuals(candidates).values).sum(axis=1)
            z = candidates[int(np.argmin(size))]
    return z


def fit_shared(problem: Problem) -> Fit:
    """A rough fit of a few shared numbers, from wherever they were published."""
    z = scan_decades(problem)
    return polish(problem, z, to_prior(problem, None, z), ROUGH_FIT)


@dataclass(frozen=True, slots=True)
class JointByJointFit:
    """What joints say one by one."""

    values: dict[str, float]
    """Parameter → value."""
    outlying: tuple[int, ...]
    """Numbers of recordings in which something else happened: their errors stand out.
    """


def fit_joint_by_joint(
    problem: Problem, names: Sequence[str], servos: Sequence[PositionServo]
) -> JointByJointFit:
    """Shared numbers from afar, then each joint's own around them, joints apart.

    Of `names`, which the problem has room for, those that move a joint alone and what
    they share. Where joints move each other too much for that, the whole twin says so:
    what they share then stands.
    """
    twin, delays = problem.twin, [n for n in names if n == "all.delay"]
    own = [
        n for n in names if twin.space[n].kind in SINGLE_JOINT_KINDS and n not in delays
    ]
    with np.errstate(all="ignore"):  # far candidates may blow up
        apart = JointByJointProblem(
            problem, find_shared_factors(twin, names), servos, most=_SHARED_PIECES
        )
        z = _settle(apart, scan_decades(apart), times=1)
        shared = dict(zip(apart.space.names, apart.coordinates.from_z(z), strict=True))
        near = twin.with_values(shared)
        start = {n: near.space[n].nominal for n in own}
        start |= {n: shared[n] for n in delays if n in shared}
        near = twin.with_values(start)
        apart = JointByJointProblem(problem, [*own, *delays], servos, twin=near)
        z = _settle(apart, apart.start_z, make_alike_prior(apart))
        errors = apart.rmse(z)
    values = dict(zip(apart.space.names, apart.coordinates.from_z(z), strict=True))
    values = _choose_better(problem, start, values)
    pairs = [(s.name_of("kd"), s.name_of("damping")) for s in servos]
    published = restore_dampings(problem.twin, pairs, values)
    values = _choose_better(problem, values, published)
    by_recording = np.sqrt(np.mean(errors**2, axis=1))
    usual = float(np.median(by_recording))
    outlying = np.flatnonzero(by_recording > _OUTLYING_RATIO * usual)
    if len(by_recording) < _MIN_FOR_USUAL:
        outlying = outlying[:0]
    return JointByJointFit(
        {n: float(x) for n, x in values.items()}, tuple(outlying.tolist())
    )


def _choose_better(
    problem: Problem, first: dict[str, float], second: dict[str, float]
) -> dict[str, float]:
    """Values with which the whole twin predicts recordings better."""
    wider = spread_to_judge(problem)
    vectors = [problem.space.vector(values) for values in (first, second)]
    values = wider.residuals(problem.coordinates.to_z(np.stack(vectors))).values
    errors = [average_error(wider.rmse(row)) for row in values]
    return second if errors[1] < errors[0] else first


def _settle(
    apart: JointByJointProblem,
    z: Floats,
    prior: Prior | None = None,
    *,
    times: int = _REWEIGHTINGS,
) -> Floats:
    """Where the sum of the recordings' errors, not of their squares, is least."""
    prior = prior or to_prior(apart, None, z)
    for _ in range(times):
        weighted = apart.weighted(z)
        colouring = apart.colouring
        z = minimise(
            weighted, z, prior, _REWEIGHTED_FIT, colouring=colouring
        ).at.point.z
    return z


def _list_places(bounds: FitCoordinates, i: int) -> Floats:
    parameter = bounds.space.parameters[i]
    low, high = float(bounds.lower[i]), float(bounds.upper[i])
    if parameter.transform is Transform.IDENTITY and np.isfinite(high - low):
        return np.linspace(low, high, _SCAN_PLACES)
    if parameter.transform is Transform.IDENTITY:
        return np.empty(0)
    middle = float(bounds.to_z(bounds.space.nominal)[i])
    steps = middle + np.arange(-_SCAN_REACH, _SCAN_REACH + _SCAN_STEP / 2, _SCAN_STEP)
    return np.clip(steps, low, high)


def spread_to_judge(problem: Problem) -> Problem:
    """Pieces over all recordings that say whether one answer predicts better."""
    return problem.spread(_JUDGING_SECONDS, _JUDGING_PIECES)


def average_error(rmse: dict[str, dict[str, float]]) -> float:
    """Mean over recordings of their errors over joints."""
    joints = [list(own.values()) for own in rmse.values()]
    return float(np.mean([np.sqrt(np.mean(np.square(own))) for own in joints]))
