"""What changed between then and now, by the better of two roads."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from realworthy.diagnosis.changes.estimates import (
    Estimates,
    Progress,
    estimate_changes,
)
from realworthy.diagnosis.changes.families import make_families
from realworthy.diagnosis.changes.scatter import find_shifts
from realworthy.diagnosis.changes.signs import Sign, read_log, read_signs
from realworthy.diagnosis.changes.words import say_parameter, say_signs
from realworthy.diagnosis.diagnosis import Change
from realworthy.errors import BadRecording
from realworthy.recordings import Recording
from realworthy.twins import Twin

FEWEST = 2
"""Recordings from before without which no scatter is seen at all."""


class TooFewRecordings(BadRecording):
    """Not enough from before to know what is usual."""

    def __init__(self, count: int, what: str) -> None:
        self.count, self.needed = count, FEWEST
        super().__init__(
            f"{what}: {count} recording from before does not show how far an "
            "unchanged machine scatters, and no twin can replay it.",
            hint=f"Give {FEWEST} or more, better 4 from several days. With one, a "
            "twin that can replay it still answers: it is cut into parts.",
        )


def find_changes(
    twin: Twin | None,
    before: Sequence[Recording],
    now: Sequence[Recording],
    *,
    progress: Progress | None = None,
) -> tuple[Change, ...]:
    """What about the machine is not as it was, the surest first; often nothing.

    Where the twin can replay the recordings, numbers of e that moved between the two
    sets; else what efforts, sensors and the log show. Machines distinguished by a
    `vehicle` in their notes are compared with themselves only.
    """
    _check_given(before, now)
    changes: list[Change] = []
    for machine, kind, old, new in _pair(before, now):
        estimates = _try_twin(twin, old, new, progress)
        if estimates is not None and twin is not None:
            found = _judge_by_twin(twin, estimates, old, new)
        else:
            found = _judge_by_signs(old, new, machine or kind or "These recordings")
        changes += [_mark(change, machine) for change in found]
    return tuple(sorted(changes, key=lambda change: change.false_alarm_rate))


def _judge_by_twin(
    twin: Twin,
    estimates: Estimates,
    before: Sequence[Recording],
    now: Sequence[Recording],
) -> list[Change]:
    log = make_families([read_log(r) for r in before], [read_log(r) for r in now])
    fitted = [estimates.parameters, estimates.misfit]
    shifts = find_shifts([*fitted, *log])
    looked_at = len(estimates.space)
    moved = [s for s in shifts if any(s.family is family for family in fitted)]
    rest = [s for s in shifts if not any(s is other for other in moved)]
    said = [say_parameter(shift, estimates, twin, looked_at) for shift in moved]
    return [*said, *say_signs(rest, log)]


def _judge_by_signs(
    before: Sequence[Recording], now: Sequence[Recording], what: str
) -> list[Change]:
    if len(before) < FEWEST:
        raise TooFewRecordings(len(before), what)
    families = make_families(_read(before), _read(now))
    return say_signs(find_shifts(families), families)


def _read(recordings: Sequence[Recording]) -> list[tuple[Sign, ...]]:
    return [read_signs(recording) for recording in recordings]


def _try_twin(
    twin: Twin | None,
    before: Sequence[Recording],
    now: Sequence[Recording],
    progress: Progress | None,
) -> Estimates | None:
    """Fits by the twin; None where it cannot replay these recordings."""
    if twin is None:
        return None
    with contextlib.suppress(BadRecording):
        return estimate_changes(twin, before, now, progress=progress)
    return None


def _check_given(before: Sequence[Recording], now: Sequence[Recording]) -> None:
    for recordings, when in ((before, "before"), (now, "now")):
        if not recordings:
            raise BadRecording(
                f"No recordings from {when} were given.",
                hint="realworthy diagnose TWIN NOW… --before BEFORE…",
            )
    robots = [
        {r.sidecar.twin for r in recordings if r.sidecar.twin}
        for recordings in (before, now)
    ]
    if all(robots) and not robots[0] & robots[1]:
        old, new = (", ".join(sorted(names)) for names in robots)
        raise BadRecording(
            f"These are different robots: {old} before, {new} now.",
            hint="Compare recordings of one machine, or mend `twin` in the sidecars.",
        )


def _pair(
    before: Sequence[Recording], now: Sequence[Recording]
) -> list[tuple[str, str, list[Recording], list[Recording]]]:
    """Machine, kind of recording, those from before and those from now."""
    old, new = _group(before), _group(now)
    shared = [key for key in old if key in new]
    if not shared:
        machines = [sorted({k[0] or "?" for k in side}) for side in (old, new)]
        if not set(machines[0]) & set(machines[1]):
            raise BadRecording(
                f"These are different machines: {', '.join(machines[0])} before, "
                f"{', '.join(machines[1])} now.",
                hint="Each machine is compared with itself: record it from before too.",
            )
        raise BadRecording(
            "Recordings from before and from now have no commands in common.",
            hint=f"Before: {_list(old)}. Now: {_list(new)}. Name signals alike in the "
            "sidecars' mapping.",
        )
    return [(key[0], _list({key: []}), old[key], new[key]) for key in shared]


def _group(
    recordings: Sequence[Recording],
) -> dict[tuple[str, tuple[str, ...]], list[Recording]]:
    """By machine and by what was commanded."""
    groups: dict[tuple[str, tuple[str, ...]], list[Recording]] = {}
    for recording in recordings:
        machine = str(recording.sidecar.notes.get("vehicle", ""))
        commands = sorted(n for n in recording.signals if "command" in n.split("."))
        groups.setdefault((machine, tuple(commands)), []).append(recording)
    return groups


def _list(groups: dict[tuple[str, tuple[str, ...]], list[Recording]]) -> str:
    names = sorted({name for _, commands in groups for name in commands})
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "") or "no command"


def _mark(change: Change, machine: str) -> Change:
    if not machine:
        return change
    return replace(change, evidence=f"{machine}: {change.evidence}")
