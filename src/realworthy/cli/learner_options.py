"""Options of `realworthy train` that are settings of the learner it names."""

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar, get_args, get_origin, get_type_hints

import tyro

if TYPE_CHECKING:
    from realworthy.learning.learner import LearnerSettings

S = TypeVar("S", bound="LearnerSettings")
_HELP = ("-h", "--help")


def split_options(
    arguments: Sequence[str], own: Collection[str]
) -> tuple[list[str], list[str]]:
    """Arguments of the command, whose `own` options are known, and of the learner.

    What is an option of neither stays with the command, which says so. Where a learner
    is named, `--help` is about its settings.
    """
    name = _find_value(arguments, "learner")
    if any(word in _HELP for word in arguments):
        if name:
            _print_help(arguments, name)
        return list(arguments), []
    if all(_name_option(word) in ("", *own) for word in arguments):
        return list(arguments), []  # without loading any learner

    from realworthy.learning.catalogue import find_learner

    counts = _count_values(find_learner(name or "ppo").Settings)
    rest: list[str] = []
    options: list[str] = []
    left: int | None = 0  # values that the last option may still have; None: any number
    for word in arguments:
        option = _name_option(word)
        if option in counts and option not in own:
            options.append(word)
            left = 0 if "=" in word else counts[option]
        elif not option and left != 0:
            options.append(word)
            left = None if left is None else left - 1
        else:
            if option not in ("", *own):
                _check_foreign(option, name or "ppo")
            rest.append(word)
            left = 0
    return rest, options


def parse_settings(default: S, options: Sequence[str], *, program: str) -> S:
    """The settings with what options say in place of `default`; exits at mistakes."""
    return tyro.cli(
        type(default),
        default=default,
        args=options,
        prog=program,
        config=(tyro.conf.EnumChoicesFromValues,),
    )


def _print_help(arguments: Sequence[str], name: str) -> None:
    """About a learner's settings, as the preset of the task has them; exits."""
    from realworthy.learning.catalogue import find_learner
    from realworthy.learning.presets import PRESETS, find_preset
    from realworthy.tasks.task_files import is_file_task

    default = find_learner(name).Settings()
    program = f"realworthy train TASK --learner {name}"
    task = arguments[1] if len(arguments) > 1 else ""
    if task in PRESETS or is_file_task(task):
        default = find_preset(task, name).learner()
        program = program.replace("TASK", task)
    parse_settings(default, ["--help"], program=program)


def _name_option(word: str) -> str:
    """`learning-rate` of `--learning_rate=0.1`; empty: not an option."""
    is_option = word.startswith("--")
    return word[2:].partition("=")[0].replace("_", "-") if is_option else ""


def _find_value(arguments: Sequence[str], option: str) -> str:
    """Of an option with one value; empty: it is not there."""
    for word, following in zip(arguments, (*arguments[1:], ""), strict=True):
        if _name_option(word) == option:
            return word.partition("=")[2] if "=" in word else following
    return ""


def _count_values(settings: type["LearnerSettings"]) -> dict[str, int | None]:
    """Option → how many values follow it; None: as many as there are."""
    counts: dict[str, int | None] = {}
    hints = get_type_hints(settings)
    for field in fields(settings):  # pyright: ignore[reportArgumentType]
        kind, name = hints[field.name], field.name.replace("_", "-")
        counts[name] = 1
        if kind is bool:
            counts[name] = counts[f"no-{name}"] = 0
        elif get_origin(kind) is tuple:
            is_open = Ellipsis in get_args(kind)
            counts[name] = None if is_open else len(get_args(kind))
    return counts


def _check_foreign(option: str, name: str) -> None:
    """Raises where an option is a setting of other learners only."""
    from realworthy.errors import RealworthyError
    from realworthy.learning.catalogue import LEARNERS

    owners = [
        k for k, each in LEARNERS.items() if option in _count_values(each.Settings)
    ]
    if owners:
        *most, last = map(repr, owners)
        said = f"{', '.join(most)} and {last}" if most else last
        raise RealworthyError(
            f"--{option} is a setting of learner {said}, not of '{name}'.",
            hint=f"Its settings: realworthy show learners {name}",
        )
