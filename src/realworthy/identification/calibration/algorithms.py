"""The four ways in which a twin is calibrated, by what drives it.

`choose_algorithm` says which. Each reads top to bottom; a step that a checkpoint holds
is not done again.
"""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from realworthy.identification.calibration.checkpoint import (
    FitPart,
    StartPart,
    keep_fit,
    keep_folds,
)
from realworthy.identification.calibration.duty_servos import (
    find_duty_servos,
    list_servo_parameters,
)
from realworthy.identification.calibration.full_fits import (
    estimate_misfit,
)
from realworthy.identification.calibration.overlapping_starts import fit_overlapping
from realworthy.identification.calibration.parameter_choice import (
    ParameterChoice,
    choose_parameters,
    find_shared_factors,
)
from realworthy.identification.calibration.servo_forms import (
    SERVO_FIT,
    apply_form,
    choose_servo_form,
    lengthen_steps,
    refine_servo_numbers,
)
from realworthy.identification.calibration.steps import (
    FIT_SETTINGS,
    NO_FOLDS,
    choose,
    fit_from_afar,
    fit_identifiable,
    fit_joints_alone,
    improve_servo_fit,
    leave_experiments_out,
    list_candidates,
    refine,
)
from realworthy.identification.calibration.support_surface import (
    SURFACE_HEIGHT,
)
from realworthy.identification.calibration.task import CalibrationTask, FittedTwin
from realworthy.identification.problem.joint_by_joint import (
    find_position_servos,
)
from realworthy.identification.validation.resampling import estimate_folds

Algorithm = Callable[[CalibrationTask], FittedTwin]
_LACKING_RATIO = 20.0
"""Times the noise from which residuals say that the twin lacks something large."""
_REPRESENTATIVE_SHARE = 0.8
"""Share of the recorded time that, where it is fitted, tells what all of it tells."""


def choose_algorithm(task: CalibrationTask) -> Algorithm:
    """By drives, where nobody said what to fit; named parameters are fitted plainly."""
    if task.parameters:
        return calibrate_plainly
    if find_duty_servos(task.twin):
        return calibrate_duty_servos
    names = choose_parameters(task.twin, task.joints)
    shares = find_shared_factors(task.twin, names)
    if shares and find_position_servos(task.twin, task.joints):
        return calibrate_position_servos
    return calibrate_plainly


def calibrate_position_servos(task: CalibrationTask) -> FittedTwin:
    """Position servos: joints one by one, then the whole twin near what they said.

    A published gain may be eighty times the real one. A joint alone costs a hundredth
    of the whole twin, so whole recordings lead there. What the robot presses on is
    looked for next; then the whole twin has the last word, on the pieces that tell
    most, or on all of them where they are few.
    """
    names = list_candidates(task)
    servos = find_position_servos(task.twin, task.joints) or ()
    start = task.checkpoint.once(
        "joint by joint",
        StartPart,
        lambda: fit_joints_alone(task, names, servos),
    )
    twin = task.twin
    if start.surface_height is not None:
        twin = twin.with_table(start.surface_height)
        names = (*names, SURFACE_HEIGHT)
    alike = [r for i, r in enumerate(task.recordings) if i not in start.outlying]
    pieces = task.cut(twin, names, alike)
    near = twin.with_values(start.values)

    def ask() -> ParameterChoice:
        task.progress(0.25, "choosing identifiable parameters")
        problem = pieces.with_space(near, names)
        return choose(problem, estimate_misfit(problem))

    choice = task.checkpoint.once("choice", ParameterChoice, ask)
    problem = pieces.with_space(near, choice.names).with_short_delays()
    recorded = sum(track.recording.duration for track in problem.tracks)
    if (
        task.search.is_least_squares
        and problem.seconds < _REPRESENTATIVE_SHARE * recorded
    ):
        fit = task.checkpoint.once(
            "fit", FitPart, lambda: refine(task, problem, choice.misfit)
        )
        assert fit.folds is not None  # `refine` makes them on the way
        return FittedTwin(
            start=near,
            pieces=pieces,
            problem=problem,
            choice=choice,
            fit=fit,
            folds=fit.folds.to_estimates(len(problem.space)),
            notes=start.notes,
        )
    start = msgspec.structs.replace(start, misfit=choice.misfit)
    found = fit_identifiable(task, pieces, twin, names, start, choice)
    return leave_experiments_out(task, found)


