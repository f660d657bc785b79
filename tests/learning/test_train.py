"""A run from its first step to a policy, interrupted and not."""

import itertools
import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from realworthy.artefacts.text import dump_yaml, parse_yaml
from realworthy.errors import RealworthyError, Unwritable
from realworthy.learning import LEARNERS, growth, practice
from realworthy.learning.ars import ArsSettings
from realworthy.learning.fb import FbSettings
from realworthy.learning.fpo import FpoSettings
from realworthy.learning.learner import Learner, LearnerSettings
from realworthy.learning.off_policy import OffPolicySettings
from realworthy.learning.ppo import Ppo, PpoSettings, small
from realworthy.learning.presets import (
    PRESETS,
    Grow,
    Randomize,
    choose_randomization,
    find_preset,
)
from realworthy.learning.runs import BEST, LATEST, RunFolder
from realworthy.learning.sapg import SapgSettings
from realworthy.learning.train import resume, train
from realworthy.learning.training import (
    Training,
    TrainSettings,
    choose_settings,
)
from realworthy.policies.policy import load_contract, load_policy
from realworthy.policies.terms import Linear
from realworthy.tasks.catalogue import TASKS
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.evaluate import Evaluation
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.legged.quadruped import QuadrupedVelocity
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.twins import Twin, load_twin

WORLDS, HORIZON = 8, 16


def quick() -> PpoSettings:
    s = small()
    s.horizon, s.epochs, s.minibatches = HORIZON, 2, 2
    s.actor_widths = s.critic_widths = (16, 16)
    return s


def settings(updates: int, **changes: object) -> TrainSettings:
    given: dict[str, object] = {
        "task": "pendulum",
        "learner": quick(),
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

    monkeypatch.setattr(practice, "TaskWorlds", Noted)
    train(settings(1, coarse=True), output=tmp_path / "run")
    assert built[0]
    assert len(built) > 1
    assert not any(built[1:])


class Interrupted(Exception):
    pass


def interrupt_after(updates: int):
    seen = []

    def follow(fraction: float, stage: str) -> None:
        seen.append((fraction, stage))
        if len(seen) == updates:
            raise Interrupted

    return follow


def check_equal(whole: Training, resumed: Training) -> None:
    """Both ended with the same weights after as many steps."""
    assert resumed.step_count == whole.step_count
    first, second = (r.folder.load(LATEST)["learner"] for r in (whole, resumed))
    for part in ("actor", "critic"):
        for name, weights in first[part].items():
            assert torch.equal(weights, second[part][name]), name


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
    monkeypatch.setattr(practice, "_KEEP", 0.0)
    asked = settings(5, ease_steps=ease_steps)
    whole = train(asked, output=tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(asked, output=tmp_path / "cut", progress=interrupt_after(2))
    kept = RunFolder(tmp_path / "cut").load(LATEST)
    assert kept["update_count"] == 2
    resumed = resume(tmp_path / "cut")
    check_equal(whole, resumed)


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
    monkeypatch.setattr(practice, "_KEEP", 0.0)
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


def test_a_full_disk_costs_metrics_and_not_the_run(tmp_path, monkeypatch):
    """TensorBoard's thread fails, and says so in a later call."""
    from torch.utils.tensorboard import SummaryWriter

    written = []

    def add(self, name: str, value: float, step: int) -> None:
        if step > WORLDS * HORIZON:
            raise OSError(28, "No space left on device")
        written.append(name)

    monkeypatch.setattr(SummaryWriter, "add_scalar", add)
    with pytest.warns(UserWarning, match="Metrics could not be written"):
        done = train(settings(3), output=tmp_path / "run")
    assert written
    assert done.update_count == 3
    assert any("No space left" in warning for warning in done.warnings)


def test_a_best_policy_that_was_not_written_is_not_the_best(tmp_path, monkeypatch):
    """What is exported is what is on the disk, so that is what others must beat."""
    monkeypatch.setattr(practice, "_EARLIEST", 1)
    save, refused = RunFolder.save, []

    def save_first(self, name, state):
        if name == BEST and self.has(BEST):
            refused.append(name)
            raise Unwritable(self.checkpoint(name), "No space left on device.")
        save(self, name, state)

    monkeypatch.setattr(RunFolder, "save", save_first)
    better = itertools.count(1)  # at every look
    success = property(lambda self: next(better) / 100)
    monkeypatch.setattr(Evaluation, "least_success", success)
    monkeypatch.setattr(practice, "_SHARE", 1e9)  # looks after every update
    with pytest.warns(UserWarning, match="No space left"):
        done = train(settings(3), output=tmp_path / "run")
    assert len(refused) == 2
    assert done.folder.load(LATEST)["best"][0] == 0.01


def test_memory_that_runs_out_says_what_to_do_and_costs_no_checkpoint(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(practice, "_KEEP", 0.0)
    whole = train(settings(4), output=tmp_path / "whole")
    update, count = Ppo.update, []

    def run_out(self):
        count.append(1)
        if len(count) == 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return update(self)

    with monkeypatch.context() as patch:
        patch.setattr(Ppo, "update", run_out)
        with pytest.raises(RealworthyError, match="Memory ran out with 8 worlds"):
            train(settings(4), output=tmp_path / "run")
    assert RunFolder(tmp_path / "run").load(LATEST)["update_count"] == 2
    check_equal(whole, resume(tmp_path / "run"))


SCRIPT = """
import sys
from realworthy.learning import practice
from realworthy.learning.train import train
from tests.learning.test_train import settings

practice._KEEP = 0.0
train(settings(2000), output=sys.argv[1])
"""


def test_a_killed_run_goes_on_from_its_last_checkpoint(tmp_path: Path, monkeypatch):
    """Killed at any moment, also while it writes: the checkpoint is a whole one."""
    running = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path / "run")])
    folder = RunFolder(tmp_path / "run")
    try:
        end = time.monotonic() + 60
        while not folder.has(LATEST) and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.3)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == -signal.SIGKILL
    kept = folder.load(LATEST)["update_count"]
    assert kept >= 1
    monkeypatch.setattr(practice, "_KEEP", 0.0)
    resumed = resume(folder.path, steps=(kept + 2) * WORLDS * HORIZON)
    assert resumed.update_count == kept + 2
    check_equal(train(settings(kept + 2), output=tmp_path / "whole"), resumed)


