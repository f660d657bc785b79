"""A user's own task in a Python file: `my_file.py:MyTask`.

A policy says which file its task is in, and the file's hash. A policy is data, and may
come from anywhere, so its word alone never runs a program: a file runs where a user
has named it, on this machine, with the content that it has. Contents that were named
are remembered by their hashes in `$XDG_STATE_HOME/realworthy/task_files`.
"""

import contextlib
import hashlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from realworthy.artefacts.reading import check_readable, read_bytes, say
from realworthy.errors import BadFile, RealworthyError, UnknownName
from realworthy.policies.contract import TaskFile
from realworthy.tasks.definition import TaskDefinition, find_line
from realworthy.tasks.task import Task

SUFFIX = ".py"
_MAX_PARENTS = 4
"""Folders above a policy, its own among them, in which its task may lie."""


def is_file_task(name: str) -> bool:
    """Whether a name says a class in a file: `my_file.py:MyTask`, or `my_file.py`."""
    return name.rpartition(":")[0].endswith(SUFFIX) or name.endswith(SUFFIX)


def load_task(name: str, *, is_named: bool = True) -> TaskDefinition:
    """The class behind `my_file.py:MyTask`; its file is run.

    Unless it `is_named` by the user, contents that were never named are refused.
    """
    path, wanted, content = _read(name)
    module = _run_named(name, path, content, is_named=is_named)
    return _define(_find_class(module, path, wanted), path, _hash(content))


def load_module(name: str, *, is_named: bool = True) -> tuple[ModuleType, str, str]:
    """The file of `my_file.py:NAME`, which is run; its path, and NAME or nothing.

    Unless it `is_named` by the user, contents that were never named are refused.
    """
    path, wanted, content = _read(name)
    return _run_named(name, path, content, is_named=is_named), path, wanted


def load_named(name: str) -> object:
    """What stands behind `my_file.py:NAME`; its file is run."""
    module, path, wanted = load_module(name)
    if not hasattr(module, wanted):
        public = [x for x in vars(module) if not x.startswith("_")]
        raise UnknownName("name", wanted, public, owner=path)
    return getattr(module, wanted)


def define_task(kind: type[Task]) -> TaskDefinition:
    """A class of a user's own, with its file where other programs can find it there."""
    if not (isinstance(kind, type) and issubclass(kind, Task)):
        raise RealworthyError(
            f"{kind!r} is no task.",
            hint="A task is a class that derives from realworthy.Task.",
        )
    _check_whole(kind, kind.__qualname__)
    path = ""
    with contextlib.suppress(TypeError, OSError):
        path = inspect.getsourcefile(kind) or ""
    if not Path(path).is_file() or "<locals>" in kind.__qualname__:
        return TaskDefinition(name=kind.__qualname__, kind=kind, about=_describe(kind))
    digest = _hash(Path(path).read_bytes())
    remember(digest)
    near = os.path.relpath(path)
    return _define(kind, path if near.startswith("..") else near, digest)


def recall_task(file: TaskFile, policy: Path) -> TaskDefinition:
    """The task of a policy, from its file as it was when the policy learned.

    It is looked for where it was and near the policy. Raises where it is not there, has
    changed, or has never been run here.
    """
    places = (Path(file.path), *(p / Path(file.path).name for p in policy.parents))
    there = [path for path in places[: _MAX_PARENTS + 1] if path.is_file()]
    same = [path for path in there if _hash(read_bytes(path)) == file.sha256]
    learned = f"{policy.name} learned task '{file.name}' of {file.path}"
    if not there:
        raise RealworthyError(
            f"{learned}, which is not there.",
            hint=f"Say where it is: --task FILE.py:{file.name}",
        )
    if not same:
        raise RealworthyError(
            f"{learned}, which has changed since (SHA-256 {file.sha256[:12]}… then).",
            hint="Train again, or bring the file back. Where the task is meant as it is"
            f" now: --task {there[0]}:{file.name}",
        )
    if not is_remembered(file.sha256):
        raise RealworthyError(
            f"{learned}, a program that was never run here. A policy's word does not"
            " run programs.",
            hint=f"Read it; then name it once: --task {same[0]}:{file.name}",
        )
    return load_task(f"{same[0]}:{file.name}")


