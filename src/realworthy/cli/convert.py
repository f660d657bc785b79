"""`realworthy convert`: foreign layouts into ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from realworthy.cli.arguments import (
    Flag,
    ImporterName,
    JsonFile,
    RecordingFiles,
    Role,
    SidecarFile,
)

if TYPE_CHECKING:
    from realworthy.recordings import Recording


@dataclass(frozen=True, slots=True)
class Convert:
    """Foreign recordings into ours: SI units, our names of signals, one file each."""

    recordings: RecordingFiles
    """Files or folders."""
    output: Annotated[Path, Role.WRITTEN, tyro.conf.arg(metavar="FOLDER")]
    """Where to write; the folder is made where it is missing."""
    importer: ImporterName = None
    """Layout of foreign files; realworthy show importers lists them."""
    format: Literal["csv", "csv.gz", "npz", "parquet", "mcap"] = "csv"
    """What to write."""
    sidecar: SidecarFile = None
    """YAML with what the files do not say, such as a mapping of columns."""
    overwrite: Flag = False
    """Replace recordings, and the JSON file, of the same names."""
    json: JsonFile = None
    """Also write what was done, for programs."""

    def run(self) -> int:
        from realworthy.artefacts import check_readable, locked_folder
        from realworthy.cli.output import json_file
        from realworthy.cli.printing import counted, say
        from realworthy.cli.progress import track, waiting
        from realworthy.recordings import load_recordings, save_recording

        for path in self.recordings:
            check_readable(path)
        with json_file(self.json, overwrite=self.overwrite) as save:
            with waiting("Reading"):
                recordings = load_recordings(
                    self.recordings, self.importer, sidecar=self.sidecar
                )
            pairs = list(zip(self._choose_paths(recordings), recordings, strict=True))
            with locked_folder(self.output):
                for path, recording in track(pairs, "Writing"):
                    save_recording(recording, path, overwrite=self.overwrite)
            done = [{"path": str(p), "rows": len(r.time)} for p, r in pairs]
            save({"recordings": done})
        seconds = sum(recording.duration for recording in recordings)
        count = counted(len(recordings), "recording")
        say(f"{count}, {seconds:.1f} s in all, written to {self.output}")
        return 0

    def _choose_paths(self, recordings: Sequence["Recording"]) -> list[Path]:
        """A file for each recording; none is written where one of them may not be."""
        from realworthy.artefacts import check_free
        from realworthy.recordings import distinct_names
        from realworthy.recordings.sidecar import sidecar_path

        names = distinct_names(recordings)
        paths = [self.output / f"{name}.{self.format}" for name in names]
        for path in paths:
            check_free(path, overwrite=self.overwrite)
            if self.format.startswith("csv"):
                check_free(sidecar_path(path), overwrite=self.overwrite)
        return paths
