"""A twin with a belief from recordings: what to fit, the fit, and whether it holds."""

import datetime
import importlib.metadata
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy import __version__
from realworthy.errors import BadRecording, RealworthyError
from realworthy.gap.ground import find_low_ground
from realworthy.gap.measure import is_finger
from realworthy.identification.ahead import ADDS_UP, GROWS, compare_ahead
from realworthy.identification.apart import Servo, find_servos
from realworthy.identification.brakes import pair_brakes, restore_brakes
from realworthy.identification.calibration import Calibration, Estimate
from realworthy.identification.choice import (
    Choice,
    choose_parameters,
    find_untold,
    keep_told,
    share,
)
from realworthy.identification.cutting import Pieces, cut_recordings
from realworthy.identification.division import Division, divide
from realworthy.identification.fit import Fit
from realworthy.identification.forms import FIT, choose_form, lengthen_steps, shape
from realworthy.identification.inertials import compute_ratios, describe_scale
from realworthy.identification.judging import compare, decide, describe_strange
from realworthy.identification.leaving_out import LeftOut, leave_out
from realworthy.identification.levenberg import LeastSquaresSettings
from realworthy.identification.methods import (
    SEARCHES,
    Method,
    check_budget,
    find_method,
    to_words,
)
from realworthy.identification.normal import Prior
from realworthy.identification.overlapping import fit_overlapping
from realworthy.identification.problem import Problem
from realworthy.identification.progress_file import (
    FitPart,
    Progress,
    RoughPart,
    make_key,
    taking_up,
    to_part,
)
from realworthy.identification.servos import close_loops, list_numbers
from realworthy.identification.servos import find_servos as find_loops
from realworthy.identification.sorting import check_moves, sort_out
from realworthy.identification.stages import (
    believe,
    fit_alone,
    fit_own,
    fit_shared,
    refine,
    weigh,
)
from realworthy.identification.table import NAME, find_table
from realworthy.identification.verdicts import Verdict
from realworthy.identification.weighing import (
    Weighed,
    describe_doubts,
    judge,
    suggest,
    widen,
)
from realworthy.parameters import GaussianBelief, Transform
from realworthy.progress import Progress as Follow
from realworthy.progress import ignore
from realworthy.recordings import (
    Recording,
    cut_at_gaps,
    distinct_names,
    load_recordings,
)
from realworthy.recordings.load import Recordings
from realworthy.simulators.replay import lay_out
from realworthy.twins import Twin, load_twin
from realworthy.twins.twin import RESIDUAL_LEFT_OUT, Provenance, RecordingEvidence

Floats = NDArray[np.float64]
_WHOLE = 10.0
"""[s] of the pieces in which joints are looked at one by one."""
_LACKS = 20.0
"""Times the noise from which residuals say that the twin lacks something large."""
_HIDDEN = 4.0
"""Fall of the residuals' size, squared, that makes more numbers worth asking for."""
_TOOLS = ("mujoco", "numpy", "scipy")
_FEW = 4
"""One piece out of so many is enough for a rough fit."""
_MOST = 0.8
"""Share of the recorded time that, where it is fitted, tells what all of it tells."""
_FIT = LeastSquaresSettings(iterations=30)
SHORT = (
    "nothing yet. The search ended short of the minimum, so that intervals and "
    "verdicts speak of its answer, not of the recordings: fit again with "
    "least_squares, or with more evaluations."
)
"""Advice where a search has not found what the recordings tell."""
_UNSEEN = 0.3
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


@dataclass(frozen=True, slots=True)
class Chosen:
    """The search that was asked for."""

    method: Method
    settings: LeastSquaresSettings
    evaluations: int | None


