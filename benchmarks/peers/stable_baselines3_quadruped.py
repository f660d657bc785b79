"""Stable-Baselines3's PPO on our quadrupeds: steps/s, and how soon they walk.

    python stable_baselines3_quadruped.py MINUTES

Prints rows on the way, and a line of JSON in the end.
"""

import json
import sys
import time

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv
from walking import WORLDS, Walk, build_worlds

from realworthy.tasks.environment.environment import Observations
from realworthy.tasks.environment.worlds import TaskWorlds

HORIZON, UPDATES = 24, 3


class Worlds(VecEnv):
    """Our worlds behind its interface."""

    def __init__(self, worlds: TaskWorlds) -> None:
        self.worlds = worlds
        seen = spaces.Box(-np.inf, np.inf, (worlds.groups["policy"].size,), np.float32)
        done = spaces.Box(-3.0, 3.0, (worlds.action_width,), np.float32)
        super().__init__(worlds.world_count, seen, done)

    def reset(self):
        return self.worlds.reset()["policy"].numpy()

    def step_async(self, actions):
        self._actions = torch.from_numpy(actions)

    def step_wait(self):
        step = self.worlds.step(self._actions)
        done, cut = step.done.numpy(), step.truncated.numpy()
        infos = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(done):
            infos[i] = {
                "terminal_observation": step.final["policy"][i].numpy(),
                "TimeLimit.truncated": bool(cut[i]),
            }
        return step.observations["policy"].numpy(), step.reward.numpy(), done, infos

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
    minutes = float(sys.argv[1])
    learner = PPO(
        "MlpPolicy",
        Worlds(build_worlds(WORLDS, 0, coarse=True)),
        n_steps=HORIZON,
        batch_size=WORLDS * HORIZON // 4,
        n_epochs=4,
        policy_kwargs={
            "net_arch": {"pi": [128, 128, 64], "vf": [128, 128, 64]},
            "activation_fn": torch.nn.ELU,
        },
        device="cpu",
    )

    def act(seen: Observations) -> torch.Tensor:
        actions, _ = learner.predict(seen["policy"].numpy(), deterministic=True)
        return torch.from_numpy(actions)

    walk, spent, steps = Walk(60.0, 0), 0.0, 0
    rates = []
    while spent < 60 * minutes or len(rates) <= UPDATES:
        began = time.perf_counter()
        learner.learn(WORLDS * HORIZON, reset_num_timesteps=not steps)
        seconds = time.perf_counter() - began
        rates.append(WORLDS * HORIZON / seconds)
        spent, steps = spent + seconds, steps + WORLDS * HORIZON
        walk.look(spent, steps, act)
    rate = steps / spent if minutes else max(rates[1:])
    found = {"rate": rate, "reached": walk.reached, "curve": walk.curve}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
