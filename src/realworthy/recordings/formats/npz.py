"""NumPy's archive: one array per signal, `time` first, the sidecar as JSON text."""

import io
import zipfile
from pathlib import Path

import numpy as np

from realworthy.artefacts.arrays import read_arrays
from realworthy.errors import BadFile
from realworthy.recordings.formats.format import Format
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import Sidecar, from_json, to_json
from realworthy.recordings.signals import Table

SIDECAR = "__sidecar__"


def read(path: Path) -> tuple[Table, Sidecar | None]:
    """Every one-dimensional array of numbers, and the sidecar if there is one."""
    arrays = read_arrays(path)
    text = arrays.pop(SIDECAR, None)
    for name, values in arrays.items():
        if values.ndim != 1 or values.dtype.kind not in "fiub":
            raise BadFile(
                path,
                f"'{name}' is an array of {values.dtype} with shape {values.shape}.",
                hint="A recording has one number per row and signal: one array each.",
            )
    table = {name: values.astype(np.float64) for name, values in arrays.items()}
    return table, None if text is None else from_json(str(text), path)


def write(recording: Recording, path: Path) -> None:
    """Without compression: noise does not get smaller."""
    arrays = {
        "time": recording.time,
        **recording.signals,
        SIDECAR: np.array(to_json(recording.sidecar)),
    }
    with zipfile.ZipFile(path, "w") as archive:  # np.savez reserves the name 'file'
        for name, values in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, values, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data.getvalue())


FORMAT = Format(read=read, write=write, embeds=True)
