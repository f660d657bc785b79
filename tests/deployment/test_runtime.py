"""`deploy` from end to end, on stand-ins in this process."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.deployment import (
    DeploySettings,
    StagingSettings,
    TrialOutcome,
    TrialSettings,
    deploy,
)
from realworthy.deployment.preflight import WiggleSettings
from realworthy.errors import RealworthyError
from realworthy.policies.contract import DriveGains, JointLimits, NormaliserRecord
from realworthy.realities import (
    Reality,
    RealityFile,
    RealityNoise,
    StandIn,
    make_reality,
)
from realworthy.recordings import load_recording
from realworthy.robots import Command, Mode, Robot, RobotInfo, State
from realworthy.robots.clock import SteppedClock

from . import examples
from .conftest import make_policy


def reality(twin: str, **more) -> Reality:
    return make_reality("it", RealityFile(schema=1, twin=twin, **more))


def run(policy, robot: Robot, folder: Path, *, seconds: float = 1.0, **more):
    trial = TrialSettings(seconds=seconds, move_seconds=0.5, hold_seconds=0.1)
    settings = DeploySettings(
        trial=trial,
        trials=more.pop("trials", 1),
        wiggles=more.pop("wiggles", False),
        staging=more.pop("staging", StagingSettings()),
        speed=more.pop("speed", None),
    )
    clock = SteppedClock(robot)
    return deploy(policy, robot, folder, settings=settings, clock=clock, **more)


def test_a_trial_leaves_a_recording_with_everything_in_it(tmp_path: Path):
    policy = examples.load(examples.reaching(tmp_path / "p.onnx"))
    robot = StandIn(reality("arm"))
    found = run(policy, robot, tmp_path / "t")
    assert found.is_clean
    trial = found.trials[0]
    assert (trial.outcome, trial.retreated) == (TrialOutcome.DONE, True)
    robot.wait(0.02)
    assert robot.read().mode is Mode.DAMP
    recording = load_recording(tmp_path / "t" / "trial_1.npz")
    for joint in examples.ARM:
        for signal in ("position", "velocity", "torque", "command"):
            assert f"{joint}.{signal}" in recording.signals
    sidecar = recording.sidecar
    assert (sidecar.twin, sidecar.command_kind, sidecar.rate) == ("arm", "position", 50)
    assert sidecar.gains["gripper"].kp == 13.0
    assert sidecar.notes["speed_share"] == 0.5
    assert len(str(sidecar.notes["policy_sha256"])) == 64
    log = np.load(tmp_path / "t" / "trial_1.log.npz")
    runs = log["phase"] == "run"
    assert runs.sum() == 50 == len(log["observation"])
    # What the policy saw are the robot's own numbers; what it said is in the target.
    np.testing.assert_allclose(log["observation"][:, :7], log["position"][runs])
    wanted = np.array(examples.ARM_POSE) + log["action"]
    np.testing.assert_allclose(log["target"][runs], wanted, atol=1e-6)
    row = int(np.flatnonzero(runs)[10])
    time = log["state_time"][row]
    k = int(np.flatnonzero(np.isclose(recording.time, time))[0])
    for i, joint in enumerate(examples.ARM):
        assert recording.signals[f"{joint}.command"][k] == log["command"][row, i]


def test_a_policy_is_warmed_up_while_the_robot_still_brakes(tmp_path: Path):
    """A first answer may take long: it must not be awaited between two commands."""
    asked: list[int] = []
    plain = examples.contract("pendulum", ("joint",), "torque", scale=2.0)

    class Watched(StandIn):
        before: int | None = None

        def write(self, command: Command) -> None:
            self.before = len(asked) if self.before is None else self.before
            super().write(command)

    def say(step: int, seen: np.ndarray) -> float:
        asked.append(step)
        return 0.1

    robot = Watched(reality("pendulum"))
    found = run(make_policy(tmp_path / "p", plain, say), robot, tmp_path / "t")
    assert found.is_clean
    assert robot.before == 3 + 1  # three to warm up, then the one that is sent
    assert asked[:5] == [0, 1, 2, 0, 1]  # and forgotten in between


def test_fewer_than_no_clean_trials_are_refused():
    with pytest.raises(RealworthyError, match="-3 clean trials"):
        StagingSettings(clean_before=-3)


def test_first_trials_are_slow_by_rate_not_by_reach(tmp_path: Path):
    """0.5, 0.75 and all of 1 rad/s; the same place is reached in the end."""
    joints = examples.ARM
    plain = examples.contract("arm", joints, "position", offset=examples.ARM_POSE)
    limits = {
        j: JointLimits(lower=-3, upper=3, velocity=1.0, effort=12) for j in joints
    }
    plain = msgspec.structs.replace(plain, limits=limits)

    def say(step: int, seen: np.ndarray) -> np.ndarray:
        return np.full(len(joints), min(0.016 * step, 0.4))  # 0.8 rad/s

    policy = make_policy(tmp_path / "p", plain, say)
    staging = StagingSettings(stages=((1, 0.5), (1, 0.75)))
    robot = StandIn(reality("arm"))
    found = run(policy, robot, tmp_path / "t", seconds=1.6, trials=3, staging=staging)
    assert [t.outcome for t in found.trials] == [TrialOutcome.DONE] * 3, found.trials
    assert [t.speed_share for t in found.trials] == [0.5, 0.75, 1.0]
    fastest, reached = [], []
    for number in (1, 2, 3):
        log = np.load(tmp_path / "t" / f"trial_{number}.log.npz")
        runs = log["command"][log["phase"] == "run"]
        fastest.append(np.abs(np.diff(runs, axis=0)).max() / 0.02)
        reached.append(runs[-1])
    assert fastest == pytest.approx([0.5, 0.75, 0.8], rel=1e-5)
    np.testing.assert_allclose(reached[0], reached[2], atol=1e-6)


def test_a_fault_leads_back_to_the_first_stage(tmp_path: Path):
    plain = examples.contract("pendulum", ("joint",), "torque", scale=2.0)
    told: list[str] = []

    def say(step: int, seen: np.ndarray) -> float:
        past = sum(text.startswith("trial") for text in told)
        return np.nan if past == 2 and step == 10 else 0.3

    policy = make_policy(tmp_path / "p", plain, say)
    staging = StagingSettings(stages=((2, 0.5),))
    found = run(
        policy,
        StandIn(reality("pendulum")),
        tmp_path / "t",
        trials=4,
        staging=staging,
        progress=lambda _, stage: told.append(stage),
    )
    shares = [t.speed_share for t in found.trials]
    outcomes = [t.outcome.value for t in found.trials]
    assert outcomes == ["done", "done", "fault", "done"]
    assert shares == [0.5, 0.5, 1.0, 0.5]
    assert not found.is_clean


def test_first_trials_are_agreed_to_and_a_no_ends_it(tmp_path: Path):
    plain = examples.contract("pendulum", ("joint",), "torque", scale=2.0)
    policy = make_policy(tmp_path / "p", plain, lambda step, seen: 0.1)
    asked: list[str] = []

    def confirm(question: str) -> bool:
        asked.append(question)
        return len(asked) < 3

    robot = StandIn(reality("pendulum"))
    found = run(policy, robot, tmp_path / "t", trials=5, confirm=confirm)
    assert found.declined
    assert len(found.trials) == 1
    assert asked[1] == "The robot will run trial 1 at 50% of its speed. Go on?"
    # With three clean trials behind it nobody is asked.
    asked.clear()
    trusted = StagingSettings(clean_before=3)
    run(policy, robot, tmp_path / "u", staging=trusted, confirm=confirm)
    assert asked == []


def test_a_policy_for_another_robot_does_not_start(tmp_path: Path):
    policy = examples.load(examples.reaching(tmp_path / "p.onnx"))
    robot = StandIn(reality("pendulum"))
    with pytest.raises(RealworthyError, match="no joint 'shoulder_pan'"):
        run(policy, robot, tmp_path / "t")
    assert robot.read().time == 0  # it never moved
    assert not (tmp_path / "t").exists()


def test_existing_trials_are_not_replaced(tmp_path: Path):
    policy = examples.load(examples.swinging(tmp_path / "p.onnx"))
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "trial_2.npz").write_text("mine")
    robot = StandIn(reality("pendulum"))
    with pytest.raises(RealworthyError, match=r"trial_2\.npz"):
        run(policy, robot, tmp_path / "t", trials=2)
    assert robot.read().time == 0


class Rewired(Robot):
    """The arm with two plugs exchanged, or one turned round."""

    def __init__(self, robot: Robot, *, swap: bool, turn: bool) -> None:
        self._robot, self._swap, self._turn = robot, swap, turn

    @property
    def info(self) -> RobotInfo:
        return self._robot.info

    def connect(self) -> None:
        self._robot.connect()
        self._home = self._robot.read().position

    def read(self) -> State:
        state = self._robot.read()
        if self._turn:
            turned = np.array(state.position)
            turned[2] = 2 * self._home[2] - turned[2]
            return replace(state, position=turned)
        if self._swap:
            order = [4, 1, 2, 3, 0, 5, 6]  # both rest at 0
            return replace(state, position=state.position[order])
        return state

    def write(self, command: Command) -> None:
        self._robot.write(command)

    def wait(self, seconds: float) -> None:
        self._robot.wait(seconds)

    def damp(self) -> None:
        self._robot.damp()

    def stop(self) -> None:
        self._robot.stop()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"swap": True, "turn": False}, "it moves wrist_yaw, not shoulder_pan"),
        ({"swap": False, "turn": True}, "elbow_flex turns the other way round"),
    ],
)
def test_wiggling_finds_exchanged_and_turned_plugs(tmp_path: Path, fault, said: str):
    """Nothing runs then. The pose is where the arm is, so that only wiggles move it."""
    home = (0.0, -0.9, 0.9, 0.6, 0.0, 0.0, 0.3)
    plain = examples.contract("arm", examples.ARM, "position", offset=home)
    policy = make_policy(
        tmp_path / "p", plain, lambda step, seen: np.zeros(len(examples.ARM))
    )
    inner = StandIn(reality("arm"))
    robot = Rewired(inner, **fault)
    found = run(policy, robot, tmp_path / "t", wiggles=True)
    failed = [check for check in found.checks if not check.passed]
    assert said == failed[0].text
    assert found.trials == ()
    assert not found.is_clean
    inner.wait(0.02)
    assert inner.read().mode is Mode.DAMP


@pytest.mark.parametrize("twin", ["arm", "pendulum"])
def test_wiggling_finds_nothing_wrong_with_a_good_robot(tmp_path: Path, twin: str):
    make = examples.reaching if twin == "arm" else examples.swinging
    policy = examples.load(make(tmp_path / "p.onnx"))
    noisy = reality(twin, noise=RealityNoise(position=1e-3, velocity=1e-2))
    found = run(policy, StandIn(noisy), tmp_path / "t", wiggles=True)
    assert [check.text for check in found.checks if not check.passed] == []
    assert found.is_clean


def test_a_wiggle_is_small():
    assert max(WiggleSettings().positions) <= 0.2
    assert max(WiggleSettings().efforts) <= 0.4


def test_a_largest_speed_of_the_operator_holds(tmp_path: Path):
    """A torque that turns it at over 3 rad/s; at 1.5 it is pushed no more. Falling may
    make it faster: a drive of torque is not made to brake."""
    plain = examples.contract("pendulum", ("joint",), "torque", scale=3.0, period=0.01)
    policy = make_policy(
        tmp_path / "p", plain, lambda step, seen: (-1.0) ** (step // 30)
    )
    staging = StagingSettings(stages=())
    fastest = {}
    for name, speed in (("slow", 1.5), ("free", None)):
        robot = StandIn(reality("pendulum"))
        found = run(policy, robot, tmp_path / name, staging=staging, speed=speed)
        assert found.is_clean, found.trials
        recording = load_recording(tmp_path / name / "trial_1.npz")
        fastest[name] = np.abs(recording.signals["joint.velocity"]).max()
    assert fastest["slow"] < 2
    assert fastest["free"] > 3


@pytest.mark.parametrize(
    ("twin", "kind", "period"),
    [
        ("quadruped", "position", 0.02),
        ("diffdrive", "velocity", 0.02),
        ("cartpole", "torque", 0.01),
        ("servo_bench", "voltage", 0.01),
    ],
)
def test_every_kind_of_drive_is_led_and_left(
    tmp_path: Path, twin: str, kind: str, period: float
):
    """A quadruped stands, wheels turn, a cart rests, a servo is pushed a little."""
    robot = StandIn(reality(twin))
    info, home = robot.info, robot.read().position
    joints = tuple(name.removesuffix(".command") for name in info.commands)
    offset = tuple(home[info.joints.index(j)] for j in joints)
    plain = examples.contract(
        twin,
        joints,
        kind,
        offset=offset if kind == "position" else 0.0,
        period=period,
        gains={j: DriveGains(kp=25.0, kd=0.6) for j in joints}
        if kind == "position"
        else {},
        limits={j: JointLimits(velocity=20.0, effort=30.0) for j in joints},
    )
    push = {"velocity": 2.0, "voltage": 3.0}.get(kind, 0.0)
    policy = make_policy(
        tmp_path / "p",
        msgspec.structs.replace(
            plain, action=msgspec.structs.replace(plain.action, clip=5.0)
        ),
        lambda step, seen: np.full(len(joints), push),
    )
    found = run(policy, robot, tmp_path / "t")
    assert found.is_clean, found.trials
    recording = load_recording(tmp_path / "t" / "trial_1.npz")
    turned = recording.signals[f"{joints[0]}.position"]
    if push:
        assert turned[-1] - turned[0] > 0.2
    if twin == "quadruped":
        assert recording.signals["base.position.z"].min() > 0.2
        assert found.trials[0].retreated


def test_what_is_unlike_training_ends_a_trial(tmp_path: Path):
    """Speeds were within a thousandth in training; last actions do not count."""
    narrow = (1e-3,) * 3
    wide = (100.0, 100.0, 1e-3)
    for name, sd, outcome in (
        ("narrow", narrow, TrialOutcome.FAULT),
        ("wide", wide, TrialOutcome.DONE),
    ):
        plain = examples.contract(
            "pendulum",
            ("joint",),
            "torque",
            scale=2.0,
            normaliser=NormaliserRecord(mean=(0.0,) * 3, sd=sd),
        )
        policy = make_policy(tmp_path / "p", plain, lambda step, seen: 0.5)
        found = run(policy, StandIn(reality("pendulum")), tmp_path / name)
        assert found.trials[0].outcome is outcome
    reason = load_recording(tmp_path / "narrow" / "trial_1.npz").sidecar.notes["reason"]
    assert "unlike its training" in str(reason)


def test_nobody_is_told_of_slow_trials_that_are_not(tmp_path: Path):
    plain = examples.contract("pendulum", ("joint",), "torque", limits={})
    policy = make_policy(tmp_path / "p", plain, lambda step, seen: 0.1)
    told: list[str] = []
    ran = run(
        policy,
        StandIn(reality("pendulum")),
        tmp_path / "t",
        progress=lambda _, stage: told.append(stage),
    )
    assert any("joint: first trials do not slow it" in text for text in told)
    assert {trial.speed_share for trial in ran.trials} == {1.0}
