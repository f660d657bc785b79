"""The journal of a trial as a recording: what is left of one that was cut short.

A whole trial becomes a recording in a file of another format, by the same table.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from realworthy.errors import BadFile
from realworthy.recordings.formats.format import Format
from realworthy.recordings.journal import SUFFIX, About, Floats, read_journal
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import Sidecar
from realworthy.recordings.signals import BRAKING, Table


def make_about(
    joints: tuple[str, ...],
    other_signals: tuple[str, ...],
    commands: tuple[str, ...],
    sidecar: Sidecar,
) -> About:
    """What a journal must say of itself to become a recording."""
    return {
        "joints": list(joints),
        "other_signals": list(other_signals),
        "commands": list(commands),
        "sidecar": msgspec.to_builtins(sidecar),
    }


def build_table(about: About, rows: Mapping[str, Floats]) -> Table | None:
    """Rows of new measurements, each with the command sent then; None: too few.

    Where the robot sent nothing new between two commands, the first of them is the
    row's. Where it braked by itself, `robot.braking` is 1.
    """
    time = rows["state_time"][:, 0]
    sent = np.isfinite(rows["command"]).all(axis=1) & np.isfinite(time)
    newest = np.maximum.accumulate(np.where(sent, time, -np.inf))
    kept = sent & (time > np.concatenate([[-np.inf], newest[:-1]]))
    if np.count_nonzero(kept) < 2:
        return None
    table: Table = {"time": time[kept]}
    joints = _names(about, "joints")
    for quantity in ("position", "velocity", "torque"):
        names = [f"{joint}.{quantity}" for joint in joints]
        table |= _columns(names, rows[quantity][kept])
    for group, column in (("other_signals", "others"), ("commands", "command")):
        table |= _columns(_names(about, group), rows[column][kept])
    braking = rows["braking"][kept, 0]
    if braking.any():
        table[BRAKING] = braking
    return table


def read(path: Path) -> tuple[Table, Sidecar | None]:
    """The rows that were whole on the disk."""
    about, rows = read_journal(path)
    try:
        table = build_table(about, rows)
        sidecar = msgspec.convert(about["sidecar"], Sidecar)
    except (KeyError, ValueError, TypeError, msgspec.ValidationError):
        raise BadFile(path, "it is not a journal of a trial.") from None
    if table is None:
        raise BadFile(path, "fewer than two commands had been sent.")
    return table, sidecar


def write(recording: Recording, path: Path) -> None:
    raise BadFile(
        path,
        "a journal is written while a robot moves.",
        hint="Keep recordings as .csv, .npz, .parquet or .mcap.",
    )


def _names(about: About, key: str) -> list[str]:
    names = about[key]
    if not isinstance(names, list):
        raise TypeError(key)
    return [str(name) for name in names]


def _columns(names: list[str], values: Floats) -> Table:
    if values.shape[1] != len(names):
        raise ValueError(names)
    return {name: values[:, i] for i, name in enumerate(names)}


FORMAT = Format(read=read, write=write, embeds=True)
__all__ = ["FORMAT", "SUFFIX", "build_table", "make_about"]
