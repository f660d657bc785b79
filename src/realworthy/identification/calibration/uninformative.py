"""Recordings that identify nothing: why, and the excitation that would.

A robot that stands still, one that is moved by hand while its drives hold its weight,
or one joint that moves of many: a fit to these gives numbers, and none of them is
knowledge of the robot. Then no twin is made; a motion is designed instead.
"""

from collections.abc import Sequence
from dataclasses import replace

from realworthy.errors import RealworthyError
from realworthy.identification.calibration.parameter_choice import choose_parameters
from realworthy.identification.calibration.result import ParameterEstimate
from realworthy.identification.excitation.design_task import ExcitationSettings
from realworthy.identification.excitation.excite import Excitation, excite
from realworthy.identification.identifiability.verdicts import ParameterVerdict
from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.validation.evidence import beats_persistence, moves
from realworthy.identification.validation.held_out import (
    CalibrationOutcome,
    HeldOutError,
)
from realworthy.progress import Progress, ignore
from realworthy.recordings import Recording
from realworthy.twins import Twin

_DESIGN = ExcitationSettings(generation_count=1, sample_count=1, check_count=4)
"""A rough design, in seconds; `realworthy excite` searches for a better one."""
_TOLD_SHARE = 0.5
"""Share of its size below which an sd says something: half of what was believed. Of 27
motions of a real SO-101 no number was known to a tenth of its size across folds, and
yet they brought the error on ten others from 0.064 to 0.007 rad (2026-11-19)."""
_POSE_KINDS = ("sensor_bias", "height")
"""Kinds that no motion is designed for: any motion within gravity tells them."""


def describe_rest(resting: Sequence[str], joints: Sequence[str]) -> str:
    """Why recordings in which some of the joints never move identify nothing."""
    if len(resting) == len(joints):
        return "the robot stands still: no joint moves further than a degree"
    moving = [joint for joint in joints if joint not in resting]
    return (
        f"only {_list(moving)} of {len(joints)} joints moves; nothing is known of "
        f"{_list(resting)}. Name parameters to fit those of the moving joint alone"
    )


def find_want_of_evidence(
    outcome: CalibrationOutcome,
    estimates: Sequence[ParameterEstimate],
    errors: Sequence[HeldOutError],
    held_out: Sequence[Recording],
    joints: Sequence[str],
) -> str:
    """Why a fit identifies nothing; empty where it identifies something."""
    if not any(moves(recording, joints) for recording in held_out):
        return "nothing that was held out moves, so nothing judges the fit"
    if not beats_persistence(errors):
        return (
            "held-out motion is predicted hardly better than by motion that stops or "
            "goes on as it is: what moves the robot is not in the recordings, such as "
            "a hand"
        )
    if outcome.is_kept and not any(_is_told(e) for e in estimates):
        return "no number is known to half its size, alone or in combination"
    return ""


def _is_told(estimate: ParameterEstimate) -> bool:
    """Whether recordings say something of a number, be it with others."""
    if not estimate.is_fitted:
        return False
    together = estimate.verdict is ParameterVerdict.ONLY_IN_COMBINATION
    narrow = estimate.sd <= _TOLD_SHARE * abs(estimate.mean)
    return estimate.verdict.is_known or together or narrow


def withdraw(estimates: Sequence[ParameterEstimate]) -> tuple[ParameterEstimate, ...]:
    """Estimates of which none is knowledge: back to the twin that was given."""
    return tuple(
        replace(
            e,
            mean=e.before,
            verdict=ParameterVerdict.NOT_EXCITED,
            is_fitted=False,
            is_effective=False,
            partners=(),
        )
        for e in estimates
    )


def list_unfitted(
    twin: Twin, joints: Sequence[str], parameters: Sequence[str]
) -> tuple[ParameterEstimate, ...]:
    """What would have been fitted, as the twin has it: known to a scale of z."""
    names = tuple(parameters) or choose_parameters(twin, joints)
    space = twin.space.select(names)
    bounds = FitCoordinates(space)
    sd = bounds.slope(bounds.to_z(space.nominal)) * bounds.scale
    return tuple(
        ParameterEstimate(
            name=parameter.name,
            unit=parameter.unit,
            before=parameter.nominal,
            mean=parameter.nominal,
            sd=float(sd[i]),
            verdict=ParameterVerdict.NOT_EXCITED,
            is_fitted=False,
        )
        for i, parameter in enumerate(space)
    )


def design_excitation(
    twin: Twin, estimates: Sequence[ParameterEstimate], progress: Progress = ignore
) -> tuple[Excitation | None, str]:
    """The motion that would identify what is not known, and words on it."""
    names = [
        e.name
        for e in estimates
        if e.name in twin.space and twin.space[e.name].kind not in _POSE_KINDS
    ]
    progress(0.9, "designing a motion that would identify them")
    try:
        found = excite(twin, names, settings=_DESIGN)
    except RealworthyError as error:
        return None, f"No motion could be designed for this twin: {error.problem}"
    return found, describe_excitation(found)


def describe_excitation(found: Excitation) -> str:
    """Where the joints should go, how fast, and what a recording of it would tell."""
    met = [f for f in found.forecasts if f.is_met]
    unmet = [f.name for f in found.forecasts if not f.is_met]
    peaks = ", ".join(
        f"{p.joint} from {p.lowest:.2g} to {p.highest:.2g} at up to {p.speed:.2g} /s"
        for p in found.peaks[:6]
    )
    told = ", ".join(f"{f.name} to ±{f.sd:.2g} {f.unit}".rstrip() for f in met[:6])
    said = (
        f"A motion of {found.motion.duration:g} s ({peaks}), recorded with its "
        f"commands, would identify {len(met)} of {len(found.forecasts)} parameters"
    )
    said += f": {told}" if told else ""
    said += f". Not {_list(unmet)}" if unmet else ""
    return f"{said}. realworthy excite writes such a motion within safe limits."


def _list(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
