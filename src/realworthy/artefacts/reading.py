"""Files into Structs: older schemas migrated, anything unknown refused."""

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

from realworthy.artefacts.explain import KEYS_HINT, explain
from realworthy.artefacts.text import parse_yaml
from realworthy.errors import BadFile, MissingFile, RealworthyError

T = TypeVar("T", bound=msgspec.Struct)
Tree = dict[str, object]
Migrator = Callable[[Tree], Tree]
_LARGEST = 256 * 2**20
"""[bytes] beyond which a file is surely something else."""
_TOO_DEEP = "it holds lists or keys within each other without end."


def load(
    path: Path | str,
    kind: type[T],
    *,
    schema: int,
    migrators: Mapping[int, Migrator] | None = None,
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
        _check_numbers(path, tree)
        return msgspec.convert(tree, kind)
    except BadFile:
        raise
    except RealworthyError as error:
        raise BadFile(path, error.problem, hint=error.hint) from None
    except RecursionError:
        raise BadFile(path, _TOO_DEEP) from None
    except msgspec.ValidationError as error:
        problem, hint = explain(error, tree, kind)
        raise BadFile(path, problem, hint=hint) from None


def read_tree(path: Path | str) -> Tree:
    """The mapping at the top of a YAML file."""
    path = Path(path)
    try:
        tree = parse_yaml(_read_text(path))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise BadFile(path, f"it is not YAML: {error.problem}{where}.") from None
    except RecursionError:
        raise BadFile(path, _TOO_DEEP) from None
    except yaml.YAMLError as error:
        raise BadFile(path, f"it is not YAML: {str(error).splitlines()[0]}.") from None
    if tree is None:
        raise BadFile(path, "it is empty.", hint=KEYS_HINT)
    if not isinstance(tree, dict):
        raise BadFile(path, "it holds no mapping of keys to values.", hint=KEYS_HINT)
    return tree


def check_readable(path: Path | str) -> None:
    """Raises where there is no such file or folder, or where it may not be read."""
    try:
        if os.path.isdir(path):
            os.scandir(path).close()
        else:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise MissingFile(path) from None
    except OSError as error:
        raise BadFile(path, f"{error.strerror}.") from None


def _read_text(path: Path) -> str:
    check_readable(path)
    try:
        if (size := path.stat().st_size) > _LARGEST:
            raise BadFile(path, f"it is too large ({size / 2**20:.0f} MiB).")
        return path.read_text(encoding="utf-8-sig")
    except IsADirectoryError:
        raise BadFile(path, "it is a folder, not a file.") from None
    except UnicodeDecodeError:
        raise BadFile(path, "it is not text.", hint="Save it as UTF-8.") from None
    except OSError as error:
        raise BadFile(path, f"{error.strerror}.") from None


def _check_numbers(path: Path, tree: Tree) -> None:
    """NaN is never a number of an artefact; free notes may say what they like."""
    if place := _find_nan({k: v for k, v in tree.items() if k != "notes"}):
        raise BadFile(path, f"{place} is not a number (NaN).", hint=KEYS_HINT)


def _find_nan(tree: object, place: str = "") -> str:
    """Where the first number is that is none; empty if all are."""
    if isinstance(tree, float) and math.isnan(tree):
        return place
    if isinstance(tree, dict):
        inside = {f"{place}.{key}".lstrip("."): value for key, value in tree.items()}
    elif isinstance(tree, list):
        inside = {f"{place}[{i}]": value for i, value in enumerate(tree)}
    else:
        return ""
    found = (_find_nan(value, where) for where, value in inside.items())
    return next(filter(None, found), "")
