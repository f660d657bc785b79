"""Files into Structs: older schemas migrated, anything unknown refused."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

from realworthy.artefacts.explain import KEYS_HINT, explain
from realworthy.artefacts.reading import read_bytes, reading
from realworthy.artefacts.text import parse_yaml
from realworthy.errors import BadFile, RealworthyError

T = TypeVar("T", bound=msgspec.Struct)
Tree = dict[str, object]
Migrator = Callable[[Tree], Tree]


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
    file_schema = tree.get("schema", schema)
    if (
        not isinstance(file_schema, int)
        or isinstance(file_schema, bool)
        or file_schema < 1
    ):
        raise BadFile(
            path, f"schema is {file_schema!r}.", hint=f"Write schema: {schema}"
        )
    if file_schema > schema:
        raise BadFile(
            path,
            f"schema {file_schema} is newer than this Realworthy reads ({schema}).",
            hint="Try: pip install --upgrade realworthy",
        )
    for step in range(file_schema, schema):
        tree = (migrators or {})[step](tree)
    tree["schema"] = schema
    with reading(path, f"a {kind.__name__}"):
        try:
            _check_numbers(path, tree)
            return msgspec.convert(tree, kind)
        except BadFile:
            raise
        except RealworthyError as error:
            raise BadFile(path, error.problem, hint=error.hint) from None
        except msgspec.ValidationError as error:
            problem, hint = explain(error, tree, kind)
            raise BadFile(path, problem, hint=hint) from None


def read_tree(path: Path | str) -> Tree:
    """The mapping at the top of a YAML file."""
    path = Path(path)
    with reading(path, "YAML"):
        try:
            tree = parse_yaml(_read_text(path))
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
            problem = f"it is not YAML: {error.problem}{where}."
            is_star = error.context == "while scanning an alias"
            hint = 'A key with a * stands in quotes: "*.position".' if is_star else ""
            raise BadFile(path, problem, hint=hint) from None
        except yaml.YAMLError as error:
            reason = str(error).splitlines()[0]
            raise BadFile(path, f"it is not YAML: {reason}.") from None
        except BadFile:
            raise
        except RealworthyError as error:
            raise BadFile(path, error.problem, hint=error.hint) from None
    if tree is None:
        raise BadFile(path, "it is empty.", hint=KEYS_HINT)
    if not isinstance(tree, dict):
        raise BadFile(path, "it holds no mapping of keys to values.", hint=KEYS_HINT)
    return tree


def _read_text(path: Path) -> str:
    if path.is_dir():
        raise BadFile(path, "it is a folder, not a file.")
    try:
        return read_bytes(path, cost=2).decode("utf-8-sig")  # bytes, and text
    except UnicodeDecodeError:
        raise BadFile(path, "it is not text.", hint="Save it as UTF-8.") from None


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
    nested = (_find_nan(value, where) for where, value in inside.items())
    return next(filter(None, nested), "")
