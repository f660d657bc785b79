"""Worlds of a task as the environment of rsl_rl's runners."""

from typing import Any

import torch
from torch import Tensor

from realworthy.errors import MissingExtra
from realworthy.tasks.environment.environment import Observations
from realworthy.tasks.environment.worlds import TaskWorlds

try:
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict
except ImportError:
    need = "rsl_rl's interface to a task"
    raise MissingExtra("rsl-rl-lib", "rsl_rl", need=need) from None


class RslRlWorlds(VecEnv):
    """All groups of observations by name, rewards per control step.

    A runner's `obs_groups` may be `{"actor": ["policy"], "critic": ["truth"]}`, with
    `e` and `privileged` beside the truth where the worlds have such groups.

    `extras["time_outs"]` says which episodes ended because time was up, and
    `extras["log"]` holds reward terms and, when episodes ended, how many succeeded. A
    world whose physics diverged ends its episode with a reward of zero.
    """

    def __init__(self, worlds: TaskWorlds) -> None:
        self.worlds = worlds
        self.num_envs, self.num_actions = worlds.world_count, worlds.action_width
        self.max_episode_length = worlds.step_limit
        self.device = worlds.device
        self.cfg = {"task": worlds.task.name, "twin": worlds.task.twin.name}

    @property
    def episode_length_buf(self) -> Tensor:
        """(worlds,) control steps since each episode began; a copy, may be set."""
        return self.worlds.scene.step_count.clone()

    @episode_length_buf.setter
    def episode_length_buf(self, steps: Tensor) -> None:  # pyright: ignore
        with _outside_inference():
            self.worlds.scene.step_count.copy_(steps)

    def get_observations(self) -> TensorDict:
        return self._group(self.worlds.observations)

    def step(
        self, actions: Tensor
    ) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        with _outside_inference():
            step = self.worlds.step(actions.to(self.device, torch.float32))
        log = {f"/reward/{name}": x.mean() for name, x in step.terms.items()}
        done = step.done
        if self.worlds.device.type != "cpu" or bool(done.any()):
            ended = done.sum().clamp(min=1)
            log["/episode/success"] = (step.success & done).sum() / ended
        extras = {"time_outs": step.truncated, "log": log}
        return self._group(step.observations), step.reward, done.long(), extras

    def _group(self, observations: Observations) -> TensorDict:
        return TensorDict(dict(observations), batch_size=[self.num_envs])


class _outside_inference:
    """Runners collect in inference mode; what worlds remember must outlive it."""

    def __enter__(self) -> None:
        self._modes = torch.inference_mode(False), torch.no_grad()
        for mode in self._modes:
            mode.__enter__()

    def __exit__(self, *error: object) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(*error)
