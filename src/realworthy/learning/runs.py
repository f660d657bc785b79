"""The folder of a run: settings, checkpoints, metrics and, in the end, a policy."""

import contextlib
import importlib.metadata
import itertools
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import torch

from realworthy import __version__
from realworthy.artefacts import is_vacant, writing
from realworthy.artefacts.text import dump_yaml, parse_yaml
from realworthy.errors import BadFile, RealworthyError, Unwritable
from realworthy.learning.catalogue import from_tree, to_tree
from realworthy.learning.learner import LearnerSettings

SCHEMA = 2
_TOOLS = ("mujoco", "numpy", "torch")
LATEST, BEST = "latest.pt", "best.pt"


def name_run(task: str) -> Path:
    """The first of `runs/TASK`, `runs/TASK_2` … in which there is nothing yet."""
    name = re.sub(r"\W+", "_", task.rpartition(":")[2])
    for number in itertools.count(1):
        path = Path("runs", name if number == 1 else f"{name}_{number}")
        if not path.exists() or (path.is_dir() and is_vacant(path)):
            return path
    raise AssertionError("numbers do not end")


class RunFolder:
    """Where a run keeps what it has; every file appears whole or not at all."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    @property
    def settings(self) -> Path:
        """Everything that was asked for, resolved; read back to repeat the run."""
        return self.path / "settings.yaml"

    @property
    def policy(self) -> Path:
        return self.path / "policy.onnx"

    @property
    def report(self) -> Path:
        """A page about it, for people."""
        return self.path / "report.html"

    @property
    def metrics(self) -> Path:
        """Folder of TensorBoard's files."""
        return self.path / "tensorboard"

    def checkpoint(self, name: str) -> Path:
        return self.path / "checkpoints" / name

    def has(self, checkpoint: str) -> bool:
        """Whether a checkpoint of that name was written."""
        return self.checkpoint(checkpoint).exists()

    def check_free(self) -> None:
        """Raises where something is there already."""
        if self.path.exists() and not (self.path.is_dir() and is_vacant(self.path)):
            hint = "Choose another name."
            if self.has(LATEST):
                hint = "Choose another name, or go on with it: --resume."
            raise Unwritable(self.path, "it exists already.", hint=hint)

    def begin(self, settings: object) -> None:
        """Makes the folder and writes the settings; refuses one that is in use."""
        self.check_free()
        self._write(settings, overwrite=False)

    def clear(self) -> None:
        """Undoes `begin`, of a run that ended before its first checkpoint."""
        self.settings.unlink(missing_ok=True)
        shutil.rmtree(self.metrics, ignore_errors=True)
        for folder in (self.path / "checkpoints", self.path):
            with contextlib.suppress(OSError):  # something else is in it
                folder.rmdir()

    def change(self, settings: object) -> None:
        """Other settings, of a run that goes on."""
        self._write(settings, overwrite=True)

    def _write(self, settings: object, *, overwrite: bool) -> None:
        tree = {
            "schema": SCHEMA,
            "settings": describe_settings(settings),
            "versions": list_versions(),
        }
        with writing(self.settings, overwrite=overwrite) as temporary:
            temporary.write_text(dump_yaml(tree), encoding="utf-8")

    def read_settings(self, kind: type[Any]) -> Any:
        """The settings of the run, as they stand."""
        try:
            tree = self._read()
            return msgspec.convert(tree, kind, strict=False, dec_hook=_read_part)
        except msgspec.ValidationError as error:
            raise BadFile(self.settings, f"{error}.") from None

    def read_learner(self) -> str:
        """The name of the learner that made the run."""
        return str(self._read().get("learner", {}).get("name"))

    def _read(self) -> dict[str, Any]:
        """What `describe_settings` wrote, also by an older version."""
        try:
            tree = parse_yaml(self.settings.read_text(encoding="utf-8"))
            if not isinstance(tree, dict) or tree.get("schema") not in (1, SCHEMA):
                raise BadFile(self.settings, f"schema {SCHEMA} was expected.")
            found = tree["settings"]
            return _migrate(found) if tree["schema"] == 1 else found
        except (FileNotFoundError, NotADirectoryError):
            raise RealworthyError(
                f"'{self.path}' is not the folder of a run: it has no settings.yaml."
            ) from None
        except KeyError as error:
            raise BadFile(self.settings, f"{error}.") from None

    def save(self, name: str, state: Mapping[str, object]) -> None:
        """Writes a checkpoint; the one before stays until the new one is whole."""
        with writing(self.checkpoint(name), overwrite=True) as temporary:
            torch.save(dict(state), temporary)

    def load(self, name: str) -> dict[str, Any]:
        """A checkpoint, read as plain data: nothing in it is executed."""
        path = self.checkpoint(name)
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except FileNotFoundError:
            raise RealworthyError(
                f"'{self.path}' has no checkpoint '{name}'.",
                hint="It was stopped before its first; start again in another folder.",
            ) from None
        except Exception as error:  # torch has many words for a broken file
            raise BadFile(path, f"it is no checkpoint: {error}.") from None


def describe_settings(settings: object) -> dict[str, object]:
    """As settings.yaml has them; a learner's with its name."""
    tree = msgspec.to_builtins(settings)
    learner = getattr(settings, "learner", None)
    return tree if learner is None else {**tree, "learner": to_tree(learner)}


def _read_part(kind: type[object], tree: object) -> object:
    if kind is not LearnerSettings or not isinstance(tree, dict):
        raise NotImplementedError(kind)
    return from_tree(tree)


def _migrate(tree: dict[str, object]) -> dict[str, object]:
    """Schema 1 knew PPO alone, by its name."""
    rest = {name: value for name, value in tree.items() if name != "ppo"}
    return {**rest, "learner": {"name": "ppo", **dict(tree["ppo"])}}  # pyright: ignore


def list_versions() -> dict[str, str]:
    """Of the tools that a run depends on."""
    found = {name: importlib.metadata.version(name) for name in _TOOLS}
    return {"realworthy": __version__, **found}


def find_commit() -> str:
    """The commit of the working folder; empty where there is none."""
    folder = Path.cwd()
    for parent in (folder, *folder.parents):
        head = parent / ".git" / "HEAD"
        if head.is_file():
            text = head.read_text(encoding="utf-8").strip()
            if not text.startswith("ref: "):
                return text
            branch = parent / ".git" / text.removeprefix("ref: ")
            is_there = branch.is_file() and os.access(branch, os.R_OK)
            return branch.read_text(encoding="utf-8").strip() if is_there else ""
    return ""
