"""Recordings left out in turn: what a calibration is worth on each of them.

One held-out part may be the easiest. Here every recording is held out once, from a fit
that begins anew without it; the mean over folds and the worst of them count. Of servos
whose firmware had several gains, whole gains are left out: a gain that nobody fitted is
what the next firmware setting will be.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from realworthy.errors import BadRecording
from realworthy.identification.calibration.result import Calibration
from realworthy.identification.validation.cross_validation import deal_folds
from realworthy.identification.validation.held_out import (
    CalibrationOutcome,
    group_repeats,
)
from realworthy.progress import Progress
from realworthy.recordings import Recording

_MAX_ONE_BY_ONE = 8
"""Experiments up to which each is left out by itself; a fit for each of more would take
hours."""
_DEALT_FOLDS = 4
"""Folds that more experiments are dealt into: each fit keeps three quarters of them."""
_MIN_EXPERIMENTS = 2


class CalibrateOnce(Protocol):
    """`calibrate` with everything but the recordings decided."""

    def __call__(
        self,
        recordings: Sequence[Recording],
        *,
        heldout: Sequence[Recording] | None = None,
        keep: Path | None = None,
        progress: Progress,
    ) -> Calibration: ...


def calibrate_folds(
    once: CalibrateOnce,
    recordings: Sequence[Recording],
    *,
    believable: Sequence[Recording],
    heldout: Sequence[Recording] | None,
    keep: Path | None,
    progress: Progress,
) -> Calibration:
    """A calibration, and one more for every fold, each judged by what it left out.

    Of the `recordings` those that are `believable` are left out in turn. A fold that
    the calibration itself held out is not computed again.
    """
    folds = divide_into_folds(believable)
    share = 1 / (1 + len(folds))
    found = once(
        recordings,
        heldout=heldout,
        keep=keep,
        progress=lambda done, what: progress(share * done, what),
    )
    if found.outcome is CalibrationOutcome.NOT_IDENTIFIED:
        return found
    calibrations: list[Calibration] = []
    files = [
        keep and keep.with_name(f"{keep.name}.fold_{i + 1}") for i in range(len(folds))
    ]
    for i, held in enumerate(folds):
        if not heldout and {id(r) for r in held} == {id(r) for r in found.held_out}:
            calibrations.append(found)
            continue
        begins, name = (i + 1) * share, f"fold {i + 1} of {len(folds)}: "
        calibrations.append(
            once(
                [r for r in recordings if not any(r is h for h in held)],
                heldout=held,
                keep=files[i],
                progress=lambda done, what, begins=begins, name=name: progress(
                    begins + share * done, name + what
                ),
            )
        )
    for file in files:
        if file is not None:
            file.unlink(missing_ok=True)
    return replace(found, folds=tuple(calibrations))


def divide_into_folds(
    recordings: Sequence[Recording],
) -> tuple[tuple[Recording, ...], ...]:
    """What is left out in turn: whole gains, experiments, or deals of many of them."""
    by_gain: dict[object, list[Recording]] = {}
    for recording in recordings:
        by_gain.setdefault(_read_gains(recording), []).append(recording)
    experiments = list(by_gain.values())
    if len(experiments) == 1:
        experiments = group_repeats(recordings)
    if len(experiments) < _MIN_EXPERIMENTS:
        raise BadRecording(
            f"Folds leave out experiments in turn and need {_MIN_EXPERIMENTS} or more; "
            f"there {'is one' if len(experiments) == 1 else 'are none'}.",
            hint="Record another motion, or do without folds: of a single recording "
            "the end is held out.",
        )
    is_few = len(experiments) <= _MAX_ONE_BY_ONE
    numbers = deal_folds(
        [[i] for i in range(len(experiments))],
        len(experiments) if is_few else _DEALT_FOLDS,
    )
    return tuple(tuple(r for i in fold for r in experiments[i]) for fold in numbers)


def _read_gains(recording: Recording) -> tuple[tuple[str, float], ...]:
    told = recording.sidecar.parameters
    return tuple(sorted((n, x) for n, x in told.items() if n.endswith(".duty_gain")))
