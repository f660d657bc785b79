"""Files that outlive a run: written whole or not at all, read strictly.

Every artefact is a msgspec Struct with a `schema` number. An older schema is migrated
when it is read; a newer one, or an unknown key, is refused with its place in the file.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

from realworthy.errors import BadFile, RealworthyError, Unwritable

T = TypeVar("T", bound=msgspec.Struct)
Tree = dict[str, object]
Migrator = Callable[[Tree], Tree]


@contextlib.contextmanager
def writing(path: Path | str, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary path beside `path`, renamed onto it when the block ends well.

    If the block raises, nothing is left behind. An existing file is replaced only with
    `overwrite`.
    """
    path = Path(path)
    if path.is_dir():
        raise Unwritable(path, "it is a folder.", hint="Give a file name inside it.")
    if path.exists() and not overwrite:
        raise Unwritable(
            path,
            "it exists already.",
            hint="Choose another name, or say --overwrite (overwrite=True).",
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        suffix = "".join(path.suffixes)  # writers choose their format by it
        handle, name = tempfile.mkstemp(".tmp" + suffix, f".{path.stem}.", path.parent)
    except OSError as error:
        raise Unwritable(
            path,
            f"{error.strerror}.",
            hint="Choose a folder that you may write to, on a disk with room.",
        ) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise Unwritable(path, f"{error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def save(path: Path | str, struct: msgspec.Struct, *, overwrite: bool = False) -> None:
    """Writes a Struct as YAML, whole or not at all."""
    with writing(path, overwrite=overwrite) as temporary:
        temporary.write_text(to_yaml(struct), encoding="utf-8")


def to_yaml(struct: msgspec.Struct) -> str:
    """YAML text that `load` reads back as the same Struct."""
    tree = msgspec.to_builtins(struct)
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def load(
    path: Path | str,
    kind: type[T],
    *,
    schema: int,
    migrators: dict[int, Migrator] | None = None,
) -> T:
    """Reads `kind` from YAML; `migrators[n]` turns a tree of schema n into n + 1."""
    path = Path(path)
    tree = read_tree(path)
    found = tree.get("schema", schema)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise BadFile(path, f"schema is {found!r}.", hint=f"Write schema: {schema}")
    if found > schema:
        raise BadFile(
            path,
            f"schema {found} is newer than this Realworthy reads ({schema}).",
            hint="Try: pip install --upgrade realworthy",
        )
    for step in range(found, schema):
        tree = (migrators or {})[step](tree)
    tree["schema"] = schema
    try:
        return msgspec.convert(tree, kind)
    except RealworthyError as error:
        raise BadFile(path, error.problem, hint=error.hint) from None
    except msgspec.ValidationError as error:
        raise BadFile(
            path, f"{error}.", hint="docs/artefacts.md lists every key."
        ) from None


def read_tree(path: Path | str) -> Tree:
    """The mapping at the top of a YAML file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadFile(path, "there is no such file.") from None
    except IsADirectoryError:
        raise BadFile(path, "it is a folder, not a file.") from None
    except UnicodeDecodeError:
        raise BadFile(path, "it is not text.") from None
    except OSError as error:
        raise BadFile(path, f"{error.strerror}.") from None
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadFile(path, f"it is not YAML: {error}") from None
    if not isinstance(tree, dict):
        raise BadFile(path, "it holds no mapping of keys to values.")
    return tree


class _Dumper(yaml.SafeDumper):
    """Short lists on one line, so that a vector reads as a vector."""


def _represent_list(dumper: yaml.SafeDumper, values: Sequence[object]) -> yaml.Node:
    flat = all(isinstance(value, int | float | str | bool) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=flat)


_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(tuple, _represent_list)


def _sync(path: Path) -> None:
    if path.is_file():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
