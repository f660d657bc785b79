"""A fit in stages: shared numbers found from afar, then each joint's own around them.

The published gain of a hobby servo may be eighty times the real one. A search that is
free to move every joint's numbers from there ends anywhere. Numbers that all joints
share are few enough to be scanned over decades; from what they give, the others are
near.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.calibration.parameter_choice import (
    find_shared_factors,
    restore_dampings,
)
from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.problem.joint_by_joint import (
    SINGLE_JOINT_KINDS,
    JointByJointProblem,
    PositionServo,
)
from realworthy.identification.problem.problem import Problem
from realworthy.identification.problem.residuals import evaluate_at
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.jacobian import (
    Colouring,
    colour_columns,
    differentiate,
    refine_jacobian,
)
from realworthy.identification.solver.least_squares import (
    collect_warnings,
    estimate_covariance,
    fit_least_squares,
    polish,
    to_prior,
)
from realworthy.identification.solver.levenberg_marquardt import (
    Ending,
    Iteration,
    LeastSquaresSettings,
    Minimum,
    minimise,
    try_steps,
)
from realworthy.identification.solver.linearisation import (
    Linearised,
    Prior,
    linearise,
    weigh_residuals,
)
from realworthy.parameters import GaussianBelief, Transform

Floats = NDArray[np.float64]
_SCAN_ROUNDS = 2
"""How often every shared number is scanned."""
_SCAN_REACH, _SCAN_STEP = 6.0, 1.0
"""How far a ratio is scanned either way and in which steps, as logarithms."""
_SCAN_PLACES = 6
"""Places at which a number with two ends is scanned."""
_COLOURING_PIECES = 4
"""Pieces that tell which joint a number moves."""
_OFFSET_SD = 0.05
"""[rad] sd of encoder offsets before the data: zeroed by eye, not at random."""
_PUBLISHED_SD = 0.5
"""sd of numbers, as logarithms, around what they were where the twin lacks something:
half their size, as what is worth fitting (`choice`)."""
_REWEIGH_RATIO = 2.0
"""Change of the residuals' size, squared, that makes beliefs be weighed once more."""
_DOUBTFUL_CHI2, _END_SHARE = 1.2, 0.05
"""Reduced χ² from which a fit may stand at a wrong end of a range, and how near to an
end it then is, as a share of the range."""
_RESTART_GAIN = 0.9
"""Share of what it left, squared, below which another beginning is followed."""
_ROUGH_FIT = LeastSquaresSettings(iterations=12, share=1e-3)
_REWEIGHTINGS, _REWEIGHTED_FIT = 3, LeastSquaresSettings(iterations=4, share=1e-3)
"""How often recordings are weighed anew, and the steps that are taken in between."""
_SHARED_PIECES = 24
"""Pieces that tell what joints share."""
_ALIKE_SD, _DELAY_SD = 0.7, 0.01
"""sd of a joint's number around what joints share (as a logarithm), and of a delay [s].
"""
_NEAR_SD, _HEIGHT_SD = 0.2, 0.01
"""sd of a number (as a logarithm) and of a table's height [m] around what joints by
themselves say."""
_MAX_REFINING_STEPS, _REFINING_DAMPINGS = 2, np.array([0.01, 0.1, 1.0])
"""Steps that are taken from there at most, and dampings that are tried."""
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
    return polish(problem, z, to_prior(problem, None, z), _ROUGH_FIT)


@dataclass(frozen=True, slots=True)
class JointByJointFit:
    """What joints say one by one."""

    values: dict[str, float]
    """Parameter → value."""
    strange: tuple[int, ...]
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
        z = _settle(apart, apart.start_z, _believe_alike(apart))
        errors = apart.rmse(z)
    values = dict(zip(apart.space.names, apart.coordinates.from_z(z), strict=True))
    values = _choose_better(problem, start, values)
    pairs = [(s.name_of("kd"), s.name_of("damping")) for s in servos]
    published = restore_dampings(problem.twin, pairs, values)
    values = _choose_better(problem, values, published)
    by_recording = np.sqrt(np.mean(errors**2, axis=1))
    usual = float(np.median(by_recording))
    strange = np.flatnonzero(by_recording > _OUTLYING_RATIO * usual)
    if len(by_recording) < _MIN_FOR_USUAL:
        strange = strange[:0]
    return JointByJointFit(
        {n: float(x) for n, x in values.items()}, tuple(strange.tolist())
    )


