"""A user's own learner in a Python file: `my_file.py:MyLearner`.

A run's settings say which file its learner is in. As with tasks, a file runs where a
user has named it, on this machine, with the content that it has: the word of a run's
folder alone never runs a program.
"""

import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path

from realworthy.artefacts.reading import say
from realworthy.errors import BadFile, RealworthyError, UnknownName
from realworthy.learning.learner import Learner, LearnerSettings
from realworthy.tasks.definition import find_line
from realworthy.tasks.task_files import load_module, remember_file

_NAMES: dict[type[LearnerSettings], str] = {}
"""Settings of learners that were loaded from files → `my_file.py:MyLearner`."""


def load_learner(name: str, *, is_named: bool = True) -> type[Learner]:
    """The class behind `my_file.py:MyLearner`; its file is run.

    Unless it `is_named` by the user, contents that were never named are refused.
    """
    module, path, wanted = load_module(name, is_named=is_named)
    learners = [
        word
        for word, kind in vars(module).items()
        if isinstance(kind, type)
        and issubclass(kind, Learner)
        and kind.__module__ == module.__name__
    ]
    if not wanted:
        raise RealworthyError(
            f"{path} is a file, and not yet a learner.",
            hint=f"Name a class in it: {path}:{learners[0]}."
            if learners
            else "It has no class that derives from"
            " realworthy.learning.learner.Learner.",
        )
    if not hasattr(module, wanted):
        raise UnknownName("learner", wanted, learners, owner=path)
    found = getattr(module, wanted)
    if not (isinstance(found, type) and issubclass(found, Learner)):
        raise BadFile(
            path,
            f"'{wanted}' is no learner.",
            hint="A learner is a class that derives from"
            " realworthy.learning.learner.Learner.",
        )
    check_learner(found, name)
    _NAMES[found.Settings] = name
    return found


def check_learner(kind: type[Learner], name: str) -> None:
    """Raises where a class leaves open what every learner has to say."""
    missing = sorted(getattr(kind, "__abstractmethods__", ()))
    missing += [x for x in ("Settings", "about", "remedy") if not hasattr(kind, x)]
    if missing:
        raise RealworthyError(
            f"Learner '{name}' does not say {', '.join(missing)}.",
            hint="realworthy.learning.learner.Learner explains each;"
            " recipes/own_learner.py is a whole one.",
        )
    settings = kind.Settings
    if not (isinstance(settings, type) and issubclass(settings, LearnerSettings)):
        raise RealworthyError(
            f"`Settings` of learner '{name}' is {settings!r}.",
            hint="It is a class that derives from"
            " realworthy.learning.learner.LearnerSettings.",
        )
    open_methods = sorted(getattr(settings, "__abstractmethods__", ()))
    if open_methods:
        raise RealworthyError(
            f"Settings of learner '{name}' do not say {', '.join(open_methods)}.",
            hint="realworthy.learning.learner.LearnerSettings explains each.",
        )
    if not is_dataclass(settings):
        raise RealworthyError(
            f"Settings of learner '{name}' are no dataclass.",
            hint="Write @dataclass(kw_only=True, slots=True) above the class.",
        )
    bare = [
        x.name
        for x in fields(settings)
        if x.default is MISSING and x.default_factory is MISSING
    ]
    if bare:
        raise RealworthyError(
            f"Settings of learner '{name}' have no default for {', '.join(bare)}.",
            hint="Give each a value that is good for something.",
        )


def find_name(settings: type[LearnerSettings]) -> str:
    """`my_file.py:MyLearner` of the learner with such settings; empty: in no file."""
    if settings not in _NAMES:
        _NAMES[settings] = _search_name(settings)
    return _NAMES[settings]


def _search_name(settings: type[LearnerSettings]) -> str:
    """Of a class that Python itself has loaded: from the module that it is in."""
    module = sys.modules.get(settings.__module__)
    path = ""
    with suppress(TypeError, OSError):
        path = inspect.getsourcefile(settings) or ""
    if module is None or not Path(path).is_file():
        return ""
    for name, kind in vars(module).items():
        is_learner = isinstance(kind, type) and issubclass(kind, Learner)
        if is_learner and vars(kind).get("Settings") is settings:
            remember_file(Path(path))
            near = os.path.relpath(path)
            return f"{path if near.startswith('..') else near}:{name}"
    return ""


@contextmanager
def blamed(settings: LearnerSettings) -> Iterator[None]:
    """Errors that come out of the file of a user's own learner, as one message."""
    home = type(settings).__module__.partition(".")[0]
    if home == __name__.partition(".")[0]:
        yield
        return
    try:
        yield
    except RealworthyError:
        raise
    except Exception as error:
        path = ""
        with suppress(TypeError, OSError):
            path = inspect.getsourcefile(type(settings)) or ""
        line = find_line(error, path) if path else ""
        if not line:
            raise
        name = find_name(type(settings)) or type(settings).__qualname__
        raise RealworthyError(
            f"Learner '{name}' raised {type(error).__name__} in line {line}:"
            f" {say(error)}.",
            hint="Correct the learner.",
        ) from error
