"""Stable-Baselines3's PPO as it comes, on Gymnasium's own four-legged robot.

    python stable_baselines3_ant.py MINUTES

Ant-v5 has 8 joints and five steps of physics to a control step, and takes no commands,
so `MINUTES` say nothing here: only steps/s are measured, of worlds in turn and of
worlds in processes of their own, and the most counts. Prints a line of JSON.
"""

import json
import time

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

STEPS = 16_384
WAYS = ((DummyVecEnv, 8), (SubprocVecEnv, 2), (SubprocVecEnv, 8), (SubprocVecEnv, 16))


def main() -> None:
    rates = {}
    for kind, count in WAYS:
        worlds = make_vec_env("Ant-v5", n_envs=count, vec_env_cls=kind)
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
    print(json.dumps({"rate": max(rates.values()), "reached": None, "curve": []}))


if __name__ == "__main__":
    main()