def test_weights_that_are_lost_are_not_kept(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(practice, "_KEEP", 0.0)

    rewarded = itertools.count()

    class Absurd(PendulumSwingUp):
        def compute_rewards(self, scene):
            found = super().compute_rewards(scene)
            if next(rewarded) > 2 * HORIZON:
                found["slow"] = found["slow"] - float("inf")
            return found

    with pytest.raises(RealworthyError, match="Learning broke down in update 3"):
        train(settings(40), output=tmp_path / "run", task=Absurd)
    actor = RunFolder(tmp_path / "run").load(LATEST)["learner"]["actor"]
    assert all(torch.isfinite(weights).all() for weights in actor.values())


def test_an_ended_run_can_go_on(tmp_path: Path):
    train(settings(2), output=tmp_path / "run")
    further = resume(tmp_path / "run", steps=4 * WORLDS * HORIZON)
    assert further.update_count == 4
    check_equal(train(settings(4), output=tmp_path / "whole"), further)
    assert RunFolder(tmp_path / "run").read_settings(TrainSettings) == settings(4)


def test_a_run_does_not_go_on_in_other_worlds(tmp_path: Path):
    twin = load_twin("pendulum")
    heavier = twin.with_values(
        {"joint.damping": 2 * twin.space["joint.damping"].nominal}
    )
    train(settings(1), output=tmp_path / "run")
    with pytest.raises(RealworthyError, match="were others"):
        resume(tmp_path / "run", task=lambda: PendulumSwingUp(heavier))
    with pytest.raises(RealworthyError, match="were others"):
        resume(tmp_path / "run", steps=999, randomization=Randomization(noise=2.0))
    assert RunFolder(tmp_path / "run").read_settings(TrainSettings) == settings(1)


def test_a_checkpoint_of_an_older_version_says_so(tmp_path: Path):
    folder = train(settings(1), output=tmp_path / "run").folder
    old = folder.load(LATEST)
    del old["worlds_like"]
    folder.save(LATEST, old)
    with pytest.raises(RealworthyError, match="written by an older version"):
        resume(tmp_path / "run")


def test_a_resumed_run_looks_when_the_whole_one_would(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(practice, "_KEEP", 0.0)
    monkeypatch.setattr(practice, "_EARLIEST", 1)
    monkeypatch.setattr(practice, "_SHARE", 1e9)
    whole = train(settings(6), output=tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(settings(6), output=tmp_path / "cut", progress=interrupt_after(3))
    resumed = resume(tmp_path / "cut")
    assert [x.step_count for x in whole.looks] == [x.step_count for x in resumed.looks]
    assert len(whole.looks) == 6
    first, second = (r.folder.load(BEST)["actor"] for r in (whole, resumed))
    assert all(torch.equal(first[name], second[name]) for name in first)


def shorten(name: str) -> LearnerSettings:
    """Settings with which three updates take a second."""
    learner = LEARNERS[name].Settings()
    if isinstance(learner, OffPolicySettings):
        learner.support, learner.warm_up = (-60.0, 5.0), 8
        learner.actor_widths = learner.critic_widths = (16,)
        learner.batch = 64
    elif isinstance(learner, FbSettings):
        learner.actor_widths = learner.forward_widths = (16,)
        learner.backward_widths, learner.batch, learner.warm_up = (16,), 32, 8
        learner.latent_width = 8
    elif isinstance(learner, SapgSettings | FpoSettings):
        learner.horizon, learner.actor_widths, learner.critic_widths = 8, (16,), (16,)
        if isinstance(learner, SapgSettings):
            learner.borrow_after = 1
    else:
        setattr(learner, {"ars": "directions", "es": "pairs"}[name], 8)
    return learner


def list_tensors(tree: object, path: str = "") -> dict[str, torch.Tensor]:
    """Everything that a checkpoint holds, by where it is."""
    if isinstance(tree, torch.Tensor):
        return {path: tree}
    parts = tree.items() if isinstance(tree, dict) else enumerate(
        tree if isinstance(tree, list | tuple) else ()
    )  # fmt: skip
    return {
        name: x
        for key, value in parts
        for name, x in list_tensors(value, f"{path}/{key}").items()
    }


@pytest.mark.parametrize(
    "name", ["ars", "es", "fastsac", "fasttd3", "fb", "fpo", "sapg"]
)
def test_every_learner_is_kept_resumed_and_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    """A run knows no learner by name."""
    monkeypatch.setattr(practice, "_KEEP", 0.0)
    learner = shorten(name)
    steps = 3 * 2 * WORLDS * 250
    if isinstance(learner, OffPolicySettings | FbSettings):
        steps = (3 * learner.horizon + learner.warm_up) * WORLDS
    elif isinstance(learner, SapgSettings | FpoSettings):
        steps = 3 * learner.horizon * WORLDS
    asked = settings(1, learner=learner, steps=steps)
    whole = train(asked, output=tmp_path / "whole")
    assert whole.update_count == 3
    with pytest.raises(Interrupted):
        train(asked, output=tmp_path / "cut", progress=interrupt_after(2))
    resumed = resume(tmp_path / "cut")
    first, second = (
        list_tensors(r.folder.load(LATEST)["learner"]) for r in (whole, resumed)
    )
    assert first.keys() == second.keys()
    assert len(first) >= 4
    for path, x in first.items():
        assert torch.equal(x, second[path]), path
    assert load_policy(whole.folder.policy).contract.task == "pendulum"
    assert any("has no preset for 'pendulum'" in said for said in whole.warnings) == (
        learner == LEARNERS[name].Settings()
    )


def test_a_run_begins_with_the_weights_of_another(tmp_path: Path):
    first = train(settings(3), output=tmp_path / "first")
    begun = settings(1, start_from=str(tmp_path / "first"), seed=4)
    second = train(begun, output=tmp_path / "second")
    drawn = train(settings(1, seed=4), output=tmp_path / "drawn")
    best, one, other = (
        run.folder.load(BEST)["actor"]["log_std"] for run in (first, second, drawn)
    )
    assert (one - best).abs().max() < (other - best).abs().max()
    assert RunFolder(tmp_path / "second").read_settings(TrainSettings) == begun


def test_a_run_begins_with_no_other_policy(tmp_path: Path):
    train(settings(1), output=tmp_path / "first")
    start = str(tmp_path / "first")
    other = settings(1, task="cartpole_balance", start_from=start)
    with pytest.raises(RealworthyError, match=r"its policy sees angle \(2\), speed"):
        train(other, output=tmp_path / "second")
    wider = quick()
    wider.actor_widths = (32,)
    other = settings(1, learner=wider, start_from=start)
    with pytest.raises(RealworthyError, match=r"does not fit: Weights of another"):
        train(other, output=tmp_path / "second")
    searched = settings(1, learner=ArsSettings(directions=8), start_from=start)
    with pytest.raises(RealworthyError, match="was learned by 'ppo'"):
        train(searched, output=tmp_path / "second")
    with pytest.raises(RealworthyError, match="is not the folder of a run"):
        train(settings(1, start_from=str(tmp_path)), output=tmp_path / "second")
    assert not (tmp_path / "second").exists()


def test_a_learner_of_ones_own_is_its_settings(tmp_path: Path):
    """Nothing but its settings is given; its run cannot be read back, and says so."""

    @dataclass(kw_only=True, slots=True)
    class Mine(LearnerSettings):
        width: int = 16
        """Of its layers."""

        @property
        def widest_layer(self) -> int:
            return self.width

        def build(self, environment, *, seed, average=None) -> Learner:
            s = quick()
            s.actor_widths = (self.width,)
            return Ppo(environment, s, seed=seed, average=average)

    done = train(settings(2, learner=Mine(width=8)), output=tmp_path / "run")
    assert done.folder.load(BEST)["actor"]["network.layers.0.weight"].shape[0] == 8
    assert "width: 8" in done.folder.settings.read_text()
    with pytest.raises(RealworthyError, match="no learner of Realworthy's"):
        resume(tmp_path / "run")


def test_a_run_of_schema_1_was_one_of_ppo(tmp_path: Path):
    folder = train(settings(2), output=tmp_path / "run").folder
    tree = parse_yaml(folder.settings.read_text())
    learner = tree["settings"].pop("learner")
    assert learner.pop("name") == "ppo"
    tree["settings"]["ppo"], tree["schema"] = learner, 1
    folder.settings.write_text(dump_yaml(tree))
    assert folder.read_settings(TrainSettings) == settings(2)


def test_a_task_by_its_name_is_trained_by_its_preset(tmp_path: Path):
    found = choose_settings("pendulum", minutes=1, seed=4)
    preset = find_preset("pendulum")
    assert found.learner == preset.learner()
    assert (found.world_count, found.target) == (preset.world_count, preset.target)
    assert (found.minutes, found.steps, found.seed) == (1, None, 4)
    blind = choose_settings("cartpole_balance", learner="es")
    assert blind.learner == find_preset("cartpole_balance", "es").learner()
    assert blind.minutes == find_preset("cartpole_balance", "es").minutes
    tuned = choose_settings("cartpole_balance", learner=ArsSettings(directions=4))
    assert tuned.learner == ArsSettings(directions=4)
    assert tuned.world_count == find_preset("cartpole_balance", "ars").world_count
    with pytest.raises(RealworthyError, match="Nearest: 'ars'"):
        train("pendulum", learner="arss", output=tmp_path / "run")
    with pytest.raises(RealworthyError, match="and beside them minutes"):
        train(settings(1), output=tmp_path / "run", minutes=3)
    assert not (tmp_path / "run").exists()


def test_a_signal_that_no_robot_measures_is_refused_before_training(tmp_path: Path):
    class Knowing(QuadrupedVelocity):
        def __init__(self, twin: Twin | None = None) -> None:
            super().__init__(twin)
            names = tuple(f"base.velocity.{axis}" for axis in "xyz")
            self.terms = (*self.terms, Linear(name="speed", signals=names))
            self.reflection = None

    asked = settings(1, task="quadruped", randomize=Randomize.NONE)
    with pytest.raises(RealworthyError, match=r"does not measure base\.velocity\.x"):
        train(asked, output=tmp_path / "run", task=Knowing)


@pytest.mark.parametrize("grow", [Grow.SUCCESS, Grow.AUTOMATIC])
def test_worlds_that_grow_are_resumed_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grow: Grow
):
    """Episodes of one second, so that many end within a few updates."""
    monkeypatch.setattr(practice, "_KEEP", 0.0)
    monkeypatch.setattr(growth, "_MIN_EPISODES_PER_SIDE", 2)

    class Short(PendulumSwingUp):
        seconds = 0.4

        def is_success(self, scene):
            return scene.qpos[:, 0] > -10  # whatever it does

    def run(name: str, **more: object) -> Training:
        return train(asked, output=tmp_path / name, task=Short, **more)  # pyright: ignore

    asked = settings(6, grow=grow)
    whole = run("whole")
    with pytest.raises(Interrupted):
        run("cut", progress=interrupt_after(3))
    resumed = resume(tmp_path / "cut", task=Short)
    check_equal(whole, resumed)
    states = [r.folder.load(LATEST)["growth"] for r in (whole, resumed)]
    assert states[0] == states[1]
    if grow is Grow.AUTOMATIC:
        widths = np.diff(np.array(states[0]["ends"]), axis=1)
        assert (widths > 1.5 * widths.min()).any()


def test_a_policy_says_how_different_the_worlds_were_that_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The first look is the best one, and worlds grow on afterwards."""
    monkeypatch.setattr(practice, "_EARLIEST", 1)
    monkeypatch.setattr(practice, "_SHARE", 1e9)  # looks after every update
    successes = iter([1.0])
    least = property(lambda self: next(successes, 0.0))
    monkeypatch.setattr(Evaluation, "least_success", least)

    class Short(PendulumSwingUp):
        seconds = 0.4

        def is_success(self, scene):
            return scene.qpos[:, 0] > -10  # whatever it does

    asked = settings(6, grow=Grow.SUCCESS)
    done = train(asked, output=tmp_path / "run", task=Short)
    assert done.folder.load(LATEST)["growth"]["factor"] > 0.5
    assert done.folder.load(BEST)["growth"] == {"factor": pytest.approx(0.1)}
    assert "10% as different" in done.grown
    spread = load_contract(done.folder.policy).envelope["pendulum.mass"]
    asked_for = {x.name: x for x in done.variety.ranges}["pendulum.mass"]
    assert spread.upper - spread.lower < 0.2 * (asked_for.upper - asked_for.lower)


def test_a_published_table_is_what_worlds_differ_by(tmp_path: Path):
    done = train(settings(1, table="peng_2018"), output=tmp_path / "run")
    ranges = {x.name: x for x in done.variety.ranges}
    mass = ranges["pendulum.mass"]
    # uniform in the logarithm from a quarter to four times
    assert mass.lower / mass.nominal == pytest.approx(4**-0.9, rel=0.05)
    assert mass.upper / mass.nominal == pytest.approx(4**0.9, rel=0.05)
    assert any("Left out of 'peng_2018': kp" in warning for warning in done.warnings)


def test_a_table_and_a_belief_are_not_asked_for_together(tmp_path: Path):
    asked = settings(1, table="peng_2018", randomize=Randomize.NONE)
    with pytest.raises(RealworthyError, match="Choose one"):
        train(asked, output=tmp_path / "run")
    with pytest.raises(RealworthyError, match="has no table of ranges 'peng_2081'"):
        train(settings(1, table="peng_2081"), output=tmp_path / "run")


def test_a_run_says_what_differed_between_worlds(tmp_path: Path):
    done = train(settings(1), output=tmp_path / "run")
    twin = load_twin("pendulum")
    assert [x.name for x in done.variety.ranges] == list(twin.belief.space.names)
    damping = next(x for x in done.variety.ranges if x.name == "joint.damping")
    assert damping.nominal == twin.space["joint.damping"].nominal
    assert damping.lower < damping.middle < damping.upper
    assert done.variety.noise == {".position": 0.002, ".velocity": 0.05}
    assert done.task == "pendulum"
    none = train(settings(1, randomize=Randomize.NONE), output=tmp_path / "none")
    assert none.variety.is_none


def test_a_calibrated_quadruped_still_meets_other_grounds_and_loads():
    """A calibration of one joint's damping says nothing of the ground; of gains that it
    has told, the preset's ranges are not drawn as well."""
    twin = load_twin("quadruped")
    known = ["FL_hip.damping", "all.delay"]
    calibrated = twin.with_belief(twin.belief.marginal(known))
    found = choose_randomization("quadruped", calibrated, Randomize.PRESET).belief
    assert found is not None
    names = found.space.names
    assert names[:2] == tuple(known)
    assert {"all.contact_friction", "trunk.mass", "all.kp"} < set(names)
    assert names.count("all.delay") == 1
    alone = choose_randomization("quadruped", calibrated, Randomize.BELIEF).belief
    assert alone is not None
    assert alone.space.names == tuple(known)


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
    judged = done.evaluation
    assert (judged.invalid_count, judged.episode_count) == (1, 3)
    assert judged.least_success == judged.successes.sum() / 4
    said = [warning for warning in done.warnings if "diverged" in warning]
    assert [("1 of 4 episodes" in warning) for warning in said] == [False, True, True]
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
