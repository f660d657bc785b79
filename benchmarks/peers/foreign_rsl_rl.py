"""rsl_rl's PPO on one of our tasks, exported by its own exporter.

    python benchmarks/peers/foreign_rsl_rl.py drive_velocity FOLDER [UPDATES]

Then: realworthy certify FOLDER/policy.onnx --task drive_velocity
"""

import sys
from pathlib import Path

import torch
from rsl_rl.runners import OnPolicyRunner

from realworthy.tasks.adapters.rsl_rl import RslRlWorlds
from realworthy.tasks.catalogue import build_task
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization

HORIZON = 32


def main(task: str, folder: Path, updates: int) -> None:
    torch.manual_seed(0)
    built = build_task(task)
    how = Randomization(belief=built.twin.belief, noise=1.0)
    worlds = TaskWorlds(built, 256, randomization=how)
    network = {"class_name": "MLPModel", "hidden_dims": [64, 64], "activation": "elu"}
    gaussian = {"class_name": "GaussianDistribution", "init_std": 1.0}
    critic = [name for name in worlds.groups if name != "policy"]
    settings = {
        "num_steps_per_env": HORIZON,
        "save_interval": 10_000,
        "obs_groups": {"actor": ["policy"], "critic": critic},
        "actor": {**network, "distribution_cfg": gaussian, "obs_normalization": True},
        "critic": {**network, "obs_normalization": True},
        "algorithm": {
            "class_name": "PPO",
            "num_learning_epochs": 5,
            "num_mini_batches": 4,
            "learning_rate": 1e-3,
            "schedule": "adaptive",
            "desired_kl": 0.01,
            "gamma": 0.97,
            "lam": 0.95,
            "entropy_coef": 0.005,
        },
    }
    runner = OnPolicyRunner(RslRlWorlds(worlds), settings, log_dir=None)
    runner.learn(updates)
    folder.mkdir(parents=True, exist_ok=True)
    runner.export_policy_to_onnx(str(folder))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 150)
