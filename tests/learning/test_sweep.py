"""Several runs, here and through Ray."""

from pathlib import Path

import pytest
import torch

from realworthy.learning.ppo import small
from realworthy.learning.sweep import train_many
from realworthy.learning.training import TrainSettings


def make_runs() -> dict[str, TrainSettings]:
    ppo = small()
    ppo.horizon, ppo.actor_widths, ppo.critic_widths = 16, (16,), (16,)
    return {
        f"seed_{seed}": TrainSettings(
            task="pendulum",
            learner=ppo,
            world_count=8,
            steps=2 * 8 * 16,
            evaluation_episodes=4,
            seed=seed,
            thread_count=1,
        )
        for seed in (0, 1)
    }


@pytest.mark.slow
def test_runs_through_ray_are_the_runs_made_here(tmp_path: Path):
    ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    here = train_many(make_runs(), output=tmp_path / "here")
    try:
        there = train_many(make_runs(), output=tmp_path / "there", with_ray=True)
    finally:
        ray.shutdown()
    for name, training in here.items():
        assert there[name].step_count == training.step_count
        first, second = (
            run[name].folder.load("latest.pt")["learner"]["actor"]
            for run in (here, there)
        )
        for key, weights in first.items():
            assert torch.equal(weights, second[key]), (name, key)


def test_runs_have_folders_of_their_own(tmp_path: Path):
    seen = []
    found = train_many(
        make_runs(),
        output=tmp_path,
        progress=lambda _, stage: seen.append(stage.partition(":")[0]),
    )
    assert set(found) == {"seed_0", "seed_1"}
    assert set(seen) == set(found)
    assert all((tmp_path / name / "policy.onnx").exists() for name in found)
