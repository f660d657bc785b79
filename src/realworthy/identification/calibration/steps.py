"""Steps that the algorithms share: what is asked, fitted, and asked again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from realworthy.identification.calibration.checkpoint import (
    FitPart,
    FoldsPart,
    StartPart,
    keep_fit,
    keep_folds,
)
from realworthy.identification.calibration.disturbed_replays import (
    find_disturbed_replays,
)
from realworthy.identification.calibration.first_fits import (
    fit_joint_by_joint,
    fit_shared,
)
from realworthy.identification.calibration.full_fits import (
    describe_numbers,
    estimate_misfit,
    fit_all_parameters,
    refine_all_parameters,
)
from realworthy.identification.calibration.parameter_choice import (
    ParameterChoice,
    choose_identifiable,
    choose_parameters,
    find_contact_parameters,
    find_shared_factors,
    find_unidentified,
    pair_dampings,
    restore_dampings,
)
from realworthy.identification.calibration.piece_choice import PiecesToFit
from realworthy.identification.calibration.priors import make_prior
from realworthy.identification.calibration.servo_forms import SERVO_FIT
from realworthy.identification.calibration.servo_search import measure_mean_error
from realworthy.identification.calibration.support_surface import (
    find_support_surface,
)
from realworthy.identification.calibration.task import CalibrationTask, FittedTwin
from realworthy.identification.problem.joint_by_joint import (
    PositionServo,
)
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.levenberg_marquardt import LeastSquaresSettings
from realworthy.identification.solver.linearisation import (
    Linearised,
    Prior,
    linearise,
)
from realworthy.identification.solver.methods import SEARCHES, to_words
from realworthy.identification.validation.resampling import estimate_folds
from realworthy.parameters import GaussianBelief
from realworthy.twins import Twin

_JOINT_BY_JOINT_SECONDS = 10.0
"""[s] of the pieces in which joints are fitted one by one."""
_HIDDEN_FALL = 4.0
"""Fall of the residuals' size, squared, that makes more numbers worth asking for."""
_ASKED_PIECES = 4
"""One piece out of so many is enough for a rough fit."""
FIT_SETTINGS = LeastSquaresSettings(iterations=30)


def list_candidates(task: CalibrationTask) -> tuple[str, ...]:
    """What may be fitted, the most important first; what brakes a joint twice, last."""
    if task.parameters:
        return task.parameters
    names = choose_parameters(task.twin, task.joints)
    pairs = pair_dampings(task.twin, task.joints)
    return tuple(dict.fromkeys((*names, *(d for kd, d in pairs if kd in names))))


def fit_joints_alone(
    task: CalibrationTask, names: Sequence[str], servos: Sequence[PositionServo]
) -> StartPart:
    """Joints one by one, what they press on, and recordings unlike the others."""
    task.progress(0.05, "fitting joints one by one")
    whole = Problem(
        task.twin,
        task.recordings,
        names,
        joints=task.joints,
        horizon=_JOINT_BY_JOINT_SECONDS,
        estimate_starts=False,
    )
    alone = fit_joint_by_joint(whole, names, servos)
    task.progress(0.2, "looking for a table")
    near = task.twin.with_values(alone.values)
    surface = find_support_surface(near, whole, servos, task.joints)
    disturbed = find_disturbed_replays(
        near, [task.recordings[i] for i in alone.outlying], task.joints
    )
    notes = [replay.to_words() for replay in disturbed]
    notes += [
        f"{whole.names[i]} is not like the other recordings (ten times their error): "
        "it was left out of the fit."
        for i in alone.outlying
    ]
    return StartPart(
        values=alone.values,
        surface_height=None if surface is None else surface.height,
        notes=(*notes, *(() if surface is None else (surface.to_words(),))),
        outlying=alone.outlying,
    )


def fit_from_afar(task: CalibrationTask, *, ahead: bool) -> FittedTwin:
    """What joints share over decades, then every identifiable number from there.

    Of named numbers, those of contacts are scanned so: a bounce that comes too early or
    too late says nothing about which way to go.
    """
    names, steps = list_candidates(task), "ahead: " if ahead else ""
    pieces = task.cut(task.twin, names, ahead=ahead)
    if task.parameters:
        shared = find_contact_parameters(task.twin, names)
    else:
        shared = find_shared_factors(
            task.twin, choose_parameters(task.twin, task.joints)
        )

    def scan_shared() -> StartPart:
        what = "contacts" if task.parameters else "what all joints share"
        task.progress(0.05, f"fitting {what}")
        problem = pieces.with_space(task.twin, shared)
        found = fit_shared(problem.thinned(min(_ASKED_PIECES, len(problem.pieces))))
        near = task.twin.with_values(found.e)
        values = {n: near.space[n].nominal for n in names if _is_shared(n, shared)}
        values |= {n: found.e[n] for n in shared if n in names}
        return StartPart(values=values, misfit=found.misfit)

    start = StartPart()
    if shared:
        start = task.checkpoint.once(steps + "shared factors", StartPart, scan_shared)

    def ask() -> ParameterChoice:
        task.progress(0.25, "choosing identifiable parameters")
        if task.parameters:
            return ParameterChoice(names=names)
        near = task.twin.with_values(start.values)
        return choose(pieces.with_space(near, names), start.misfit)

    choice = task.checkpoint.once(steps + "choice", ParameterChoice, ask)
    return fit_identifiable(task, pieces, task.twin, names, start, choice, steps=steps)


