"""From a twin and recordings to the reasons why they differ."""

import time
from collections.abc import Sequence
from pathlib import Path

from realworthy.diagnosis.changes import find_changes
from realworthy.diagnosis.conclusion import conclude
from realworthy.diagnosis.diagnosis import Change, Diagnosis
from realworthy.diagnosis.edits import bridge_repeats, fill_gaps
from realworthy.diagnosis.examination import examine
from realworthy.diagnosis.fix import apply_fix
from realworthy.diagnosis.log import Finding, inspect_together
from realworthy.diagnosis.search import SearchSettings
from realworthy.diagnosis.task import Attempts, weigh
from realworthy.diagnosis.work import Work, measure_all
from realworthy.progress import Progress, ignore, part
from realworthy.recordings import Recording, cut_at_gaps, load_recordings
from realworthy.recordings.enough import check_enough
from realworthy.recordings.load import Recordings
from realworthy.twins import Twin, load_twin
from realworthy.twins.twin import RESIDUAL_LEFT_OUT


def diagnose(
    twin: Twin | str | Path,
    recordings: Recordings,
    *,
    before: Recordings = (),
    attempts: Attempts | None = None,
    settings: SearchSettings | None = None,
    progress: Progress = ignore,
) -> Diagnosis:
    """Ranked causes of the gap between a twin and the robot behind recordings.

    Faults of the log come first, then what replays of short pieces resolve. `before`
    are recordings of an earlier day: then what changed since is named too. Recordings
    are cut where rows are missing for long, and units that are surely wrong are let
    through: the diagnosis tells them. With `attempts` (`load_attempts`) causes are
    ranked by what they cost a policy at its task. A residual of the twin is left out:
    it would hide what is sought. Interrupted, it returns what it has (`is_partial`).
    """
    began = time.perf_counter()
    twin = load_twin(twin)
    listed = load_recordings(recordings, check_units=False)
    check_enough(listed, "diagnose")
    earlier = _load_before(before)
    left_out = [RESIDUAL_LEFT_OUT] if twin.residual else []
    twin = twin.without_residual()
    tell = progress if attempts is None else part(progress, 0.0, 0.5)
    tell(0.0, "the log itself")
    listed, cut = cut_at_gaps(listed)
    earlier, _ = cut_at_gaps(earlier)
    log = _inspect(twin, listed)
    mended = [_mend(recording, log) for recording in listed]
    tell(0.05, "the gap")
    gap, kept, warnings = measure_all(twin, mended)
    work = Work(began, gap, kept, log, warnings=[*left_out, *cut, *warnings])
    changes: tuple[Change, ...] = ()
    try:
        examine(twin, work, settings or SearchSettings(), tell)
        if earlier:
            tell(0.9, "what changed")
            changes = find_changes(twin, earlier, listed)
    except KeyboardInterrupt:
        work.is_partial = True
    found = conclude(twin, work, changes)
    if attempts is None or found.is_partial:
        return found
    return weigh(twin, found, attempts, progress=part(progress, 0.5, 1.0))


def _load_before(before: Recordings) -> list[Recording]:
    """Recordings of an earlier day; none where none were given."""
    if isinstance(before, Sequence) and not before:
        return []
    return load_recordings(before, check_units=False)


def _inspect(
    twin: Twin, recordings: Sequence[Recording]
) -> list[tuple[Finding, Recording]]:
    return inspect_together(recordings, twin)


def _mend(recording: Recording, log: Sequence[tuple[Finding, Recording]]) -> Recording:
    """A recording corrected as far as physics needs it; missing rows are bridged."""
    faults = [f for f, owner in log if owner is recording and f.is_fault]
    for finding in faults:
        if finding.fix is not None and finding.fix.drop_repeats_of:
            recording = bridge_repeats(recording, finding.fix.drop_repeats_of)
        elif finding.fix is not None:
            recording = apply_fix(recording, finding.fix)
    if any(finding.name == "dropped_samples" for finding in faults):
        recording = fill_gaps(recording)
    return recording
