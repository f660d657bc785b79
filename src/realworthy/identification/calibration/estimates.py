"""How much a fit is worth: intervals, verdicts, doubts, and advice."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.calibration.checkpoint import FitPart
from realworthy.identification.calibration.parameter_choice import ParameterChoice
from realworthy.identification.calibration.priors import OFFSET_SD
from realworthy.identification.calibration.result import ParameterEstimate
from realworthy.identification.calibration.task import FittedTwin
from realworthy.identification.identifiability.verdicts import ParameterVerdict
from realworthy.identification.problem.problem import Problem
from realworthy.identification.validation.held_out import Division
from realworthy.identification.validation.resampling import FoldEstimates
from realworthy.parameters import GaussianBelief, ParameterSpace

Floats = NDArray[np.float64]
_IDENTIFIED_SHARE = 0.1
"""Share of its size, or of its prior's sd where that is narrow, up to which a number's
sd makes it identified."""
_EFFECTIVE_SHARE = 0.5
"""The same for a number that is told to that share, and differently by folds or rows:
half its size, up to which it is worth fitting (`parameter_choice`)."""
_EFFECTIVE_RATIO = 3.0
"""Times the fit's sd that folds scatter by before a number is called effective."""
_MAX_SD = 1.0
"""Scales of z that no sd exceeds: e-fold, or the whole of a box."""
_OPEN_SHARE = 0.99
"""Share of that from which nothing was told, whatever the number's size."""
_NAMED_CORRELATION = 0.7
"""Correlation from which two numbers are named together."""
_COLOURED_INFLATION = 3.0
"""Inflation of variances from which residuals are said to last."""
_LACKING_CHI2 = 2.0
"""Reduced χ² from which residuals that last are more than noise: 1.4 times as large.
Of nine calibrations of a joint with planted numbers it marks none of three with white
noise, and all with noise that lasts, or where the twin lacks effects (2026-11-19)."""
_MANY_OUTLIERS = 0.1
_MOTION_FOR_KIND = {
    "coulomb_friction": "slow motion that turns round often",
    "armature": "fast starts and stops",
    "kd": "fast motion at several speeds",
    "damping": "fast motion at several speeds",
    "kp": "poses in which gravity pulls at the joint",
    "delay": "quick steps of the command",
    "mass": "poses in which gravity pulls at the joint",
    "sensor_bias": "slow motion through poses on both sides of hanging straight down",
    "resistance": "fast motion at several speeds",
}
"""Kind of a parameter → motion that tells it."""


@dataclass(frozen=True, slots=True)
class WidenedFit:
    """An estimate in z with the covariance that folds agree with."""

    z: Floats
    covariance_z: Floats
    own_sd_z: Floats
    """(d,) as the fit has it, whatever folds say."""
    scatters: NDArray[np.bool_]
    """(d,) whether folds, or unlike rows, are further apart than its sd explains."""
    lacks: bool
    """Whether residuals say that the twin lacks something: then no number is more than
    what suits motions like these."""
    space: ParameterSpace
    shift_sd_z: Floats
    """(d,) by how much each may be off because others are held; the belief, which
    holds them too, goes without."""
    held: tuple[tuple[str, ...], ...]
    """By number: those others that it can be exchanged with."""

    @property
    def belief(self) -> GaussianBelief:
        return GaussianBelief(self.space, self.z, self.covariance_z)


def widen_by_folds(
    problem: Problem,
    z: Floats,
    covariance_z: Floats,
    folds: FoldEstimates,
    choice: ParameterChoice,
    *,
    lacks: bool = False,
) -> WidenedFit:
    """The fit's covariance, each sd no less than folds scatter; correlations stay.

    Nor less than half of how far unlike rows lead apart. Where nothing was told, no
    wider than a scale of z.
    """
    sd = np.sqrt(np.diag(covariance_z))
    ratio = folds.sd_z() / np.maximum(sd, 1e-300) if len(folds.z) else np.zeros(len(z))
    widest = _MAX_SD * problem.coordinates.scale
    factor = np.minimum(
        np.maximum(1.0, np.maximum(ratio, folds.apart_z / np.maximum(sd, 1e-300))),
        widest / np.maximum(sd, 1e-300),
    )
    wider = covariance_z * np.outer(factor, factor)
    return WidenedFit(
        z,
        wider,
        sd,
        (ratio > _EFFECTIVE_RATIO) | (folds.apart_z > 0),
        lacks,
        problem.space,
        np.array(choice.shift_sd_z or np.zeros(len(z))),
        tuple(map(tuple, choice.partners)) or ((),) * len(z),
    )


