"""The door: what a recording must be before anything else may look at it."""

from collections.abc import Mapping

import numpy as np

from realworthy.errors import BadRecording
from realworthy.recordings.signals import Values, is_signal_name


def check_recording(
    time: Values, signals: Mapping[str, Values], *, owner: str = "recording"
) -> None:
    """Raises BadRecording unless rows are equal in number, finite and in order."""
    for name in signals:
        check_name(name, owner=owner)
    check_lengths(time, signals, owner=owner)
    check_finite({"time": time, **signals}, time, owner=owner)
    check_time(time, owner=owner)


def check_name(name: str, *, owner: str) -> None:
    """A signal is named by parts joined with dots."""
    if not is_signal_name(name):
        raise BadRecording(
            f"{owner}: {name!r} cannot name a signal.",
            hint="Names are parts joined by dots, such as 'elbow.position'; "
            "'time' is the clock.",
        )


def check_lengths(time: Values, signals: Mapping[str, Values], *, owner: str) -> None:
    """One number per row and signal, two rows at least."""
    for name, values in {"time": time, **signals}.items():
        if values.ndim != 1:
            raise BadRecording(
                f"{owner}: '{name}' has shape {values.shape}, not one number per row.",
                hint="Give every column its own name.",
            )
        if len(values) != len(time):
            raise BadRecording(
                f"{owner}: '{name}' has {len(values)} values, time has {len(time)}.",
                hint="Signals of different rates: realworthy.recordings.merge joins "
                "them.",
            )
    if len(time) < 2:
        rows = "1 row" if len(time) == 1 else "no rows"
        raise BadRecording(
            f"{owner} has {rows}.", hint="Two rows at least make a recording."
        )


def check_finite(columns: Mapping[str, Values], time: Values, *, owner: str) -> None:
    """No nan and no infinity anywhere."""
    for name, values in columns.items():
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad) == 0:
            continue
        first = int(bad[0])
        where = f"in row {first + 1}" if name == "time" else f"at {time[first]:g} s"
        raise BadRecording(
            f"{owner}: '{name}' has {len(bad)} of {len(values)} values that are not "
            f"numbers; the first, {values[first]}, {where}.",
            hint="Drop those rows or that column; gaps are never filled silently.",
        )


def check_time(time: Values, *, owner: str) -> None:
    """Time only grows."""
    steps = np.diff(time)
    bad = np.flatnonzero(steps <= 0)
    if len(bad) == 0:
        return
    row = int(bad[0])
    fault = "runs backwards" if steps[row] < 0 else "stands still"
    more = f" ({len(bad)} such places)" if len(bad) > 1 else ""
    raise BadRecording(
        f"{owner}: time {fault} in row {row + 2}: {time[row + 1]:.9g} s "
        f"after {time[row]:.9g} s{more}.",
        hint="Sort the rows, drop repeated ones, or split the file where the clock "
        "was set.",
    )
