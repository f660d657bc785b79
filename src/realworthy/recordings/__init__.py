"""Time-stamped signals of a robot, real or simulated, and every way to read them.

Here live `Recording` (signals over one clock, checked at the door), `Sidecar` (what the
numbers do not say), the file formats, the importers of foreign layouts, the mapping
from columns to signals, resampling, alignment of clocks, and what looks suspicious.

What does not live here: comparing two recordings (`gap`), saying why they differ
(`diagnosis`), fitting anything (`identification`), drawing (`reports`).

May import `parameters`, `artefacts` and `errors`; numpy always, and scipy, pyarrow,
mcap or rosbags only inside the functions that need them. No mujoco, no torch.
"""

from realworthy.recordings.align import estimate_delay, merge
from realworthy.recordings.convert import convert
from realworthy.recordings.describe import (
    RecordingSummary,
    SignalSummary,
    distinct_names,
    summary,
)
from realworthy.recordings.formats import FORMATS
from realworthy.recordings.importers import IMPORTERS
from realworthy.recordings.load import load_recording, load_recordings, save_recording
from realworthy.recordings.mapping import build_recording
from realworthy.recordings.missing_rows import cut_at_gaps
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import (
    Gains,
    Sidecar,
    SignalNoise,
    SignalSource,
    load_sidecar,
)
from realworthy.recordings.suspicions import suspicions
from realworthy.recordings.units import Suspicion

__all__ = [
    "FORMATS",
    "IMPORTERS",
    "Gains",
    "Recording",
    "RecordingSummary",
    "Sidecar",
    "SignalNoise",
    "SignalSource",
    "SignalSummary",
    "Suspicion",
    "build_recording",
    "convert",
    "cut_at_gaps",
    "distinct_names",
    "estimate_delay",
    "load_recording",
    "load_recordings",
    "load_sidecar",
    "merge",
    "save_recording",
    "summary",
    "suspicions",
]
