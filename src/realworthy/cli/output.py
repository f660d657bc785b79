"""What every command does with its result: JSON for programs."""

import json
import math
from pathlib import Path

import msgspec
import numpy as np

from realworthy.artefacts import writing


def save_json(path: Path, result: object, *, overwrite: bool) -> None:
    """Writes a result for programs; numbers that are not finite become null."""
    tree = _finite(msgspec.to_builtins(result, enc_hook=_encode, str_keys=True))
    with writing(path, overwrite=overwrite) as temporary:
        temporary.write_text(json.dumps(tree, indent=2) + "\n", encoding="utf-8")


def _encode(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
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