def _choose_better(
    problem: Problem, first: dict[str, float], second: dict[str, float]
) -> dict[str, float]:
    """Values with which the whole twin predicts recordings better."""
    wider = problem.spread(_JUDGING_SECONDS, _JUDGING_PIECES)
    vectors = [problem.space.vector(values) for values in (first, second)]
    values = wider.residuals(problem.coordinates.to_z(np.stack(vectors))).values
    errors = [_average(wider.rmse(row)) for row in values]
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


def _believe_alike(apart: JointByJointProblem) -> Prior:
    """Joints of one robot are alike; encoders are zeroed by eye."""
    sd = {"sensor_bias": _OFFSET_SD, "delay": _DELAY_SD}
    widths = np.array([sd.get(p.kind, _ALIKE_SD) for p in apart.space])
    return Prior(apart.start_z, np.diag(1 / widths**2))


def estimate_misfit(problem: Problem) -> float:
    """How much larger residuals are than white noise at nominal, squared; 1 or more."""
    point = evaluate_at(problem, problem.start_z)
    prior = to_prior(problem, None, point.z)
    at = weigh_residuals(problem, point, prior, _ROUGH_FIT.outlier)
    return max(1.0, at.variance * at.inflation)


def refine_all_parameters(
    problem: Problem, *, weight: float, settings: LeastSquaresSettings
) -> tuple[Fit, Prior, Linearised]:
    """Every number from nominal, where joints by themselves have led.

    Numbers are held near it, since a few pieces tell less than whole recordings did. A
    step after which other pieces, spread over all recordings, are predicted no better
    is not taken. Also gives the prior, and the problem around the answer.
    """
    began, counts = time.perf_counter(), problem.evaluation_count
    z = problem.start_z
    prior = _believe_near(problem, z, weight)
    colouring = find_colouring(problem, z)
    wider = problem.spread(_JUDGING_SECONDS, _JUDGING_PIECES)
    error = _average(wider.rmse(evaluate_at(wider, z).residuals))
    point, trace = evaluate_at(problem, z), list[Iteration]()
    while True:
        jacobian = differentiate(
            problem, point.z, point.starts, step=settings.step, colouring=colouring
        )
        at = linearise(problem, point, jacobian, prior, settings.outlier)
        trace.append(Iteration(at.cost, at.promised, 0.0, np.inf, point.z))
        taken = None
        if len(trace) <= _MAX_REFINING_STEPS:
            taken = try_steps(problem, at, _REFINING_DAMPINGS, prior)
        if taken is None:
            break
        reached = _average(wider.rmse(evaluate_at(wider, taken.point.z).residuals))
        if reached >= error:
            break
        error, point = reached, taken.point
    problem.take_counts(wider)
    found = Minimum(at, Ending.CONVERGED, tuple(trace))
    sharp = refine_jacobian(problem, at.point, at.jacobian)
    covariance, inflation = estimate_covariance(problem, at, sharp)
    fit = Fit(
        space=problem.space,
        z=at.point.z,
        covariance_z=covariance,
        starts=at.point.starts,
        residuals=at.point.residuals,
        rmse=problem.rmse(at.point.residuals),
        reduced_chi2=at.variance,
        inflation=inflation,
        outlier_share=float(np.mean(at.weights < 1)),
        ending=found.ending,
        warnings=collect_warnings(problem, found, problem.diverged_count),
        trace=found.trace,
        seconds=time.perf_counter() - began,
        evaluation_count=problem.evaluation_count - counts,
        diverged_count=problem.diverged_count,
    )
    return fit, prior, at


def _believe_near(problem: Problem, z: Floats, weight: float) -> Prior:
    """Narrow around z, and counting `weight` times."""
    wide = np.diag(to_prior(problem, None, z).precision)
    own = {"sensor_bias": _OFFSET_SD, "delay": _DELAY_SD, "height": _HEIGHT_SD}
    near = np.array([own.get(p.kind, _NEAR_SD) for p in problem.space])
    return Prior(z, np.diag(np.maximum(wide, weight / near**2)))


def _average(rmse: dict[str, dict[str, float]]) -> float:
    """Mean over recordings of their errors over joints."""
    joints = [list(own.values()) for own in rmse.values()]
    return float(np.mean([np.sqrt(np.mean(np.square(own))) for own in joints]))


