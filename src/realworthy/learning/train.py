"""From a task to a policy: practise, look how well it goes, keep the best, export."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import torch

from realworthy.artefacts import locked_folder
from realworthy.errors import RealworthyError
from realworthy.learning.catalogue import name_learner
from realworthy.learning.distributed import Team, join_team
from realworthy.learning.judgement import conclude
from realworthy.learning.learner_files import blamed as learner_blamed
from realworthy.learning.practice import Practice
from realworthy.learning.presets import (
    apply_published,
    choose_randomization,
    list_presets,
)
from realworthy.learning.runs import LATEST, RunFolder, name_run
from realworthy.learning.surroundings import add_payload, put_on_terrain
from realworthy.learning.training import (
    Training,
    TrainOptions,
    TrainSettings,
    choose_settings,
)
from realworthy.progress import Progress, ignore
from realworthy.robots.roles import RoleChoices
from realworthy.tasks.catalogue import TaskLike, find_task
from realworthy.tasks.definition import TaskDefinition
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Task
from realworthy.tasks.task_files import is_file_task, load_task
from realworthy.tasks.trial_play import check_task
from realworthy.twins import Twin, load_twin


def train(
    settings: TrainSettings | TaskLike,
    /,
    *,
    output: Path | str | None = None,
    task: Callable[[], Task] | None = None,
    randomization: Randomization | None = None,
    progress: Progress = ignore,
    **options: Unpack[TrainOptions],
) -> Training:
    """Trains into the folder `output`, and exports the best policy there.

    Without `output` it is the first free one of `runs/TASK`, `runs/TASK_2` ….

    A task is trained as `realworthy train` does it: by the preset of the task and its
    learner, but for the `options` that are given (`TrainOptions`). It is a name of
    ours, `my_file.py:MyTask` or a class of one's own. Complete settings are taken as
    they stand.

    `task` builds the task in another way than by its name, once for each set of worlds;
    `randomization` says how they differ where no name does. The best is chosen in
    held-out worlds: other starts, other samples of e.
    """
    if not isinstance(settings, TrainSettings):
        definition = find_task(settings)
        settings = choose_settings(definition, **options)
        definition = definition.with_settings(settings.task_settings)
    elif options:
        raise RealworthyError(
            f"Complete settings were given, and beside them {', '.join(options)}.",
            hint="Put it into the settings, or give the name of a task.",
        )
    else:
        definition = _find_definition(settings, task)
    settings.check()
    with learner_blamed(settings.learner), definition.blamed():
        return _train(settings, definition, output, task, randomization, progress)


def _train(
    settings: TrainSettings,
    definition: TaskDefinition,
    output: Path | str | None,
    task: Callable[[], Task] | None,
    randomization: Randomization | None,
    progress: Progress,
) -> Training:
    build, spread, remarks = _prepare(settings, definition, task, randomization)
    team = join_team(settings.device)
    if output is None:
        output = team.share(lambda: name_run(settings.task))
    folder = RunFolder(output)
    team.share(folder.check_free)
    with _alone(folder, team), _minding_memory(settings, folder):
        practice = Practice(build, folder, settings, spread, team, remarks)
        if settings.start_from:
            practice.start_from(RunFolder(settings.start_from))
        team.share(lambda: folder.begin(settings))  # what is refused leaves no folder
        try:
            practice.learn(progress)
        except Exception:
            if team.is_first and not folder.has(LATEST):
                folder.clear()  # nothing to go on with; the name is free again
            raise
        return team.share(lambda: conclude(practice))


def resume(
    output: Path | str,
    *,
    minutes: float | None = None,
    steps: int | None = None,
    target: float | None = None,
    task: Callable[[], Task] | None = None,
    randomization: Randomization | None = None,
    progress: Progress = ignore,
) -> Training:
    """Goes on with the run in the folder `output` from its last checkpoint.

    On the CPU it ends with the same weights as if nothing had interrupted it. Other
    `minutes` or `steps`, of the whole run, take the place of its own, and so does
    another `target`: one which has ended can go on. `task` and `randomization` are
    given again where they were. A task in a file goes on as long as the file is what
    it was.
    """
    folder = RunFolder(output)
    began: TrainSettings = folder.read_settings(TrainSettings)
    settings = began
    bounds = {"minutes": minutes, "steps": steps, "target": target}
    told = {name: value for name, value in bounds.items() if value is not None}
    if minutes is not None or steps is not None:
        settings = replace(settings, minutes=None, steps=None)
    settings = replace(settings, **told)
    settings.check()
    definition = _find_definition(settings, task, is_named=False)
    build, spread, remarks = _prepare(settings, definition, task, randomization)
    team = join_team(settings.device)
    with (
        learner_blamed(settings.learner),
        definition.blamed(),
        _alone(folder, team),
        _minding_memory(settings, folder),
    ):
        practice = Practice(build, folder, settings, spread, team, remarks)
        if team.agree(folder.has(LATEST))[0]:  # else it was killed before its first
            practice.restore()
        elif settings.start_from:
            practice.start_from(RunFolder(settings.start_from))
        if settings != began:  # the same bounds again: it may lack its last files
            practice.check_unfinished()
            team.share(lambda: folder.change(settings))
        practice.learn(progress)
        return team.share(lambda: conclude(practice))


def _find_definition(
    settings: TrainSettings,
    task: Callable[[], Task] | None,
    *,
    is_named: bool = True,
) -> TaskDefinition:
    """The task of complete settings; what builds it otherwise, where that is given."""
    name = settings.task
    if task is not None:
        return TaskDefinition(name=name, kind=lambda _twin: task())
    if is_file_task(name):
        found = load_task(name, is_named=is_named)
    else:
        found = find_task(name)
    return found.with_settings(settings.task_settings)


def _prepare(
    settings: TrainSettings,
    definition: TaskDefinition,
    task: Callable[[], Task] | None,
    randomization: Randomization | None,
) -> tuple[Callable[[], Task], Randomization, tuple[str, ...]]:
    """What builds the task, how worlds differ, and what is to be said of that."""
    make, how, remarks = _choose(settings, definition, task, randomization)
    if settings.terrain:
        twin, flat = _load_twin(settings, definition), make

        def make() -> Task:
            return put_on_terrain(flat(), twin, settings.terrain)

        make()  # refused before anything is written
    if settings.payload:
        how = add_payload(how, make().twin, settings.payload)
    return make, how, remarks


def _load_twin(settings: TrainSettings, definition: TaskDefinition) -> Twin | None:
    """The twin with its roles as chosen; None: the task's own as it is."""
    twin = load_twin(settings.twin) if settings.twin else None
    if settings.roles == RoleChoices():
        return twin
    return (twin or definition.load_twin()).with_roles(settings.roles)


