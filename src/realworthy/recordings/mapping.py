"""Columns of a file into signals, as the sidecar's `mapping` says.

    signal(t) = sign · scale · unit · source(t + delay) + offset

`delay` says how late the column is, so the signal is the column moved earlier by it:
measurements on the line between rows, commands held. Rows for which a delayed column
has no value yet, or none any more, are cut off for every signal. A column that is the
source of a signal gives up its own name; every other column stays, unless a mapped
signal takes its name.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from realworthy.errors import BadRecording, UnknownName
from realworthy.recordings.checks import check_finite, check_lengths, check_time
from realworthy.recordings.column_units import compute_factor
from realworthy.recordings.patterns import expand_patterns
from realworthy.recordings.recording import Recording
from realworthy.recordings.resample import hold, interpolate
from realworthy.recordings.sidecar import Sidecar, SignalSource, sidecar_path
from realworthy.recordings.signals import Table, Values, is_held

CLOCKS = ("ms", "us", "ns")
"""Units that a clock's name may end in."""


def build_recording(
    table: Table, sidecar: Sidecar | None = None, source: Path | None = None
) -> Recording:
    """Applies the sidecar's mapping to `table` and checks what comes out.

    The mapping leaves the sidecar for `notes.applied_mapping`, so that a recording that
    is saved and loaded again is not mapped twice.
    """
    sidecar = Sidecar() if sidecar is None else sidecar
    owner = f"'{source.name}'" if source else "the table"
    mapping = expand_patterns(sidecar, table, owner=owner)
    signals = apply_mapping(table, mapping, owner=owner)
    if "time" not in signals:
        raise BadRecording(
            f"{owner} has no column 'time'.",
            hint=_ask_for_clock(table, source),
        )
    if sidecar.mapping:
        applied = msgspec.to_builtins(mapping)
        notes = {**sidecar.notes, "applied_mapping": applied}
        sidecar = msgspec.structs.replace(sidecar, mapping={}, joints=(), notes=notes)
    time = signals.pop("time")
    return Recording(time, signals, sidecar, source)


def _ask_for_clock(table: Table, source: Path | None) -> str:
    """The line to write, where to write it, and the unit that a column's name tells."""
    column = next(iter(table), "stamp")
    unit = re.split(r"[^a-z]", column.lower())[-1]
    clock = f"source: {column}" + (f", unit: {unit}" if unit in CLOCKS else "")
    beside = f", {sidecar_path(source).name} beside it" if source else ""
    return (
        f"Name the clock in seconds 'time', or say in the sidecar{beside}: "
        f"mapping: {{time: {{{clock}}}}}. To have a whole mapping proposed: "
        f"realworthy convert {shlex.quote(str(source or 'FILE'))} --map TWIN --output "
        "recordings"
    )


def apply_mapping(
    table: Table, mapping: Mapping[str, SignalSource], *, owner: str
) -> Table:
    """The mapped signals in the places of their sources, with what is not mapped."""
    made: dict[str, dict[str, SignalSource]] = {}
    for name, entry in mapping.items():
        made.setdefault(entry.source or name, {})[name] = entry
        if (column := entry.source or name) not in table:
            raise UnknownName(
                "column",
                column,
                list(table),
                owner=owner,
                hint=f"The mapping of '{name}' asks for it.",
            )
    signals: Table = {}
    for column, values in table.items():
        entries = made.get(column, {})
        signals.update({name: _scale(values, name, e) for name, e in entries.items()})
        if not entries and column not in mapping:
            signals[column] = values
    if delays := {n: e.delay for n, e in mapping.items() if n != "time" and e.delay}:
        signals = _shift(signals, delays, owner=owner)
    return signals


def _scale(values: Values, name: str, entry: SignalSource) -> Values:
    factor = entry.sign * entry.scale
    if entry.unit is not None:
        factor *= compute_factor(name, entry.unit, entry.constant)
    elif entry.constant is not None:
        raise BadRecording(
            f"The mapping of '{name}' has a constant and no unit.",
            hint="Say unit: A or mA.",
        )
    scaled = factor * values + entry.offset
    if name == "time":  # a late clock: what it stamps t happened at t - delay
        return scaled - entry.delay
    return scaled


def _shift(signals: Table, delays: Mapping[str, float], *, owner: str) -> Table:
    if "time" not in signals:
        return signals  # the caller says so
    time = signals["time"]
    check_lengths(time, signals, owner=owner)
    check_finite({"time": time}, time, owner=owner)
    check_time(time, owner=owner)
    early = max(0.0, *(-delay for delay in delays.values()))
    late = max(0.0, *delays.values())
    keep = (time >= time[0] + early) & (time <= time[-1] - late)
    if np.count_nonzero(keep) < 2:
        raise BadRecording(
            f"{owner} covers {time[-1] - time[0]:g} s, too little for its delays.",
            hint="Delays are seconds; look at the sidecar's mapping.",
        )
    moved = {name: values[keep] for name, values in signals.items()}
    for name, delay in delays.items():
        law = hold if is_held(name) else interpolate
        moved[name] = law(time, signals[name], time[keep] + delay)
    return moved
