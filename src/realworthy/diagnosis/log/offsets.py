"""Constant differences between what is commanded and what is measured.

At rest a position drive sags by torque / kp and by nothing else. What is left beside
that is a pose that the robot adds to its commands, or an encoder's zero.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.fix import Fix, Side, fix_offset, join
from realworthy.diagnosis.log.drive_faults import SURE
from realworthy.diagnosis.log.drives import Drive, Limits, find_command, find_torque
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.diagnosis.log.law import Law
from realworthy.diagnosis.log.torque_residual import (
    MIN_LOG_RATIO,
    compare_torque_residual,
    measure_torque_residual,
)
from realworthy.errors import RealworthyError
from realworthy.recordings import Recording, SignalSource
from realworthy.twins import Twin

Floats = NDArray[np.float64]

OF_LOAD = 0.1
"""Share of the sag under load that wrong gains may leave, though both the twin's gains
and fitted ones must agree on the offset."""
OF_LOAD_BY_TWIN = 3.0
"""The same without a torque column, where the load itself is the twin's opinion: a
joint whose columns all count the other way misses twice its load, a doubled mass once.
"""
OF_REST = 4.0
"""Times what the law leaves: play and elastic gears leave much, offsets nothing."""
MIN_OFFSET = 0.004
"""[rad or m] below which no offset is named: three steps of a 12-bit encoder."""
MIN_OFFSET_BY_TWIN = 0.03
"""The same without a torque column: dead bands and dry friction hold real servos off
their commands by up to 0.02 rad at rest (SO-101, 37 recordings, 2026-11-19)."""
SCATTER = 0.15
"""Scatter over half seconds, in parts of the offset, that a constant may have."""
PLAIN = 0.3
"""Relative distance from the mean difference of position and command: where gains of
the twin are far off, torque residual over gain is far from anything measured."""
NEAR_POSE = 0.15
"""Relative distance within which offsets are those of a keyframe."""


@dataclass(frozen=True, slots=True)
class _Offset:
    joint: str
    size: float
    """[rad or m] that commands lack, or that measurements have too much."""
    sd: float
    sag: float


def inspect_offsets(
    recordings: Sequence[Recording],
    limits: Limits,
    laws: dict[str, Law],
    twin: Twin | None,
) -> list[Finding]:
    """`default_pose` where several joints are off at once, else `encoder_offset`.

    `size` is the largest offset [rad or m]. Where the twin's gravity says which side is
    wrong, that decides.
    """
    found = _by_torque(laws)
    if not any(_has_torque(recording, limits) for recording in recordings):
        with contextlib.suppress(RealworthyError):  # the twin cannot be laid along it
            found = [] if twin is None else _by_twin(recordings, limits, twin)
    if not found:
        return []
    fixes = _list_fixes(recordings, limits, found)
    is_pose = len(found) > 1 or _is_keyframe(found, limits)
    if twin is not None and not is_pose:
        with contextlib.suppress(RealworthyError):
            of_commands, of_encoders = compare_torque_residual(
                twin, recordings, [fixes["default_pose"], fixes["encoder_offset"]]
            )
            is_pose = of_commands < of_encoders - MIN_LOG_RATIO
    name = "default_pose" if is_pose else "encoder_offset"
    largest = max(found, key=lambda o: abs(o.size))
    listed = ", ".join(f"{o.joint} {o.size:+.4g} ± {o.sd:.1g}" for o in found[:6])
    margin = 1.645 * largest.sd
    return [
        Finding(
            name=name,
            answer=Answer.FAULT,
            joints=tuple(offset.joint for offset in found),
            size=largest.size,
            interval=(largest.size - margin, largest.size + margin),
            evidence=f"positions stand off their commands by {listed} [rad or m] more "
            f"than their load explains (it explains {largest.sag:.2g} of "
            f"{largest.joint} at most): "
            + (
                "commands are relative to a pose that the robot adds."
                if is_pose
                else "the encoder's zero is off, or a constant is added to commands."
            ),
            next_step="Compare command and position at rest with the pose that the "
            "controller adds."
            if is_pose
            else "Put the joint against a known stop and read its encoder.",
            fix=fixes[name],
        )
    ]


def _by_torque(laws: dict[str, Law]) -> list[_Offset]:
    found = []
    for joint, law in laws.items():
        both = (law.offset, law.plain_offset)
        if not law.holds or abs(law.scale - 1) > 0.05 or both[0] * both[1] <= 0:
            continue
        if not np.isfinite(both).all():
            continue
        limit = max(
            OF_LOAD * law.load, SURE * law.offset_sd, OF_REST * law.rest, MIN_OFFSET
        )
        if min(np.abs(both)) > limit:
            sd = float(np.hypot(law.offset_sd, 0.5 * (both[0] - both[1])))
            found.append(_Offset(joint, law.plain_offset, sd, law.load))
    return found


def _by_twin(
    recordings: Sequence[Recording], limits: Limits, twin: Twin
) -> list[_Offset]:
    """Offsets of joints without a torque column, by the load that the twin knows."""
    found = []
    for joint, missing in measure_torque_residual(twin, recordings).items():
        drive = limits.drives.get(joint)
        if drive is None or drive.kind != "position" or drive.kp <= 0:
            continue
        blocks = np.array([float(np.median(part)) for part in missing.torque])
        plain = _measure_plainly(recordings, joint, drive)
        if len(blocks) < 6 or plain is None:
            continue
        size = float(np.median(blocks)) / drive.kp
        scatter = float(np.std(blocks)) / drive.kp
        sag = float(np.quantile(np.abs(missing.needed), 0.9)) / drive.kp
        is_constant = scatter < SCATTER * abs(size)
        is_plain = abs(plain - size) < PLAIN * abs(size) + sag
        if abs(size) > max(OF_LOAD_BY_TWIN * sag, MIN_OFFSET_BY_TWIN) and (
            is_constant and is_plain
        ):
            sd = scatter / np.sqrt(len(blocks))
            found.append(_Offset(joint, size, float(sd), sag))
    return found


def _measure_plainly(
    recordings: Sequence[Recording], joint: str, drive: Drive
) -> float | None:
    """Median of position - command [rad or m]; None without commands."""
    found = [
        recording.signals[f"{joint}.position"] - recording.signals[name]
        for recording in recordings
        if (name := find_command(recording, joint, drive)) is not None
    ]
    return float(np.median(np.concatenate(found))) if found else None


def _has_torque(recording: Recording, limits: Limits) -> bool:
    return any(find_torque(recording, joint) for joint in limits.drives)


def _is_keyframe(found: Sequence[_Offset], limits: Limits) -> bool:
    """Whether the twin has a pose that is these offsets."""
    for pose in limits.poses:
        known = [pose.get(offset.joint, 0.0) for offset in found]
        if all(
            abs(value) > MIN_OFFSET and abs(o.size / value - 1) < NEAR_POSE
            for o, value in zip(found, known, strict=True)
        ):
            return True
    return False


def _list_fixes(
    recordings: Sequence[Recording], limits: Limits, found: Sequence[_Offset]
) -> dict[str, Fix]:
    commands: dict[str, SignalSource] = {}
    encoders: list[Fix] = []
    for offset in found:
        drive: Drive = limits.drives[offset.joint]
        for recording in recordings:
            if (name := find_command(recording, offset.joint, drive)) is not None:
                commands[name] = SignalSource(offset=offset.size)
        encoders.append(
            fix_offset(
                recordings[0], offset.joint, -offset.size, side=Side.MEASUREMENTS
            )
        )
    joints = ", ".join(offset.joint for offset in found)
    return {
        "default_pose": Fix(summary=f"pose of {joints} added", mapping=commands),
        "encoder_offset": join(encoders),
    }
