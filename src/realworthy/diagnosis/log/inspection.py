"""Every check of a log, in the order in which they depend on each other."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import numpy as np

from realworthy.diagnosis.fix import CommandForm, Fix, apply_fix
from realworthy.diagnosis.log.attitude import inspect_attitude
from realworthy.diagnosis.log.clock import (
    inspect_gaps,
    inspect_lost_rows,
    inspect_rate,
)
from realworthy.diagnosis.log.command_form import inspect_command_form
from realworthy.diagnosis.log.drive_faults import (
    fit_laws,
    inspect_command_scales,
    inspect_early_answers,
)
from realworthy.diagnosis.log.drives import Limits, read_limits
from realworthy.diagnosis.log.finding import Finding
from realworthy.diagnosis.log.lags import inspect_lags
from realworthy.diagnosis.log.offsets import inspect_offsets
from realworthy.diagnosis.log.order import (
    inspect_command_order,
    inspect_velocity_order,
)
from realworthy.diagnosis.log.ranges import inspect_ranges
from realworthy.diagnosis.log.repeats import inspect_repeats
from realworthy.diagnosis.log.scales import inspect_clock_unit, inspect_scales
from realworthy.diagnosis.log.sides import choose_side
from realworthy.diagnosis.log.speed_ratio import inspect_clock_scale
from realworthy.diagnosis.log.torque_commands import inspect_torque_commands
from realworthy.diagnosis.log.whole_joints import inspect_whole_joints
from realworthy.recordings import Recording
from realworthy.twins import Twin

Findings = list[tuple[Finding, Recording]]

_SHARED = ("unit_scale", "joint_sign", "joint_order", "clock_offset", "rate")
"""Faults that several joints and all recordings of a robot may have at once."""


def inspect(
    recording: Recording, twin: Twin | None = None, *, limits: Limits | None = None
) -> tuple[Finding, ...]:
    """What the log says about itself: faults, notes, and what is in order.

    Load the recording with `check_units=False`, or wrong units never get here. A twin
    adds its joints' ranges, drives and gravity; `limits` are those that `read_limits`
    read before, so that many recordings do not compile the twin many times.

    Each fault is mended for the checks that follow, so applying all fixes in order
    gives the corrected log. `history_order` is never answered: a recording has no
    vectors of observations.
    """
    found = inspect_together([recording], twin, limits=limits)
    return tuple(finding for finding, _ in found)


def inspect_together(
    recordings: Sequence[Recording],
    twin: Twin | None = None,
    *,
    limits: Limits | None = None,
) -> Findings:
    """The same for recordings of one robot, which share its faults and their numbers.

    Each finding comes with the recording that it is about, as it was given. A fault of
    the robot is found once, with all joints, and stands beside each recording that its
    fix changes.
    """
    limits = limits or read_limits(twin)
    found: Findings = []
    mended = list(recordings)
    for k, recording in enumerate(recordings):
        alone = _inspect_alone(recording, limits)
        found += [(finding, recordings[k]) for finding in alone]
    found = _unite(found)
    for k, recording in enumerate(recordings):
        mine = [f for f, owner in found if owner is recording]
        mended[k] = _mend(recording, mine)
    if twin is not None:
        found = _choose_sides(found, recordings, mended, twin)
        for k, recording in enumerate(recordings):
            mended[k] = _mend(recording, [f for f, o in found if o is recording])
    found += _inspect_drives(recordings, mended, limits, twin)
    return found


def _inspect_alone(recording: Recording, limits: Limits) -> list[Finding]:
    """Checks that need nothing but one recording, and the ranges of its joints."""
    found = inspect_clock_unit(recording)
    if len(recording.time) < 3:
        return found
    mended = _mend(recording, found)
    clock = inspect_clock_scale(mended)
    found += clock
    mended = _mend(mended, clock)
    lost = inspect_lost_rows(mended)
    found += [*inspect_gaps(mended), *inspect_rate(mended), *inspect_repeats(mended)]
    found += lost
    mended = _mend(mended, lost)
    order = inspect_velocity_order(mended) + inspect_command_order(mended)
    found += order
    mended = _mend(mended, order)
    scales = inspect_scales(mended, limits)
    found += scales
    mended = _mend(mended, scales)
    found += inspect_lags(mended)
    found += inspect_attitude(mended)
    found += inspect_ranges(mended)
    return found


def _inspect_drives(
    recordings: Sequence[Recording],
    mended: list[Recording],
    limits: Limits,
    twin: Twin | None,
) -> Findings:
    """Checks of commands against answers, of all recordings together.

    Each mends the recordings for the next; the lag of commands comes before their
    scale, because steps that come late bend every scale.
    """
    if not limits.drives:
        return []

    found: Findings = []

    def ask_form() -> list[Finding]:
        return inspect_command_form(mended, limits)

    def ask_torques() -> list[Finding]:
        found = inspect_torque_commands(mended, limits)
        if twin is None:
            return found
        return [choose_side(twin, mended, finding) for finding in found]

    def ask_clock() -> list[Finding]:
        return inspect_early_answers(mended, limits, fit_laws(mended, limits))

    def ask_scales() -> list[Finding]:
        return inspect_command_scales(mended, limits, fit_laws(mended, limits))

    def ask_offsets() -> list[Finding]:
        if any(_is_summed(finding) for finding, _ in found):
            return []  # the constant of a sum was chosen so that there is none
        return inspect_offsets(mended, limits, fit_laws(mended, limits), twin)

    def ask_whole_joints() -> list[Finding]:
        return [] if twin is None else inspect_whole_joints(mended, twin)

    asked: list[Callable[[], list[Finding]]] = [
        ask_form,
        ask_torques,
        ask_clock,
        ask_scales,
        ask_offsets,
        ask_whole_joints,
    ]
    for ask in asked:
        for finding in ask():
            found += [(finding, r) for r in recordings]
            mended[:] = [_mend(r, [finding]) for r in mended]
    return found


def _is_summed(finding: Finding) -> bool:
    summed = (CommandForm.INCREMENT, CommandForm.SPEED)
    return finding.fix is not None and finding.fix.command_form in summed


def _unite(found: Findings) -> Findings:
    """One finding for each fault that several joints or recordings share.

    Faults are one where they have one name and do the same to every signal of a kind.
    """
    groups: dict[Hashable, list[Finding]] = {}
    for finding, _ in found:
        if (key := _describe(finding)) is not None:
            groups.setdefault(key, []).append(finding)
    united = {key: _join(group) for key, group in groups.items()}
    kept: Findings = []
    seen: set[Hashable] = set()
    for finding, owner in found:
        key = _describe(finding)
        if key is None:
            kept.append((finding, owner))
        elif (key, id(owner)) not in seen:
            seen.add((key, id(owner)))
            kept.append((united[key], owner))
    return kept


def _describe(finding: Finding) -> Hashable | None:
    """What a fault does, without saying to which joints; None where it is alone."""
    fix = finding.fix
    if not finding.is_fault or fix is None or finding.name not in _SHARED:
        return None
    edits = {
        (name.rsplit(".", 1)[-1], e.sign, f"{e.scale:.1e}", bool(e.delay))
        for name, e in fix.mapping.items()
    }
    is_shared = finding.name != "joint_order"  # two exchanges are not one
    joints = () if is_shared else finding.joints
    rate = None if fix.rate is None else f"{fix.rate:.1e}"
    return finding.name, frozenset(edits), joints, rate


def _join(group: Sequence[Finding]) -> Finding:
    """Numbers are medians; a signal that several recordings name counts once."""
    first = group[0]
    if len(group) == 1 or first.fix is None:
        return first
    joints = tuple(dict.fromkeys(joint for f in group for joint in f.joints))
    fix = _medians([finding.fix for finding in group if finding.fix is not None])
    more = len(joints) - len(first.joints)
    evidence = first.evidence
    if more > 0:
        evidence += f" The same holds for {more} more joint{'s' if more > 1 else ''}."
    return replace(
        first,
        joints=joints,
        fix=fix,
        size=float(np.median([finding.size for finding in group])),
        evidence=evidence,
    )


def _medians(fixes: Sequence[Fix]) -> Fix:
    """The mapping of all, each number the median over fixes that give it."""
    names = list(dict.fromkeys(name for fix in fixes for name in fix.mapping))
    mapping = {}
    for name in names:
        given = [fix.mapping[name] for fix in fixes if name in fix.mapping]
        mapping[name] = type(given[0])(
            source=given[0].source,
            sign=given[0].sign,
            scale=float(np.median([e.scale for e in given])),
            offset=float(np.median([e.offset for e in given])),
            delay=float(np.median([e.delay for e in given])),
        )
    rates = [fix.rate for fix in fixes if fix.rate is not None]
    kinds = list(dict.fromkeys(fix.summary for fix in fixes))
    return replace(
        fixes[0],
        summary="; ".join(kinds[:4]) + ("; …" if len(kinds) > 4 else ""),
        mapping=mapping,
        rate=float(np.median(rates)) if rates else None,
    )


def _choose_sides(
    found: Findings,
    recordings: Sequence[Recording],
    mended: Sequence[Recording],
    twin: Twin,
) -> Findings:
    """Signs and orders of commands, on the side that the twin's gravity prefers."""
    chosen: dict[int, Finding] = {}
    for finding, _ in found:
        if finding.is_fault and id(finding) not in chosen:
            others = [
                _mend(r, [f for f, owner in found if owner is r and f is not finding])
                for r in recordings
            ]
            chosen[id(finding)] = choose_side(twin, others, finding)
    return [(chosen.get(id(finding), finding), owner) for finding, owner in found]


def _mend(recording: Recording, findings: Sequence[Finding]) -> Recording:
    for finding in findings:
        if finding.is_fault and finding.fix is not None:
            recording = apply_fix(recording, finding.fix)
    return recording
