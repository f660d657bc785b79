"""What a learner sees of a task: many worlds, stepped together, and their groups."""

import enum
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from realworthy.errors import RealworthyError

Observations: TypeAlias = dict[str, Tensor]
"""Group → (worlds, …) with the group's shape."""


class Purpose(enum.Enum):
    """What a group of observations is for."""

    DEPLOYABLE = "deployable"
    """A robot measures it: policies may see it."""
    PRIVILEGED = "privileged"
    """Known in simulation alone: for critics and teachers."""
    E = "e"
    """The physical numbers that differ between worlds, themselves."""


@dataclass(frozen=True, slots=True)
class ObservationGroup:
    """Observations that belong together: a vector, a history of them, or an image."""

    shape: tuple[int, ...]
    """Of one world: (width,), (instants, width) or (channels, height, width)."""
    purpose: Purpose
    has_mirror: bool = True
    """Where the task has a symmetry: whether it can be seen in the mirror."""
    lower: float = 0.0
    upper: float = 1.0
    """Of an image: what its darkest and its brightest values are."""

    @property
    def is_image(self) -> bool:
        return len(self.shape) == 3

    @property
    def size(self) -> int:
        """Numbers in it."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Step:
    """What one control step brought. On a GPU it is overwritten by the next step, all
    but `observations`; copy what must last."""

    observations: Observations
    """To act on next: where an episode ended, the first of the next one."""
    reward: Tensor
    """(worlds,) the sum of weighted terms, times the control period [s]."""
    terminated: Tensor
    """(worlds,) bool: the episode ended by what happened in it; nothing follows."""
    truncated: Tensor
    """(worlds,) bool: time was up; more would have followed."""
    final: Observations
    """True last observations of episodes that ended here; elsewhere as `observations`.
    """
    terms: dict[str, Tensor]
    """Reward term → (worlds,) before its weight."""
    failure: Tensor
    """(worlds,) `Failure` code of episodes that ended here; zero elsewhere."""
    success: Tensor
    """(worlds,) bool: the episode that ended here reached its goal."""
    invalid: Tensor
    """(worlds,) bool: the physics diverged; terminated, and not to be learned from."""

    @property
    def done(self) -> Tensor:
        """(worlds,) bool: an episode ended here."""
        return self.terminated | self.truncated


class Environment(ABC):
    """Many worlds in which one task is tried; a world starts again by itself.

    Actions are (worlds, action_width), without unit, about −1…1.
    """

    world_count: int
    action_width: int
    groups: dict[str, ObservationGroup]
    """By name, in the order in which networks see them; one is deployable at least."""
    device: torch.device
    period: float
    """[s] of one step."""
    step_limit: int
    """Steps after which an episode is truncated."""
    mirror_count: int = 1
    """Elements of the task's symmetry group; 1: it has none."""

    @abstractmethod
    def reset(self, *, scatter: bool = False) -> Observations:
        """Begins a new episode everywhere.

        With `scatter` worlds begin at random points of their time, so that they do not
        all end together.
        """

    @abstractmethod
    def step(self, action: Tensor) -> Step:
        """One control period with (worlds, action_width) actions."""

    def reseed(self, seed: int) -> None:
        """Chance starts again from a seed at the next `reset`."""
        raise RealworthyError("This environment cannot be given another seed.")

    def mirror(self, group: str, x: Tensor, element: int = 1) -> Tensor:
        """(…, *shape) observations of a group, seen in the mirror."""
        raise RealworthyError("This task has no symmetry.")

    def mirror_action(self, action: Tensor, element: int = 1) -> Tensor:
        """(…, action_width) actions, seen in the mirror."""
        raise RealworthyError("This task has no symmetry.")

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that an exact resumption needs."""
        raise RealworthyError("This environment cannot be resumed exactly.")

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Goes on from `state_dict`."""
        raise RealworthyError("This environment cannot be resumed exactly.")


_PORTS = ("obs", "action", "h_in", "h_out", "c_in", "c_out")
"""Inputs and outputs that policies have anyway."""
_MAX_AXES = 3
"""Axes of an observation: a vector, a history of vectors, an image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGroup:
    """A group of observations that a task gives itself."""

    name: str
    """Of the policy's input too, where it is deployable."""
    shape: tuple[int, ...]
    """Of one world: (width,), (instants, width) or (channels, height, width)."""
    purpose: Purpose
    mirror: Callable[[Tensor], Tensor] | None = None
    """(…, *shape) → the same, seen in the task's mirror; none: it cannot be mirrored.
    """
    lower: float = 0.0
    upper: float = 1.0
    """Of an image: what its darkest and its brightest values are."""
    camera: str = ""
    """Of an image: the robot's camera that it comes from; empty: as the group."""

    def describe(self) -> ObservationGroup:
        """What learners see of it."""
        return ObservationGroup(
            self.shape,
            self.purpose,
            has_mirror=self.mirror is not None,
            lower=self.lower,
            upper=self.upper,
        )


def check_groups(groups: Sequence[TaskGroup], reserved: Collection[str]) -> None:
    """Raises where names or shapes cannot be; `reserved` names are every task's."""
    taken = (*reserved, *_PORTS)
    counts = Counter(group.name for group in groups)
    for group in groups:
        name, shape = group.name, group.shape
        if not name.isidentifier():
            raise RealworthyError(
                f"A group of observations is called '{name}'.",
                hint="Names have letters, digits and _, and begin with a letter.",
            )
        if counts[name] > 1:
            raise RealworthyError(
                f"{counts[name]} groups of observations are called '{name}'.",
                hint="Give each a name of its own.",
            )
        if name in taken:
            raise RealworthyError(
                f"A group of observations cannot be called '{name}': these names are"
                f" taken: {', '.join(dict.fromkeys(taken))}.",
                hint="Give it another name.",
            )
        if not 1 <= len(shape) <= _MAX_AXES or any(n < 1 for n in shape):
            raise RealworthyError(
                f"Group '{name}' of observations has shape {shape}.",
                hint="Shapes are (width,), (instants, width) or (channels, height,"
                " width).",
            )
        if group.purpose is Purpose.E and len(shape) > 1:
            raise RealworthyError(
                f"Group '{name}' of numbers of e has shape {shape}.",
                hint="Numbers of e are a vector, (width,).",
            )
        if len(shape) == _MAX_AXES and not group.lower < group.upper:
            raise RealworthyError(
                f"Image group '{name}' has values from {group.lower:g} to"
                f" {group.upper:g}.",
                hint="`lower` has to be below `upper`.",
            )


def check_observed(
    groups: Sequence[TaskGroup], observed: Mapping[str, Tensor], world_count: int
) -> None:
    """Raises where a task does not give the groups that it declares."""
    names = [group.name for group in groups]
    if {*observed} != {*names}:
        raise RealworthyError(
            f"The task declares groups {', '.join(names) or 'none'} and its"
            f" `observe_groups` gives {', '.join(observed) or 'none'}.",
            hint="Declare in `groups` what `observe_groups` gives, and no more.",
        )
    for group in groups:
        x = observed[group.name]
        wanted = (world_count, *group.shape)
        if x.shape != wanted or x.dtype != torch.float32:
            raise RealworthyError(
                f"Group '{group.name}' of observations is {tuple(x.shape)} of"
                f" {x.dtype}; it is declared as {wanted} of torch.float32.",
                hint="The first axis is that of worlds.",
            )
