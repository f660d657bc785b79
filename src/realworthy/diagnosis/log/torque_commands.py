"""Torque commands against torque columns: under another name, or turned round."""

from collections.abc import Sequence

import numpy as np

from realworthy.diagnosis.fix import Fix, Side, fix_order, fix_sign
from realworthy.diagnosis.log.alike import compare_over_lags, find_exchange
from realworthy.diagnosis.log.drives import Limits, find_command, find_torque
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.recordings import Recording

CLEAR = 0.9
"""Correlation from which a torque answers a command."""
MAX_LAG = 0.15
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
    lowest = np.full((len(joints), len(joints)), np.inf)
    highest = -lowest
    for recording in usable:
        commands = np.stack(
            [
                recording.signals[str(find_command(recording, j, limits.drives[j]))]
                * limits.drives[j].torque_per_command
                for j in joints
            ],
            axis=1,
        )
        torques = np.stack(
            [recording.signals[str(find_torque(recording, j))] for j in joints], axis=1
        )
        low, high = compare_over_lags(
            commands, torques, recording.rate, max_lag=MAX_LAG
        )
        lowest, highest = np.minimum(lowest, low), np.maximum(highest, high)
    if len(joints) > 1:
        strength = np.maximum(highest, -lowest)
        exchange = find_exchange(strength, clear=CLEAR)
        if exchange is not None:
            names = {joints[i]: joints[j] for i, j in exchange.sources.items()}
            return [_exchanged(usable[0], names, exchange.found, exchange.own)]
    return [
        _turned(usable[0], joint, float(lowest[i, i]))
        for i, joint in enumerate(joints)
        if lowest[i, i] < -CLEAR and highest[i, i] < CLEAR + lowest[i, i] + 0.5
    ]


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
