"""A motion over time: of a robot's joints, to be played; of a base, bodies, objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import check_readable, writing
from realworthy.errors import BadFile, RealworthyError
from realworthy.recordings.formats import csv
from realworthy.recordings.poses import (
    BASE,
    Contacts,
    Poses,
    read_contacts,
    read_poses,
)
from realworthy.recordings.recording import Recording

Floats = NDArray[np.float64]
_END = ".position"
_SLOWEST_HZ, _FASTEST_HZ = 0.2, 10_000.0
"""Rates of commands: no loop of ours waits for more than 10 s, nor beats more often
than ten times as fast as any robot here asks (2026-11-18); an hour then takes 36 M
rows."""
LONGEST_S = 3600.0
"""[s] of a motion at most: an hour at 1 kHz and 12 joints is 1.4 GB with derivatives;
2026-11-18. Longer ones are played in parts."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A motion on a regular clock, with its derivatives; arrays are (rows, joints)."""

    time: Floats
    """(rows,) [s] from 0."""
    joints: tuple[str, ...]
    position: Floats
    velocity: Floats
    acceleration: Floats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Motion:
    """Where joints shall be, from the first row to the last.

    A robot that goes about has a base, too; a figure that was captured has bodies and
    may have no joints.
    """

    time: Floats
    """(rows,) [s], strictly increasing."""
    joints: tuple[str, ...]
    position: Floats
    """(rows, joints) [rad or m]."""
    base: Poses | None = None
    """The floating base, alone."""
    bodies: Poses | None = None
    """Of a robot, or the joints of a person or an animal."""
    objects: Poses | None = None
    contacts: Contacts | None = None

    def __post_init__(self) -> None:
        time = np.asarray(self.time, dtype=np.float64)
        position = np.asarray(self.position, dtype=np.float64)
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "position", position)
        if position.shape != (len(time), len(self.joints)):
            raise RealworthyError(
                f"A motion of {len(time)} rows and {len(self.joints)} joints cannot "
                f"have positions of shape {position.shape}."
            )
        if not self.joints and self.bodies is None:
            raise RealworthyError(
                "A motion needs a column such as 'elbow.position'; there is none."
            )
        things = (self.base, self.bodies, self.objects)
        lengths = [len(each.position) for each in things if each is not None]
        lengths += [] if self.contacts is None else [len(self.contacts.touching)]
        if any(length != len(time) for length in lengths):
            raise RealworthyError(
                f"A motion of {len(time)} rows has poses or contacts of other lengths: "
                f"{', '.join(map(str, lengths))}."
            )
        if len(time) < 2:
            raise RealworthyError(f"A motion needs two rows or more, not {len(time)}.")
        if not (np.isfinite(time).all() and np.isfinite(position).all()):
            raise RealworthyError("A motion holds values that are not numbers.")
        if not (np.diff(time) > 0).all():
            row = int(np.argmin(np.diff(time) > 0)) + 2
            raise RealworthyError(f"The time of a motion does not rise in row {row}.")

    def __repr__(self) -> str:
        of = f"{len(self.joints)} joints"
        if not self.joints and self.bodies is not None:
            of = f"{len(self.bodies.names)} bodies"
        return f"<motion of {of}, {self.duration:.4g} s>"

    @property
    def duration(self) -> float:
        """Seconds from the first row to the last."""
        return float(self.time[-1] - self.time[0])

    @property
    def signals(self) -> Mapping[str, Floats]:
        """`<joint>.position` → (rows,), then those of base, bodies and so on."""
        found = {j + _END: self.position[:, i] for i, j in enumerate(self.joints)}
        things = {BASE: self.base, "body": self.bodies, "object": self.objects}
        for kind, poses in things.items():
            found |= poses.to_columns(kind) if poses is not None else {}
        return found | (self.contacts.to_columns() if self.contacts else {})

    def at(self, times: Floats) -> "Motion":
        """The motion at other times within it, between rows along the line."""
        joints = [np.interp(times, self.time, column) for column in self.position.T]
        position = np.stack(joints, axis=1) if joints else np.empty((len(times), 0))
        base, bodies, objects = (
            None if each is None else each.at(self.time, times)
            for each in (self.base, self.bodies, self.objects)
        )
        touching = self.contacts and self.contacts.at(self.time, times)
        return Motion(times, self.joints, position, base, bodies, objects, touching)

    def resampled(self, rate: float) -> "Motion":
        """The motion at `rate` [Hz], from 0 s on."""
        count = int(np.floor(self.duration * rate + 1e-6)) + 1
        time = np.arange(count) / rate
        moved = self.at(np.minimum(self.time[0] + time, self.time[-1]))
        return replace(moved, time=time)

    def cut(self, start: float, end: float) -> "Motion":
        """The rows from `start` to `end` [s], whose time begins at 0."""
        rows = np.flatnonzero((self.time >= start - 1e-9) & (self.time <= end + 1e-9))
        if len(rows) < 2:
            raise RealworthyError(
                f"The motion has no two rows from {start:g} to {end:g} s.",
                hint=f"It lasts from {self.time[0]:g} to {self.time[-1]:g} s.",
            )
        kept = self.at(self.time[rows])
        return replace(kept, time=kept.time - kept.time[0])

    def slowed(self, factor: float) -> "Motion":
        """The same path in `factor` times the time."""
        return replace(self, time=self.time * factor)

    def sample(self, rate: float) -> Reference:
        """The motion at `rate` [Hz], through its rows by a spline of degree five.

        Rows of a motion should lie closer than its fastest change; a step between two
        rows overshoots, which its derivatives show.
        """
        if not self.joints:
            raise RealworthyError(
                "The motion has bodies and no joints: no robot can play it as it is.",
                hint="Try: realworthy retarget MOTION --to TWIN",
            )
        if not _SLOWEST_HZ <= rate <= _FASTEST_HZ:
            raise RealworthyError(
                f"A motion cannot be played at {rate:g} Hz.",
                hint=f"Give a rate from {_SLOWEST_HZ:g} to {_FASTEST_HZ:g} Hz.",
            )
        if self.duration * rate < 1 - 1e-6:
            raise RealworthyError(
                f"A motion of {self.duration:.3g} s is over within one period of the "
                f"robot, {1 / rate:.3g} s.",
                hint="Give a motion that lasts longer, or a robot that is quicker.",
            )
        if self.duration > LONGEST_S:
            raise _too_long(self.duration)
        from scipy.interpolate import make_interp_spline

        degree = min(5, (len(self.time) - 1) // 2 * 2 + 1)  # odd, as rows allow
        degree = min(degree, len(self.time) - 1)
        spline = make_interp_spline(self.time, self.position, k=degree)
        count = int(np.floor(self.duration * rate + 1e-6)) + 1
        time = np.arange(count) / rate
        at = np.minimum(self.time[0] + time, self.time[-1])
        found = [spline(at)]
        for order in (1, 2):
            higher = degree >= order
            found.append(spline(at, nu=order) if higher else np.zeros_like(found[0]))
        return Reference(time, self.joints, *found)


def load_motion(
    motion: Motion | Path | str,
    layout: str | None = None,
    *,
    unit: float | str | None = None,
    rate: float | None = None,
    joints: Sequence[str] = (),
    regressor: Path | None = None,
) -> Motion:
    """A motion of ours in a CSV file, or of a foreign layout, which may name itself.

    Of ours: `time` and every `<joint>.position`, and base, bodies, objects and contacts
    where it has them. `unit` is the file's [m], `rate` [Hz] for files that do not say,
    `joints` names its columns where they have none. A motion that is loaded already is
    handed back.
    """
    if isinstance(motion, Motion):
        return motion
    path = Path(motion)
    from realworthy.recordings.motion_layouts import find_layout, read_foreign

    if layout is not None or (layout := find_layout(path)):
        read = read_foreign(
            path, layout, unit=unit, rate=rate, joints=joints, regressor=regressor
        )
        return _checked(path, read)
    check_readable(path)
    table = csv.read_table(path)
    if "time" not in table:
        raise BadFile(
            path,
            "it has no column 'time'.",
            hint="A motion has the columns: time,elbow.position,…",
        )
    names = tuple(n.removesuffix(_END) for n in table if n.endswith(_END))
    columns = [table[joint + _END] for joint in names]
    count = len(table["time"])
    position = np.stack(columns, axis=1) if names else np.empty((count, 0))
    try:
        base = read_poses(table, BASE)
        return _checked(
            path,
            Motion(
                table["time"],
                names,
                position,
                None if base is None or base.quaternion is None else base,
                read_poses(table, "body"),
                read_poses(table, "object"),
                read_contacts(table),
            ),
        )
    except BadFile:
        raise
    except RealworthyError as error:
        if not names:
            raise BadFile(
                path,
                "it has no column such as 'elbow.position'.",
                hint=f"It has: {', '.join(table)}.",
            ) from None
        raise BadFile(path, error.problem, hint=error.hint) from None


def _checked(path: Path, motion: Motion) -> Motion:
    if motion.duration > LONGEST_S:
        error = _too_long(motion.duration)
        raise BadFile(path, error.problem, hint=error.hint)
    return motion


def _too_long(seconds: float) -> RealworthyError:
    return RealworthyError(
        f"A motion lasts {LONGEST_S:g} s at most, not {seconds:.4g} s.",
        hint="Time is in seconds; or play it in parts.",
    )


def save_motion(motion: Motion, path: Path | str, *, overwrite: bool = False) -> None:
    """Writes a CSV file, whole or not at all."""
    check_name(path)
    with writing(path, overwrite=overwrite) as temporary:
        csv.write(Recording(motion.time, motion.signals), temporary)


def check_name(path: Path | str) -> None:
    """Raises unless a file can hold a motion."""
    if not str(path).endswith(".csv"):
        raise RealworthyError(
            f"A motion's file name ends in .csv, not '{path}'.",
            hint="Try: " + str(Path(path).with_suffix(".csv")),
        )
