"""Stable-Baselines3's PPO on our quadruped; prints steps/s end to end."""

import time

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

from realworthy.tasks.quadruped import QuadrupedVelocity, quadruped_randomization
from realworthy.tasks.worlds import TaskWorlds

WORLDS, HORIZON, UPDATES = 1024, 24, 3


class Worlds(VecEnv):
    """Our worlds behind its interface."""

    def __init__(self, worlds: TaskWorlds) -> None:
        self.worlds = worlds
        seen = spaces.Box(-np.inf, np.inf, (worlds.widths["actor"],), np.float32)
        done = spaces.Box(-3.0, 3.0, (worlds.action_width,), np.float32)
        super().__init__(worlds.world_count, seen, done)

    def reset(self):
        return self.worlds.reset()["actor"].numpy()

    def step_async(self, actions):
        self._actions = torch.from_numpy(actions)

    def step_wait(self):
        step = self.worlds.step(self._actions)
        done, cut = step.done.numpy(), step.truncated.numpy()
        infos = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(done):
            infos[i] = {
                "terminal_observation": step.final["actor"][i].numpy(),
                "TimeLimit.truncated": bool(cut[i]),
            }
        return step.observations["actor"].numpy(), step.reward.numpy(), done, infos

    def close(self):
        pass

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * self.num_envs

    def env_method(self, method_name, *args, indices=None, **kwargs):
        raise NotImplementedError

    def get_attr(self, attr_name, indices=None):
        return [None] * self.num_envs

    def set_attr(self, attr_name, value, indices=None):
        raise NotImplementedError


def main() -> None:
    worlds = TaskWorlds(
        QuadrupedVelocity(), WORLDS, randomization=quadruped_randomization()
    )
    widths = {"pi": [128, 128, 64], "vf": [128, 128, 64]}
    learner = PPO(
        "MlpPolicy",
        Worlds(worlds),
        n_steps=HORIZON,
        batch_size=WORLDS * HORIZON // 4,
        n_epochs=4,
        policy_kwargs={"net_arch": widths, "activation_fn": torch.nn.ELU},
        device="cpu",
    )
    learner.learn(WORLDS * HORIZON)  # warm
    began = time.perf_counter()
    learner.learn(UPDATES * WORLDS * HORIZON)
    print(UPDATES * WORLDS * HORIZON / (time.perf_counter() - began))


if __name__ == "__main__":
    main()
