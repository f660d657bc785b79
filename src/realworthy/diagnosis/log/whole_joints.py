"""Joints whose columns all count the other way, or all stand under another's name.

Such a log agrees with itself. Gravity, inertia and the other joints of the twin do not:
the torque that a joint needs then has nothing to do with what its drive gives.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from realworthy.diagnosis.fix import Fix, fix_order, fix_sign
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.diagnosis.log.torque_residual import (
    TorqueResidual,
    measure_torque_residual,
    score_torque_residual,
)
from realworthy.errors import RealworthyError
from realworthy.recordings import Recording
from realworthy.twins import Twin

SUSPECT = 0.3
"""Torque residual, in parts of the torque that the motion needs, from which a joint is
asked: half the sign of its gravity wrong makes one."""
ASKED = 6
"""Joints that are asked at most, worst first; their pairs too."""
MIN_LOG_GAIN = 0.7
"""Fall of the logarithm of the torque residual on every joint concerned, a factor of
two. Wrong masses, gains, tilts and lost effects of 77 recorded cases of eight robots
never made it fall by 0.25, three turned or exchanged joints by 0.9, 2.6 and 4.5
(2026-11-19)."""
ROWS = 50
"""Rows of each recording that are asked."""
MAX_LOG_LOSS = 0.3
"""Rise of the same that other joints may show."""


def inspect_whole_joints(recordings: Sequence[Recording], twin: Twin) -> list[Finding]:
    """`joint_sign` and `joint_order` of all columns of a joint at once.

    `size` is by how much the torque residual falls, the smallest factor over the joints
    concerned.
    """
    try:
        before = measure_torque_residual(twin, recordings)
    except RealworthyError:  # the twin cannot be laid along this log
        return []
    suspects = sorted(
        (joint for joint, r in before.items() if _is_suspect(r)),
        key=lambda joint: -_compare(before[joint]),
    )[:ASKED]
    fixes: list[tuple[tuple[str, ...], Fix]] = [
        ((joint,), fix_sign(recordings[0], [joint])) for joint in suspects
    ]
    for first, second in combinations(suspects, 2):
        names = {first: second, second: first}
        fixes.append(((first, second), fix_order(recordings[0], names)))
    if not fixes:
        return []
    try:
        scores = score_torque_residual(
            twin,
            recordings,
            [Fix(summary="none"), *(fix for _, fix in fixes)],
            row_count=ROWS,
        )
    except RealworthyError:
        return []
    best: tuple[float, int] | None = None
    for k, (concerned, _) in enumerate(fixes):
        falls = {j: scores[0][j] - scores[k + 1][j] for j in scores[0]}
        others = [fall for joint, fall in falls.items() if joint not in concerned]
        if min(falls[joint] for joint in concerned) < MIN_LOG_GAIN:
            continue
        if min(others, default=0.0) < -MAX_LOG_LOSS:
            continue
        total = sum(falls.values())
        if best is None or total > best[0]:
            best = (total, k)
    if best is None:
        return []
    concerned, fix = fixes[best[1]]
    least = min(scores[0][j] - scores[best[1] + 1][j] for j in concerned)
    return [_tell(concerned, fix, float(np.exp(least)))]


def _compare(residual: TorqueResidual) -> float:
    typical = float(np.median(np.abs(np.concatenate(residual.torque))))
    return typical / (residual.typical + 1e-9)


def _is_suspect(residual: TorqueResidual) -> bool:
    return _compare(residual) > SUSPECT


def _tell(concerned: tuple[str, ...], fix: Fix, size: float) -> Finding:
    is_sign = len(concerned) == 1
    listed = " and ".join(concerned)
    what = (
        f"all columns of {listed} count the other way"
        if is_sign
        else f"all columns of {listed} stand under each other's names"
    )
    return Finding(
        name="joint_sign" if is_sign else "joint_order",
        answer=Answer.FAULT,
        joints=concerned,
        size=size,
        evidence=f"{what}: so read, the torque that the twin's gravity and inertia "
        f"leave unexplained falls by a factor of {size:.3g} or more.",
        next_step="Command a small step of one joint and look which way it moves."
        if is_sign
        else "Compare the order of names in the recorder with that of the robot.",
        fix=fix,
    )