def judge_estimate(
    problem: Problem, found: WidenedFit, i: int, *, before: float
) -> ParameterEstimate:
    """Verdict of one fitted number, from its covariance with the others."""
    bounds, parameter = problem.coordinates, problem.space.parameters[i]
    slope = float(bounds.slope(found.z)[i])
    is_effective = bool(found.scatters[i]) or found.lacks
    sd = np.sqrt(np.diag(found.covariance_z))
    total = min(np.hypot(sd[i], found.shift_sd_z[i]), _MAX_SD * bounds.scale[i])
    alone = slope / np.sqrt(np.linalg.inv(found.covariance_z)[i, i])
    tolerance = float(bounds.tolerance(found.z, _IDENTIFIED_SHARE)[i])
    if parameter.kind == "sensor_bias":  # its size is no measure of what is known
        tolerance = _IDENTIFIED_SHARE * OFFSET_SD
    slack = 1e-6 * bounds.scale[i]
    is_open = (
        total > _OPEN_SHARE * _MAX_SD * bounds.scale[i]
    )  # `widen` kept it from more
    partners: tuple[str, ...] = ()
    if not bounds.lower[i] + slack < found.z[i] < bounds.upper[i] - slack:
        verdict = ParameterVerdict.AT_BOUND
    elif slope * total <= tolerance and not is_open:
        verdict = (
            ParameterVerdict.EFFECTIVE if is_effective else ParameterVerdict.IDENTIFIED
        )
    elif (
        is_effective
        and slope * np.hypot(found.own_sd_z[i], found.shift_sd_z[i]) <= tolerance
        and slope * total <= _EFFECTIVE_SHARE / _IDENTIFIED_SHARE * tolerance
    ):
        verdict = ParameterVerdict.EFFECTIVE  # told, and by folds or rows differently
    elif alone <= tolerance:
        verdict = ParameterVerdict.ONLY_IN_COMBINATION
        correlation = np.abs(found.covariance_z[i]) / (sd[i] * sd)
        order = [int(k) for k in np.argsort(-correlation) if k != i]
        close = [problem.space.names[k] for k in order if correlation[k] > 0.5]
        is_shifted = found.shift_sd_z[i] > sd[i]
        partners = (*found.held[i], *(() if is_shifted else close))[:3]
        partners = partners or tuple(problem.space.names[k] for k in order[:1])
    else:
        verdict = ParameterVerdict.NOT_EXCITED
    return ParameterEstimate(
        name=parameter.name,
        unit=parameter.unit,
        before=before,
        mean=float(bounds.from_z(found.z)[i]),
        sd=slope * float(total),
        verdict=verdict,
        partners=partners,
        is_effective=is_effective and verdict is not ParameterVerdict.AT_BOUND,
    )


def describe_correlations(belief: GaussianBelief, count: int = 6) -> tuple[str, ...]:
    """The strongest correlations as sentences, no more than `count`."""
    matrix, names = belief.correlation(), belief.space.names
    pairs = [(i, k) for i in range(len(names)) for k in range(i)]
    strong = sorted(
        (p for p in pairs if abs(matrix[p]) > _NAMED_CORRELATION),
        key=lambda p: -abs(matrix[p]),
    )
    return tuple(
        f"{names[i]} and {names[k]} are correlated ({matrix[i, k]:+.2f}): a "
        "combination of the two is identified better than either alone."
        for i, k in strong[:count]
    )


def lacks_something(fit: FitPart) -> bool:
    """Whether residuals last and are more than noise: the twin lacks an effect."""
    return fit.inflation > _COLOURED_INFLATION and fit.reduced_chi2 > _LACKING_CHI2


def collect_doubts(
    estimates: Sequence[ParameterEstimate],
    found: FittedTwin,
    fitted: WidenedFit,
    division: Division,
) -> tuple[str, ...]:
    """What a reader of a calibration should know beside the fit's own warnings."""
    fit, said = found.fit, []
    if division.is_by_time:
        said.append(
            "There is one recording: its last quarter was held out from the fit, which "
            "is optimistic: a new motion is the fair test. Record another motion."
        )
    if fit.inflation > _COLOURED_INFLATION:
        said.append(
            f"Residuals last (variances are {fit.inflation:.2g} times those of white "
            "noise): the twin lacks something that is not noise. Intervals are widened"
            + (", and numbers are effective, not physical." if fitted.lacks else ".")
        )
    if fit.outlier_share > _MANY_OUTLIERS:
        said.append(
            f"{100 * fit.outlier_share:.0f} % of residuals were held back as "
            "outliers: contacts, stalls, or an effect that the twin lacks."
        )
    said += _describe_held(estimates)
    scatters = [
        n for n, s in zip(fitted.space.names, fitted.scatters, strict=True) if s
    ]
    if scatters:
        what = "experiments" if found.folds.by_experiment else "pieces"
        said.append(
            f"{_list(scatters)} move by more than {_EFFECTIVE_RATIO:g} times what the "
            f"fit says when {what}, or slow or fast rows, are left out: effective "
            "numbers, not physical ones. Their sd is what they scatter by."
        )
    return tuple(said)


def _describe_held(estimates: Sequence[ParameterEstimate]) -> list[str]:
    """Parameters identifiable only in combination, and the values they are held at."""
    pairs = [
        f"{e.name} with {' and '.join(e.partners) or 'others'} "
        f"(held at {e.mean:.3g} {e.unit}, "
        f"{'as given' if e.mean == e.before else f'given as {e.before:.3g}'})"
        for e in estimates
        if not e.is_fitted and e.verdict is ParameterVerdict.ONLY_IN_COMBINATION
    ]
    if not pairs:
        return []
    return [
        f"Only the combination is identifiable: {_list(pairs)}. The fitted values are "
        "valid for the values held; none of these is identified on its own."
    ]


def advise_recordings(
    estimates: Sequence[ParameterEstimate], division: Division
) -> tuple[str, ...]:
    """What to record next, by what is not told yet."""
    wanted: dict[str, list[str]] = {}
    for e in estimates:
        if e.verdict in (
            ParameterVerdict.NOT_EXCITED,
            ParameterVerdict.ONLY_IN_COMBINATION,
        ):
            kind = next((k for k in _MOTION_FOR_KIND if e.name.endswith(k)), None)
            if kind is not None:
                wanted.setdefault(_MOTION_FOR_KIND[kind], []).append(e.name)
    advice = [f"For {_list(names)}: {how}." for how, names in wanted.items()]
    if advice:
        advice.append("realworthy excite designs such a motion within safe limits.")
    if division.is_by_time:
        advice.insert(0, "Another motion, so that a whole recording can be held out.")
    return tuple(advice)


def _list(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
