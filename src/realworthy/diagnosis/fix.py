"""Putting a recording right: typed edits, as sidecar lines and as corrected files.

Most edits are a mapping (`recordings.mapping`), so that a user can paste them into the
sidecar of the original. Rotations that mix axes and rows that must go cannot be said
there; for these only a corrected recording helps. Originals are never written to.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy import artefacts
from realworthy.diagnosis.lost_rows import find_lost_rows
from realworthy.errors import RealworthyError, UnknownName
from realworthy.recordings import Recording, SignalSource, distinct_names
from realworthy.recordings.formats import find_format, find_suffix
from realworthy.recordings.mapping import apply_mapping
from realworthy.recordings.sidecar import CommandKind, Sidecar, sidecar_path
from realworthy.recordings.signals import AXES, is_held

Floats = NDArray[np.float64]
Matrix = tuple[tuple[float, float, float], ...]

_DIRECTED = ("position", "velocity", "acceleration", "torque", "current", "duty")
_DIRECTED += ("voltage", "friction", "perturbation")
"""What changes its sign with the joint; magnitudes and temperatures do not."""
_ANGULAR = ("position", "velocity", "acceleration")


class Side(StrEnum):
    """Which signals of a joint an edit is about."""

    MEASUREMENTS = "measurements"
    COMMANDS = "commands"
    BOTH = "both"


class CommandForm(StrEnum):
    """What stands in the column of a position command instead of it."""

    ERROR = "error"
    """command - position of the same row."""
    INCREMENT = "increment"
    """How far the command moved since the row before."""
    SPEED = "velocity"
    """How fast the command moves until the next row."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A position command that was logged as something else."""

    joint: str
    signal: str
    kp: float = 0.0
    """[N·m/rad] of its drive; 0 where unknown."""
    kd: float = 0.0
    """[N·m·s/rad]"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A sensor's three axes turned into another frame: new = matrix · old."""

    sensor: str
    """Stem of its signals, such as `base.gyro`."""
    matrix: Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Edits of a recording; the mapping first, then turns, then rows.

    Entries about signals that a recording does not have are passed over, so that one
    fix serves all recordings of a robot.
    """

    summary: str
    """What it does, in a few words."""
    mapping: Mapping[str, SignalSource] = field(default_factory=dict)
    turns: tuple[Turn, ...] = ()
    drop_repeats_of: tuple[str, ...] = ()
    """Rows in which all of these signals repeat the row before are left out."""
    restores_lost_rows: bool = False
    """Rows that were lost and stamped as if none were get their time back."""
    command_form: CommandForm | None = None
    """What the commands in `rebuilt` are made from."""
    rebuilt: tuple["Rebuilt", ...] = ()
    """Position commands that are made anew."""
    rate: float | None = None
    """[Hz] for the sidecar."""
    command_kind: CommandKind | None = None
    """For the sidecar."""

    @property
    def is_mapping(self) -> bool:
        """Whether sidecar lines say all of it."""
        return not self.turns and not self.drop_repeats_of and not self._remakes

    @property
    def _remakes(self) -> bool:
        return self.restores_lost_rows or self.command_form is not None


def apply_fix(recording: Recording, fix: Fix) -> Recording:
    """The corrected recording, with a note of what was done in its sidecar."""
    table = {"time": recording.time, **recording.signals}
    known = {n: e for n, e in fix.mapping.items() if (e.source or n) in table}
    table = apply_mapping(table, known, owner=recording.owner)
    for turn in fix.turns:
        names = [f"{turn.sensor}.{axis}" for axis in "xyz"]
        if all(name in table for name in names):
            turned = np.array(turn.matrix) @ np.stack([table[name] for name in names])
            table |= dict(zip(names, turned, strict=True))
    if fix.command_form is not None:
        made = Recording(table["time"], {n: v for n, v in table.items() if n != "time"})
        table |= {
            entry.signal: rebuild_command(made, entry, fix.command_form)
            for entry in fix.rebuilt
            if entry.signal in table and f"{entry.joint}.position" in table
        }
    if fix.restores_lost_rows:
        made = Recording(table["time"], {n: v for n, v in table.items() if n != "time"})
        table["time"] = find_lost_rows(made).time
    if repeating := [name for name in fix.drop_repeats_of if name in table]:
        fresh = ~find_repeats(np.stack([table[name] for name in repeating], axis=1))
        table = {name: values[fresh] for name, values in table.items()}
    done = recording.sidecar.notes.get("fixes", [])
    done = [*done, fix.summary] if isinstance(done, list) else [done, fix.summary]
    sidecar = msgspec.structs.replace(
        recording.sidecar,
        notes={**recording.sidecar.notes, "fixes": done},
        rate=recording.sidecar.rate if fix.rate is None else fix.rate,
        command_kind=fix.command_kind or recording.sidecar.command_kind,
    )
    return Recording(table.pop("time"), table, sidecar, recording.source)


def rebuild_command(recording: Recording, entry: Rebuilt, form: CommandForm) -> Floats:
    """The position command of a joint [rad or m] from what was logged in its place.

    Sums do not know where they began: their mean is that of what the drive must have
    been asked for, position + (torque + kd · velocity) / kp.
    """
    logged = recording.signals[entry.signal]
    position = recording.signals[f"{entry.joint}.position"]
    if form is CommandForm.ERROR:
        return position + logged
    if form is CommandForm.INCREMENT:
        added = np.cumsum(logged)
    else:
        ends = 2 * recording.time[-1] - recording.time[-2]
        moved = logged * np.diff(recording.time, append=ends)
        added = np.cumsum(moved) - 0.5 * moved  # where it is half-way through the row
    asked = position
    torque = recording.signals.get(f"{entry.joint}.torque")
    if torque is not None and entry.kp > 0:
        velocity = np.gradient(position, recording.time)
        asked = position + (torque + entry.kd * velocity) / entry.kp
    return added + float(np.mean(asked - added))


def find_repeats(rows: Floats) -> NDArray[np.bool_]:
    """(rows,) whether each equals the one before in every column."""
    same = np.all(rows[1:] == rows[:-1], axis=1)
    return np.concatenate([[False], same])


def join(fixes: Sequence[Fix]) -> Fix:
    """One fix that does what these do one after the other.

    Equal to it up to rounding; delays of one signal add up, and rows are cut once.
    """
    mapping: dict[str, SignalSource] = {}
    for fix in fixes:
        mapping = _chain(mapping, fix.mapping)
    rates = [fix.rate for fix in fixes if fix.rate is not None]
    kinds: list[CommandKind] = [
        fix.command_kind for fix in fixes if fix.command_kind is not None
    ]
    forms = [fix for fix in fixes if fix.command_form is not None]
    return Fix(
        summary="; ".join(fix.summary for fix in fixes),
        mapping=mapping,
        turns=tuple(turn for fix in fixes for turn in fix.turns),
        drop_repeats_of=tuple(
            dict.fromkeys(name for fix in fixes for name in fix.drop_repeats_of)
        ),
        restores_lost_rows=any(fix.restores_lost_rows for fix in fixes),
        command_form=forms[-1].command_form if forms else None,
        rebuilt=forms[-1].rebuilt if forms else (),
        rate=rates[-1] if rates else None,
        command_kind=kinds[-1] if kinds else None,
    )


def to_sidecar(fix: Fix, recording: Recording | None = None) -> str:
    """YAML lines for the sidecar of the original recording.

    Give the `recording` if its own sidecar had a mapping: the lines then replace that
    mapping. What cannot be said in a sidecar is said in a comment.
    """
    mapping = dict(fix.mapping)
    if recording is not None:
        known = {"time", *recording.signals}
        mapping = {n: e for n, e in mapping.items() if (e.source or n) in known}
    applied = recording.sidecar.notes.get("applied_mapping") if recording else None
    if applied is not None:
        mapping = _chain(msgspec.convert(applied, dict[str, SignalSource]), mapping)
    tree: dict[str, object] = {}
    if fix.rate is not None:
        tree["rate"] = fix.rate
    if fix.command_kind is not None:
        tree["command_kind"] = fix.command_kind
    if mapping:
        tree["mapping"] = msgspec.to_builtins(mapping)
    lines = artefacts.dump_yaml(tree) if tree else ""
    for turn in fix.turns:
        lines += f"# {turn.sensor} must be turned; a mapping cannot say that.\n"
    if fix.command_form is not None:
        lines += f"# Commands must be rebuilt from {fix.command_form}s; "
        lines += "a mapping cannot say that.\n"
    if fix.restores_lost_rows:
        lines += "# Times of lost rows must be restored; a mapping cannot say that.\n"
    if fix.drop_repeats_of:
        lines += "# Repeated rows must be left out; a mapping cannot say that.\n"
    return lines


def write_fixed(
    recordings: Sequence[Recording],
    fixes: Sequence[Fix],
    folder: Path | str | None = None,
    *,
    overwrite: bool = False,
) -> list[Path]:
    """Writes each recording, corrected, as `<name>.fixed.<ext>`; all or none.

    They go into `folder`, or beside their originals. A foreign layout becomes `.csv`.
    The sidecar says what was done, and to which file with which hash.
    """
    if not fixes:
        raise RealworthyError("There is nothing to fix.", hint="Give one fix or more.")
    names = distinct_names(recordings)
    targets = [_target(*r, folder) for r in zip(recordings, names, strict=True)]
    if len(set(targets)) < len(targets):
        raise RealworthyError(
            "Several recordings come from one file.", hint="Name a folder."
        )
    files = {t: [t] if find_format(t).embeds else [t, sidecar_path(t)] for t in targets}
    originals = [r.source for r in recordings if r.source is not None]
    with ExitStack() as stack:
        stack.enter_context(artefacts.protected(originals))
        for path in (path for paths in files.values() for path in paths):
            artefacts.check_free(path, overwrite=overwrite)
        if folder is not None:
            stack.enter_context(artefacts.locked_folder(folder))
        for recording, target in zip(recordings, targets, strict=True):
            fixed = recording
            for fix in fixes:
                fixed = apply_fix(fixed, fix)
            fixed = fixed.with_sidecar(_sign_off(fixed.sidecar, recording))
            places = [
                stack.enter_context(artefacts.writing(path, overwrite=overwrite))
                for path in files[target]
            ]
            find_format(target).write(fixed, places[0])
            for place in places[1:]:
                text = artefacts.to_yaml(fixed.sidecar)
                place.write_text(text, encoding="utf-8")
    return targets


def fix_sign(
    recording: Recording, joints: Sequence[str], *, side: Side = Side.BOTH
) -> Fix:
    """Joints that count the other way: position, velocity, torque and commands."""
    mapping = {
        signal: SignalSource(sign=-1)
        for joint in joints
        for signal, quantity in _list(recording, joint, side)
        if not quantity  # a command of unknown kind
        or (quantity.startswith(_DIRECTED) and "magnitude" not in quantity)
    }
    return Fix(summary=f"sign of {', '.join(joints)} turned ({side})", mapping=mapping)


def fix_scale(
    recording: Recording, joint: str, factor: float, *, side: Side = Side.BOTH
) -> Fix:
    """Angles and speeds of a joint times `factor`, such as π/180 for degrees."""
    mapping = {
        signal: SignalSource(scale=factor)
        for signal, quantity in _list(recording, joint, side)
        if quantity.startswith(_ANGULAR)
    }
    return Fix(summary=f"{joint} times {factor:.9g} ({side})", mapping=mapping)


def fix_offset(
    recording: Recording, joint: str, rad: float, *, side: Side = Side.BOTH
) -> Fix:
    """`rad` added to positions: both for an encoder, commands for a default pose."""
    mapping = {
        signal: SignalSource(offset=rad)
        for signal, quantity in _list(recording, joint, side)
        if quantity.startswith("position")
    }
    return Fix(summary=f"{joint} {rad:+.6g} rad ({side})", mapping=mapping)


def fix_order(
    recording: Recording, names: Mapping[str, str], *, side: Side = Side.BOTH
) -> Fix:
    """Joints under each other's names: joint → name under which it was recorded.

    Commands of joints without a motor are passed over, as `realities` does.
    """
    if sorted(names) != sorted(names.values()):
        raise RealworthyError(
            "fix_order needs every joint once as a joint and once as a name.",
            hint=f"Joints {', '.join(sorted(names))}; "
            f"names {', '.join(sorted(names.values()))}.",
        )
    mapping: dict[str, SignalSource] = {}
    for joint in names:
        for signal, _ in _list(recording, joint, side):
            end = signal.removeprefix(joint)
            name = names[joint]
            while name + end not in recording.signals:
                name = names[name]
            if name != joint:
                mapping[signal] = SignalSource(source=name + end)
    moved = ", ".join(f"{j} from {n}" for j, n in names.items() if j != n)
    return Fix(summary=f"joints renamed: {moved} ({side})", mapping=mapping)


def fix_clock(
    recording: Recording, seconds: float, *, side: Side = Side.MEASUREMENTS
) -> Fix:
    """Measurements, or commands, that are logged `seconds` too late.

    Measurements are taken on the line between rows; commands are held.
    """
    if side is Side.BOTH:
        raise RealworthyError(
            "A delay of measurements and commands alike changes nothing.",
            hint="Choose Side.MEASUREMENTS or Side.COMMANDS.",
        )
    mapping = {
        signal: SignalSource(delay=seconds)
        for signal in recording.signals
        if is_held(signal) == (side is Side.COMMANDS)
    }
    return Fix(summary=f"{side} {seconds:.6g} s earlier", mapping=mapping)


def fix_quaternion(stem: str, columns: str, *, is_inverse: bool = False) -> Fix:
    """An orientation whose (w, x, y, z) stand in `columns`, such as `zwxy`.

    `is_inverse`: they tell how the world stands in the sensor.
    """
    if sorted(columns) != sorted(AXES):
        raise UnknownName("order", columns, ["zwxy", "xyzw"], owner=f"'{stem}'")
    mapping = {
        f"{stem}.{axis}": SignalSource(
            source=f"{stem}.{column}" if column != axis else None,
            sign=-1 if is_inverse and axis != "w" else 1,
        )
        for axis, column in zip(AXES, columns, strict=True)
    }
    ends = ", inverted" if is_inverse else ""
    return Fix(summary=f"{stem}: w, x, y, z from {columns}{ends}", mapping=mapping)


def fix_frame(sensor: str, matrix: ArrayLike) -> Fix:
    """Axes of a sensor turned: new = matrix · old; a mapping where axes only change.

    Axes that only change places and signs can be said in a sidecar, others cannot.
    """
    turn = np.asarray(matrix, dtype=np.float64)
    rounded = np.round(turn)
    summary = f"{sensor} turned into the frame of its orientation"
    if np.abs(turn - rounded).max() < 1e-9:
        mapping = {}
        for axis, row in zip("xyz", rounded, strict=True):
            column = int(np.flatnonzero(row)[0])
            source = f"{sensor}.{'xyz'[column]}"
            mapping[f"{sensor}.{axis}"] = SignalSource(
                source=source if source[-1] != axis else None,
                sign=-1 if row[column] < 0 else 1,
            )
        return Fix(summary=summary, mapping=mapping)
    rows = tuple((float(a), float(b), float(c)) for a, b, c in turn)
    return Fix(summary=summary, turns=(Turn(sensor=sensor, matrix=rows),))


def _list(recording: Recording, joint: str, side: Side) -> list[tuple[str, str]]:
    """Signals of a joint on that side, each with the quantity that it holds."""
    kind = recording.sidecar.command_kind
    found = []
    for signal in recording.signals:
        if not signal.startswith(f"{joint}."):
            continue
        end = signal.removeprefix(f"{joint}.")
        if not is_held(signal) and side is not Side.COMMANDS:
            found.append((signal, end))
        elif end.startswith("command") and side is not Side.MEASUREMENTS:
            found.append((signal, end.removeprefix("command").strip(".") or kind or ""))
    if not found:
        raise UnknownName(
            f"{side} of joint" if side is not Side.BOTH else "joint",
            joint,
            recording.joints,
            owner=recording.owner,
        )
    return found


def _chain(
    first: Mapping[str, SignalSource], then: Mapping[str, SignalSource]
) -> dict[str, SignalSource]:
    """The mapping that does `first`, then `then`."""
    used = {entry.source or name for name, entry in then.items()}
    kept = {n: e for n, e in first.items() if n not in used and n not in then}
    chained: dict[str, SignalSource] = {}
    for name, entry in then.items():
        source = entry.source or name
        before = first.get(source, SignalSource())
        column = before.source or source
        factor = entry.sign * entry.scale
        chained[name] = SignalSource(
            source=None if column == name else column,
            sign=1 if entry.sign == before.sign else -1,
            scale=entry.scale * before.scale,
            offset=factor * before.offset + entry.offset,
            delay=entry.delay + before.delay,
        )
    return {**kept, **chained}


def _target(recording: Recording, name: str, folder: Path | str | None) -> Path:
    source = recording.source
    if folder is None and source is None:
        raise RealworthyError(
            "A recording that was not read from a file has no place of its own.",
            hint="Name a folder.",
        )
    beside = folder is None and source is not None
    place = source.parent if beside and source is not None else Path(folder or "")
    ending = (find_suffix(source) if source is not None else "") or ".csv"
    stem = recording.name if beside else name
    return place / f"{stem}.fixed{ending}"


def _sign_off(sidecar: Sidecar, original: Recording) -> Sidecar:
    """The sidecar with the file that it comes from."""
    origin = {"sha256_of_numbers": original.sha256()}
    if original.source is not None:
        origin["file"] = original.source.name
        if original.source.is_file():
            data = original.source.read_bytes()
            origin["sha256_of_file"] = hashlib.sha256(data).hexdigest()
    notes = {**sidecar.notes, "fixed_from": origin}
    return msgspec.structs.replace(sidecar, notes=notes)
