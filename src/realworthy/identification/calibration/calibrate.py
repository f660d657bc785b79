"""A twin with a belief from recordings: what to fit, the fit, and whether it holds."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadRecording, RealworthyError
from realworthy.gap.ground import find_low_ground
from realworthy.gap.measure import is_finger
from realworthy.identification.calibration.algorithms import choose_algorithm
from realworthy.identification.calibration.checkpoint import (
    FitPart,
    make_key,
    resuming,
)
from realworthy.identification.calibration.disturbed_replays import (
    find_disturbed_replays,
)
from realworthy.identification.calibration.duty_servos import (
    close_servo_loops,
)
from realworthy.identification.calibration.estimates import (
    WidenedFit,
    advise_recordings,
    collect_doubts,
    judge_estimate,
    lacks_something,
    widen_by_folds,
)
from realworthy.identification.calibration.folds import calibrate_folds
from realworthy.identification.calibration.inertials import (
    compute_ratios,
    describe_scale,
)
from realworthy.identification.calibration.parameter_choice import (
    find_contact_parameters,
)
from realworthy.identification.calibration.provenance import describe_provenance
from realworthy.identification.calibration.recording_checks import (
    drop_impossible_torques,
)
from realworthy.identification.calibration.result import Calibration, ParameterEstimate
from realworthy.identification.calibration.task import (
    CalibrationTask,
    FittedTwin,
    SearchChoice,
)
from realworthy.identification.calibration.uninformative import (
    describe_rest,
    design_excitation,
    find_want_of_evidence,
    list_unfitted,
    withdraw,
)
from realworthy.identification.identifiability.verdicts import ParameterVerdict
from realworthy.identification.solver.levenberg_marquardt import LeastSquaresSettings
from realworthy.identification.solver.methods import (
    Method,
    check_budget,
    find_method,
)
from realworthy.identification.validation.evidence import (
    find_resting_joints,
    keep_evidence,
)
from realworthy.identification.validation.held_out import (
    ADDS_UP,
    GROWS,
    CalibrationOutcome,
    Division,
    HeldOutError,
    compare_ahead,
    compare_replays,
    decide_outcome,
    describe_outlying,
    divide_recordings,
)
from realworthy.parameters import GaussianBelief, Transform
from realworthy.progress import Progress, ignore
from realworthy.recordings import (
    Recording,
    cut_at_gaps,
    distinct_names,
    load_recordings,
)
from realworthy.recordings.enough import check_enough
from realworthy.recordings.load import Recordings
from realworthy.simulators.replay import lay_out
from realworthy.twins import Twin, load_twin
from realworthy.twins.twin import RESIDUAL_LEFT_OUT

Floats = NDArray[np.float64]
SHORT_OF_MINIMUM = (
    "nothing yet. The search ended short of the minimum, so that intervals and "
    "verdicts describe where it ended, not the minimum: fit again with "
    "least_squares, or with more evaluations."
)
"""Advice where a search has not found what the recordings tell."""
_UNFITTED_SD = 0.3
"""sd of the logarithm of a number that was looked for and not told."""


@dataclass(kw_only=True, slots=True)
class CalibrateSettings:
    """How a calibration is run."""

    seconds: float = 90.0
    """Recorded time that is fitted at most; of more, the pieces that tell most."""
    fit: LeastSquaresSettings | None = None
    """None: 30 iterations, or 15 rough ones where servos stick."""
    evaluations: int | None = None
    """Candidates that a search may simulate, each one all fitted recordings; None: as
    the method has it. Least squares ends by itself, and takes none."""


def calibrate(
    twin: Twin | str | Path,
    recordings: Recordings,
    *,
    parameters: Sequence[str] | None = None,
    heldout: Recordings | None = None,
    method: Method | str = Method.LEAST_SQUARES,
    folds: bool = False,
    settings: CalibrateSettings | None = None,
    keep: Path | None = None,
    progress: Progress = ignore,
) -> Calibration:
    """A twin whose numbers and belief are what the recordings say, judged unseen.

    `parameters` are fitted as named; without them, those that the recordings can tell.
    `heldout` recordings judge; without them every fourth experiment, or the end of a
    single recording. `method` is the search that finds the numbers; all else is the
    same for each. `folds` leaves every recording out in turn, from a fit that begins
    anew without it (of servos whole gains, four folds of more than eight experiments):
    `Calibration.folds`. `keep` is a file that holds what is done, so that interrupted
    work can be taken up again; remove it once the result is safe.

    A residual of the twin is left out: it made up for the numbers that are sought.
    The belief holds for the numbers that the twin has otherwise, such as its masses,
    and for motions like the recorded ones.
    """
    if folds:
        twin, listed = load_twin(twin), load_recordings(recordings)
        check_enough(listed, "calibrate")
        return calibrate_folds(
            partial(
                calibrate, twin, parameters=parameters, method=method, settings=settings
            ),
            listed,
            believable=drop_impossible_torques(twin.without_residual(), listed)[0],
            heldout=load_recordings(heldout) if heldout else None,
            keep=keep,
            progress=progress,
        )
    began = time.perf_counter()
    settings = settings or CalibrateSettings()
    twin, listed = load_twin(twin), load_recordings(recordings)
    check_enough(listed, "calibrate")
    if not settings.seconds > 0:
        raise RealworthyError(f"seconds should be above 0, not {settings.seconds:g}.")
    method = find_method(method)
    check_budget(method, settings.evaluations)
    _ = twin.space.select(parameters or ())  # raises for names that it lacks
    left_out = (RESIDUAL_LEFT_OUT,) if twin.residual else ()
    twin = twin.without_residual()
    listed, cut = cut_at_gaps(listed)
    judging = cut_at_gaps(load_recordings(heldout))[0] if heldout else None
    listed, doubted = drop_impossible_torques(twin, listed)
    joints = find_joints(twin, listed)
    division, still = keep_evidence(divide_recordings(listed, judging), joints)
    resting = find_resting_joints(division.fitted, joints)
    if resting and (not parameters or len(resting) == len(joints)):
        return _refuse(
            twin,
            division,
            joints,
            reason=describe_rest(resting, joints),
            estimates=list_unfitted(twin, joints, parameters or ()),
            method=method,
            warnings=(*left_out, *cut, *doubted, *still),
            progress=progress,
            began=began,
        )
    asked = (tuple(parameters or ()), settings.seconds, method, settings.evaluations)
    key = make_key(twin, division.fitted, division.held_out, asked)
    with resuming(keep, key) as checkpoint:
        progress(0.02, "choosing")
        touches = find_contact_parameters(twin, parameters or ())
        ground = None if touches else find_low_ground(twin, division.fitted, joints)
        above = twin if ground is None else twin.with_table(ground.height)
        task = CalibrationTask(
            published=twin,
            twin=close_servo_loops(above, (*division.fitted, *division.held_out)),
            recordings=division.fitted,
            joints=joints,
            parameters=tuple(parameters or ()),
            seconds=settings.seconds,
            search=SearchChoice(
                method=method, settings=settings.fit, evaluations=settings.evaluations
            ),
            checkpoint=checkpoint,
            progress=progress,
        )
        found = choose_algorithm(task)(task)
        progress(0.85, "replaying what was held out")
        fit, problem = found.fit, found.problem
        fitted = widen_by_folds(
            problem,
            np.array(fit.z),
            np.array(fit.covariance_z),
            found.folds,
            found.choice,
            lacks=lacks_something(fit),
        )
        estimates = _list_estimates(found, twin, fitted)
        origin = describe_provenance(
            twin, [*listed, *(judging or ())], method=method.value
        )
        belief = _add_unfitted(found.start, fitted.belief, estimates)
        calibrated = found.start.with_belief(belief, origin)
        calibrated = calibrated.with_values(
            {e.name: e.mean for e in estimates if e.is_fitted}
        )
        grows, is_ahead = found.grows, found.pieces.is_ahead
        compare = compare_ahead if grows else compare_replays
        errors = compare(twin, calibrated, division.held_out, joints)
        outcome = decide_outcome(errors, division.held_out, joints)
        want = find_want_of_evidence(
            outcome, estimates, errors, division.held_out, joints
        )
        if want:
            return _refuse(
                twin,
                division,
                joints,
                reason=want,
                estimates=withdraw(estimates),
                method=method,
                warnings=(*left_out, *cut, *doubted, *still, *found.notes),
                progress=progress,
                began=began,
                errors=errors,
                is_ahead=grows,
                fit=fit,
                seconds=problem.seconds,
            )
        disturbed = (
            ()
            if grows
            else find_disturbed_replays(calibrated, division.held_out, joints)
        )
        ratios = compute_ratios(twin, calibrated, fitted.belief, joints)
        progress(1.0, "done")
        return Calibration(
            outcome=outcome,
            method=method,
            original=twin,
            twin=calibrated,
            estimates=estimates,
            errors=errors,
            held_out=division.held_out,
            joints=joints,
            fitted_recordings=division.fitted,
            fitted=tuple(distinct_names(division.fitted)),
            fitted_seconds=problem.seconds,
            is_by_time=division.is_by_time,
            disturbed=disturbed,
            is_ahead=grows,
            reduced_chi2=fit.reduced_chi2,
            inflation=fit.inflation,
            cross_validated=found.folds.rmse,
            warnings=(
                *left_out,
                *cut,
                *doubted,
                *still,
                *((f"{ground.to_words()} It was taken away.",) if ground else ()),
                *((ADDS_UP,) if is_ahead else (GROWS,) if grows else ()),
                *((describe_scale(ratios),) if ratios else ()),
                *found.notes,
                *fit.warnings,
                *collect_doubts(estimates, found, fitted, division),
                *(replay.to_words() for replay in disturbed),
                *describe_outlying(errors),
            ),
            advice=advise_recordings(estimates, division)
            if fit.is_minimum
            else (SHORT_OF_MINIMUM,),
            ratios=ratios,
            seconds=time.perf_counter() - began,
            evaluation_count=fit.evaluation_count,
        )


def _refuse(
    twin: Twin,
    division: Division,
    joints: tuple[str, ...],
    *,
    reason: str,
    estimates: tuple[ParameterEstimate, ...],
    method: Method,
    warnings: tuple[str, ...],
    progress: Progress,
    began: float,
    errors: tuple[HeldOutError, ...] = (),
    is_ahead: bool = False,
    fit: FitPart | None = None,
    seconds: float = 0.0,
) -> Calibration:
    """Of recordings that identify nothing: the twin as given, and what to record."""
    excitation, advice = design_excitation(twin, estimates, progress)
    progress(1.0, "done")
    return Calibration(
        outcome=CalibrationOutcome.NOT_IDENTIFIED,
        method=method,
        original=twin,
        twin=twin,
        estimates=estimates,
        errors=errors or compare_replays(twin, twin, division.held_out, joints),
        held_out=division.held_out,
        joints=joints,
        fitted_recordings=division.fitted,
        fitted=tuple(distinct_names(division.fitted)),
        fitted_seconds=seconds,
        is_by_time=division.is_by_time,
        is_ahead=is_ahead,
        reduced_chi2=float("nan") if fit is None else fit.reduced_chi2,
        inflation=1.0 if fit is None else fit.inflation,
        cross_validated=None,
        warnings=warnings,
        advice=(advice,),
        reason=reason,
        excitation=excitation,
        seconds=time.perf_counter() - began,
        evaluation_count=0 if fit is None else fit.evaluation_count,
    )


def find_joints(twin: Twin, recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Recorded joints of a twin that count: fingers, whose units differ, do not."""
    joints = lay_out(twin, recordings[0]).joints
    body = tuple(joint for joint in joints if not is_finger(joint))
    if not body:
        raise BadRecording(
            f"{recordings[0].owner} holds no joint of {twin.owner} but fingers.",
            hint="Fingers are not calibrated: their units differ from robot to robot.",
        )
    return body


