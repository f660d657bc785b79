"""Velocities of all joints that are off by one and the same factor: the clock is wrong.

A unit of velocities has a factor of its own, 57.3 or 9.55 or 6.28; a gear concerns one
joint. What remains, common to every joint, is time that runs too fast or too slow.
"""

import numpy as np

from realworthy.diagnosis.fix import Fix
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.diagnosis.log.scales import SPEEDS, UNITS, measure_speed_ratio
from realworthy.recordings import Recording, SignalSource

MIN_CORRELATION = 0.97
"""Correlation of a velocity with the derivative of its position that counts."""
OFF = 0.08
"""Logarithm of the ratio that matters. Filters of drives flatten velocities: ratios
down to 0.97 were seen on 107 recordings of eight healthy robots (2026-11-19)."""
COMMON = 0.03
"""Spread of the logarithm over joints that one clock leaves."""
NEAR_UNIT = 0.04
"""Relative distance from a unit of velocity or position within which that is it."""
MAX_CLOCK_RATIO = 4.0
"""Beyond this ratio nobody runs a robot by such a clock: it is a unit."""


def inspect_clock_scale(recording: Recording) -> list[Finding]:
    """`rate`: stamps that run too fast or too slow; `size` is their factor to seconds.

    Needs two joints or more that move: of one joint a gear says the same.
    """
    ratios = [
        found[0]
        for joint in recording.joints
        if (found := measure_speed_ratio(recording, joint)) is not None
        and found[1] > MIN_CORRELATION
    ]
    if len(ratios) < 2:
        return []
    logs = np.log(ratios)
    middle, spread = (
        float(np.median(logs)),
        float(np.median(np.abs(logs - np.median(logs)))),
    )
    ratio = float(np.exp(middle))
    is_off = abs(middle) > OFF and 1 / MAX_CLOCK_RATIO < ratio < MAX_CLOCK_RATIO
    known = [*SPEEDS.values(), *UNITS.values()]
    is_unit = any(abs(ratio * f - 1) < NEAR_UNIT for f in known)
    is_unit |= any(abs(ratio / f - 1) < NEAR_UNIT for f in known)
    if not is_off or is_unit or spread > COMMON:
        return []
    error = 1.2533 * 1.4826 * max(spread, 0.002) / np.sqrt(len(ratios))
    ends = sorted(float(np.exp(-middle + side * 1.645 * error)) for side in (-1, 1))
    rate = recording.rate * ratio
    return [
        Finding(
            name="rate",
            answer=Answer.FAULT,
            size=1 / ratio,
            interval=(ends[0], ends[1]),
            evidence=f"velocities are {ratio:.4g} times the derivative of their "
            f"positions, alike on all {len(ratios)} joints that move (spread "
            f"{100 * spread:.2g} %): the stamps run "
            f"{'slow' if ratio < 1 else 'fast'}, the rows came at {rate:.4g} Hz and "
            f"not at {recording.rate:.4g} Hz.",
            next_step="Stamp rows with the clock at which they are measured.",
            fix=Fix(
                summary=f"time times {1 / ratio:.5g}",
                mapping={"time": SignalSource(scale=1 / ratio)},
                rate=rate,
            ),
        )
    ]
