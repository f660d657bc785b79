"""The clock of a log: missing rows, the rate that was promised, jitter.

A clock that stands still or runs backwards never comes this far: `Recording` refuses
it. Rows of irregular, true times are no fault; whoever compares uses the times.
"""

import numpy as np

from realworthy.diagnosis.fix import Fix
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.diagnosis.lost_rows import find_lost_rows
from realworthy.recordings import Recording

FEW_ROWS = 20
"""Below this a clock cannot be judged."""
MISSING_SHARE = 0.002
"""Share of missing rows that matters."""
MISSING_PLACES = 5
"""Fewer gaps than these are an accident, unless they are long,"""
SINGLE_PLACES = 3
"""or most of them are single rows, as they get lost on a wire."""
MISSING_LONG = 0.02
"""Share of missing rows that matters also in one place."""
HIDDEN_SHARE = 0.01
"""Share of missing rows that matters where only jumps of positions tell of them."""
WRONG_RATE = 0.05
"""Relative error of the promised rate that matters."""
JITTERY = 0.05
"""Spread of the steps over the period that is worth a note."""
UNCLEAR = 0.2
"""Spread of the steps over the period from which lost rows cannot be counted."""


def inspect_gaps(recording: Recording) -> list[Finding]:
    """`dropped_samples`: steps of two periods or more, in whole periods.

    `size` is the share of missing rows.
    """
    if len(recording.time) < FEW_ROWS:
        return [_too_few("dropped_samples", recording)]
    steps = np.diff(recording.time) * recording.rate
    spread = compute_jitter(recording) * recording.rate
    if spread > UNCLEAR:
        evidence = (
            f"steps spread by {spread:.0%} of the period, so that a long step is no "
            "sign of a missing row."
        )
        return [
            Finding(
                name="dropped_samples", answer=Answer.CANNOT_TELL, evidence=evidence
            )
        ]
    long = steps > 1.5 + 2 * spread
    missing = np.round(steps[long]).astype(int) - 1
    count = int(missing.sum())
    share = count / (count + len(recording.time))
    if count == 0:
        evidence = f"no gap in {len(recording.time)} rows."
        answer = Answer.IN_ORDER
    else:
        evidence = (
            f"{count} of {count + len(recording.time)} rows ({share:.2%}) are missing "
            f"in {len(missing)} places; the longest gap lasts "
            f"{steps.max() / recording.rate:.3g} s."
        )
        whole = _are_whole(steps[long], spread)
        if not whole:
            evidence += " Most gaps are no whole periods: the recorder itself was late."
        enough = SINGLE_PLACES if np.median(missing) == 1 else MISSING_PLACES
        spread_out = len(missing) >= enough and share >= MISSING_SHARE
        material = spread_out or share >= MISSING_LONG
        answer = Answer.FAULT if material and whole else Answer.NOTE
    return [
        Finding(
            name="dropped_samples",
            answer=answer,
            size=share,
            evidence=evidence,
            next_step=""
            if count == 0
            else "Look for a full buffer or a busy bus, and log on the robot itself; "
            "until then compare only stretches without gaps.",
        )
    ]


def inspect_lost_rows(recording: Recording) -> list[Finding]:
    """`dropped_samples` that the stamps hide: positions jump further than they move.

    `size` is the share of missing rows.
    """
    lost = find_lost_rows(recording)
    count, places = int(lost.counts.sum()), len(lost.rows)
    share = count / (count + len(recording.time))
    if places < MISSING_PLACES or share < HIDDEN_SHARE:
        return []
    first = float(recording.time[lost.rows[0]])
    return [
        Finding(
            name="dropped_samples",
            answer=Answer.FAULT,
            size=share,
            evidence=f"in {places} places positions jump as far in one row as in "
            f"{1 + int(np.median(lost.counts))} (median; the first at {first:.4g} s) "
            f"and go on as before: about {count} rows ({share:.1%}) were lost, and the "
            "rows were stamped as if none were.",
            next_step="Stamp rows where they are measured, not where they arrive.",
            fix=Fix(summary="times of lost rows restored", restores_lost_rows=True),
        )
    ]


def inspect_rate(recording: Recording) -> list[Finding]:
    """`rate`: the sidecar's rate against the times, and a note on jitter.

    `size` is measured over promised, or the spread of the steps [s].
    """
    if len(recording.time) < FEW_ROWS:
        return [_too_few("rate", recording)]
    found = []
    said, measured = recording.sidecar.rate, recording.rate
    if said is not None:
        ratio = measured / said
        wrong = abs(ratio - 1) > WRONG_RATE
        found.append(
            Finding(
                name="rate",
                answer=Answer.FAULT if wrong else Answer.IN_ORDER,
                size=ratio,
                evidence=f"the sidecar says {said:g} Hz, the rows come at "
                f"{measured:.4g} Hz.",
                next_step="Correct the sidecar, or the clock." if wrong else "",
                fix=Fix(summary=f"rate {measured:.6g} Hz", rate=measured)
                if wrong
                else None,
            )
        )
    jitter = compute_jitter(recording)
    if jitter * measured > JITTERY:
        found.append(
            Finding(
                name="rate",
                answer=Answer.NOTE,
                size=jitter,
                evidence=f"the clock jitters: steps spread by {1e3 * jitter:.3g} ms "
                f"around {1e3 / measured:.4g} ms.",
                next_step="Use the times of the rows, not their number.",
            )
        )
    if not found:
        evidence = f"the rows come at {measured:.4g} Hz; no nominal rate is given."
        found.append(Finding(name="rate", answer=Answer.IN_ORDER, evidence=evidence))
    return found


def compute_jitter(recording: Recording) -> float:
    """Standard deviation of the steps that no missing row made longer [s]."""
    steps = np.diff(recording.time)
    return float(steps[steps * recording.rate < 1.75].std())


def _are_whole(steps: np.ndarray, spread: float) -> bool:
    """Whether most gaps are whole numbers of periods, as lost rows leave them."""
    off = np.abs(steps - np.round(steps))
    return bool(np.mean(off <= min(0.05 + 2 * spread, 0.25)) >= 0.8)


def _too_few(name: str, recording: Recording) -> Finding:
    evidence = f"{len(recording.time)} rows are too few to judge a clock."
    return Finding(name=name, answer=Answer.CANNOT_TELL, evidence=evidence)
