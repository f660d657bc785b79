"""A recording: what a robot, real or simulated, was sent and what it answered."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np

from realworthy.errors import BadRecording, UnknownName
from realworthy.recordings.checks import check_recording
from realworthy.recordings.missing_rows import check_no_long_gap
from realworthy.recordings.resample import compute_at
from realworthy.recordings.sidecar import Sidecar, plain_name
from realworthy.recordings.signals import Values

REGULAR = 0.1
"""Share of a period by which rows may miss their beat and still count as regular."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recording:
    """Signals over one clock, checked and read-only.

    A row holds what was measured at its time, and the command sent then and held until
    the next row. Units are SI; joints turn in radians.
    """

    time: Values
    """Seconds, strictly increasing; rows need not be regular."""
    signals: Mapping[str, Values]
    """By name (`elbow.position`), in the order of the file; one number per row."""
    sidecar: Sidecar = field(default_factory=Sidecar)
    source: Path | None = None
    """The file or folder that it was read from."""

    def __post_init__(self) -> None:
        if self.sidecar.mapping:
            raise BadRecording(
                f"{self.owner}: its sidecar has a mapping that was not applied.",
                hint="load_recording applies it, and so does "
                "realworthy.recordings.build_recording.",
            )
        time = _freeze(self.time)
        signals = {name: _freeze(values) for name, values in self.signals.items()}
        check_recording(time, signals, owner=self.owner)
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "signals", MappingProxyType(signals))

    def __reduce__(self) -> tuple[object, ...]:  # a mappingproxy cannot be pickled
        return Recording, (self.time, dict(self.signals), self.sidecar, self.source)

    def __repr__(self) -> str:
        return (
            f"<{self.owner}: {len(self.time)} rows, {self.duration:.4g} s "
            f"at {self.rate:.4g} Hz, {len(self.signals)} signals>"
        )

    @property
    def name(self) -> str:
        """Short name for people: that of the file, without its format; may be empty."""
        return "" if self.source is None else plain_name(self.source)

    @property
    def owner(self) -> str:
        """How messages call this recording."""
        return f"recording '{self.name}'" if self.name else "recording"

    @property
    def joints(self) -> tuple[str, ...]:
        """Elements that have a position, in the order of the file."""
        end = ".position"
        return tuple(n.removesuffix(end) for n in self.signals if n.endswith(end))

    @property
    def duration(self) -> float:
        """Seconds from the first row to the last."""
        return float(self.time[-1] - self.time[0])

    @property
    def rate(self) -> float:
        """Rows per second by the median step [Hz]; gaps do not move it."""
        return 1.0 / float(np.median(np.diff(self.time)))

    @property
    def is_regular(self) -> bool:
        """Whether every step is within a tenth of the median step."""
        steps = np.diff(self.time) * self.rate
        return bool(np.all(np.abs(steps - 1.0) <= REGULAR))

    def stack(self, quantity: str, joints: Sequence[str] | None = None) -> Values:
        """`<joint>.<quantity>` of each joint (all by default), shape (rows, joints)."""
        joints = self.joints if joints is None else joints
        return np.stack([self._find(joint, quantity) for joint in joints], axis=1)

    def with_signals(self, signals: Mapping[str, Values]) -> "Recording":
        """This recording with `signals` added, or replaced where they exist."""
        joined = {**self.signals, **signals}
        return Recording(self.time, joined, self.sidecar, self.source)

    def without(self, signal: str) -> "Recording":
        """This recording without a signal, if it has it."""
        kept = {name: x for name, x in self.signals.items() if name != signal}
        return Recording(self.time, kept, self.sidecar, self.source)

    def with_sidecar(self, sidecar: Sidecar) -> "Recording":
        """This recording with another sidecar."""
        return Recording(self.time, self.signals, sidecar, self.source)

    def crop(self, start: float, end: float) -> "Recording":
        """Rows from `start` to `end` inclusive, in seconds of `time`."""
        keep = (self.time >= start) & (self.time <= end)
        if np.count_nonzero(keep) < 2:
            raise BadRecording(
                f"{self.owner} has fewer than two rows from {start:g} to {end:g} s.",
                hint=f"It covers {self.time[0]:g} to {self.time[-1]:g} s.",
            )
        kept = {name: values[keep] for name, values in self.signals.items()}
        return Recording(self.time[keep], kept, self.sidecar, self.source)

    def resample(
        self, rate: float | None = None, *, times: Values | None = None
    ) -> "Recording":
        """The recording at `rate` [Hz] from its first row on, or at `times` [s].

        Measurements are interpolated, commands held, orientations turned. Nothing is
        filtered, nothing extrapolated and no long gap filled.
        """
        if (rate is None) == (times is None):
            raise TypeError("resample needs either a rate or times")
        if rate is not None:
            check_no_long_gap(self.time, owner=self.owner)
            count = int(self.duration * rate + 1e-6) + 1
            times = self.time[0] + np.arange(count) / rate
        grid = np.asarray(times, dtype=np.float64)
        moved = compute_at(self.time, self.signals, grid, owner=self.owner)
        return Recording(grid, moved, self.sidecar, self.source)

    def sha256(self) -> str:
        """Hash of the numbers and their names; the same in every file format.

        The sidecar and the order of the columns do not enter.
        """
        digest = hashlib.sha256()
        for name, values in sorted({"time": self.time, **self.signals}.items()):
            digest.update(f"{name}\n{len(values)}\n".encode())
            digest.update(values.astype("<f8").tobytes())
        return digest.hexdigest()

    def _find(self, joint: str, quantity: str) -> Values:
        name = f"{joint}.{quantity}"
        if name in self.signals:
            return self.signals[name]
        if any(signal.startswith(f"{joint}.") for signal in self.signals):
            what, asked, existing = "signal", name, list(self.signals)
        else:
            what, asked, existing = "joint", joint, list(self.joints)
        show = f"realworthy show {self.source}" if self.source else "recording.signals"
        hint = f"All {len(self.signals)} signals: {show}"
        raise UnknownName(what, asked, existing, owner=self.owner, hint=hint)


def _freeze(values: Values) -> Values:
    """A read-only float64 array that nobody else writes to."""
    values = np.asarray(values)
    if (
        values.dtype == np.float64
        and not values.flags.writeable
        and values.base is None
    ):
        return values
    frozen = np.array(values, dtype=np.float64, order="C")
    frozen.setflags(write=False)
    return frozen
