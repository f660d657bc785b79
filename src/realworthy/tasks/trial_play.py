"""A short play of a user's own task, before anything depends on it.

What a task gives is looked at step by step, so that a mistake in it is one message at
the beginning instead of a trace from within a run.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.policies.action import ActionMap
from realworthy.tasks.definition import TaskDefinition
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.task import Task
from realworthy.twins import Twin

_WORLDS, _STEPS = 3, 5
"""Few, so that it takes a moment; several worlds, so that a wrong shape shows."""
_FACTS: Mapping[str, type | tuple[type, ...]] = {
    "name": str,
    "twin": Twin,
    "period": (int, float),
    "seconds": (int, float),
    "terms": tuple,
    "action": ActionMap,
    "weights": Mapping,
}
"""What every task says of itself."""


@torch.no_grad()
def check_task(definition: TaskDefinition, twin: Twin | None = None) -> None:
    """Raises where a user's own task cannot be played; ours are tested elsewhere."""
    if not definition.is_own:
        return
    task = definition.build(twin)
    _check_facts(task, definition.name)
    with definition.blamed("playing it"):
        worlds = TaskWorlds(task, _WORLDS, seed=0)
        chance = torch.Generator().manual_seed(0)
        _check_step(task, worlds, definition.name)
        for _ in range(_STEPS):
            shape = (_WORLDS, worlds.action_width)
            worlds.step(2 * torch.rand(shape, generator=chance) - 1)
            _check_step(task, worlds, definition.name)


def _check_facts(task: Task, name: str) -> None:
    for fact, kind in _FACTS.items():
        value = getattr(task, fact, None)
        if not isinstance(value, kind):
            shown = "nothing" if value is None else repr(value)
            raise RealworthyError(
                f"Task '{name}' has {shown} as `{fact}`.",
                hint="realworthy.tasks.task.Task lists what each task must state.",
            )
    for fact in ("period", "seconds"):
        if not 0 < getattr(task, fact) < float("inf"):
            raise RealworthyError(
                f"`{fact}` of task '{name}' is {getattr(task, fact)} s.",
                hint="It is a time above zero [s].",
            )


def _check_step(task: Task, worlds: TaskWorlds, name: str) -> None:
    scene = worlds.scene
    rewards = task.compute_rewards(scene)
    if unweighted := [term for term in rewards if term not in task.weights]:
        raise RealworthyError(
            f"Task '{name}' rewards '{unweighted[0]}' and gives it no weight.",
            hint=f"`weights` has {', '.join(task.weights) or 'none'}.",
        )
    for term, value in rewards.items():
        _check_shape(value, f"reward '{term}'", name, worlds.world_count)
        if not torch.isfinite(value).all():
            raise RealworthyError(
                f"Reward '{term}' of task '{name}' is not finite.",
                hint="Look for a division by zero, or a root of less than zero.",
            )
    success = task.is_success(scene)
    _check_shape(success, "`is_success`", name, worlds.world_count, torch.bool)
    failures = task.find_failures(scene)
    if failures is not None:
        _check_shape(failures, "`find_failures`", name, worlds.world_count)


def _check_shape(
    value: object, what: str, name: str, count: int, kind: torch.dtype | None = None
) -> None:
    is_right = isinstance(value, Tensor) and value.shape == (count,)
    if is_right and kind is not None and isinstance(value, Tensor):
        is_right = value.dtype is kind
    if is_right:
        return
    shown = type(value).__name__
    if isinstance(value, Tensor):
        shown = f"{tuple(value.shape)} of {value.dtype}"
    wanted = f"({count},), one value for each world"
    raise RealworthyError(
        f"{what} of task '{name}' is {shown}; it should be {wanted}"
        f"{'' if kind is None else f', of {kind}'}.",
        hint="Tasks work on all worlds at once: realworthy.tasks.task.Task.",
    )
