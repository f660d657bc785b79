"""NumPy's archives, `.npz`: what is declared is compared with what is there first."""

import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts.reading import check_readable, reading
from realworthy.artefacts.reading_costs import check_bytes
from realworthy.errors import BadFile

_END = ".npy"


def read_arrays(path: Path | str) -> dict[str, NDArray]:
    """Every array of an `.npz`, by name; nothing in it is ever run.

    `numpy.load` believes the shapes that a file declares, and looks up each name among
    all of them, which 10⁵ arrays make slow.
    """
    path = Path(path)
    check_readable(path)
    with (
        reading(path, "an archive of plain NumPy arrays"),
        zipfile.ZipFile(path) as archive,
    ):
        members = archive.infolist()
        check_bytes(path, sum(member.file_size for member in members))
        arrays: dict[str, NDArray] = {}
        taken = 0
        for member in members:
            name = member.filename.removesuffix(_END)
            if name == member.filename:
                raise BadFile(path, f"'{name}' in it is not a NumPy array.")
            if name in arrays:
                raise BadFile(path, f"it holds two arrays called '{name}'.")
            with archive.open(member) as file:
                array = arrays[name] = _read_array(file, name, path)
            taken += array.nbytes + 8 * array.size  # it will be copied, as float64
            check_bytes(path, taken)
    return arrays


def _read_array(file: IO[bytes], name: str, path: Path) -> NDArray:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    else:
        shape, by_columns, dtype = np.lib.format.read_array_header_2_0(file)
    if dtype.hasobject:
        raise ValueError(f"'{name}' holds Python objects, which are never loaded")
    data = file.read()
    count = math.prod(shape)  # of Python's whole numbers, which do not wrap round
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(data):
        raise BadFile(
            path,
            f"'{name}' should have the shape {_say(shape)}, and has {len(data)} bytes.",
            hint="It was cut off or changed; copy it again.",
        )
    if not data:
        check_bytes(path, 8 * count)  # of numbers that take no bytes
        return np.zeros(shape, dtype)
    order = "F" if by_columns else "C"
    return np.frombuffer(data, dtype).reshape(shape, order=order)


def _say(shape: tuple[int, ...]) -> str:
    return str(shape) if len(str(shape)) < 80 else f"of {len(shape)} axes"
