"""Failures to look at: the same e and start played again, and recorded."""

from pathlib import Path

import msgspec
import numpy as np

from realworthy.certification.condition import Condition
from realworthy.certification.examine import play_condition
from realworthy.certification.keeping import open_manifest
from realworthy.certification.results import FailureCase
from realworthy.certification.subject import Subject
from realworthy.errors import RealworthyError
from realworthy.recordings import Recording, save_recording

_TRIES = 16
"""Worlds with one start, whose measurement noise differs."""


def record_failure(
    subject: Subject, condition: Condition, case: FailureCase
) -> Recording | None:
    """A failed episode of the same e, start and goals; None: none failed again."""
    names = tuple(case.e)  # the condition's own among them
    condition = msgspec.structs.replace(condition, times={}, plus={})
    rows = np.tile(list(case.e.values()), (_TRIES, 1)) if names else None
    found = play_condition(
        subject,
        condition,
        _TRIES,
        seed=case.seed,
        rows=rows,
        names=names,
        numbers=np.full(_TRIES, case.number),
        with_signals=True,
    )
    failed = np.flatnonzero((found.failure != 0) & ~found.invalid)
    if not len(failed):
        return None
    assert found.signals is not None
    assert found.commands is not None
    world = int(failed[0])
    steps = max(round(found.seconds[world] / subject.contract.period) - 1, 2)
    commands = found.commands[world, :steps].astype(np.float64)
    signals = subject.build_worlds(Condition(), 1, seed=0).simulator.signals
    values = found.signals[world, :steps].astype(np.float64)
    columns = dict(zip(signals, values.T, strict=True))
    columns |= dict(zip(subject.contract.action.commands, commands.T, strict=True))
    time = np.arange(steps, dtype=np.float64) * subject.contract.period
    return Recording(np.asarray(time, dtype=np.float64), columns)


def save_replay(
    subject: Subject, condition: Condition, case: FailureCase, folder: Path
) -> str | None:
    """Its name in the folder; None where it did not fail again."""
    try:
        recording = record_failure(subject, condition, case)
    except RealworthyError:
        return None
    if recording is None:
        return None
    words = "".join(c if c.isalnum() else "_" for c in case.cell)
    name = f"replays/{words}_{case.name}_{case.number}.npz"
    with open_manifest(folder).claimed(folder / name) as path:
        save_recording(recording, path, overwrite=True)
    return name