def _choose(
    settings: TrainSettings,
    definition: TaskDefinition,
    task: Callable[[], Task] | None,
    randomization: Randomization | None,
) -> tuple[Callable[[], Task], Randomization, tuple[str, ...]]:
    """The same, without what the settings add to the worlds."""
    twin = _load_twin(settings, definition)
    if task is None:
        check_task(definition, twin)

    def build() -> Task:
        return definition.build(twin)

    make = task or build
    untuned = _describe_untuned(settings, definition)
    if randomization is not None:
        return make, randomization, untuned
    if settings.table:
        tabled = apply_published(make(), settings.table)
        left = [f"Left out of '{settings.table}': {x}" for x in tabled.left_out]
        return make, tabled.randomization, (*untuned, *left)
    how = choose_randomization(definition, make().twin, settings.randomize)
    return make, how, untuned


def _describe_untuned(
    settings: TrainSettings, definition: TaskDefinition
) -> tuple[str, ...]:
    """What is to be said of a learner that nobody has tuned for the task."""
    name, presets = name_learner(settings.learner), list_presets(definition)
    is_default = settings.learner == type(settings.learner)()
    if name in presets or not is_default:
        return ()
    others = f"; {', '.join(presets)} has one" if presets else ""
    return (
        f"Learner '{name}' has no preset for '{settings.task}' and learned with its "
        f"default settings{others}.",
    )


def _alone(folder: RunFolder, team: Team) -> contextlib.AbstractContextManager[object]:
    """No other run writes into the folder meanwhile; the first of a team sees to it."""
    return locked_folder(folder.path) if team.is_first else contextlib.nullcontext()


@contextlib.contextmanager
def _minding_memory(settings: TrainSettings, folder: RunFolder) -> Iterator[None]:
    """Says what to do where memory ran out; checkpoints stay."""
    try:
        yield
    except (MemoryError, RuntimeError, ValueError) as error:
        words = ("out of memory", "allocate memory", "not enough memory", "bad_alloc")
        is_memory = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not is_memory and not any(x in str(error).lower() for x in words):
            raise
        hint = "Begin another run with fewer --worlds"
        if folder.has(LATEST):
            hint += f"; or free memory and go on with '{folder.path}': --resume"
        raise RealworthyError(
            f"Memory ran out with {settings.world_count} worlds on "
            f"'{settings.device}'.",
            hint=f"{hint}.",
        ) from error
