"""Columns that stand under the names of other joints, and commands turned round.

The robot that permutes measurements and commands alike is not seen here: its log agrees
with itself, and only physics can tell.
"""

import numpy as np

from realworthy.diagnosis.fix import Fix, Side, fix_sign
from realworthy.diagnosis.log.alike import (
    FEW_ROWS,
    Exchange,
    compare_motions,
    compare_over_lags,
    compute_integral,
    find_exchange,
)
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.recordings import Recording, SignalSource

MAX_LAG = 0.3
"""[s] within which a position answers its command."""
CLEAR, FOLLOWED = 0.9, 0.8
"""Correlation of a velocity with its position, and of a servo with its command."""
SHORT_LAG = 0.2
"""[s] within which it begins to go the right way."""
OPPOSITE = -0.8
"""Correlation from which a command goes the other way than its joint,"""
UNLIKE = 0.4
"""where at no lag, as half a swing later, it is above this,"""
FOLLOWS = 0.3
"""and the joint moves at least this many times as far as it is told, or a stuck one
that only rocks would be accused."""


def inspect_velocity_order(recording: Recording) -> list[Finding]:
    """`joint_order` among velocities: each must be the derivative of its position."""
    joints = [j for j in recording.joints if f"{j}.velocity" in recording.signals]
    if (few := _too_few(recording, joints, "velocities")) is not None:
        return [few]
    integrals = [
        compute_integral(recording.time, recording.signals[f"{joint}.velocity"])
        for joint in joints
    ]
    likeness = np.array(
        [
            [compare_motions(recording.signals[f"{j}.position"], v) for v in integrals]
            for j in joints
        ]
    )
    return [_exchanged(joints, find_exchange(likeness, clear=CLEAR), "velocity")]


def inspect_command_order(recording: Recording) -> list[Finding]:
    """`joint_order` and `joint_sign` of position commands, by which joint answers."""
    suffix = command_suffix(recording)
    joints = [j for j in recording.joints if f"{j}.{suffix}" in recording.signals]
    if suffix is None or not joints:
        evidence = "there are no position commands to compare with positions."
        return [
            Finding(name="joint_order", answer=Answer.CANNOT_TELL, evidence=evidence)
        ]
    if len(recording.time) < FEW_ROWS:
        return [f for f in [_too_few(recording, joints, "commands")] if f is not None]
    commands = recording.stack(suffix, joints)
    positions = recording.stack("position", joints)
    lowest, highest = compare_over_lags(
        commands, positions, recording.rate, max_lag=MAX_LAG
    )
    # A joint whose position is under another's name: the command finds it there.
    exchange = None
    if len(joints) > 1:
        exchange = find_exchange(np.maximum(highest, -lowest), clear=FOLLOWED)
    found = [_exchanged(joints, _invert(exchange), suffix)]
    if exchange is None:
        lowest, highest = compare_over_lags(
            commands, positions, recording.rate, max_lag=SHORT_LAG
        )
        sizes = positions.std(axis=0) / np.maximum(commands.std(axis=0), 1e-9)
        found += [
            _turned(recording, joint, float(lowest[i, i]))
            for i, joint in enumerate(joints)
            if lowest[i, i] < OPPOSITE
            and highest[i, i] < UNLIKE
            and FOLLOWS < sizes[i] < 1 / FOLLOWS
        ]
    return found


def command_suffix(recording: Recording) -> str | None:
    """`command` or `command.position`, whichever asks for positions; else None."""
    if recording.sidecar.command_kind == "position":
        return "command"
    if any(name.endswith(".command.position") for name in recording.signals):
        return "command.position"
    return None


def _invert(exchange: Exchange | None) -> Exchange | None:
    """From command → place that answers it to joint → place of its command."""
    if exchange is None:
        return None
    sources = {j: i for i, j in exchange.sources.items()}
    return Exchange(sources, exchange.own, exchange.found)


def _exchanged(joints: list[str], exchange: Exchange | None, quantity: str) -> Finding:
    if exchange is None:
        what = "its own position's derivative" if quantity == "velocity" else "its own"
        return Finding(
            name="joint_order",
            answer=Answer.IN_ORDER,
            evidence=f"no {quantity} fits another joint clearly better than {what}, "
            f"among {len(joints)}.",
        )
    names = {joints[i]: joints[j] for i, j in exchange.sources.items()}
    moved = ", ".join(f"that of {j} under {n}" for j, n in names.items())
    mapping = {
        f"{joint}.{quantity}": SignalSource(source=f"{name}.{quantity}")
        for joint, name in names.items()
    }
    return Finding(
        name="joint_order",
        answer=Answer.FAULT,
        joints=tuple(joint for joint in joints if joint in names),
        size=exchange.found,
        evidence=f"{quantity} columns are exchanged ({moved}): they correlate by "
        f"{exchange.found:.3f} or more there, by at most {exchange.own:.2f} under "
        "their own names.",
        next_step="Compare the order of names in the recorder with that of the robot.",
        fix=Fix(summary=f"{quantity} columns renamed: {moved}", mapping=mapping),
    )


def _turned(recording: Recording, joint: str, likeness: float) -> Finding:
    return Finding(
        name="joint_sign",
        answer=Answer.FAULT,
        joints=(joint,),
        size=likeness,
        evidence=f"{joint} moves against its position command (correlation "
        f"{likeness:.3f}): either its command or its measurements are turned round.",
        next_step="Command a small step one way and look at the joint.",
        fix=fix_sign(recording, [joint], side=Side.COMMANDS),
    )


def _too_few(recording: Recording, joints: list[str], what: str) -> Finding | None:
    if len(joints) >= 2 and len(recording.time) >= FEW_ROWS:
        return None
    evidence = (
        f"{what} of {len(joints)} joint{'s' if len(joints) != 1 else ''} over "
        f"{len(recording.time)} rows cannot be exchanged, or not seen to be."
    )
    return Finding(name="joint_order", answer=Answer.CANNOT_TELL, evidence=evidence)
