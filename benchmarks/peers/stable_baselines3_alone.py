"""Stable-Baselines3's PPO as it comes: worlds one by one, on our quadruped.

    python stable_baselines3_alone.py MINUTES

Each world is a Gymnasium environment around MuJoCo's own `mj_step`, with the model,
time step and control period that our quadrupeds practise with, and none of our worlds'
randomization, noise or critic's view, which would cost it time. Only steps/s are
measured, whatever `MINUTES` say: of worlds in turn and of worlds in processes of their
own; the most counts. Prints a line of JSON.
"""

import json
import time

import gymnasium
import mujoco
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv
from walking import build_worlds

STEPS = 8192
WAYS = ((DummyVecEnv, 8), (SubprocVecEnv, 2), (SubprocVecEnv, 8), (SubprocVecEnv, 16))


class Quadruped(gymnasium.Env):
    """Walk as told; as plain as such environments are written."""

    def __init__(self) -> None:
        worlds = build_worlds(1, 0, coarse=True)
        self.model = worlds.simulator.bound.model
        self.substeps = worlds.simulator.substeps
        self.home = worlds.scene.initial_qpos.double().numpy()
        self.scale = np.array(worlds.task.action.scale)
        self.data, self.last = mujoco.MjData(self.model), np.zeros(12)
        self.command, self.count, self.limit = np.zeros(3), 0, worlds.step_limit
        self.observation_space = spaces.Box(-np.inf, np.inf, (45,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (12,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = self.home
        self.command = self.np_random.uniform([-1, -0.5, -1], [1, 0.5, 1])
        self.last, self.count = np.zeros(12), 0
        mujoco.mj_forward(self.model, self.data)
        return self.observe(), {}

    def step(self, action):
        self.data.ctrl[:] = self.home[7:] + self.scale * action
        mujoco.mj_step(self.model, self.data, self.substeps)
        self.count += 1
        v, w = self.data.qvel[:3], self.data.qvel[3:6]
        error = np.square(v[:2] - self.command[:2]).sum()
        turn = (w[2] - self.command[2]) ** 2
        rate = np.square(action - self.last).sum()
        reward = 0.02 * (np.exp(-4 * error) + np.exp(-4 * turn) - 0.01 * rate)
        self.last = action
        fell = self.data.qpos[2] < 0.6 * self.home[2]
        return self.observe(), float(reward), bool(fell), self.count >= self.limit, {}

    def observe(self) -> np.ndarray:
        w, x, y, z = self.data.qpos[3:7]
        down = [2 * (w * y - x * z), -2 * (w * x + y * z), 2 * (x * x + y * y) - 1]
        parts = [self.data.qvel[3:6], down, self.data.qpos[7:] - self.home[7:]]
        parts += [self.data.qvel[6:], self.last, self.command]
        return np.concatenate(parts).astype(np.float32)


def main() -> None:
    rates = {}
    for kind, count in WAYS:
        worlds = kind([Quadruped] * count)
        learner = PPO(
            "MlpPolicy",
            worlds,
            n_steps=STEPS // count,
            batch_size=STEPS // 4,
            n_epochs=4,
            policy_kwargs={
                "net_arch": {"pi": [128, 128, 64], "vf": [128, 128, 64]},
                "activation_fn": torch.nn.ELU,
            },
            device="cpu",
        )
        learner.learn(STEPS)  # warm
        began = time.perf_counter()
        learner.learn(2 * STEPS)
        name = f"{count} worlds of {kind.__name__}"
        rates[name] = 2 * STEPS / (time.perf_counter() - began)
        print(f"{name}: {rates[name]:,.0f} steps/s", flush=True)
        worlds.close()
    found = {"rate": max(rates.values()), "reached": None, "curve": [], "ways": rates}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
