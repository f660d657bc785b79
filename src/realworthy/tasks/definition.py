"""A task before it is built on a twin: what every verb takes where it says TASK."""

import inspect
import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from realworthy.artefacts.reading import say
from realworthy.errors import RealworthyError, UnknownName
from realworthy.parameters import Belief
from realworthy.policies.contract import Contract, TaskFile, TaskSetting
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Task
from realworthy.twins import Twin, load_twin

Settings: TypeAlias = Mapping[str, TaskSetting]
_PLAIN = (bool, int, float, str)
"""Kinds of values that a setting may have: a contract and a YAML file hold them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDefinition:
    """A task with its settings, which can be built on its own twin or on another one.

    One of ours, a class in a file of a user's own, or such a class itself.
    """

    name: str
    """`pendulum`, or `my_file.py:MyTask`: what a command takes, too."""
    kind: Callable[..., Task]
    """Builds it on a twin or, where that is None, on its own; keyword arguments are its
    settings."""
    twin: str = ""
    """Its own twin, as `load_twin` takes it; empty: that of a task built without one.
    """
    about: str = ""
    settings: Settings = field(default_factory=dict)
    """Keyword arguments with which it is built."""
    file: TaskFile | None = None
    """Where a user's own task is; None: one of ours, or in no file."""

    @property
    def is_own(self) -> bool:
        """Whether it is a task of a user's own."""
        home = getattr(self.kind, "__module__", "")
        return home.partition(".")[0] != __name__.partition(".")[0]

    @property
    def is_elsewhere(self) -> bool:
        """Whether other processes can build it, by its name."""
        return self.file is not None or not self.is_own

    def is_task_of(self, contract: Contract) -> bool:
        """Whether a policy learned it, in a file as it was then or as it is now."""
        if contract.task_file is None or self.file is None:
            return self.file is contract.task_file and self.name == contract.task
        return self.file.name == contract.task_file.name

    def with_settings(self, settings: Settings) -> "TaskDefinition":
        """The same task with other keyword arguments; raises where it has no such."""
        if not settings:
            return self
        known = _list_settings(self.kind)
        for name, value in settings.items():
            if name not in known:
                owner = f"Task '{self.name}'"
                raise UnknownName("setting", name, known, owner=owner)
            if not isinstance(value, _PLAIN):
                raise RealworthyError(
                    f"Setting {name} of task '{self.name}' is {value!r}.",
                    hint="Settings are numbers, words, true or false.",
                )
        return replace(self, settings={**self.settings, **settings})

    def build(self, twin: Twin | None = None) -> Task:
        """The task; raises where the twin given lacks a part of it."""
        with self.blamed("building it"), self._fitted(twin):
            task = self.kind(twin, **self.settings)
        if not isinstance(task, Task):
            raise RealworthyError(
                f"What builds task '{self.name}' gives {task!r}.",
                hint="It gives a Task: realworthy.Task.",
            )
        task.definition = self
        return task

    def load_twin(self) -> Twin:
        """Its own twin."""
        return load_twin(self.twin) if self.twin else self.build().twin

    def randomize(self, twin: Twin) -> Randomization:
        """How its worlds differ where nobody says otherwise."""
        choose = getattr(self.kind, "choose_randomization", None)
        if choose is None:  # no class but a function
            return Randomization(belief=twin.belief, noise=1.0)
        with self.blamed("choosing its randomization"):
            found = choose(twin)
        if not isinstance(found, Randomization) or not isinstance(
            found.belief, Belief | None
        ):
            raise RealworthyError(
                f"`choose_randomization` of task '{self.name}' gives {found!r}.",
                hint="It gives a realworthy.tasks.randomization.randomization."
                "Randomization.",
            )
        return found

    @contextmanager
    def _fitted(self, twin: Twin | None) -> Iterator[None]:
        """What MuJoCo says of a joint or site that a twin lacks, as one message."""
        try:
            yield
        except KeyError as error:
            if twin is None or not str(error.args[0]).startswith("Invalid name"):
                raise
            hint = "It is for other twins."
            if self.twin:
                hint = f"It is for '{self.twin}' and other twins of such a robot."
            raise RealworthyError(
                f"Task '{self.name}' does not fit twin '{twin.name}': "
                f"{_name_part(error)}.",
                hint=hint,
            ) from None

    @contextmanager
    def blamed(self, what: str = "") -> Iterator[None]:
        """Errors of a user's own task as one message with its line.

        Without `what` only those are meant that come out of the task's own file.
        """
        try:
            yield
        except RealworthyError:
            raise
        except Exception as error:
            line = "" if self.file is None else find_line(error, self.file.path)
            if not self.is_own or not (what or line):
                raise
            doing = f"{what} " if what else "it "
            raise RealworthyError(
                f"Task '{self.name}': {doing}raised {type(error).__name__}"
                f"{f' in line {line}' if line else ''}: {say(error)}.",
                hint="Correct the task.",
            ) from error


def find_line(error: BaseException, path: str) -> str:
    """The last line of a file that an error went through; empty: none."""
    real = os.path.realpath(path)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if os.path.realpath(f.filename) == real]
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    return str(lines[-1]) if lines and lines[-1] else ""


def _list_settings(kind: Callable[..., Task]) -> tuple[str, ...]:
    """Names of what may be set."""
    parameters = inspect.signature(kind).parameters.values()
    return tuple(x.name for x in parameters if x.kind is x.KEYWORD_ONLY)


def _name_part(error: KeyError) -> str:
    """The joint, body or site that MuJoCo did not find, without all that there are."""
    name = re.match(r"Invalid name '(.*?)'", str(error.args[0]))
    return f"it has no part called '{name[1] if name else ''}'"
