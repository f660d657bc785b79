"""From a task to an adapted policy, hardly learned, and on to a robot."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import realworthy as rw
from realworthy.adaptation import METHODS, Adaptation, AdaptSettings, Arm
from realworthy.adaptation.score import TrialScore
from realworthy.adaptation.strategy_file import FILE
from realworthy.cli.main import main
from realworthy.errors import RealworthyError, UnknownName
from realworthy.recordings import Recording
from realworthy.tasks.catalogue import find_task
from realworthy.tasks.definition import TaskDefinition


def command(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


UNKNOWN = ("--unknown", "carriage.mass=0.5:2.5", "motor.gear=0.6:1.2")
FEW = ("--steps", 64, "--student-steps", 640, "--worlds", 8, "--history", 0.2)


@pytest.fixture(scope="module")
def run(lift_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `adapt up_osi`."""
    folder = tmp_path_factory.mktemp("adapt") / "run"
    settings = AdaptSettings(
        twin=str(lift_file.with_name("lift.xml")),
        unknown={"carriage.mass": (0.5, 2.5), "motor.gear": (0.6, 1.2)},
        steps=64,
        student_steps=640,
        world_count=8,
        history=0.2,
        evaluation_episodes=16,
        change_every=1.0,
    )
    rw.adapt("up_osi", f"{lift_file}:Lift", folder, settings=settings)
    return folder


def test_a_folder_has_policies_and_what_was_gained(run: Path):
    tree = json.loads((run / "adaptation.json").read_text())
    assert tree["method"] == "up_osi"
    arms = {arm["name"]: arm for arm in tree["arms"]}
    assert {*arms} == {"randomized", "frozen", "shuffled", "adapted", "expert"}
    lower, upper = tree["gain_interval"]
    assert lower <= tree["gain"] <= upper
    assert tree["helps"] == (lower > 0)
    student = rw.load_policy(run / "policy.onnx")
    assert [term.history for term in student.contract.terms] == [10, 10, 10]
    plain = rw.load_policy(run / "randomized.onnx")
    assert [term.history for term in plain.contract.terms] == [1, 1]
    slot = rw.load_policy(run / FILE).contract.inputs
    assert {*slot} == {"strategy.1", "strategy.2"}


