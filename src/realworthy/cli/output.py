"""What every command does with its result: JSON for programs, a page for people."""

import contextlib
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from realworthy.artefacts import check_free, writing
from realworthy.errors import Unwritable


@contextlib.contextmanager
def json_file(
    path: Path | None, *, overwrite: bool
) -> Iterator[Callable[[object], None]]:
    """Hands out what writes a result for programs; numbers not finite become null.

    A place that cannot be written to is refused before the work begins, and work that
    fails leaves no file.
    """
    if path is None:
        yield lambda result: None
        return
    with writing(path, overwrite=overwrite) as temporary:

        def save(result: object) -> None:
            tree = _finite(msgspec.to_builtins(result, enc_hook=_encode, str_keys=True))
            temporary.write_text(json.dumps(tree, indent=2) + "\n", encoding="utf-8")

        yield save


def check_report(path: Path | None, json: Path | None, *, overwrite: bool) -> None:
    """Raises, before the work begins, where a report cannot be written."""
    if path is None:
        return
    if path.suffix.lower() not in (".html", ".htm"):
        better = path.with_suffix(".html") if path.name else path / "report.html"
        raise Unwritable(path, "a report is a page.", hint=f"Try: {better}")
    check_free(path, overwrite=overwrite)
    if json is not None and path.resolve() == json.resolve():
        raise Unwritable(
            path,
            "it is the file of --json, too.",
            hint="Give the report a name of its own, such as report.html.",
        )


def _encode(value: object) -> object:
    import numpy as np

    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"cannot write a {type(value).__name__} as JSON")


def _finite(tree: object) -> object:
    if isinstance(tree, float):
        return tree if math.isfinite(tree) else None
    if isinstance(tree, dict):
        return {key: _finite(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_finite(value) for value in tree]
    return tree