def _list_estimates(
    found: FittedTwin, published: Twin, fitted: WidenedFit
) -> tuple[ParameterEstimate, ...]:
    """Numbers that were fitted, then those that were asked for and left out."""
    problem = found.problem

    def give(name: str) -> float:
        """What was given; of a surface that the given twin lacks, what was found."""
        twin = published if name in published.space else problem.twin
        return twin.space[name].nominal

    made = [
        judge_estimate(problem, fitted, i, before=give(name))
        for i, name in enumerate(problem.space.names)
    ]
    for left in found.choice.left_out:
        parameter = problem.twin.space[left.name]
        made.append(
            ParameterEstimate(
                name=left.name,
                unit=parameter.unit,
                before=give(left.name),
                mean=parameter.nominal,
                sd=left.sd,
                verdict=left.verdict,
                partners=left.partners,
                is_fitted=False,
            )
        )
    return tuple(made)


def _add_unfitted(
    rough: Twin, belief: GaussianBelief, estimates: Sequence[ParameterEstimate]
) -> GaussianBelief:
    """The belief with numbers that were looked for and not told: wide, around nominal.

    Numbers identifiable only in combination stay fixed: the others are fitted so.
    """
    names = [
        e.name
        for e in estimates
        if not e.is_fitted
        and e.verdict is ParameterVerdict.NOT_EXCITED
        and rough.space[e.name].transform is Transform.LOG
    ]
    if not names:
        return belief
    space = rough.space.select([*belief.space.names, *names])
    nominal = np.array([rough.space[name].nominal for name in names])
    d = len(belief.space)
    covariance = np.diag(np.full(len(space), _UNFITTED_SD**2))
    covariance[:d, :d] = belief.covariance_z
    mean = np.concatenate([belief.mean_z, np.log(nominal) - 0.5 * _UNFITTED_SD**2])
    return GaussianBelief(space, mean, covariance)