def calibrate(
    twin: Twin | str | Path,
    recordings: Recordings,
    *,
    parameters: Sequence[str] | None = None,
    heldout: Recordings | None = None,
    method: Method | str = Method.LEAST_SQUARES,
    settings: CalibrateSettings | None = None,
    keep: Path | None = None,
    progress: Follow = ignore,
) -> Calibration:
    """A twin whose numbers and belief are what the recordings say, judged unseen.

    `parameters` are fitted as named; without them, those that the recordings can tell.
    `heldout` recordings judge; without them every fourth experiment, or the end of a
    single recording. `method` is the search that finds the numbers; all else is the
    same for each. `keep` is a file that holds what is done, so that interrupted work
    can be taken up again; remove it once the result is safe.

    A residual of the twin is left out: it made up for the numbers that are sought.
    The belief holds for the numbers that the twin has otherwise, such as its masses,
    and for motions like the recorded ones.
    """
    began = time.perf_counter()
    settings, follow = settings or CalibrateSettings(), progress
    twin, listed = load_twin(twin), load_recordings(recordings)
    if not settings.seconds > 0:
        raise RealworthyError(f"seconds should be above 0, not {settings.seconds:g}.")
    method = find_method(method)
    check_budget(method, settings.evaluations)
    _ = twin.space.select(parameters or ())  # raises for names that it lacks
    left_out = (RESIDUAL_LEFT_OUT,) if twin.residual else ()
    twin = twin.without_residual()
    listed, cut = cut_at_gaps(listed)
    judging = cut_at_gaps(load_recordings(heldout))[0] if heldout else None
    listed, doubted = sort_out(twin, listed)
    division = divide(listed, judging)
    asked = (tuple(parameters or ()), settings.seconds, method, settings.evaluations)
    key = make_key(twin, division.fitted, division.held_out, asked)
    with taking_up(keep, key) as work:
        joints = find_joints(twin, division.fitted)
        check_moves(division.fitted, joints)
        follow(0.02, "choosing")
        ground = find_low_ground(twin, division.fitted, joints)
        above = twin if ground is None else twin.with_table(ground.height)
        closed = close_loops(above, (*division.fitted, *division.held_out))
        while True:  # a fit may change what should be fitted
            rough, wide = _begin(
                closed, division, joints, parameters, settings, work, follow
            )
            choice = work.done.choice
            assert choice is not None  # `_begin` has made it
            names = choice.names
            is_loop = bool(find_loops(rough)) and parameters is None
            problem = wide.with_space(
                lengthen_steps(rough) if is_loop else rough, names
            )
            problem = problem.with_short_delays()
            fit_settings = settings.fit or (FIT if is_loop else _FIT)
            given = twin if parameters is None else None
            search = Chosen(method, fit_settings, settings.evaluations)
            part = _fit(problem, wide, search, work, follow, given)
            if part is not None:
                break
        follow(0.85, "replaying what was held out")
        fitted = widen(
            problem, np.array(part.z), np.array(part.covariance_z), _folds(part), choice
        )
        estimates = _list_estimates(twin, problem, fitted, work)
        origin = _describe_origin(twin, listed, judging, method)
        belief = _add_unseen(rough, fitted.belief, estimates)
        calibrated = rough.with_belief(belief, origin)
        calibrated = calibrated.with_values(
            {e.name: e.mean for e in estimates if e.is_fitted}
        )
        grows = problem.horizon.grows or wide.grows
        look = compare_ahead if grows else compare
        errors = look(twin, calibrated, division.held_out, joints)
        ratios = compute_ratios(twin, calibrated, fitted.belief, joints)
        follow(1.0, "done")
        return Calibration(
            outcome=decide(errors, division.held_out, joints),
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
            is_ahead=grows,
            reduced_chi2=part.reduced_chi2,
            inflation=part.inflation,
            cross_validated=part.folds_rmse,
            warnings=(
                *left_out,
                *cut,
                *doubted,
                *((f"{ground.to_words()} It was taken away.",) if ground else ()),
                *((ADDS_UP,) if wide.is_ahead else (GROWS,) if grows else ()),
                *((describe_scale(ratios),) if ratios else ()),
                *part.warnings,
                *describe_doubts(estimates, part, division),
                *describe_strange(errors),
            ),
            advice=suggest(estimates, division) if part.is_minimum else (SHORT,),
            ratios=ratios,
            seconds=time.perf_counter() - began,
            evaluation_count=part.evaluation_count,
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


def _begin(
    twin: Twin,
    division: Division,
    joints: tuple[str, ...],
    parameters: Sequence[str] | None,
    settings: CalibrateSettings,
    work: Progress,
    follow: Follow,
) -> tuple[Twin, Pieces]:
    """The twin roughly put right, and the pieces; what to fit is in `work` then."""

    def cut(twin: Twin, division: Division, names: Sequence[str]) -> Pieces:
        return cut_recordings(
            twin,
            division.fitted,
            joints,
            names,
            seconds=settings.seconds,
            ahead=work.done.is_ahead,
        )

    names = tuple(parameters or choose_parameters(twin, joints))
    if find_loops(twin) and parameters is None:
        wide = cut(twin, division, names)
        twin, names = _settle_form(twin, wide, work, follow)
    shared = () if parameters else share(twin, names)
    servos = find_servos(twin, joints) if shared else None
    if parameters is None:
        brakes = [d for kd, d in pair_brakes(twin, joints) if kd in names]
        names = tuple(dict.fromkeys((*names, *brakes)))
    if servos:
        if work.done.rough is None:
            follow(0.05, "fitting joints one by one")
            work.done.rough = _fit_alone(twin, division, names, servos, joints, follow)
            work.save()
        part = work.done.rough
        twin = twin if part.table is None else twin.with_table(part.table)
        names = names if part.table is None else (*names, NAME)
        kept = [r for i, r in enumerate(division.fitted) if i not in part.strange]
        division = replace(division, fitted=tuple(kept))
    wide = cut(twin, division, names)
    if work.done.rough is None and shared:
        follow(0.05, "fitting what all joints share")
        problem = wide.with_space(twin, shared)
        found = fit_shared(problem.thinned(min(_FEW, len(problem.pieces))))
        near = twin.with_values(found.e)
        own = {n: near.space[n].nominal for n in names if _is_shared(n, shared)}
        own |= {n: found.e[n] for n in shared if n in names}
        work.done.rough = RoughPart(own, found.weight)
        work.save()
    rough = twin.with_values(work.done.rough.values) if work.done.rough else twin
    if work.done.choice is None:
        follow(0.25, "asking what the recordings tell")
        told = Choice(tuple(names))
        if parameters is None and not find_loops(rough):  # forms were chosen unseen
            told = _ask(wide.with_space(rough, names), work)
        work.done.choice = to_part(told)
        work.save()
    return rough, wide


def _ask(problem: Problem, work: Progress) -> Choice:
    """What the recordings tell, by a few pieces around where the work stands."""
    rough = work.done.rough
    if rough and rough.weight is None:
        rough.weight = weigh(problem)
    few = problem.thinned(min(_FEW, len(problem.pieces)))
    return keep_told(
        few,
        without=rough.cut or () if rough else (),
        noise_factor=float(np.sqrt((rough.weight if rough else None) or 1.0)),
        count_factor=len(problem.pieces) / len(few.pieces),
    )


def _fit_alone(
    twin: Twin,
    division: Division,
    names: Sequence[str],
    servos: Sequence[Servo],
    joints: tuple[str, ...],
    follow: Follow,
) -> RoughPart:
    """Joints one by one, what they press on, and recordings unlike the others."""
    whole = Problem(
        twin,
        division.fitted,
        names,
        joints=joints,
        horizon=_WHOLE,
        estimate_starts=False,
    )
    alone = fit_alone(whole, names, servos)
    follow(0.2, "looking for a table")
    table = find_table(twin.with_values(alone.values), whole, servos, joints)
    said = [
        f"{whole.names[i]} is not like the other recordings (ten times their error): "
        "it was left out of the fit."
        for i in alone.strange
    ]
    return RoughPart(
        alone.values,
        None,
        is_alone=True,
        table=None if table is None else table.height,
        said=[*said, *([] if table is None else [table.to_words()])],
        strange=list(alone.strange),
    )


def _settle_form(
    twin: Twin, wide: Pieces, work: Progress, follow: Follow
) -> tuple[Twin, tuple[str, ...]]:
    """The twin with servos as recordings ask for them, and what to fit of them."""
    if work.done.rough is None:
        follow(0.05, "comparing frictions and motors")
        found = choose_form(twin, wide.with_space)
        work.done.rough = RoughPart(
            found.values,
            found.weight,
            form=found.form,
            said=[found.to_words()],
        )
        work.save()
    assert work.done.rough.form is not None  # servos have one from here on
    settled = shape(twin, work.done.rough.form)
    return settled, list_numbers(settled)


def _is_shared(name: str, shared: Sequence[str]) -> bool:
    return f"all.{name.rpartition('.')[2]}" in shared and not name.startswith("all.")


def _fit(
    problem: Problem,
    wide: Pieces,
    search: Chosen,
    work: Progress,
    follow: Follow,
    given: Twin | None,
) -> FitPart | None:
    """The fit; None where `work` has changed what should be fitted.

    `given` is the twin as published where what is fitted was not named.
    """
    if work.done.fit is not None:
        return work.done.fit
    settings, by_squares = search.settings, search.method is Method.LEAST_SQUARES
    follow(0.3, f"fitting {len(problem.space)} numbers")
    rough = work.done.rough
    weight = rough.weight if rough else None
    at = None
    whole = sum(track.recording.duration for track in problem.tracks)
    is_refined = rough and rough.is_alone and problem.seconds < _MOST * whole
    if is_refined and by_squares:
        fit, prior, at = refine(problem, weight=weight or 1.0, settings=settings)
    else:

        def find_cut(fit: Fit) -> tuple[str, ...]:
            return find_untold(problem, fit) if given and work.may_cut else ()

        offsets = rough.offsets if rough else {}
        if by_squares:
            fit = fit_own(
                problem,
                weight=weight,
                settings=settings,
                offsets=offsets,
                lacks=wide.is_ahead,
                is_enough=lambda fit: _is_hiding(fit, work) or bool(find_cut(fit)),
            )
        else:
            prior = believe(
                problem, problem.start_z, weight or 1.0, lacks=wide.is_ahead
            )
            fit = _search(problem, search, prior, offsets, follow)
        counts = max(1.0, fit.reduced_chi2)
        prior = believe(problem, problem.start_z, counts, lacks=wide.is_ahead)
        biases = {p.name for p in problem.space if p.kind == "sensor_bias"}
        told = {n: x for n, x in fit.e.items() if n not in biases}
        offsets = {n: x for n, x in fit.e.items() if n in biases}
        if _is_hiding(fit, work):
            work.choose_anew(told, fit.weight, offsets=offsets)
            return None
        # a search that ended short of the minimum says nothing about the twin
        is_minimum = by_squares or fit.converged
        is_last = wide.is_servo or wide.is_ahead or not is_minimum
        if not is_last and fit.reduced_chi2 > _LACKS**2:
            work.look_ahead()
            return None
        if given and is_minimum and (untold := find_cut(fit)):
            pairs = [p for p in pair_brakes(given, wide.joints) if p[1] in untold]
            told = restore_brakes(given, pairs, told)
            cut = [damping for _, damping in pairs]
            work.choose_anew(told, fit.weight, offsets=offsets, cut=cut)
            return None
    outlier = settings.outlier
    if wide.is_ahead and by_squares:
        follow(0.5, "fitting from more starts")
        dense = fit_overlapping(problem, fit, settings)
        problem, fit, prior, outlier = (
            dense.problem,
            dense.fit,
            dense.prior,
            dense.outlier,
        )
    follow(0.7, "leaving experiments out")
    folds = leave_out(problem, fit, prior, outlier, at=at)
    work.done.fit = FitPart(
        z=fit.z.tolist(),
        covariance_z=fit.covariance_z.tolist(),
        reduced_chi2=fit.reduced_chi2,
        inflation=fit.inflation,
        outlier_share=fit.outlier_share,
        warnings=[*(rough.said if rough else ()), *fit.warnings],
        evaluation_count=fit.evaluation_count,
        folds_z=folds.z.tolist(),
        folds_rmse=folds.rmse,
        by_experiment=folds.by_experiment,
        is_minimum=by_squares or fit.converged,
    )
    work.save()
    return work.done.fit


def _search(
    problem: Problem,
    search: Chosen,
    prior: Prior,
    offsets: Mapping[str, float],
    follow: Follow,
) -> Fit:
    """Whole candidates around nominal, encoder offsets as a fit before had them."""
    what = f"fitting {len(problem.space)} numbers by {to_words(search.method)}"
    return SEARCHES[search.method](
        problem,
        {n: x for n, x in offsets.items() if n in problem.space.names},
        prior=GaussianBelief(problem.space, prior.mean, np.linalg.inv(prior.precision)),
        evaluations=search.evaluations,
        progress=lambda share: follow(0.3 + 0.4 * share, what),
    )


def _is_hiding(fit: Fit, work: Progress) -> bool:
    """Whether numbers were left out for errors that this fit no longer makes."""
    rough, choice = work.done.rough, work.done.choice
    if rough is None or rough.weight is None or rough.is_fitted or choice is None:
        return False
    return bool(choice.left_out) and fit.weight < rough.weight / _HIDDEN


def _folds(part: FitPart) -> LeftOut:
    z = np.array(part.folds_z).reshape(len(part.folds_z), len(part.z))
    return LeftOut(z=z, rmse=part.folds_rmse, by_experiment=part.by_experiment)


def _list_estimates(
    twin: Twin, problem: Problem, fitted: Weighed, work: Progress
) -> tuple[Estimate, ...]:
    made = [
        judge(problem, fitted, i, before=_before(twin, problem, name))
        for i, name in enumerate(problem.space.names)
    ]
    for left in work.done.choice.left_out if work.done.choice else ():
        parameter = problem.twin.space[left.name]
        made.append(
            Estimate(
                name=left.name,
                unit=parameter.unit,
                before=_before(twin, problem, left.name),
                mean=parameter.nominal,
                sd=left.sd,
                verdict=Verdict(left.verdict),
                partners=tuple(left.partners),
                is_fitted=False,
            )
        )
    return tuple(made)


def _before(twin: Twin, problem: Problem, name: str) -> float:
    """What the given twin said; of a table that it lacks, what was found first."""
    return (twin if name in twin.space else problem.twin).space[name].nominal


def _add_unseen(
    rough: Twin, belief: GaussianBelief, estimates: Sequence[Estimate]
) -> GaussianBelief:
    """The belief with numbers that were looked for and not told: wide, around nominal.

    Numbers that are told only with others stay fixed: the others are right for that.
    """
    names = [
        e.name
        for e in estimates
        if not e.is_fitted
        and e.verdict is Verdict.NOT_EXCITED
        and rough.space[e.name].transform is Transform.LOG
    ]
    if not names:
        return belief
    space = rough.space.select([*belief.space.names, *names])
    nominal = np.array([rough.space[name].nominal for name in names])
    d = len(belief.space)
    covariance = np.diag(np.full(len(space), _UNSEEN**2))
    covariance[:d, :d] = belief.covariance_z
    mean = np.concatenate([belief.mean_z, np.log(nominal) - 0.5 * _UNSEEN**2])
    return GaussianBelief(space, mean, covariance)


def _describe_origin(
    twin: Twin,
    fitted: Sequence[Recording],
    heldout: Sequence[Recording] | None,
    method: Method,
) -> Provenance:
    every = [*fitted, *(heldout or ())]
    return Provenance(
        parent=twin.reference or twin.name,
        method=method.value,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        versions={
            "realworthy": __version__,
            **{name: importlib.metadata.version(name) for name in _TOOLS},
        },
        recordings=[
            RecordingEvidence(str(r.source or name), r.sha256())
            for r, name in zip(every, distinct_names(every), strict=True)
        ],
    )
