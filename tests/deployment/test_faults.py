"""What goes wrong on a wire, against a robot in a second process."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from realworthy.deployment import (
    DeploySettings,
    GuardSettings,
    TrialOutcome,
    TrialSettings,
    WatchdogSettings,
    deploy,
)
from realworthy.realities import RealityFile, StandIn, make_reality
from realworthy.recordings import load_recording
from realworthy.robots import Command, Mode
from realworthy.robots.server import RobotServer, ServerSettings
from realworthy.robots.udp import UdpLink

from . import examples
from .conftest import make_policy

DT = 0.02
# The cores that tests share are busy: lateness of the loop is counted, not fatal.
GUARDS = GuardSettings(
    watchdogs=WatchdogSettings(overruns_in_a_row=1000, overrun_share=1.0, stall=2.0)
)
SWAY = examples.contract("pendulum", ("joint",), "torque", scale=2.0, period=DT)


def settings(seconds: float, **more) -> DeploySettings:
    trial = TrialSettings(seconds=seconds, move_seconds=0.4, hold_seconds=0.1)
    return DeploySettings(trial=trial, guards=GUARDS, wiggles=False, **more)


def sway(step: int, seen: np.ndarray) -> float:
    return 0.5 * np.sin(0.15 * step)


def test_loss_and_jitter_do_not_keep_a_task_from_success(start, tmp_path: Path):
    """10 % of packets lost each way, 5 ms jitter: the arm still gets there."""
    process = start("arm", "--loss", "0.1", "--jitter", "0.005")
    policy = examples.load(examples.reaching(tmp_path / "p.onnx"))
    found = deploy(policy, process.robot, tmp_path / "t", settings=settings(1.5))
    trial = found.trials[0]
    assert trial.outcome is TrialOutcome.DONE, trial.reason
    assert trial.retreated
    log = np.load(tmp_path / "t" / "trial_1.log.npz")
    last = np.flatnonzero(log["phase"] == "run")[-1]
    wanted = np.array(examples.ARM_POSE) + 0.3
    assert np.abs(log["position"][last] - wanted).max() < 0.15  # friction, gravity
    assert np.abs(log["command"][last] - wanted).max() < 1e-6


def test_a_frozen_state_brakes_within_five_periods(start, tmp_path: Path):
    """New stamps, old numbers, while the pendulum swings."""
    process = start("pendulum", "--freeze-after", "2.0")
    policy = make_policy(tmp_path / "p", SWAY, sway)
    found = deploy(policy, process.robot, tmp_path / "t", settings=settings(4))
    trial = found.trials[0]
    assert trial.outcome is TrialOutcome.FAULT
    assert "did not change" in trial.reason
    recording = load_recording(tmp_path / "t" / "trial_1.npz")
    assert recording.time[-1] <= 2.0 + 5 * DT + 1e-9
    assert recording.time[-1] > 1.9


@pytest.mark.parametrize("blow", [signal.SIGSTOP, signal.SIGKILL])
def test_a_robot_that_hangs_or_dies_is_given_up_within_five_periods(
    start, tmp_path: Path, blow: signal.Signals
):
    """Its process exists and says nothing; or it is gone."""
    process = start("pendulum")
    struck: list[float] = []

    def say(step: int, seen: np.ndarray) -> float:
        if step == 50:
            process.send(blow)
            struck.append(time.monotonic())
        return sway(step, seen)

    policy = make_policy(tmp_path / "p", SWAY, say)
    found = deploy(policy, process.robot, tmp_path / "t", settings=settings(5))
    assert found.trials[0].outcome is TrialOutcome.FAULT
    assert "ms old" in found.trials[0].reason
    log = np.load(tmp_path / "t" / "trial_1.log.npz")
    assert log["sent"][-1] - struck[0] <= 6 * DT + 0.05
    if blow is signal.SIGSTOP:
        process.send(signal.SIGCONT)
        assert " damp" in process.end()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_action_that_is_no_number_brakes_in_the_same_step(
    start, tmp_path: Path, bad: float
):
    process = start("pendulum")

    def say(step: int, seen: np.ndarray) -> float:
        return bad if step == 30 else sway(step, seen)

    contract = examples.contract("pendulum", ("joint",), "torque", scale=2.0, period=DT)
    # An infinite action is cut to the range that the policy was trained in.
    policy = make_policy(tmp_path / "p", contract, say)
    found = deploy(policy, process.robot, tmp_path / "t", settings=settings(1))
    trial = found.trials[0]
    log = np.load(tmp_path / "t" / "trial_1.log.npz")
    if np.isnan(bad):
        assert trial.outcome is TrialOutcome.FAULT
        assert "not a number" in trial.reason
        assert len(log["command"]) == 30
        assert len(log["action"]) == 31
    else:
        assert trial.outcome is TrialOutcome.DONE
        assert np.abs(log["command"]).max() <= 2.0


CLIENT = """
import sys, time
import numpy as np
from realworthy.robots import Command
from realworthy.robots.address import parse_address, reach
robot = reach(parse_address(sys.argv[1]))
robot.connect()
for k in range(100_000):
    robot.write(Command(sequence=k, values=np.array([0.5])))
    if k == 50:
        print("running", flush=True)
    robot.wait(0.01)
