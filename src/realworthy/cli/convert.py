"""`realworthy convert`: foreign layouts into ours."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from realworthy.cli.arguments import (
    Flag,
    ImporterName,
    JsonFile,
    RecordingFiles,
    Role,
    SidecarFile,
)


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
        from realworthy.artefacts import check_readable
        from realworthy.cli.output import json_file
        from realworthy.cli.printing import counted, say
        from realworthy.cli.progress import following, waiting
        from realworthy.recordings import convert, load_recordings

        for path in self.recordings:
            check_readable(path)
        with json_file(self.json, overwrite=self.overwrite) as save:
            with waiting("Reading"):
                recordings = load_recordings(
                    self.recordings, self.importer, sidecar=self.sidecar
                )
            with following("Writing") as progress:
                paths = convert(
                    recordings,
                    output=self.output,
                    format=self.format,
                    overwrite=self.overwrite,
                    progress=progress,
                )
            pairs = zip(paths, recordings, strict=True)
            done = [{"path": str(p), "rows": len(r.time)} for p, r in pairs]
            save({"recordings": done})
        seconds = sum(recording.duration for recording in recordings)
        count = counted(len(recordings), "recording")
        say(f"{count}, {seconds:.1f} s in all, written to {self.output}")
        return 0
