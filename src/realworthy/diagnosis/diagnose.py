"""From a twin and recordings to the reasons why they differ."""

import time
from collections.abc import Callable, Iterable, Sequence

from realworthy.diagnosis.bookkeeping import Finding, inspect, read_limits
from realworthy.diagnosis.changes import find_changes
from realworthy.diagnosis.conclusion import conclude
from realworthy.diagnosis.diagnosis import Change, Diagnosis
from realworthy.diagnosis.edits import bridge_repeats, fill_gaps
from realworthy.diagnosis.examination import examine
from realworthy.diagnosis.fix import apply_fix
from realworthy.diagnosis.search import SearchSettings
from realworthy.diagnosis.work import Work, measure_all
from realworthy.errors import BadRecording
from realworthy.recordings import Recording, cut_at_gaps
from realworthy.twins import Twin
from realworthy.twins.twin import RESIDUAL_LEFT_OUT

Progress = Callable[[float, str], None]


def diagnose(
    twin: Twin,
    recordings: Recording | Iterable[Recording],
    *,
    before: Sequence[Recording] = (),
    progress: Progress | None = None,
    settings: SearchSettings | None = None,
) -> Diagnosis:
    """Ranked causes of the gap between a twin and the robot behind recordings.

    Faults of the log come first, then what replays of short pieces tell apart. `before`
    are recordings of an earlier day: then what changed since is named too. Recordings
    are cut where rows are missing for long. A residual of the twin is left out: it
    would hide what is sought. Interrupted, it returns what it has (`is_partial`).
    """
    began = time.perf_counter()
    listed = [recordings] if isinstance(recordings, Recording) else list(recordings)
    if not listed:
        raise BadRecording("No recordings were given.", hint="Name at least one.")
    left_out = [RESIDUAL_LEFT_OUT] if twin.residual else []
    twin = twin.without_residual()
    tell = progress or (lambda done, what: None)
    tell(0.0, "the log itself")
    listed, cut = cut_at_gaps(listed)
    before, _ = cut_at_gaps(before)
    log = _inspect(twin, listed)
    mended = [_mend(recording, log) for recording in listed]
    tell(0.05, "the gap")
    gap, kept, warnings = measure_all(twin, mended)
    work = Work(began, gap, kept, log, warnings=[*left_out, *cut, *warnings])
    changes: tuple[Change, ...] = ()
    try:
        examine(twin, work, settings or SearchSettings(), tell)
        if before:
            tell(0.9, "what changed")
            changes = find_changes(twin, list(before), listed)
    except KeyboardInterrupt:
        work.is_partial = True
    return conclude(twin, work, changes)


def _inspect(
    twin: Twin, recordings: Sequence[Recording]
) -> list[tuple[Finding, Recording]]:
    limits = read_limits(twin)
    return [(f, r) for r in recordings for f in inspect(r, twin, limits=limits)]


def _mend(recording: Recording, log: Sequence[tuple[Finding, Recording]]) -> Recording:
    """A recording as far put right as physics needs it; rows that lack are bridged."""
    faults = [f for f, owner in log if owner is recording and f.is_fault]
    for finding in faults:
        if finding.name == "dropped_samples":
            recording = fill_gaps(recording)
        elif finding.fix is not None and finding.fix.drop_repeats_of:
            recording = bridge_repeats(recording, finding.fix.drop_repeats_of)
        elif finding.fix is not None:
            recording = apply_fix(recording, finding.fix)
    return recording