def test_strategies_are_searched_on_a_robot_by_a_command(
    run: Path, lift_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    robot = f"sim:{lift_file.with_name('hidden.reality.yaml')}"
    words = ["adapt", "strategy", run, "--robot", robot, "--output", tmp_path / "best"]
    words += ["--trials", 14, "--seconds", 1, "--search", "awr"]
    status = command(*words, "--json", tmp_path / "found.json")
    tree = json.loads((tmp_path / "found.json").read_text())
    assert status == (0 if tree["helps"] else 1)
    assert tree["trials"] == 14
    assert 13 < tree["real_seconds"] < 30
    assert "on a robot" in capsys.readouterr().out
    policy = rw.load_policy(tmp_path / "best" / "policy.onnx")
    assert not policy.contract.inputs
    # the slot, filled for good, answers as the one that is told the same
    told = rw.load_policy(run / FILE)
    numbers = tree["numbers"]
    strategy = [numbers[name] for name in told.contract.inputs]
    seen = np.array([0.2, -0.1])
    np.testing.assert_allclose(
        policy.act(seen), told.act(np.append(seen, strategy)), atol=1e-5
    )


def test_a_belief_is_moved_by_a_policys_trials(
    run: Path, lift_file: Path, tmp_path: Path
):
    """The hidden carriage has 2 kg, and both mass and motor are unknown."""
    settings = AdaptSettings(
        twin=str(lift_file.with_name("lift.xml")),
        unknown={"carriage.mass": (0.5, 2.5), "motor.gear": (0.6, 1.2)},
        trials=4,
        trial_seconds=1.5,
    )
    robot = f"sim:{lift_file.with_name('hidden.reality.yaml')}"
    found = rw.adapt("simopt", run, tmp_path / "out", settings=settings, robot=robot)
    assert found.trial_count == 4
    assert found.numbers["reduction"] > 0.5
    assert found.numbers["largest_kl"] <= 1.0
    assert found.helps  # on trials that it was not moved by
    assert found.twin is not None
    belief = rw.load_twin(found.twin).belief
    assert belief is not None
    assert {"carriage.mass", "motor.gear"} <= {*belief.space.names}


@pytest.mark.slow
def test_a_history_student_is_certified_like_any_policy(run: Path, lift_file: Path):
    from msgspec.structs import replace

    from realworthy.certification.suite.suite import quick_suite

    suite = quick_suite()
    suite = replace(suite, cells=suite.cells[:1], margins=(), coverage=None)
    certificate = rw.certify(
        run / "policy.onnx",
        task=f"{lift_file}:Lift",
        twin=str(lift_file.with_name("lift.xml")),
        settings=rw.CertifySettings(suite=suite),
    )
    assert certificate.task


@pytest.mark.parametrize(
    "method", ["teacher_student", pytest.param("memory", marks=pytest.mark.slow)]
)
def test_other_methods_write_a_policy_that_the_command_reports(
    method: str, lift_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    words = ("adapt", method, f"{lift_file}:Lift", "--output", tmp_path / "run")
    assert command(*words, *UNKNOWN, *FEW) in (0, 1)
    out = capsys.readouterr().out
    assert "expert" in out
    policy = rw.load_policy(tmp_path / "run" / "policy.onnx")
    assert policy.recurrent == (method == "memory")


def test_mistakes_are_said_before_anything_is_learned(
    lift: TaskDefinition, settings: Callable[..., AdaptSettings], tmp_path: Path
):
    there = tmp_path / "run"
    with pytest.raises(UnknownName, match="method"):
        rw.adapt("rmaa", lift, there)
    with pytest.raises(RealworthyError, match="said to lie between"):
        rw.adapt("rma", lift, there, settings=settings(unknown={"motor.gear": (2, 1)}))
    with pytest.raises(UnknownName):
        rw.adapt("rma", lift, there, settings=settings(unknown={"motor.gaer": (0, 1)}))
    with pytest.raises(RealworthyError, match="none was given"):
        rw.adapt("strategy", tmp_path, there)
    with pytest.raises(RealworthyError, match="has to be named"):
        rw.adapt("rma", lift, there, settings=AdaptSettings(change_every=1.0))
    assert not there.exists()
    assert {*METHODS} == {
        *("teacher_student", "rma", "up_osi", "memory"),
        *("mppi", "strategy", "simopt"),
    }


def test_a_folder_without_a_slot_is_refused(lift_file: Path, tmp_path: Path):
    robot = f"sim:{lift_file.with_name('hidden.reality.yaml')}"
    with pytest.raises(RealworthyError, match="no policy with a strategy"):
        rw.adapt("strategy", tmp_path, tmp_path / "best", robot=robot)


def test_a_robot_of_another_kind_is_refused_before_training(
    lift: TaskDefinition, settings: Callable[..., AdaptSettings], tmp_path: Path
):
    with pytest.raises(RealworthyError, match="does not fit robot"):
        rw.adapt(
            "rma",
            lift,
            tmp_path / "run",
            settings=settings(),
            robot="sim:pendulum_1_easy",
        )


def test_a_trial_is_worth_the_reward_of_what_was_measured(lift: TaskDefinition):
    """Height 0.5, action 0.25: −0.5 − 0.01 · 0.0625 per second, by hand."""
    count = 201
    trial = Recording(
        time=np.linspace(0.0, 4.0, count),
        signals={
            "rail.position": np.full(count, 0.5),
            "rail.velocity": np.zeros(count),
            "motor.command": np.full(count, 10.0),
        },
    )
    value = TrialScore(lift.build())(trial).sum()
    assert value == pytest.approx(-4.0 * (0.5 + 0.01 * 0.0625), rel=1e-5)


def test_what_cannot_be_told_from_a_recording_is_refused():
    with pytest.raises(RealworthyError, match="where its base is"):
        TrialScore(find_task("quadruped").build())
    with pytest.raises(RealworthyError, match="is told goal"):
        TrialScore(find_task("reach").build())


def test_a_share_of_a_gap_that_is_not_there_is_none():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=50)

    def build(oracle: float) -> Adaptation:
        means = {"nothing": 0.0, "adapted": 0.7, "oracle": oracle}
        arms = tuple(
            Arm(name=name, about="", returns=mean + noise)
            for name, mean in means.items()
        )
        return Adaptation(
            method="x",
            task="x",
            folder=Path(),
            policy=Path(),
            arms=arms,
            adapted="adapted",
            baseline="nothing",
            oracle="oracle",
        )

    assert build(0.0).close_gap("adapted") is None
    found = build(1.0).close_gap("adapted")
    assert found is not None
    assert found[0] == pytest.approx(0.7)
    assert build(1.0).helps