def fit_all_parameters(
    problem: Problem,
    *,
    weight: float | None,
    settings: LeastSquaresSettings,
    offsets: Mapping[str, float],
    lacks: bool,
    is_enough: Callable[[Fit], bool],
) -> Fit:
    """Every number from nominal, encoder offsets held near zero.

    `weight` is how much larger residuals are than white noise, squared, where a rough
    fit came before: what is believed of offsets then has its due weight among thousands
    of rows that say the same thing. None: nominal may be far off. `offsets` of a fit
    before are where these begin. A first answer that `is_enough` is not improved. A
    twin that `lacks` something would make up for it with any number that it is given:
    all are then held near nominal.
    """
    z = problem.start_z
    prior = make_prior(problem, z, weight or 1.0, lacks=lacks)
    if weight is None:
        weight, fit = 1.0, _fit(problem, prior, settings)
    else:
        known = {n: x for n, x in offsets.items() if n in problem.space.names}
        near = problem.coordinates.to_z(problem.space.vector(known))
        fit = polish(
            problem, near, prior, settings, colouring=find_colouring(problem, near)
        )
    if is_enough(fit):
        return fit
    fit = _leave_ends(problem, fit, prior, settings)
    found = fit.weight
    is_held = lacks or any(p.kind == "sensor_bias" for p in problem.space)
    if is_held and not 1 / _REWEIGH_RATIO < found / weight < _REWEIGH_RATIO:
        prior = make_prior(problem, z, found, lacks=lacks)
        colouring = find_colouring(problem, fit.z)
        again = polish(problem, fit.z, prior, settings, colouring=colouring)
        fit = _add(again, fit)
    return fit


def _leave_ends(
    problem: Problem, fit: Fit, prior: Prior, settings: LeastSquaresSettings
) -> Fit:
    """The better of a fit that leaves much, and one that begins amid its ranges.

    A slack drive answers late: a fit may have taken a delay for softness, and stand at
    no delay, from where every small step is worse. A few pieces tell whether another
    beginning is worth a whole fit.
    """
    low, high = problem.coordinates.lower, problem.coordinates.upper
    with np.errstate(invalid="ignore"):  # numbers without ends stand at none
        place, middle = (fit.z - low) / (high - low), (low + high) / 2
    stands = np.array([p.transform is Transform.IDENTITY for p in problem.space])
    stands &= np.isfinite(high - low) & (
        (place < _END_SHARE) | (place > 1 - _END_SHARE)
    )
    if fit.reduced_chi2 < _DOUBTFUL_CHI2 or not stands.any():
        return fit
    few = problem.thinned(max(1, len(problem.pieces) // _COLOURING_PIECES))
    z = np.where(stands, middle, fit.z)
    roughly = replace(_ROUGH_FIT, is_rough=True)
    tried = minimise(few, z, prior, roughly, colouring=find_colouring(few, z)).at
    stayed = weigh_residuals(few, evaluate_at(few, fit.z), prior, settings.outlier)
    problem.take_counts(few)
    if tried.variance > _RESTART_GAIN * stayed.variance:
        return fit
    z = tried.point.z
    again = polish(problem, z, prior, settings, colouring=find_colouring(problem, z))
    return _add(
        *((again, fit) if again.reduced_chi2 < fit.reduced_chi2 else (fit, again))
    )


def _add(taken: Fit, other: Fit) -> Fit:
    """A fit that counts what another one took, too."""
    return replace(
        taken,
        seconds=taken.seconds + other.seconds,
        evaluation_count=taken.evaluation_count + other.evaluation_count,
    )


def find_colouring(problem: Problem, z: Floats) -> Colouring | None:
    """Which numbers can be moved together, by a few pieces; None for one joint."""
    if not problem.labels.any():
        return None
    few = problem.thinned(max(1, len(problem.pieces) // _COLOURING_PIECES))
    found = colour_columns(few, differentiate(few, z, evaluate_at(few, z).starts))
    problem.take_counts(few)
    return found


def _fit(problem: Problem, prior: Prior, settings: LeastSquaresSettings) -> Fit:
    belief = GaussianBelief(problem.space, prior.mean, np.linalg.inv(prior.precision))
    return fit_least_squares(problem, prior=belief, settings=settings)


def make_prior(
    problem: Problem, z: Floats, weight: float, *, lacks: bool = False
) -> Prior:
    """Wide for all but offsets, whose belief counts `weight` times.

    Of a twin that `lacks` something, what was published counts so, too.
    """
    wide = to_prior(problem, None, z)
    precision = np.diag(wide.precision).copy()
    for i, parameter in enumerate(problem.space):
        if parameter.kind == "sensor_bias":
            precision[i] = weight / _OFFSET_SD**2
        elif lacks and parameter.transform is Transform.LOG:
            precision[i] = max(precision[i], weight / _PUBLISHED_SD**2)
    return Prior(wide.mean, np.diag(precision))


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
