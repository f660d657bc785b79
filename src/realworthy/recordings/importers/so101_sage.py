"""SO-101 arm, recorded by SAGE: one folder per motion, six numbers in one cell.

The goal is written first, then the servos are read one after the other, so a measured
row is a little later than its time, the gripper's latest of all.
"""

from pathlib import Path

import msgspec
import numpy as np

from realworthy.errors import BadFile
from realworthy.recordings.formats.csv import read_rows
from realworthy.recordings.importers.importer import (
    Imported,
    Importer,
    column,
    drop_bad_rows,
    either,
    find_files,
    select,
)
from realworthy.recordings.sidecar import Sidecar, SignalSource
from realworthy.recordings.signals import Table

JOINTS = (
    "shoulder_pan",
    "shoulder_lift",
    "elbow_flex",
    "wrist_flex",
    "wrist_roll",
    "gripper",
)
STROKE = 1523 * 2 * np.pi / 4096
"""The jaw's calibrated range [rad]: its positions are whole 1523rds, encoder steps."""
MIDDLE = (1.7453292 - 0.174533) / 2
"""Middle of the gripper's range in the model [rad]."""

NOTES: dict[str, object] = {
    "servo": {"P": 16, "I": 0, "D": 32, "model": "STS3215, 12 V"},
    "gripper": "recorded as 0..1 of its calibrated range of 1523 encoder steps "
    "(2.336 rad, as its velocity confirms); the middle of that range is assumed to be "
    "the middle of the model's, 0.785 rad",
    "torque_magnitude": "|current| × 0.022814 N·m: an estimate without sign",
    "velocity": "servo register, coarse, about one row late",
    "measured_late": "servos are read one after the other after the goal is sent",
}


def _columns() -> dict[str, SignalSource]:
    """Every joint is a column `<list>.<index>` of the flattened cells."""
    columns = {"time": column("timestamp", 1e-6)}
    for i, joint in enumerate(JOINTS):
        jaw = joint == "gripper"
        scale, offset = (STROKE, MIDDLE - STROKE / 2) if jaw else (1.0, 0.0)
        columns |= {
            f"{joint}.position": column(f"positions.{i}", scale, offset),
            f"{joint}.velocity": column(f"velocities.{i}"),
            f"{joint}.torque_magnitude": column(f"torques.{i}"),
            f"{joint}.command": column(f"goals.{i}", scale, offset),
        }
    return columns


def find(path: Path) -> list[Path]:
    """Motion folders: this one, that of this file, or those below."""
    if path.is_file():
        path = path.parent
    return [file.parent for file in find_files(path, ("state_motor.csv*",))]


def read(path: Path, given: Sidecar) -> list[Imported]:
    """One motion; goals and states share their times."""
    states = _read_lists(either(path / "state_motor.csv"))
    goals = _read_lists(either(path / "control.csv"))
    if not np.array_equal(states["timestamp"], goals["timestamp"]):
        raise BadFile(path, "control and state_motor have different times.")
    for i in range(len(JOINTS)):
        states[f"goals.{i}"] = goals[f"positions.{i}"]
    table, dropped = drop_bad_rows(select(states, _columns(), path=path))
    sidecar = Sidecar(
        twin="menagerie:robotstudio_so101",
        command_kind="position",
        rate=50.0,
        notes={"motion": path.name, **NOTES, **dropped},
    )
    return [Imported(table=table, sidecar=sidecar, source=path)]


def _read_lists(path: Path) -> Table:
    """Columns `timestamp` and `<heading>.<index>` for every list in a cell."""
    decode = msgspec.json.Decoder(list[float]).decode
    rows = read_rows(path)
    try:
        table = {"timestamp": np.array([float(row["timestamp"]) for row in rows])}
        for heading in rows[0].keys() - {"type", "timestamp"}:
            lists = np.array([decode(row[heading]) for row in rows])
            table |= {f"{heading}.{i}": lists[:, i] for i in range(len(JOINTS))}
    except (KeyError, IndexError, ValueError, TypeError, msgspec.MsgspecError):
        raise BadFile(
            path, "it is not a table with a timestamp and lists of six numbers."
        ) from None
    return table


IMPORTER = Importer(
    summary="SO-101 arm of the SAGE data set, 50 Hz position commands",
    layout="a motion folder with state_motor.csv[.gz] and control.csv[.gz]",
    find=find,
    read=read,
)
