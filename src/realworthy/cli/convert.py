"""`realworthy convert`: foreign layouts into ours."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True, slots=True)
class Convert:
    """Foreign recordings into ours: SI units, our signal names, one file each."""

    recordings: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RECORDING…")
    ]
    """Files or folders."""
    output: Path
    """Folder to write to; it is made where it is missing."""
    importer: str | None = None
    """Layout of foreign files: realworthy show importers."""
    format: Literal["csv", "csv.gz", "npz", "parquet", "mcap"] = "csv"
    """What to write."""
    sidecar: Path | None = None
    """YAML with what the files do not say, such as a mapping of columns."""
    overwrite: bool = False
    """Replace recordings of the same names."""
    json: Path | None = None
    """Also write what was done, for programs."""

    def run(self) -> int:
        from rich.console import Console

        from realworthy.cli.output import save_json
        from realworthy.cli.progress import track
        from realworthy.recordings import load_recordings, save_recording
        from realworthy.recordings.describe import distinct_names

        recordings = load_recordings(
            self.recordings, self.importer, sidecar=self.sidecar
        )
        console = Console()
        written = []
        names = distinct_names(recordings)
        for name, recording in track(list(zip(names, recordings, strict=True))):
            path = self.output / f"{name}.{self.format}"
            save_recording(recording, path, overwrite=self.overwrite)
            written.append({"path": str(path), "rows": len(recording.time)})
        console.print(
            f"{len(written)} recordings, {sum(r.duration for r in recordings):.1f} s "
            f"in all, written to {self.output}",
            soft_wrap=True,
        )
        if self.json:
            save_json(self.json, {"recordings": written}, overwrite=self.overwrite)
        return 0