"""


def test_a_commander_that_is_killed_leaves_a_robot_that_brakes_within_120_ms():
    """SIGKILL: no handler runs, no last packet is sent."""
    robot = StandIn(make_reality("it", RealityFile(schema=1, twin="pendulum")))
    times: dict[str, float] = {}
    damp, write = robot.damp, robot.write

    def note_damp() -> None:
        times["damp"] = time.monotonic()
        damp()

    def note_write(command: Command) -> None:
        times["write"] = time.monotonic()
        times.pop("damp", None)
        write(command)

    robot.damp, robot.write = note_damp, note_write
    link = UdpLink.listen("127.0.0.1", 0)
    server = RobotServer(robot, link, ServerSettings())
    ends = threading.Event()
    thread = threading.Thread(
        target=server.serve, args=(lambda: not ends.is_set(),), daemon=True
    )
    thread.start()
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, link.address], stdout=subprocess.PIPE, text=True
    )
    try:
        assert client.stdout is not None
        assert client.stdout.readline() == "running\n"
        client.kill()
        killed = time.monotonic()
        while "damp" not in times and time.monotonic() < killed + 2:
            time.sleep(0.005)
        # a command is written a moment after it came, from when the robot counts
        silent = times["damp"] - times["write"]
        assert 0.09 <= silent <= 0.12 + 0.03  # busy cores
        assert robot.read().mode is Mode.DAMP
        assert server.damped == 1
    finally:
        ends.set()
        thread.join(5)
        client.kill()
        client.wait()
        link.close()


class Broken(Exception):
    """What nobody expects."""


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, SystemExit, MemoryError])
def test_an_exception_inside_run_reaches_the_safe_pose(
    start, tmp_path: Path, error: type[BaseException]
):
    process = start("arm")
    contract = examples.contract(
        "arm", examples.ARM, "position", offset=examples.ARM_POSE
    )

    def say(step: int, seen: np.ndarray) -> np.ndarray:
        if step == 20:
            raise error("from within")
        return np.full(len(examples.ARM), 0.3)

    policy = make_policy(tmp_path / "p", contract, say)
    with pytest.raises(error, match="from within"):
        deploy(policy, process.robot, tmp_path / "t", settings=settings(5))
    recording = load_recording(tmp_path / "t" / "trial_1.npz")
    assert recording.sidecar.notes["outcome"] in ("error", "interrupted")
    log = np.load(tmp_path / "t" / "trial_1.log.npz")
    assert log["command"][-1] == pytest.approx(examples.ARM_POSE, abs=1e-9)
    assert np.abs(log["position"][-1] - examples.ARM_POSE).max() < 0.2
    assert list(log["phase"]).count("run") == 20


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_deploy_that_is_signalled_leads_the_robot_back_and_brakes(
    start, tmp_path: Path, number: signal.Signals
):
    """`realworthy deploy` as a process: signalled while the policy runs."""
    process = start("arm")
    examples.reaching(tmp_path / "p.onnx")
    child = subprocess.Popen(
        [
            *(sys.executable, "-m", "realworthy", "deploy", "p.onnx", "--yes"),
            *("--robot", process.address, "--seconds", "60", "--no-wiggle"),
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    while "numbers" not in child.stdout.readline():  # preflight is over
        pass
    time.sleep(4.0)  # 2.5 s to the pose, 0.5 s of rest, then the policy
    child.send_signal(number)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 130, (out, err)
    assert err == "Stopped.\n"
    recording = load_recording(tmp_path / "trials" / "trial_1.npz")
    assert recording.sidecar.notes["outcome"] == "interrupted"
    log = np.load(tmp_path / "trials" / "trial_1.log.npz")
    assert "run" in log["phase"]
    assert log["command"][-1] == pytest.approx(examples.ARM_POSE, abs=1e-9)


def test_a_robot_that_is_stopped_ends_everything_and_stays(start, tmp_path: Path):
    process = start("pendulum")

    def say(step: int, seen: np.ndarray) -> float:
        if step == 20:
            process.robot.stop()
        return sway(step, seen)

    policy = make_policy(tmp_path / "p", SWAY, say)
    plan = settings(2, trials=3)
    found = deploy(policy, process.robot, tmp_path / "t", settings=plan)
    assert [trial.outcome for trial in found.trials] == [TrialOutcome.STOPPED]
    with pytest.raises(Exception, match="emergency stop"):
        process.robot.connect()


def test_a_joint_that_gets_hot_brakes(start, tmp_path: Path):
    process = start("pendulum", "--heating", "200")
    policy = make_policy(tmp_path / "p", SWAY, lambda step, seen: 1.0)
    found = deploy(policy, process.robot, tmp_path / "t", settings=settings(5))
    assert found.trials[0].outcome is TrialOutcome.FAULT
    assert "joint.temperature: temperature" in found.trials[0].reason
    assert found.trials[0].interventions["temperature.warn"] > 0


def test_a_joint_that_sticks_is_noticed(start, tmp_path: Path):
    """It holds while the policy leads on: the window of tracking acts, then trips."""
    process = start("arm", "--stick", "elbow_flex", "--stick-after", "3.0")
    contract = examples.contract(
        "arm", examples.ARM, "position", offset=examples.ARM_POSE
    )

    def say(step: int, seen: np.ndarray) -> np.ndarray:
        return np.full(len(examples.ARM), 0.006 * step)

    policy = make_policy(tmp_path / "p", contract, say)
    plan = settings(5)
    plan.guards.filter.tracking = 0.15
    found = deploy(policy, process.robot, tmp_path / "t", settings=plan)
    assert found.trials[0].outcome is TrialOutcome.FAULT
    assert "limit of tracking acted" in found.trials[0].reason
