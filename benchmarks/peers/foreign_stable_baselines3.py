"""Stable-Baselines3's PPO on one of our tasks, exported as the docs say.

    python benchmarks/peers/foreign_stable_baselines3.py cartpole_balance FOLDER [STEPS]

Then: realworthy certify FOLDER/policy.onnx --task cartpole_balance
"""

import sys
from pathlib import Path

import torch
from stable_baselines3 import PPO
from stable_baselines3_quadruped import Worlds

from realworthy.tasks.catalogue import build_task
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization


class Actor(torch.nn.Module):
    """Observations in, mean actions out, for any number of rows."""

    def __init__(self, policy: torch.nn.Module) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        policy = self.policy
        features = policy.extract_features(observation, policy.pi_features_extractor)
        return policy.action_net(policy.mlp_extractor.forward_actor(features))


def main(task: str, folder: Path, steps: int) -> None:
    torch.manual_seed(0)
    built = build_task(task)
    how = Randomization(belief=built.twin.belief, noise=1.0)
    worlds = TaskWorlds(built, 64, randomization=how)
    learner = PPO(
        "MlpPolicy",
        Worlds(worlds),
        n_steps=128,
        batch_size=2048,
        n_epochs=10,
        learning_rate=1e-3,
        gamma=0.98,
        device="cpu",
    )
    learner.learn(steps)
    folder.mkdir(parents=True, exist_ok=True)
    width = worlds.groups["policy"].size
    torch.onnx.export(
        Actor(learner.policy).eval(),
        (torch.zeros(1, width),),
        str(folder / "policy.onnx"),
        input_names=["obs"],
        output_names=["actions"],
        dynamic_axes={"obs": {0: "rows"}, "actions": {0: "rows"}},
        dynamo=False,
    )


if __name__ == "__main__":
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 400_000
    main(sys.argv[1], Path(sys.argv[2]), count)
