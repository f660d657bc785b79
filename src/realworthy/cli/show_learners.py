"""`show learners`: who can learn a task; one of them with all its settings."""

import ast
import inspect
import textwrap
from dataclasses import fields

import msgspec

from realworthy.cli.printing import emit_heading, emit_note, emit_table
from realworthy.learning.catalogue import LEARNERS, find_learner
from realworthy.learning.learner import LearnerSettings
from realworthy.learning.presets import PRESETS


def show_learners() -> object:
    """Every learner in a line, with the tasks for which it has a preset."""
    tasks = {
        name: [task for task, presets in PRESETS.items() if name in presets]
        for name in LEARNERS
    }
    emit_table(
        "Learners",
        ("name", "", "presets"),
        [
            (name, each.about, _count(tasks[name], len(PRESETS)))
            for name, each in LEARNERS.items()
        ],
    )
    for name in LEARNERS:
        print()
        _emit_settings(name)
    emit_note(
        "realworthy train TASK --learner NAME takes these options; a preset's values "
        "come first. A learner of your own: my_file.py:MyLearner.",
        style="",
    )
    return {
        "learners": [
            {"name": name, "about": each.about, "presets": tasks[name]}
            | {"settings": _list_settings(each.Settings)}
            for name, each in LEARNERS.items()
        ]
    }


def show_learner(name: str) -> object:
    """What one does, and what can be set."""
    learner = find_learner(name)
    emit_heading(name, learner.about)
    _emit_settings(name)
    return {
        "name": name,
        "about": learner.about,
        "settings": _list_settings(learner.Settings),
    }


def _emit_settings(name: str) -> None:
    rows = _list_settings(find_learner(name).Settings)
    emit_table(
        f"Settings of {name}",
        ("option", "default", ""),
        [(str(x["option"]), _say(x["default"]), str(x["about"])) for x in rows],
    )


def _list_settings(kind: type[LearnerSettings]) -> list[dict[str, object]]:
    defaults, words = msgspec.to_builtins(kind()), _read_docstrings(kind)
    return [
        {
            "option": f"--{field.name.replace('_', '-')}",
            "default": defaults[field.name],
            "about": words.get(field.name, ""),
        }
        for field in fields(kind)  # pyright: ignore[reportArgumentType]
    ]


def _read_docstrings(kind: type) -> dict[str, str]:
    """Field of a dataclass → the docstring below it, in one line.

    Fields that it shares with other learners stand in a class above it.
    """
    found = {}
    for each in reversed(kind.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, words in zip(body.body, body.body[1:], strict=False):
            if not isinstance(field, ast.AnnAssign) or not isinstance(words, ast.Expr):
                continue
            value = words.value
            if isinstance(field.target, ast.Name) and isinstance(value, ast.Constant):
                found[field.target.id] = " ".join(str(value.value).split())
    return found


def _say(default: object) -> str:
    if isinstance(default, list | tuple):
        return " ".join(map(str, default))
    return f"{default:g}" if isinstance(default, float) else str(default)


def _count(tasks: list[str], all_count: int) -> str:
    return "every task" if len(tasks) == all_count else ", ".join(tasks) or "none"
