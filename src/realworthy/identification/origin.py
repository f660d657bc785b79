"""Where a twin that was fitted to recordings came from."""

import datetime
from collections.abc import Sequence

from realworthy import __version__
from realworthy.recordings import Recording, distinct_names
from realworthy.twins import Twin
from realworthy.twins.twin import Provenance, RecordingEvidence


def describe_origin(
    twin: Twin, recordings: Sequence[Recording], notes: str = ""
) -> Provenance:
    """The twin before, and the recordings with their hashes."""
    return Provenance(
        parent=twin.reference or twin.name,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        versions={"realworthy": __version__},
        recordings=[
            RecordingEvidence(str(recording.source or name), recording.sha256())
            for recording, name in zip(
                recordings, distinct_names(recordings), strict=True
            )
        ],
        notes=notes,
    )
