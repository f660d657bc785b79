"""rsl_rl's own runner on our worlds, and what it is told about endings."""

import sys
from typing import Any

import pytest
import torch

from realworthy.errors import MissingExtra
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.worlds import TaskWorlds

pytest.importorskip("rsl_rl")
from rsl_rl.runners import OnPolicyRunner

from realworthy.tasks.adapters.rsl_rl import RslRlWorlds

STEPS = 20


class Brief(PendulumSwingUp):
    period, seconds = 0.02, 0.2


def list_settings() -> dict[str, Any]:
    network = {"class_name": "MLPModel", "hidden_dims": [32], "activation": "elu"}
    gaussian = {"class_name": "GaussianDistribution", "init_std": 0.5}
    return {
        "num_steps_per_env": STEPS,
        "save_interval": 100,
        "obs_groups": {"actor": ["policy"], "critic": ["truth"]},
        "actor": {**network, "distribution_cfg": gaussian},
        "critic": network,
        "algorithm": {
            "class_name": "PPO",
            "num_learning_epochs": 4,
            "num_mini_batches": 2,
            "learning_rate": 3e-3,
            "schedule": "fixed",
            "gamma": 0.98,
            "lam": 0.95,
            "entropy_coef": 0.0,
        },
    }


def test_the_runner_trains_and_the_worlds_can_go_on_afterwards() -> None:
    worlds = TaskWorlds(PendulumSwingUp(), 16, seed=0)
    environment = RslRlWorlds(worlds)
    torch.manual_seed(0)
    runner = OnPolicyRunner(environment, list_settings(), log_dir=None)
    actor = runner.alg.get_policy()
    before = [weights.clone() for weights in actor.parameters()]

    losses = []
    update = runner.alg.update

    def keep() -> Any:
        losses.append(update())
        return losses[-1]

    runner.alg.update = keep
    runner.learn(16, init_at_random_ep_len=True)
    after = list(actor.parameters())
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert losses[-1]["value"] < 0.9 * losses[0]["value"]
    assert len(set(environment.episode_length_buf.tolist())) > 4  # scattered
    worlds.load_state_dict(worlds.state_dict())  # nothing is an inference tensor
    worlds.reset()


def test_time_outs_and_first_observations_are_told() -> None:
    environment = RslRlWorlds(TaskWorlds(Brief(), 3, seed=2))
    plain = TaskWorlds(Brief(), 3, seed=2)
    assert environment.max_episode_length == 10
    seen = environment.get_observations()
    assert seen.batch_size == torch.Size([3])
    assert torch.equal(seen["truth"], plain.observations["truth"])
    environment.episode_length_buf = torch.tensor([0, 4, 9])
    plain.scene.step_count.copy_(torch.tensor([0, 4, 9]))
    action = torch.full((3, 1), 0.3)
    seen, reward, done, extras = environment.step(action)
    step = plain.step(action)
    assert done.tolist() == [0, 0, 1]
    assert extras["time_outs"].tolist() == [False, False, True]
    assert environment.episode_length_buf.tolist() == [1, 5, 0]
    assert torch.equal(reward, step.reward)
    for group in plain.groups:
        assert torch.equal(seen[group], step.observations[group])
    upright = float(step.terms["upright"].mean())
    assert float(extras["log"]["/reward/upright"]) == pytest.approx(upright)
    assert float(extras["log"]["/episode/success"]) == 0.0


def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "realworthy.tasks.adapters.rsl_rl"
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rsl_rl.env", None)
    with pytest.raises(MissingExtra, match=r"realworthy\[rsl_rl\]"):
        __import__(name)