def remember_file(path: Path) -> None:
    """A user runs this file: runs and policies may name it from now on."""
    remember(_hash(path.read_bytes()))


def remember(digest: str) -> None:
    """A user has named a file with this content: policies may, from now on."""
    if is_remembered(digest):
        return
    place = _find_memory()
    with contextlib.suppress(OSError):  # then it has to be named each time
        place.parent.mkdir(parents=True, exist_ok=True)
        with open(place, "a", encoding="ascii") as file:
            file.write(f"{digest}\n")


def is_remembered(digest: str) -> bool:
    """Whether a user has named a file with this content before."""
    try:
        return digest in _find_memory().read_text("ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return False


def _find_memory() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "realworthy" / "task_files"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(name: str) -> tuple[str, str, bytes]:
    """Path, name in it, and content of the file."""
    path, _, wanted = name.rpartition(":")
    if not path.endswith(SUFFIX):
        path, wanted = name, ""
    return path, wanted, read_bytes(path)


def _run_named(name: str, path: str, content: bytes, *, is_named: bool) -> ModuleType:
    """The file as a module, where it may run."""
    if not (is_named or is_remembered(_hash(content))):
        raise RealworthyError(
            f"{path} is a program that was never run here, or has changed since.",
            hint=f"Read it; then name it yourself: {name}",
        )
    module = _run(Path(path), content)
    remember(_hash(content))
    return module


def _run(path: Path, content: bytes) -> ModuleType:
    """The file as a module; once, as long as it does not change."""
    where = hashlib.sha256(str(path.resolve()).encode() + content).hexdigest()
    name = f"{path.stem}_{where[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    check_readable(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadFile(path, "it is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for their module there
    try:
        with _beside(path):
            exec(compile(content, str(path), "exec"), vars(module))
    except KeyboardInterrupt:
        del sys.modules[name]
        raise
    except BaseException as error:  # SystemExit too: a task must not end the program
        del sys.modules[name]
        line = find_line(error, str(path))
        raise BadFile(
            path,
            f"running it raised {type(error).__name__}"
            f"{f' in line {line}' if line else ''}: {say(error)}.",
            hint="The file runs when it is loaded: correct it, and put what a script"
            ' does under `if __name__ == "__main__":`.',
        ) from error
    return module


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Modules beside the file can be imported, as where Python runs it."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)


def _find_class(module: ModuleType, path: str, wanted: str) -> type[Task]:
    tasks = {
        name: kind
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and issubclass(kind, Task)
        and kind.__module__ == module.__name__
        and not inspect.isabstract(kind)
    }
    if not wanted:
        names = ", ".join(f"{path}:{name}" for name in tasks) or "none"
        raise RealworthyError(
            f"{path} is a file, and not yet a task.",
            hint=f"Name a class in it: {names}."
            if tasks
            else "It has no class that derives from realworthy.Task.",
        )
    found: object = module
    for part in wanted.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise UnknownName("task", wanted, tasks, owner=path)
    if not (isinstance(found, type) and issubclass(found, Task)):
        names = ", ".join(tasks) or "none"
        raise BadFile(
            path,
            f"'{wanted}' is no task.",
            hint="A task is a class that derives from realworthy.Task; there are:"
            f" {names}.",
        )
    _check_whole(found, f"{path}:{wanted}")
    return found


def _check_whole(kind: type[Task], name: str) -> None:
    """Raises where a class leaves open what every task has to say."""
    missing = sorted(getattr(kind, "__abstractmethods__", ()))
    if missing:
        raise RealworthyError(
            f"Task '{name}' does not say {', '.join(missing)}.",
            hint="Write these methods: realworthy.tasks.task.Task explains each.",
        )


def _define(kind: type[Task], path: str, digest: str) -> TaskDefinition:
    return TaskDefinition(
        name=f"{path}:{kind.__qualname__}",
        kind=kind,
        about=_describe(kind),
        file=TaskFile(path=path, name=kind.__qualname__, sha256=digest),
    )


def _describe(kind: type[Task]) -> str:
    """The first line of its docstring."""
    return (inspect.getdoc(kind) or "").partition("\n")[0].rstrip(".")
