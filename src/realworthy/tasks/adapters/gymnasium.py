"""Worlds of a task as environments of Gymnasium, many or one."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.errors import MissingExtra, RealworthyError
from realworthy.tasks.environment.environment import (
    Environment,
    ObservationGroup,
    Observations,
    Step,
)
from realworthy.tasks.environment.worlds import TaskWorlds

try:
    import gymnasium
    from gymnasium.spaces import Box, Dict
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    need = "Gymnasium's interface to a task"
    raise MissingExtra("gymnasium", "gymnasium", need=need) from None

Arrays = NDArray[np.float32] | dict[str, NDArray[np.float32]]
"""What the policy sees; with the critic's view, all groups by their names."""


class GymnasiumWorlds(VectorEnv[Arrays, NDArray[np.float32], NDArray[Any]]):
    """Many worlds; one whose episode ended starts again within the same step.

    The true last observations are in `infos["final_obs"]`, whether an episode reached
    its goal and how it failed in `infos["final_info"]`. Rewards are per control step.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, worlds: Environment, *, with_critic: bool = False) -> None:
        """`with_critic` observes all groups by name, not `policy` alone."""
        self.worlds, self._with_critic = worlds, with_critic
        self.num_envs = worlds.world_count
        self.single_observation_space = _describe(worlds, with_critic=with_critic)
        self.single_action_space = _find_actions(worlds)
        count = self.num_envs
        self.observation_space = batch_space(self.single_observation_space, count)
        self.action_space = batch_space(self.single_action_space, count)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Arrays, dict[str, Any]]:
        """A new episode everywhere; with a seed, the first of that seed.

        `options` are not looked at. One world cannot be reset without the others: it
        starts again by itself.
        """
        super().reset(seed=seed)
        if options and "reset_mask" in options:
            raise RealworthyError(
                "Worlds of a task reset themselves, not by a reset_mask.",
                hint="Their autoreset_mode is SAME_STEP.",
            )
        if seed is not None:
            self.worlds.reseed(seed)
        return self._convert(self.worlds.reset()), {}

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Arrays, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        step = self.worlds.step(_to_tensor(actions, self.worlds))
        infos: dict[str, Any] = {}
        done = _to_array(step.done)
        if done.any():
            final = self._convert(step.final)
            last = np.full(self.num_envs, None, dtype=object)
            for i in done.nonzero()[0].tolist():
                last[i] = _take(final, i)
            outcome = {name: _to_array(x) for name, x in _tell(step).items()}
            infos["final_obs"], infos["_final_obs"] = last, done
            masks = {f"_{name}": done for name in outcome}
            infos["final_info"], infos["_final_info"] = {**outcome, **masks}, done
        return (
            self._convert(step.observations),
            _to_array(step.reward),
            _to_array(step.terminated),
            _to_array(step.truncated),
            infos,
        )

    def _convert(self, observations: Observations) -> Arrays:
        return _convert(observations, with_critic=self._with_critic)


class GymnasiumWorld(gymnasium.Env[Any, NDArray[Any]]):
    """One world, which stands still after its episode until `reset`."""

    def __init__(self, world: Environment, *, with_critic: bool = False) -> None:
        if world.world_count != 1:
            raise RealworthyError(
                f"A single environment of Gymnasium is one world, not"
                f" {world.world_count}.",
                hint="Try GymnasiumWorlds, or world_count=1.",
            )
        self.world, self._with_critic = world, with_critic
        self.observation_space = _describe(world, with_critic=with_critic)
        self.action_space = _find_actions(world)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Arrays, dict[str, Any]]:
        """A new episode; with a seed, the first of that seed."""
        super().reset(seed=seed)
        if seed is not None:
            self.world.reseed(seed)
        observations = self.world.reset()
        return _take(_convert(observations, with_critic=self._with_critic), 0), {}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Arrays, float, bool, bool, dict[str, Any]]:
        step = self.world.step(_to_tensor(np.asarray(action)[None], self.world))
        # Where the episode ended, `observations` are already of the next one.
        seen = _take(_convert(step.final, with_critic=self._with_critic), 0)
        told = {name: x[0].item() for name, x in _tell(step).items()}
        terms = {f"reward.{name}": float(x[0]) for name, x in step.terms.items()}
        ended = bool(step.terminated[0]), bool(step.truncated[0])
        return seen, float(step.reward[0]), *ended, {**told, **terms}


def _describe(worlds: Environment, *, with_critic: bool) -> Box | Dict:
    def bound(group: ObservationGroup) -> Box:
        return Box(-np.inf, np.inf, group.shape, np.float32)

    if not with_critic:
        return bound(worlds.groups["policy"])
    return Dict({name: bound(group) for name, group in worlds.groups.items()})


def _find_actions(worlds: Environment) -> Box:
    limit = worlds.task.action.clip if isinstance(worlds, TaskWorlds) else 1.0
    return Box(-limit, limit, (worlds.action_width,), np.float32)


def _tell(step: Step) -> dict[str, Tensor]:
    """What a step says beside observations and rewards, (worlds,) each."""
    return {"success": step.success, "failure": step.failure, "invalid": step.invalid}


def _convert(observations: Observations, *, with_critic: bool) -> Arrays:
    if not with_critic:
        return _to_array(observations["policy"])
    return {name: _to_array(x) for name, x in observations.items()}


def _take(arrays: Arrays, world: int) -> Arrays:
    if isinstance(arrays, dict):
        return {name: x[world] for name, x in arrays.items()}
    return arrays[world]


def _to_tensor(actions: NDArray[Any], worlds: Environment) -> Tensor:
    return torch.tensor(actions, dtype=torch.float32, device=worlds.device)


def _to_array(x: Tensor) -> NDArray[Any]:
    return x.cpu().numpy().copy()
