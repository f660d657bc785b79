"""Rows that repeat the one before, and signals that update slower than the log.

Encoders count in steps and robots stand still, so a repeat alone says nothing. A row is
stale where every signal of a group repeats although at least one of them surely moved:
it has no steps and never comes back to that value, or it moves by several encoder steps
before and after, and the repeated value is further from the curve through its
neighbours than its values usually are.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.fix import Fix, find_repeats
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.recordings import Recording
from realworthy.recordings.signals import AXES, is_held

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

STALE_SHARE = 0.005
"""Share of the rows that could show it, from which it matters."""
STALE_SHARE_OF_ONE = 0.05
"""The same for one joint alone: two loops of one rate now and then miss each other."""
STALE_COUNT = 5
SURE_STEPS = 1.5
"""Encoder steps off the curve of its neighbours, and"""
SURE_SPREADS = 5.0
"""times its usual distance from it, at which a value is surely old."""
FINE = 0.1
"""Mean distance from whole steps, in steps, where there are none; by chance 0.25."""
FEW_ROWS = 50
"""Moving rows below which nothing can be said."""
BEAT = 0.8
"""Share of the updates that must come after the same number of rows."""
BURST = 0.3
"""[s] that stale rows last at most; a robot at rest repeats itself for longer."""
BURSTS = 5
"""Bursts below which a likeness to lost motion may be chance."""
TICKS = 6.0
"""Encoder steps that a jump must have: slow motion of a coarse encoder also stands
still and jumps, by one."""
CAUGHT_UP = (0.4, 2.5)
"""Jump after a burst over the motion that it hid, at the speed before and after. Joints
that start and stop jump by nothing."""
WINDOW = 25
"""Rows around a row in which a signal without steps must have moved."""


def inspect_repeats(recording: Recording) -> list[Finding]:
    """`stale_samples` of the log and of single groups; `rate` of slow groups.

    A group is a joint or a sensor. `size` is the share of stale rows, or the number of
    rows between updates.
    """
    groups = {g: s for g, s in list_groups(recording).items() if s}
    if not groups:
        evidence = "nothing that was measured changes."
        return [
            Finding(name="stale_samples", answer=Answer.CANNOT_TELL, evidence=evidence)
        ]
    found: list[Finding] = []
    slow = {g: k for g, s in groups.items() if (k := find_beat(recording, s)) > 1}
    found += [_slow(group, beat, recording) for group, beat in slow.items()]
    quick = {g: s for g, s in groups.items() if g not in slow}
    everything = [signal for signals in quick.values() for signal in signals]
    if not everything:
        return found
    whole, seen = find_stale(recording, everything)
    if seen < FEW_ROWS:
        evidence = f"the robot surely moves in only {seen} rows."
        found.append(
            Finding(name="stale_samples", answer=Answer.CANNOT_TELL, evidence=evidence)
        )
        return found
    found.append(_stale((), whole, seen, everything, recording))
    if not found[-1].is_fault and len(quick) > 1:
        for group, signals in quick.items():
            stale, seen = find_stale(recording, signals)
            finding = _stale((group,), stale, seen, signals, recording)
            if seen >= FEW_ROWS and finding.answer is not Answer.IN_ORDER:
                found.append(finding)
    return found


def list_groups(recording: Recording) -> Mapping[str, list[str]]:
    """Joint or stem of a sensor → its measured signals that change at all."""
    groups: dict[str, list[str]] = {}
    for name, values in recording.signals.items():
        if is_held(name) or "reference" in name:
            continue
        owner, _, last = name.rpartition(".")
        group = owner if owner else name
        if last not in AXES and owner not in recording.joints:
            group = name  # a sensor of its own, on a beat of its own
        groups.setdefault(group, [])
        if np.ptp(values) > 0:
            groups[group].append(name)
    return groups


def find_stale(recording: Recording, signals: Sequence[str]) -> tuple[Mask, int]:
    """Rows that are stale, and the number of rows in which it could have been seen."""
    columns = [recording.signals[signal] for signal in signals]
    repeats = find_repeats(np.stack(columns, axis=1))
    sure = np.any([_surely_moves(column, repeats) for column in columns], axis=0)
    bursts = _find_bursts(recording, signals, repeats)
    return (repeats & sure) | bursts, int(np.count_nonzero(sure | bursts))


def find_beat(recording: Recording, signals: Sequence[str]) -> int:
    """Rows between updates of a group where that number is the same throughout.

    1 where the group changes row by row, or without a beat. Only groups with a signal
    without steps are judged: a coarse one may stand still for its own reasons.
    """
    columns = [recording.signals[signal] for signal in signals]
    if not any(_is_fine(column) for column in columns):
        return 1
    rows = np.flatnonzero(~find_repeats(np.stack(columns, axis=1)))[1:]
    if len(rows) < FEW_ROWS:
        return 1
    beats = np.diff(rows)
    beat = int(np.median(beats))
    return beat if beat > 1 and np.mean(beats == beat) >= BEAT else 1


def _find_bursts(recording: Recording, signals: Sequence[str], repeats: Mask) -> Mask:
    """Short stretches of repeated rows that end with a jump to where motion went on.

    None unless most of them do: then whatever repeats so briefly is stale.
    """
    none = np.zeros(len(repeats), dtype=bool)
    places = [s for s in signals if s.endswith(".position")]
    edges = np.diff(np.concatenate([[0], repeats.astype(int), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    short = (ends - starts) < max(2, BURST * recording.rate)
    short &= (starts > 3) & (ends < len(repeats) - 3)
    starts, ends = starts[short], ends[short]
    if len(starts) < BURSTS or not places:
        return none
    values = np.stack([recording.signals[s] for s in places], axis=1)
    steps = np.array([_smallest_step(recording.signals[s]) for s in places])
    usual = np.median(np.abs(np.diff(values, axis=0)), axis=0)
    values = values / np.maximum(np.maximum(usual, steps), 1e-12)
    ticks = np.maximum(np.maximum(usual, steps), 1e-12) / np.maximum(steps, 1e-12)
    caught, found = [], []
    for a, b in zip(starts, ends, strict=True):  # rows a … b - 1 repeat row a - 1
        speed = 0.5 * (values[a - 1] - values[a - 3] + values[b + 2] - values[b]) / 2
        energy = float(speed @ speed)
        jump = values[b] - values[b - 1]
        is_seen = np.max(np.abs(jump) * ticks) > TICKS
        if is_seen and energy > 0.5 * len(places):  # about as quick as usual
            caught.append(float(jump @ speed) / energy / (b - a + 1))
        if is_seen:
            found.append((a, b))
    if len(caught) < BURSTS or not CAUGHT_UP[0] < np.median(caught) < CAUGHT_UP[1]:
        return none
    for a, b in found:
        none[a:b] = True
    return none


def _surely_moves(values: Floats, repeats: Mask) -> Mask:
    """Rows in which this signal would have changed, had it been measured anew."""
    if _is_fine(values):
        moved = np.concatenate([[0.0], np.diff(values) != 0])
        around = np.convolve(moved, np.ones(WINDOW), mode="same") >= 0.5 * WINDOW
        return around & ~_comes_back(values)
    sure = np.zeros(len(values), dtype=bool)
    if len(values) < FEW_ROWS:
        return sure
    x = values
    expected = (4 * (x[1:-3] + x[3:-1]) - x[:-4] - x[4:]) / 6  # a cubic, at its middle
    off = np.abs(x[2:-2] - expected)
    spread = np.quantile(off[~repeats[2:-2]], 0.9) if not repeats.all() else np.inf
    limit = max(SURE_STEPS * _smallest_step(x), SURE_SPREADS * float(spread) / 1.645)
    # A repeat shows where the joint moves on by more than that, before and after.
    before, after = x[1:-3] - x[:-4], x[3:-1] - x[1:-3]
    moves = (np.minimum(np.abs(before), np.abs(after)) > limit) & (before * after > 0)
    sure[2:-2] = moves & (~repeats[2:-2] | (off > limit))
    return sure


def _comes_back(values: Floats) -> Mask:
    """Rows whose value is also found outside their own stretch, such as a zero."""
    is_new = np.concatenate([[True], np.diff(values) != 0])
    _, places, counts = np.unique(
        values[is_new], return_inverse=True, return_counts=True
    )
    return (counts[places] > 1)[np.cumsum(is_new) - 1]


def _is_fine(values: Floats) -> bool:
    """Whether the values have no steps, as numbers computed in floating point."""
    gaps = np.sort(_gaps(values))[: 4 * FEW_ROWS]
    if len(gaps) < FEW_ROWS:
        return False
    steps = gaps / gaps[0]
    return bool(np.mean(np.abs(steps - np.round(steps))) > FINE)


def _smallest_step(values: Floats) -> float:
    return float(_gaps(values).min(initial=np.inf))


def _gaps(values: Floats) -> Floats:
    """Distances between neighbouring values, but for rounding."""
    gaps = np.diff(np.unique(values))
    return gaps[gaps > 1e-9 * np.ptp(values)]


def _stale(
    joints: tuple[str, ...],
    stale: Mask,
    seen: int,
    signals: Sequence[str],
    recording: Recording,
) -> Finding:
    count = int(np.count_nonzero(stale))
    share = count / max(seen, 1)
    of = f"of {joints[0]}" if joints else "of everything measured"
    if count == 0:
        answer = Answer.IN_ORDER
        evidence = f"no row {of} repeats the one before in {seen} moving rows."
    else:
        enough = STALE_SHARE_OF_ONE if joints else STALE_SHARE
        judged = not joints or joints[0] in recording.joints
        is_fault = judged and count >= STALE_COUNT and share >= enough
        answer = Answer.FAULT if is_fault else Answer.NOTE
        first = float(recording.time[np.flatnonzero(stale)[0]])
        evidence = (
            f"{count} of {seen} moving rows ({share:.2%}) {of} repeat the row before "
            f"to the last digit, the first at {first:.4g} s."
        )
    drop = Fix(summary="stale rows left out", drop_repeats_of=tuple(signals))
    return Finding(
        name="stale_samples",
        answer=answer,
        joints=joints,
        size=share,
        evidence=evidence,
        next_step="Stamp measurements where they are made; until then leave these rows "
        "out. What was commanded in them is lost with them."
        if count
        else "",
        fix=drop if answer is Answer.FAULT and not joints else None,
    )


def _slow(group: str, beat: int, recording: Recording) -> Finding:
    is_joint = group in recording.joints
    return Finding(
        name="rate",
        answer=Answer.FAULT if is_joint else Answer.NOTE,
        joints=(group,),
        size=float(beat),
        evidence=f"{group} is measured anew every {beat} rows "
        f"({recording.rate / beat:.4g} Hz) in a log at {recording.rate:.4g} Hz.",
        next_step=f"Compare {group} only where it is new, or log at its own rate."
        if is_joint
        else "",
    )
