"""Which files a command reads and which it writes, by the marks on its arguments."""

import contextlib
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints

from realworthy.artefacts import is_same_file, protected, read_tree
from realworthy.artefacts.inputs import check_no_input
from realworthy.cli.arguments import Role
from realworthy.errors import Unwritable

_NAMES = {"report": "report.html", "json": "result.json", "junit": "junit.xml"}
"""What an output may be called that has the name of another one."""
_REFERENCE = re.compile(r'\bfile(?:name)?\s*=\s*"([^"]+)"')
"""Files that a model takes in: meshes, textures, other models."""
_MAX_SEARCHED_BYTES = 64 * 2**20
"""[bytes] of a text that is searched for them; models have 1 MB, 2026-11-18."""
_FOLDER = re.compile(r'\b(?:asset|mesh|texture)dir\s*=\s*"([^"]+)"')
"""Folders below which they lie."""


@contextlib.contextmanager
def guarded_files(command: object) -> Iterator[None]:
    """While the command runs, nothing that it reads can be written.

    Raises, before it runs, where two of its outputs are one file, or where one of them
    is a file that it reads.
    """
    outputs = list(_list_fields(command, Role.WRITTEN))
    for (name, path), (other, same) in combinations(outputs, 2):
        if is_same_file(path, same):
            _refuse_same(name, other, same)
    if not outputs:
        yield
        return
    with protected(list_inputs(command)):
        for _, path in outputs:
            check_no_input(path)
        yield


def list_inputs(command: object) -> Iterator[Path]:
    """Files that a command reads, and those which it looks for beside them.

    Folders are not among them: what is written into one lies beside what is read.
    """
    importer = getattr(command, "importer", None)
    for _, path in _list_fields(command, Role.READ):
        with contextlib.suppress(Exception):  # the command says what is wrong with it
            found = _list_read(path, importer)
            yield from (each for each in found if not each.is_dir())


def list_marked(kind: type) -> Iterator[tuple[str, Role]]:
    """Arguments of a command that name files, each with what is done to those."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for mark in _list_marks(hint):
            yield name, mark


def _list_marks(hint: object) -> Iterator[Role]:
    if get_origin(hint) is Annotated:
        kind, *marks = get_args(hint)
        yield from (mark for mark in marks if isinstance(mark, Role))
        yield from _list_marks(kind)


def _list_fields(command: object, role: Role) -> Iterator[tuple[str, Path]]:
    for name, mark in list_marked(type(command)):
        value = getattr(command, name)
        if mark is role and value:
            values = value if isinstance(value, tuple) else (value,)
            yield from ((name, _to_path(each)) for each in values)


def _to_path(value: Path | str) -> Path:
    """A name as it may stand for a file; `sim:` before it names a reality."""
    return Path(value.removeprefix("sim:")) if isinstance(value, str) else value


def _list_read(path: Path, importer: str | None) -> Iterator[Path]:
    """A file or folder that is read, and what is read with it."""
    from realworthy.policies.metadata import name_sidecar
    from realworthy.policies.onnx_file import read_graph
    from realworthy.recordings.formats import find_suffix
    from realworthy.recordings.load import find_importer
    from realworthy.recordings.sidecar import sidecar_path

    yield path
    if importer is not None:
        yield sidecar_path(path)
        for place in find_importer(importer).find(path):
            yield from (place, sidecar_path(place))
            yield from place.rglob("*")  # nothing below a file
    elif path.is_dir():
        for file in filter(find_suffix, path.iterdir()):
            yield from (file, sidecar_path(file))
    elif find_suffix(path):
        yield sidecar_path(path)
    elif path.suffix == ".onnx":
        if (contract := name_sidecar(path)).exists():  # else --draft may write it
            yield contract
        yield from read_graph(path).companions
    else:
        yield from _list_references(path)


def _list_references(path: Path, depth: int = 2) -> Iterator[Path]:
    """The twin of a reality, the model of a twin, the meshes of a model."""
    if not path.is_file() or path.stat().st_size > _MAX_SEARCHED_BYTES:
        return
    if path.suffix.lower() in (".xml", ".urdf"):
        text = path.read_text("utf-8", errors="replace")
        folders = (".", *_FOLDER.findall(text))
        for name in _REFERENCE.findall(text):
            yield from (path.parent / folder / name for folder in folders)
    elif path.suffix in (".yaml", ".yml") and depth:
        tree = read_tree(path)
        for named in (tree.get("model"), tree.get("twin")):
            if isinstance(named, str) and (below := path.parent / named).is_file():
                yield below
                yield from _list_references(below, depth - 1)


def _refuse_same(name: str, other: str, path: Path) -> None:
    if name == "report":
        name, other = other, name
    better = _NAMES.get(other, f"output{''.join(path.suffixes)}")
    raise Unwritable(
        path,
        f"it is the file of --{name}, too.",
        hint=f"Give the {other} a name of its own, such as {better}.",
    )