def fit_identifiable(
    task: CalibrationTask,
    pieces: PiecesToFit,
    twin: Twin,
    names: Sequence[str],
    start: StartPart,
    choice: ParameterChoice,
    *,
    steps: str = "",
) -> FittedTwin:
    """The numbers of a choice, and of better ones that the fits themselves ask for.

    A first fit may no longer make the errors for which numbers were left out; and it
    may not know what it was believed to tell. Each asks for one more choice and fit.
    """

    def fit(
        step: str,
        start: StartPart,
        choice: ParameterChoice,
        is_enough: Callable[[Problem, Fit | FitPart], bool] = lambda *_: False,
        offsets: Mapping[str, float] | None = None,
    ) -> FittedTwin:
        near = twin.with_values(start.values) if start.values else twin
        problem = pieces.with_space(near, choice.names).with_short_delays()
        part = task.checkpoint.once(
            steps + step,
            FitPart,
            lambda: fit_all(
                task,
                problem,
                start.misfit,
                offsets=offsets or {},
                lacks=pieces.is_ahead,
                is_enough=lambda found: is_enough(problem, found),
            ),
        )
        return FittedTwin(
            start=near,
            pieces=pieces,
            problem=problem,
            choice=choice,
            fit=part,
            folds=NO_FOLDS.to_estimates(len(problem.space)),
            notes=start.notes,
        )

    def choose_again(
        step: str, start: StartPart, without: Sequence[str] = ()
    ) -> ParameterChoice:
        def ask() -> ParameterChoice:
            task.progress(0.25, "choosing identifiable parameters")
            near = twin.with_values(start.values)
            return choose(pieces.with_space(near, names), start.misfit, without)

        return task.checkpoint.once(steps + step, ParameterChoice, ask)

    def was_hiding(problem: Problem, found: Fit | FitPart) -> bool:
        """Whether numbers were left out for errors that the fit no longer makes."""
        if start.misfit is None or not choice.left_out:
            return False
        return found.misfit < start.misfit / _HIDDEN_FALL

    def list_unsure(problem: Problem, found: Fit | FitPart) -> tuple[str, ...]:
        covariance_z = np.asarray(found.covariance_z)
        return find_unidentified(
            problem, np.asarray(found.z), covariance_z, found.reduced_chi2
        )

    def is_unsure(problem: Problem, found: Fit | FitPart) -> bool:
        return not task.parameters and bool(list_unsure(problem, found))

    found = fit(
        "fit",
        start,
        choice,
        lambda problem, found: was_hiding(problem, found) or is_unsure(problem, found),
    )
    offsets: dict[str, float] = {}
    if was_hiding(found.problem, found.fit):
        values, offsets = _split_offsets(found)
        start = _depart(start, values, found.fit.misfit)
        again = choose_again("choice after the fit", start)
        found = fit("second fit", start, again, is_unsure, offsets)
    if found.fit.is_minimum and is_unsure(found.problem, found.fit):
        unsure = list_unsure(found.problem, found.fit)
        pairs = pair_dampings(task.published, task.joints)
        pairs = [pair for pair in pairs if pair[1] in unsure]
        values, offsets = _split_offsets(found)
        values = restore_dampings(task.published, pairs, values)
        start = _depart(start, values, found.fit.misfit)
        fewer = choose_again("choice without", start, [d for _, d in pairs])
        found = fit("last fit", start, fewer, offsets=offsets)
    return found


def choose(
    problem: Problem, misfit: float | None, without: Sequence[str] = ()
) -> ParameterChoice:
    """What the recordings tell, by a few pieces around nominal."""
    few = problem.thinned(min(_ASKED_PIECES, len(problem.pieces)))
    return choose_identifiable(
        few,
        without=without,
        misfit=misfit or 1.0,
        count_factor=len(problem.pieces) / len(few.pieces),
    )


def refine(task: CalibrationTask, problem: Problem, misfit: float) -> FitPart:
    """A few steps from where joints by themselves have led, and folds around it."""
    task.progress(0.3, f"fitting {len(problem.space)} numbers")
    settings = task.search.settings or FIT_SETTINGS
    fit, prior, at = refine_all_parameters(problem, misfit=misfit, settings=settings)
    task.progress(0.7, "leaving experiments out")
    folds = estimate_folds(problem, fit.z, prior, settings.outlier, at=at)
    return msgspec.structs.replace(
        keep_fit(fit, is_minimum=True), folds=keep_folds(folds)
    )


