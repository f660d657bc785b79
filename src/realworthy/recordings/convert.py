"""`convert`: recordings of foreign layouts into ours, one file each."""

from pathlib import Path
from typing import Literal, TypeAlias

from realworthy.artefacts import check_free, locked_folder
from realworthy.progress import Progress, ignore
from realworthy.recordings.describe import distinct_names
from realworthy.recordings.load import Recordings, load_recordings, save_recording
from realworthy.recordings.sidecar import Sidecar, sidecar_path

FormatName: TypeAlias = Literal["csv", "csv.gz", "npz", "parquet", "mcap"]


def convert(
    recordings: Recordings,
    *,
    output: Path | str,
    importer: str | None = None,
    sidecar: Sidecar | Path | str | None = None,
    format: FormatName = "csv",
    overwrite: bool = False,
    progress: Progress = ignore,
) -> tuple[Path, ...]:
    """Writes every recording into the folder `output`, in SI units and our names.

    Returns the files, in the order of the recordings; none is written where one of them
    may not be.
    """
    folder = Path(output)
    loaded = load_recordings(recordings, importer, sidecar=sidecar)
    paths = tuple(folder / f"{name}.{format}" for name in distinct_names(loaded))
    for path in paths:
        check_free(path, overwrite=overwrite)
        if format.startswith("csv"):
            check_free(sidecar_path(path), overwrite=overwrite)
    with locked_folder(folder):
        for i, (path, recording) in enumerate(zip(paths, loaded, strict=True)):
            progress(i / len(paths), path.name)
            save_recording(recording, path, overwrite=overwrite)
    return paths
