"""Notes on signals that never change, or that stop at one value."""

import numpy as np

from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.recordings import Recording
from realworthy.recordings.signals import is_held

SATURATED = 0.05
"""Share of rows at the very same extreme from which it is worth a note."""
LIMITED = ("velocity", "torque", "current", "duty", "command", "x", "y", "z")
"""Ends of the names of what motors and sensors cut off; joints may well rest."""
RUN = 3
"""Rows in a row at the extreme."""
LEVELS = 30
"""Values below which a signal is a switch or a coarse register."""


def inspect_ranges(recording: Recording) -> list[Finding]:
    """Signals that are constant or cut off; never a fault by themselves.

    Values that are not numbers never come this far: `Recording` refuses them.
    """
    found = []
    still = [n for n, v in recording.signals.items() if np.ptp(v) == 0]
    measured = [name for name in still if not is_held(name)]
    if measured:
        listed = ", ".join(measured[:6]) + (", …" if len(measured) > 6 else "")
        found.append(
            Finding(
                name="constant_signal",
                answer=Answer.NOTE,
                size=float(len(measured)),
                evidence=f"{len(measured)} measured signals never change: {listed}.",
                next_step="Make sure that these sensors are connected.",
            )
        )
    shares = {
        name: share
        for name, values in recording.signals.items()
        if name.split(".")[-1] in LIMITED
        and (share := _share_at_ends(values)) >= SATURATED
    }
    if shares:
        worst = max(shares, key=lambda name: shares[name])
        values = recording.signals[worst]
        found.append(
            Finding(
                name="saturated_signal",
                answer=Answer.NOTE,
                joints=tuple(dict.fromkeys(n.split(".")[0] for n in shares)),
                size=shares[worst],
                evidence=f"{len(shares)} signals often stand at their extremes, most "
                f"of all {worst} ({values.min():.4g} or {values.max():.4g} in "
                f"{shares[worst]:.0%} of the rows): they may be cut off there.",
            )
        )
    return found


def _share_at_ends(values: np.ndarray) -> float:
    """Share of rows in stretches at the highest or lowest value."""
    if len(np.unique(values)) < LEVELS:
        return 0.0
    count = 0
    for end in {values.min(), values.max()} - {0.0}:
        at = np.concatenate([[False], values == end, [False]])
        edges = np.flatnonzero(np.diff(at.astype(int)))
        lengths = edges[1::2] - edges[::2]
        count += int(lengths[lengths >= RUN].sum())
    return count / len(values)
