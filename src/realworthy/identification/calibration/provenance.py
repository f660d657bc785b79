"""Where a twin that was fitted to recordings came from."""

import datetime
import importlib.metadata
from collections.abc import Sequence

from realworthy import __version__
from realworthy.recordings import Recording, distinct_names
from realworthy.twins import Twin
from realworthy.twins.twin import Provenance, RecordingEvidence

_TOOLS = ("mujoco", "numpy", "scipy")
"""What an answer depends on beside this package."""


def describe_provenance(
    twin: Twin, recordings: Sequence[Recording], *, notes: str = "", method: str = ""
) -> Provenance:
    """The twin before, the recordings with their hashes, and the search, if any."""
    return Provenance(
        parent=twin.reference or twin.name,
        method=method,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        versions={
            "realworthy": __version__,
            **{name: importlib.metadata.version(name) for name in _TOOLS},
        },
        recordings=[
            RecordingEvidence(str(recording.source or name), recording.sha256())
            for recording, name in zip(
                recordings, distinct_names(recordings), strict=True
            )
        ],
        notes=notes,
    )
