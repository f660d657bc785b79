"""Groups of observations that a task adds to those that every task has."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.tasks.environment.environment import ObservationGroup, Purpose

_PORTS = ("obs", "action", "h_in", "h_out", "c_in", "c_out")
"""Inputs and outputs that policies have anyway."""
_MAX_AXES = 3


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
                f"A group of observations cannot be called '{name}': every task has"
                f" {', '.join(taken)}.",
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
