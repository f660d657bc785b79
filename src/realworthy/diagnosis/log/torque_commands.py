"""Torque commands against torque columns: under another name, or turned round."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.fix import Fix, Side, fix_order, fix_sign
from realworthy.diagnosis.log.alike import compare_over_lags
from realworthy.diagnosis.log.drives import Limits, find_command, find_torque
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.recordings import Recording

Floats = NDArray[np.float64]

MIN_CORRELATION = 0.9
"""Correlation from which a torque answers a command."""
TIMES = 3.0
"""Times more that its own command must leave of a torque than another's."""
MAX_LAG = 0.1
"""[s]"""
FEW_ROWS = 100


def inspect_torque_commands(
    recordings: Sequence[Recording], limits: Limits
) -> list[Finding]:
    """`joint_order` and `joint_sign` of joints that are driven by torques.

    The fix moves commands; which side is wrong is for `choose_side`.
    """
    joints = [
        joint
        for joint, drive in limits.drives.items()
        if drive.kind == "torque"
        and all(
            find_command(r, joint, drive) and find_torque(r, joint) for r in recordings
        )
    ]
    usable = [r for r in recordings if len(r.time) >= FEW_ROWS]
    if not joints or not usable:
        return []
    likeness = _compare(usable, joints, limits)
    left = 1 - np.clip(likeness**2, 0, 1 - 1e-6)
    names = _match(joints, np.abs(likeness), left)
    if names:
        places = [(joints.index(j), joints.index(n)) for j, n in names.items()]
        found = min(abs(float(likeness[n, j])) for j, n in places)
        own = max(abs(float(likeness[j, j])) for j, _ in places)
        return [_exchanged(usable[0], names, found, own)]
    return [
        _turned(usable[0], joint, float(likeness[i, i]))
        for i, joint in enumerate(joints)
        if likeness[i, i] < -MIN_CORRELATION
    ]


def _compare(
    recordings: Sequence[Recording], joints: Sequence[str], limits: Limits
) -> Floats:
    """(commands, torques) correlation at the lag that shows it best, mean over logs."""
    tables = []
    for recording in recordings:
        drives = [limits.drives[joint] for joint in joints]
        commands = [
            recording.signals[str(find_command(recording, joint, drive))]
            * drive.torque_per_command
            for joint, drive in zip(joints, drives, strict=True)
        ]
        torques = [recording.signals[str(find_torque(recording, j))] for j in joints]
        low, high = compare_over_lags(
            np.stack(commands, axis=1),
            np.stack(torques, axis=1),
            recording.rate,
            max_lag=MAX_LAG,
        )
        tables.append(np.where(-low > high, low, high))
    return np.mean(tables, axis=0)


def _match(joints: Sequence[str], likeness: Floats, left: Floats) -> dict[str, str]:
    """Joint → name under which its command is found; empty where all are in place.

    A torque that answers a command holds nothing but it and noise, so what another
    command leaves unexplained must be much more.
    """
    from scipy.optimize import linear_sum_assignment

    if len(joints) < 2:
        return {}
    commands, torques = linear_sum_assignment(np.log(left))
    moved = [(int(i), int(k)) for i, k in zip(commands, torques, strict=True) if i != k]
    for i, k in moved:
        if likeness[i, k] < MIN_CORRELATION or left[k, k] < TIMES * left[i, k]:
            return {}
    return {joints[k]: joints[i] for i, k in moved}


def _exchanged(
    recording: Recording, names: dict[str, str], found: float, own: float
) -> Finding:
    moved = ", ".join(f"that of {j} under {n}" for j, n in names.items())
    return Finding(
        name="joint_order",
        answer=Answer.FAULT,
        joints=tuple(names),
        size=found,
        evidence=f"torques answer the commands of other joints ({moved}): they "
        f"correlate by {found:.3f} or more there, by at most {own:.2f} under their own "
        "names.",
        next_step="Compare the order of names in the recorder with that of the robot.",
        fix=fix_order(recording, names, side=Side.COMMANDS),
    )


def _turned(recording: Recording, joint: str, likeness: float) -> Finding:
    fix: Fix = fix_sign(recording, [joint], side=Side.COMMANDS)
    return Finding(
        name="joint_sign",
        answer=Answer.FAULT,
        joints=(joint,),
        size=likeness,
        evidence=f"the torque of {joint} is the opposite of its command (correlation "
        f"{likeness:.3f}): either its command or its measurements are turned round.",
        next_step="Command a small torque one way and look at the joint.",
        fix=fix,
    )
