"""DFKI torque-limited pendulum: what was desired and what was measured, in two files.

Row n of the desired file was sent in row n of the measured one. Their clocks differ:
the swing-up of `direct_collocation` was planned for 3.9 s and played in 3.5 s, and its
positions agree row by row (correlation 0.9996), not second by second (0.77).
"""

from pathlib import Path

import numpy as np

from realworthy.errors import BadFile, UnknownName
from realworthy.recordings.formats.csv import read_table
from realworthy.recordings.importers.importer import (
    Imported,
    Importer,
    column,
    drop_bad_rows,
    find_files,
    select,
)
from realworthy.recordings.sidecar import Sidecar
from realworthy.recordings.signals import Table, Values

FFT_HEADINGS = {"pos": "position", "vel": "velocity"}
"""Headings of the `fft` folder."""

MEASURED = {
    "time": column("time"),
    "joint.position": column("position"),
    "joint.velocity": column("velocity"),
    "joint.torque": column("torque"),
}
TORQUE_COMMAND = {"joint.command": column("torque")}
POSITION_COMMAND = {
    "joint.command": column("position"),
    "joint.command.velocity": column("velocity"),
    "joint.command.torque": column("torque"),
}

COMMAND_NOTES = {
    True: "desired torque; the drive reports it about one row later",
    False: "desired position, velocity and feed-forward torque of a tracking "
    "controller: the measured torque does not follow the desired one",
}


def find(path: Path) -> list[Path]:
    """Folders with a measured file: this one, that of this file, or those below."""
    if path.is_file():
        path = path.parent
    files = find_files(path, ("data_measured.csv*", "measured_data.csv*"))
    return [file.parent for file in files]


def read(path: Path, given: Sidecar) -> list[Imported]:
    """One run, with the command that the measured torque shows was followed."""
    measured, desired = _read(path, "measured"), _read(path, "desired")
    rows = min(len(measured["time"]), len(desired["time"]))
    is_torque = is_torque_command(desired, measured, rows)
    commands = TORQUE_COMMAND if is_torque else POSITION_COMMAND
    table = select(measured, MEASURED, path=path)
    table |= select(desired, commands, path=path)
    lengths = {len(values) for values in table.values()}
    table, dropped = drop_bad_rows({n: values[:rows] for n, values in table.items()})
    notes: dict[str, object] = {"run": path.name, "command": COMMAND_NOTES[is_torque]}
    if len(lengths) > 1:
        notes["unpaired_rows"] = max(lengths) - rows
    sidecar = Sidecar(
        twin="pendulum",
        command_kind="torque" if is_torque else "position",
        notes={**notes, **dropped},
    )
    return [Imported(table=table, sidecar=sidecar, source=path)]


def is_torque_command(desired: Table, measured: Table, rows: int) -> bool:
    """Whether the drive was sent the desired torque itself.

    So it was when no position was desired, or when the measured torque is the desired
    one up to two rows later (correlation above 0.9). Else a controller tracked the
    desired position, and the desired torque was at most its feed-forward.
    """
    if np.ptp(desired["position"]) == 0:
        return True
    sent, felt = desired["torque"][:rows], measured["torque"][:rows]
    return any(_correlate(sent[: rows - lag], felt[lag:]) > 0.9 for lag in range(3))


def _correlate(a: Values, b: Values) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def _read(folder: Path, which: str) -> Table:
    files = find_files(folder, (f"data_{which}.csv*", f"{which}_data.csv*"))
    if not files:
        raise BadFile(folder, f"it has no data_{which}.csv[.gz].")
    table = {
        FFT_HEADINGS.get(n, n): values for n, values in read_table(files[0]).items()
    }
    for name in ("time", "position", "velocity", "torque"):
        if name not in table:
            raise UnknownName("column", name, [*table], owner=f"'{files[0].name}'")
    return table


IMPORTER = Importer(
    summary="DFKI torque-limited simple pendulum, torque or tracked position",
    layout="a folder with data_measured.csv[.gz] and data_desired.csv[.gz]",
    find=find,
    read=read,
)
