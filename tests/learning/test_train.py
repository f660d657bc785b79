"""A run from its first step to a policy, interrupted and not."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from realworthy.errors import RealworthyError, Unwritable
from realworthy.learning import train as training_module
from realworthy.learning.ppo import PpoSettings, small
from realworthy.learning.presets import PRESETS, Randomize, choose_randomization
from realworthy.learning.runs import LATEST, RunFolder
from realworthy.learning.train import Progress, TrainSettings, resume, train
from realworthy.policies.policy import load_policy
from realworthy.tasks.catalogue import TASKS
from realworthy.tasks.pendulum import PendulumSwingUp
from realworthy.tasks.worlds import TaskWorlds
from realworthy.twins import load_twin

WORLDS, HORIZON = 8, 16


def quick() -> PpoSettings:
    s = small()
    s.horizon, s.epochs, s.minibatches = HORIZON, 2, 2
    s.actor_widths = s.critic_widths = (16, 16)
    return s


def settings(updates: int, **changes: object) -> TrainSettings:
    given: dict[str, object] = {
        "task": "pendulum",
        "ppo": quick(),
        "world_count": WORLDS,
        "steps": updates * WORLDS * HORIZON,
        "evaluation_episodes": 4,
        "seed": 3,
        "thread_count": 1,
    }
    return TrainSettings(**(given | changes))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("target", [-1.0, float("nan")])
def test_a_target_is_a_share_of_successes(tmp_path: Path, target: float):
    with pytest.raises(RealworthyError, match="A target is a share"):
        train(settings(1, target=target), output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_only_practice_is_coarse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    built: list[bool] = []

    class Noted(TaskWorlds):
        def __init__(self, *args, coarse: bool = False, **more) -> None:
            built.append(coarse)
            super().__init__(*args, coarse=coarse, **more)

    monkeypatch.setattr(training_module, "TaskWorlds", Noted)
    train(settings(1, coarse=True), output=tmp_path / "run")
    assert built[0]
    assert len(built) > 1
    assert not any(built[1:])


class Interrupted(Exception):
    pass


def interrupt_after(updates: int):
    seen = []

    def follow(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == updates:
            raise Interrupted

    return follow


def test_a_run_leaves_a_policy_that_acts_as_the_network_did(tmp_path: Path):
    done = train(settings(3), output=tmp_path / "run")
    assert done.step_count == 3 * WORLDS * HORIZON
    assert done.stopped_by == "steps"
    assert done.evaluation.episode_count + done.evaluation.invalid_count == 4
    policy = load_policy(done.folder.policy)
    contract = policy.contract
    assert contract.task == "pendulum"
    assert contract.joints == ("joint",)
    assert contract.command_kind == "torque"
    assert contract.action.scale == (2.0,)
    assert contract.period == pytest.approx(0.04)
    assert contract.evaluation is not None
    assert contract.evaluation.success == done.evaluation.success
    assert contract.parity is not None
    seen = np.array(contract.parity.observations[0])
    assert policy.act(seen) == pytest.approx(contract.parity.actions[0], abs=1e-5)
    assert any(done.folder.metrics.iterdir())


@pytest.mark.parametrize("ease_steps", [0, 4 * WORLDS * HORIZON])
def test_an_interrupted_run_goes_on_to_the_same_weights(
    tmp_path, monkeypatch, ease_steps
):
    monkeypatch.setattr(training_module, "_KEEP", 0.0)
    asked = settings(5, ease_steps=ease_steps)
    whole = train(asked, output=tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(asked, output=tmp_path / "cut", follow=interrupt_after(2))
    kept = RunFolder(tmp_path / "cut").load(LATEST)
    assert kept["update_count"] == 2
    resumed = resume(tmp_path / "cut")
    assert resumed.step_count == whole.step_count
    first, second = (r.folder.load(LATEST)["learner"] for r in (whole, resumed))
    for name, weights in first["actor"].items():
        assert torch.equal(weights, second["actor"][name]), name
    for name, weights in first["critic"].items():
        assert torch.equal(weights, second["critic"][name]), name


def test_another_seed_ends_elsewhere(tmp_path):
    runs = [
        train(settings(2, seed=seed), output=tmp_path / f"{seed}") for seed in (3, 4)
    ]
    first, second = (r.folder.load(LATEST)["learner"]["actor"] for r in runs)
    assert any(not torch.equal(first[name], second[name]) for name in first)


def test_a_target_ends_a_run_early(tmp_path):
    done = train(settings(40, target=0.0), output=tmp_path / "run")
    assert done.stopped_by == "target"
    assert done.update_count < 40


def test_a_folder_in_use_is_refused_and_kept(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious.txt").write_text("mine")
    with pytest.raises(Unwritable, match="exists already"):
        train(settings(1), output=tmp_path / "run")
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["precious.txt"]


def test_a_full_disk_costs_a_checkpoint_and_not_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(training_module, "_KEEP", 0.0)
    save = RunFolder.save
    written = []

    def save_sometimes(self, name, state):
        if name == LATEST and state["update_count"] >= 2:
            raise Unwritable(self.checkpoint(name), "No space left on device.")
        written.append(name)
        save(self, name, state)

    monkeypatch.setattr(RunFolder, "save", save_sometimes)
    with pytest.warns(UserWarning, match="No space left"):
        done = train(settings(4), output=tmp_path / "run")
    assert done.update_count == 4
    assert any("No space left" in warning for warning in done.warnings)
    assert RunFolder(tmp_path / "run").load(LATEST)["update_count"] == 1
    assert done.folder.policy.exists()


def test_a_run_without_an_end_is_refused(tmp_path):
    with pytest.raises(RealworthyError, match="has no end"):
        train(settings(1, steps=None), output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_resuming_nothing_says_so(tmp_path):
    with pytest.raises(RealworthyError, match="is not the folder of a run"):
        resume(tmp_path)


def test_a_broken_checkpoint_says_which(tmp_path):
    train(settings(1), output=tmp_path / "run")
    path = RunFolder(tmp_path / "run").checkpoint(LATEST)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(RealworthyError, match=r"latest\.pt"):
        resume(tmp_path / "run")


def test_settings_are_read_back_as_they_were(tmp_path):
    asked = settings(1, randomize=Randomize.NONE)
    train(asked, output=tmp_path / "run")
    assert RunFolder(tmp_path / "run").read_settings(TrainSettings) == asked


def test_diverging_worlds_are_counted_and_reported(tmp_path):
    class Absurd(PendulumSwingUp):
        def begin(self, scene, worlds, chance):
            start = super().begin(scene, worlds, chance)
            start.qvel[0] = float("nan")
            return start

    done = train(settings(2), output=tmp_path / "run", task=Absurd)
    assert done.invalid_count > 0
    assert any("diverged" in warning for warning in done.warnings)
    actor = done.folder.load(LATEST)["learner"]["actor"]
    assert all(torch.isfinite(weights).all() for weights in actor.values())


def test_every_task_has_a_preset():
    assert set(PRESETS) == set(TASKS)


def test_a_calibrated_twin_is_randomized_by_its_belief():
    twin = load_twin("pendulum")
    belief = twin.belief.marginal(["joint.damping"])
    calibrated = twin.with_belief(belief)
    found = choose_randomization("pendulum", calibrated, Randomize.PRESET)
    assert found.belief is not None
    assert found.belief.space.names == ("joint.damping",)
    assert choose_randomization("pendulum", twin, Randomize.NONE).is_none


def test_the_result_can_be_written_as_json(tmp_path):
    from realworthy.cli.train import to_tree

    tree = to_tree(train(settings(1), output=tmp_path / "run"))
    assert {"steps", "seconds", "steps_per_second", "evaluation", "policy"} <= set(tree)
    json.dumps(tree)