def fit_all(
    task: CalibrationTask,
    problem: Problem,
    misfit: float | None,
    *,
    settings: LeastSquaresSettings = FIT_SETTINGS,
    offsets: Mapping[str, float] | None = None,
    lacks: bool = False,
    is_enough: Callable[[Fit], bool] = lambda _: False,
) -> FitPart:
    """All numbers of a problem, by the search that was asked for."""
    search, offsets = task.search, offsets or {}
    what = f"fitting {len(problem.space)} numbers"
    task.progress(0.3, what)
    if search.is_least_squares:
        fit = fit_all_parameters(
            problem,
            misfit=misfit,
            settings=search.settings or settings,
            offsets=offsets,
            lacks=lacks,
            is_enough=is_enough,
        )
        part = keep_fit(fit, is_minimum=True)
        if fit.at is None:
            return part
        outlier = (search.settings or settings).outlier
        folds = _estimate_folds(problem, part, outlier, lacks=lacks, near=fit.at)
        return msgspec.structs.replace(part, folds=folds)
    prior = make_prior(problem, problem.start_z, misfit or 1.0, lacks=lacks)
    words = f"{what} by {to_words(search.method)}"
    fit = SEARCHES[search.method](
        problem,
        {n: x for n, x in offsets.items() if n in problem.space.names},
        prior=GaussianBelief(problem.space, prior.mean, np.linalg.inv(prior.precision)),
        evaluations=search.evaluations,
        progress=lambda share: task.progress(0.3 + 0.4 * share, words),
    )
    return keep_fit(fit, is_minimum=fit.converged)


def improve_servo_fit(task: CalibrationTask, problem: Problem) -> FitPart:
    """Least squares in the whole twin where that lowers the mean error; else as begun.

    Of a single joint, the search has replayed the whole twin already. And where an arm
    sticks, a step that lowers squares may be a worse answer: one recording that ends at
    another pose outweighs the rest.
    """
    begun, misfit = problem.start_z, estimate_misfit(problem)
    if not task.search.is_least_squares:
        return fit_all(task, problem, misfit, settings=SERVO_FIT)
    if len(task.joints) > 1:
        fit = fit_all(task, problem, misfit, settings=SERVO_FIT)
        errors = [measure_mean_error(problem, z) for z in (np.array(fit.z), begun)]
        if errors[0] < errors[1]:
            return fit
    task.progress(0.5, "asking how well numbers are known")
    return keep_fit(describe_numbers(problem, misfit=misfit), is_minimum=True)


def leave_experiments_out(
    task: CalibrationTask,
    found: FittedTwin,
    *,
    settings: LeastSquaresSettings = FIT_SETTINGS,
) -> FittedTwin:
    """The same with estimates without some experiments each."""
    problem, fit = found.problem, found.fit
    outlier = (task.search.settings or settings).outlier

    def leave_out() -> FoldsPart:
        task.progress(0.7, "leaving experiments out")
        return fit.folds or _estimate_folds(
            problem, fit, outlier, lacks=found.pieces.is_ahead
        )

    folds = task.checkpoint.once("folds", FoldsPart, leave_out)
    return replace(found, folds=folds.to_estimates(len(fit.z)))


def _estimate_folds(
    problem: Problem,
    fit: FitPart,
    outlier: float,
    *,
    lacks: bool,
    near: Linearised | None = None,
) -> FoldsPart:
    """Folds around a fit, with the derivatives of the fit itself where it has them."""
    z = np.array(fit.z)
    prior: Prior = make_prior(
        problem, problem.start_z, max(1.0, fit.reduced_chi2), lacks=lacks
    )
    at = near and linearise(problem, near.point, near.jacobian, prior, outlier)
    return keep_folds(estimate_folds(problem, z, prior, outlier, at=at))


def _split_offsets(found: FittedTwin) -> tuple[dict[str, float], dict[str, float]]:
    """Estimates without encoder offsets, and these: a next fit begins at them, but its
    belief stays around none."""
    biases = {p.name for p in found.problem.space if p.kind == "sensor_bias"}
    values = found.fit.values(found.problem)
    return (
        {n: x for n, x in values.items() if n not in biases},
        {n: x for n, x in values.items() if n in biases},
    )


def _depart(start: StartPart, values: Mapping[str, float], misfit: float) -> StartPart:
    """A start that a fit has led to."""
    return msgspec.structs.replace(
        start, values=start.values | dict(values), misfit=misfit
    )


def _is_shared(name: str, shared: Sequence[str]) -> bool:
    return f"all.{name.rpartition('.')[2]}" in shared and not name.startswith("all.")


NO_FOLDS = FoldsPart(z=[], rmse=None, by_experiment=False)
"""Of a fit that has not been asked yet."""
