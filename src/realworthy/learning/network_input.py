"""Which groups of observations a network sees, and how they become one vector."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from realworthy.learning.images import ImageShape
from realworthy.learning.learner import BadSettings
from realworthy.tasks.environment.environment import (
    Environment,
    ObservationGroup,
    Purpose,
)


@dataclass(frozen=True, slots=True)
class NetworkInput:
    """Groups side by side: vectors and histories row after row, then images, flat;
    both in the environment's order."""

    groups: dict[str, ObservationGroup]

    @property
    def width(self) -> int:
        """Of the vector, without images."""
        return sum(x.size for x in self.groups.values() if not x.is_image)

    @property
    def images(self) -> tuple[ImageShape, ...]:
        """Whose numbers follow the vector's."""
        return tuple(
            ImageShape(*group.shape, lower=group.lower, upper=group.upper)
            for group in self.groups.values()
            if group.is_image
        )

    def join(self, observations: Mapping[str, Tensor]) -> Tensor:
        """Name → (…, *shape) as (…, width), or wider by its images."""
        parts = [
            observations[name].flatten(-len(group.shape))
            for name, group in self.groups.items()
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


def find_policy_input(environment: Environment) -> NetworkInput:
    """What a policy sees: everything deployable."""
    return _choose(environment, is_deployable=True)


def find_critic_input(environment: Environment) -> NetworkInput:
    """What a critic sees: everything else, or what the policy sees where that is all.

    The truth of what a policy sees is a group of its own.
    """
    privileged = _choose(environment, is_deployable=False)
    return privileged if privileged.groups else find_policy_input(environment)


def check_vectors(input: NetworkInput) -> None:
    """Raises where a network without convolutions would have to see an image."""
    for name, group in input.groups.items():
        if group.is_image:
            shape = " × ".join(map(str, group.shape))
            raise BadSettings(
                f"Group '{name}' of observations is {shape}: networks of layers see "
                "vectors and histories, (width,) and (instants, width).",
                hint="Choose a learner that sees images, such as ppo, or leave the"
                " group out.",
            )


def _choose(environment: Environment, *, is_deployable: bool) -> NetworkInput:
    groups = {
        name: group
        for name, group in environment.groups.items()
        if (group.purpose is Purpose.DEPLOYABLE) is is_deployable
    }
    for name, group in groups.items():
        if not 1 <= len(group.shape) <= 3:
            shape = " × ".join(map(str, group.shape)) or "a number"
            raise BadSettings(
                f"Group '{name}' of observations is {shape}: networks see vectors,"
                " histories and images, (width,), (instants, width) and (channels,"
                " height, width).",
                hint="Give the group another shape, or leave it out.",
            )
    vectors = {name: group for name, group in groups.items() if not group.is_image}
    return NetworkInput({**vectors, **groups})
