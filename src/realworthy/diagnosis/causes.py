"""From what a search found to causes for people."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.diagnosis import Alternative, Cause, CauseKind, Estimate
from realworthy.diagnosis.edits import Exchange, FlipSign, HoldCommands, Part
from realworthy.diagnosis.fitting import Tried, estimate_spread
from realworthy.diagnosis.fix import (
    Fix,
    Side,
    fix_offset,
    fix_order,
    fix_sign,
    to_sidecar,
)
from realworthy.diagnosis.judge import Judge
from realworthy.diagnosis.search import Found, is_as_good
from realworthy.diagnosis.shares import Attribution
from realworthy.diagnosis.suspects import Number, Suspect
from realworthy.diagnosis.words import next_step, say_evidence
from realworthy.recordings import Recording

Floats = NDArray[np.float64]
_REACH = 1.645
"""Standard deviations to either side that hold 90 %."""
_METHOD = 0.01
"""Relative error of the method itself, beyond what pieces disagree on."""
_LEAST = 0.01
"""Share below which a cause is not worth a name beside another."""
_SAME = {
    "delay": ("clock_offset",),
    "torque_limit": ("saturation",),
    "encoder_offset": ("sensor_bias",),
}
"""Causes that no recording of this kind distinguishes."""
_SIDES = {
    Part.BOTH: Side.BOTH,
    Part.MEASURED: Side.MEASUREMENTS,
    Part.COMMAND: Side.COMMANDS,
}


@dataclass(frozen=True, slots=True)
class Named:
    """A cause, and the edits of recordings that put it right, where there are any."""

    cause: Cause
    fix: Fix | None


def name_causes(
    judge: Judge, found: Found, shares: Attribution, recording: Recording
) -> list[Named]:
    """Causes with shares, numbers, rivals and fixes; largest share first."""
    spread = _split(estimate_spread(judge, found.now), found.suspects)
    named = []
    for i, suspect in enumerate(found.suspects):
        numbers = suspect.numbers
        estimates = tuple(
            _estimate(number, x, float(sd))
            for number, x, sd in zip(numbers, found.now.xs[i], spread[i], strict=True)
        )
        fix = _make_fix(suspect, estimates, recording)
        cause = Cause(
            name=suspect.name,
            kind=suspect.kind,
            joints=suspect.joints,
            share=shares.shares[i],
            interval=shares.intervals[i],
            evidence=_say(judge, found, i, shares.without[i], estimates),
            next_step=next_step(suspect.name),
            estimates=estimates,
            alternatives=_alternatives(judge, found, i, shares.without[i]),
            fix="" if fix is None else to_sidecar(fix, recording),
        )
        named.append(Named(cause, fix))
    named.sort(key=lambda n: -n.cause.share)
    worthy = [n for n in named if n.cause.share >= _LEAST]
    return merge(worthy or named[:1])


def merge(named: Sequence[Named]) -> list[Named]:
    """One cause for all joints that have the same one of the log's faults."""
    found: dict[object, Named] = {}
    for k, one in enumerate(named):
        cause = one.cause
        is_shared = cause.name in ("joint_order", "joint_sign")
        key = cause.name if is_shared else k
        if key not in found:
            found[key] = one
            continue
        first = found[key]
        fixes = [f for f in (first.fix, one.fix) if f is not None]
        found[key] = Named(_join(first.cause, cause), _join_fixes(fixes))
    return sorted(found.values(), key=lambda n: -n.cause.share)


def _join(first: Cause, second: Cause) -> Cause:
    joints = tuple(dict.fromkeys((*first.joints, *second.joints)))
    (a, b), (c, d) = first.interval, second.interval
    fix = first.fix
    if second.fix and second.fix not in fix:
        fix = fix + second.fix.removeprefix("mapping:\n")
    return replace(
        first,
        joints=joints,
        share=min(1.0, first.share + second.share),
        interval=(min(1.0, a + c), min(1.0, b + d)),
        fix=fix,
    )


def _join_fixes(fixes: Sequence[Fix]) -> Fix | None:
    from realworthy.diagnosis.fix import join

    return join(fixes) if fixes else None


def _split(values: Floats, suspects: Sequence[Suspect]) -> list[Floats]:
    return np.split(values, np.cumsum([len(s.numbers) for s in suspects])[:-1])


def _estimate(number: Number, x: float, sd: float) -> Estimate:
    away = number.value(x) if number.is_log else number.value(x) - number.nominal
    own = _METHOD * (1.0 if number.is_log else abs(away)) / abs(number.scale)
    sd = float(np.hypot(sd, own))
    ends = sorted(
        number.value(x + side * _REACH * sd) if np.isfinite(sd) else end
        for side, end in ((-1, number.lower), (1, number.upper))
    )
    is_effect = not isinstance(number.slots[0], str)
    return Estimate(
        name=number.name,
        value=number.value(x),
        nominal=0.0 if is_effect else number.nominal,
        interval=(float(ends[0]), float(ends[1])),
        unit=number.unit,
    )


def _say(
    judge: Judge, found: Found, i: int, without: Floats, estimates: tuple[Estimate, ...]
) -> str:
    suspect, bench = found.suspects[i], judge.bench
    columns = [bench.joints.index(j) for j in suspect.joints if j in bench.joints]
    columns = columns or list(range(len(bench.joints)))
    rivals = [r for r in found.rivals[i] if r.suspects != found.now.suspects]
    rival = None
    if rivals:
        best = min(rivals, key=lambda r: r.total)
        other = next(
            s for s in best.suspects if s not in found.suspects or s is best.newest
        )
        rival = (other.label, _rms(best.square, columns))
    said = [
        f"{e.name} at {e.value:.4g} {e.unit} instead of {e.nominal:.4g}"
        for e in estimates
        if not e.name.endswith((".side",))
    ]
    return say_evidence(
        suspect,
        said,
        seconds=bench.settings.warm_up + bench.settings.length,
        without=_rms(without, columns),
        with_it=_rms(found.now.square, columns),
        rival=rival,
    )


def _rms(square: Floats, columns: Sequence[int]) -> float:
    return float(np.sqrt(square[:, list(columns)].mean()))


def _alternatives(
    judge: Judge, found: Found, i: int, without: Floats
) -> tuple[Alternative, ...]:
    before = Tried((), (), without, judge.losses(without))
    others = []
    for rival in found.rivals[i]:
        new = [s for s in rival.suspects if s not in found.suspects]
        if new and is_as_good(found.now, rival, before):
            others.append(Alternative(name=new[0].name, joints=new[0].joints))
    suspect = found.suspects[i]
    same = [
        Alternative(name=n, joints=suspect.joints) for n in _SAME.get(suspect.name, ())
    ]
    return tuple(dict.fromkeys((*same, *others)))


def _make_fix(
    suspect: Suspect, estimates: tuple[Estimate, ...], recording: Recording
) -> Fix | None:
    for edit in suspect.edits:
        if isinstance(edit, FlipSign):
            return fix_sign(recording, [edit.joint], side=_SIDES[edit.part])
        if isinstance(edit, Exchange):
            names = {edit.first: edit.second, edit.second: edit.first}
            return fix_order(recording, names, side=_SIDES[edit.part])
        if isinstance(edit, HoldCommands):
            return None
    if suspect.kind is CauseKind.INTERFACE and estimates:
        joint, value = suspect.joints[0], estimates[0].value
        if suspect.name == "encoder_offset":
            return fix_offset(recording, joint, -value, side=Side.BOTH)
        if suspect.name == "default_pose":
            return fix_offset(recording, joint, value, side=Side.COMMANDS)
    return None