def calibrate_duty_servos(task: CalibrationTask) -> FittedTwin:
    """Servos whose firmware sets a duty: friction and motor first, then their numbers.

    Which terms a servo needs is chosen by experiments left out (`choose_servo_form`),
    so the recordings are not asked again what they tell. Both searches replay joints by
    themselves; least squares in the whole twin goes on from there.
    """
    names = choose_parameters(task.twin, task.joints)
    first = task.cut(task.twin, names)

    def compare() -> StartPart:
        task.progress(0.05, "comparing frictions and motors")
        found = choose_servo_form(task.twin, first.with_space)
        task.progress(0.15, "fitting joints one by one")
        shaped = apply_form(task.twin, found.form).with_values(found.values)
        names = list_servo_parameters(shaped)
        values = refine_servo_numbers(first.with_space(lengthen_steps(shaped), names))
        return StartPart(values=values, form=found.form, notes=(found.to_words(),))

    start = task.checkpoint.once("servo form", StartPart, compare)
    assert start.form is not None  # `compare` has chosen one
    twin = apply_form(task.twin, start.form)
    names = list_servo_parameters(twin)
    pieces = task.cut(twin, names)
    near = twin.with_values(start.values)
    problem = pieces.with_space(lengthen_steps(near), names).with_short_delays()
    fit = task.checkpoint.once(
        "fit",
        FitPart,
        lambda: improve_servo_fit(task, problem),
    )
    found = FittedTwin(
        start=near,
        pieces=pieces,
        problem=problem,
        choice=ParameterChoice(names=names),
        fit=fit,
        folds=NO_FOLDS.to_estimates(len(problem.space)),
        notes=start.notes,
    )
    return leave_experiments_out(task, found, settings=SERVO_FIT)


def calibrate_plainly(task: CalibrationTask) -> FittedTwin:
    """All else: what joints share from afar, then every identifiable number.

    Where the fit leaves twenty times the noise and no servo holds the robot to its
    course, replays add up what the twin lacks: predictions ahead are fitted instead.
    """
    found = fit_from_afar(task, ahead=False)
    lacks = found.fit.reduced_chi2 > _LACKING_RATIO**2 and found.fit.is_minimum
    if lacks and not found.pieces.is_servo:
        return calibrate_by_predictions_ahead(task)
    return leave_experiments_out(task, found)


def calibrate_by_predictions_ahead(task: CalibrationTask) -> FittedTwin:
    """A twin that lacks something large: predictions from measured states are fitted.

    They add little of it up. Numbers are held near what was published, as any of them
    would make up for what is lacking. Starts that lie close together then catch the
    moments beside an unstable rest (`overlapping_starts`).
    """
    found = fit_from_afar(task, ahead=True)
    if not task.search.is_least_squares:
        return leave_experiments_out(task, found)
    settings = task.search.settings or FIT_SETTINGS

    def fit_more_starts() -> FitPart:
        task.progress(0.5, "fitting from more starts")
        dense = fit_overlapping(found.problem, found.fit, settings)
        task.progress(0.7, "leaving experiments out")
        folds = estimate_folds(dense.problem, dense.fit.z, dense.prior, dense.outlier)
        fit = keep_fit(dense.fit, is_minimum=True)
        return msgspec.structs.replace(fit, folds=keep_folds(folds))

    fit = task.checkpoint.once("fit from more starts", FitPart, fit_more_starts)
    assert fit.folds is not None  # made with it
    return replace(found, fit=fit, folds=fit.folds.to_estimates(len(fit.z)))
