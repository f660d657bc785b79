"""Signals end a trial, and never cut braking short."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from realworthy.deployment import (
    DeploySettings,
    GuardedRobot,
    TrialOutcome,
    TrialSettings,
    deploy,
)
from realworthy.deployment.drives import build_drives
from realworthy.deployment.signals import EmergencyStop, holding_signals
from realworthy.deployment.trial import run_trial
from realworthy.policies import Pilot
from realworthy.realities import RealityFile, StandIn, make_reality
from realworthy.recordings import load_recording
from realworthy.robots import Command, Mode
from realworthy.robots.clock import SteppedClock

from . import examples
from .conftest import make_policy

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def test_a_signal_waits_until_somebody_is_ready_and_comes_once():
    before = [signal.getsignal(number) for number in NUMBERS]
    with holding_signals() as signals:
        send(signal.SIGTERM)
        reached = False
        with pytest.raises(KeyboardInterrupt), signals.let_in():
            reached = True
        assert not reached
        with signals.let_in():
            pass  # it came once
        with pytest.raises(EmergencyStop), signals.let_in():
            send(signal.SIGQUIT)
        send(signal.SIGQUIT)
        send(signal.SIGINT)
        assert isinstance(signals.to_error(), EmergencyStop)  # the more urgent stays
    assert [signal.getsignal(number) for number in NUMBERS] == before


class Nervous(StandIn):
    """A stand-in whose operator presses Ctrl-C again and again, at the worst times."""

    presses = 0
    damped = 0

    def damp(self) -> None:
        super().damp()
        self.damped += 1
        send(signal.SIGINT)
        self.presses += 1

    def close(self) -> None:
        send(signal.SIGINT)
        super().close()


def test_braking_is_not_cut_short_by_more_of_them(tmp_path: Path):
    robot = Nervous(make_reality("it", RealityFile(schema=1, twin="pendulum")))
    plain = examples.contract("pendulum", ("joint",), "torque", scale=2.0)

    def say(step: int, seen: np.ndarray) -> float:
        if step == 20:
            send(signal.SIGINT)
        return 0.3

    policy = make_policy(tmp_path / "p", plain, say)
    settings = DeploySettings(trial=TrialSettings(seconds=2), wiggles=False, trials=3)
    # Preflight is left with signals waiting, which are raised once it brakes.
    with pytest.raises(KeyboardInterrupt):
        deploy(
            policy,
            robot,
            tmp_path / "t",
            settings=settings,
            clock=SteppedClock(robot),
        )
    assert robot.damped >= 2
    robot.wait(0.02)
    assert robot.read().mode is Mode.DAMP


class Counting(StandIn):
    """Counts what it was told."""

    stops = 0
    writes = 0

    def stop(self) -> None:
        super().stop()
        self.stops += 1

    def write(self, command: Command) -> None:
        super().write(command)
        if not self.stops:
            self.writes += 1


@pytest.mark.parametrize("press", [20, "retreat"])
def test_an_emergency_stop_by_the_operator_stops_at_once(tmp_path: Path, press):
    robot = Counting(make_reality("it", RealityFile(schema=1, twin="arm")))
    plain = examples.contract("arm", examples.ARM, "position", offset=examples.ARM_POSE)

    def say(step: int, seen: np.ndarray) -> np.ndarray:
        if step == press:
            send(signal.SIGQUIT)
        if step == 30 and press == "retreat":
            send(signal.SIGINT)  # on the way back …
        return np.full(len(examples.ARM), 0.2)

    clock = SteppedClock(robot)
    sleep, written = clock.sleep_until, []

    def watch(moment: float) -> None:
        written.append(robot.writes)
        if press == "retreat" and robot.writes > 0 and _is_back(written):
            send(signal.SIGQUIT)  # … somebody stops it
        sleep(moment)

    clock.sleep_until = watch
    policy = make_policy(tmp_path / "p", plain, say)
    trial = TrialSettings(seconds=2, move_seconds=0.5, hold_seconds=0.1)
    settings = DeploySettings(trial=trial, wiggles=False, trials=2)
    try:
        found = deploy(policy, robot, tmp_path / "t", settings=settings, clock=clock)
    except KeyboardInterrupt:
        found = None
    assert robot.stops >= 1
    robot.wait(0.02)
    assert robot.read().mode is Mode.STOPPED
    if press == 20:
        assert found is not None
        assert [t.outcome for t in found.trials] == [TrialOutcome.STOPPED]
        assert found.trials[0].reason == "emergency stop by the operator"


def _is_back(written: list[int]) -> bool:
    """Some steps after the policy was interrupted, which ran for thirty."""
    return written[-1] > 110


def test_a_second_interruption_on_the_way_back_brakes_and_ends_everything(
    tmp_path: Path,
):
    """The trial itself ran its time; Ctrl-C comes while the arm is led back."""
    robot = Counting(make_reality("it", RealityFile(schema=1, twin="arm")))
    plain = examples.contract("arm", examples.ARM, "position", offset=examples.ARM_POSE)
    policy = make_policy(
        tmp_path / "p", plain, lambda step, seen: np.full(len(examples.ARM), 0.2)
    )
    clock = SteppedClock(robot)
    sleep, sent = clock.sleep_until, []

    def watch(moment: float) -> None:
        if robot.writes > 125 and not sent:  # 68 to the pose and rest, 50 of the policy
            sent.append(robot.writes)
            send(signal.SIGINT)
        sleep(moment)

    clock.sleep_until = watch
    trial = TrialSettings(seconds=1, move_seconds=0.5, hold_seconds=0.1)
    settings = DeploySettings(trial=trial, wiggles=False, trials=3)
    with pytest.raises(KeyboardInterrupt):
        deploy(policy, robot, tmp_path / "t", settings=settings, clock=clock)
    assert robot.writes == sent[0]  # not one command after it
    assert not (tmp_path / "t" / "trial_2.npz").exists()
    recording = load_recording(tmp_path / "t" / "trial_1.npz")
    assert recording.sidecar.notes["outcome"] == "fault"
    assert "interrupted on the way" in str(recording.sidecar.notes["reason"])
    robot.wait(0.02)
    assert robot.read().mode is Mode.DAMP


def test_an_interruption_while_a_fault_brakes_is_not_forgotten(tmp_path: Path):
    """Ctrl-C in the very call that brakes: it brakes, and no other trial begins."""
    robot = Nervous(make_reality("it", RealityFile(schema=1, twin="pendulum")))
    plain = examples.contract("pendulum", ("joint",), "torque", scale=2.0)
    policy = make_policy(tmp_path / "p", plain, lambda step, seen: np.nan)
    drives = build_drives(plain, robot.info)
    guarded = GuardedRobot(robot, drives, plain.period, SteppedClock(robot))
    pilot = Pilot(policy, robot.info)
    ended = run_trial(guarded, pilot, TrialSettings(seconds=1), speed_share=0.5)
    assert ended.outcome is TrialOutcome.FAULT
    assert isinstance(ended.error, KeyboardInterrupt)
    assert robot.damped >= 2
    robot.wait(0.02)
    assert robot.read().mode is Mode.DAMP


def test_a_policy_that_takes_its_time_is_not_followed(tmp_path: Path):
    robot = Counting(make_reality("it", RealityFile(schema=1, twin="pendulum")))
    plain = examples.contract("pendulum", ("joint",), "torque", scale=2.0)
    clock = SteppedClock(robot)

    def say(step: int, seen: np.ndarray) -> float:
        if step == 10:
            clock.sleep_until(clock.now() + 0.15)
        return 0.2

    policy = make_policy(tmp_path / "p", plain, say)
    settings = DeploySettings(trial=TrialSettings(seconds=1), wiggles=False)
    found = deploy(policy, robot, tmp_path / "t", settings=settings, clock=clock)
    assert found.trials[0].outcome is TrialOutcome.FAULT
    assert found.trials[0].reason == "it took 150 ms to choose a command"
    assert robot.writes == 10
