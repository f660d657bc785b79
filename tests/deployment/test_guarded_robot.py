"""The gate that every command passes."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from realworthy.deployment import GuardedRobot, GuardVerdict, Phase, make_drives
from realworthy.deployment.trial_log import TrialLog
from realworthy.robots import Mode
from realworthy.robots.clock import SteppedClock

from ..robots.wires import Obedient

PERIOD = 0.01


def begin(
    robot: Obedient, phase: Phase = Phase.RUN, log: TrialLog | None = None
) -> GuardedRobot:
    drives = make_drives(robot.info)
    guarded = GuardedRobot(robot, drives, PERIOD, SteppedClock(robot), log=log)
    guarded.connect()
    for step in (Phase.HOLD, Phase.RUN):
        if phase in (Phase.HOLD, Phase.RUN) and guarded.machine.phase is not phase:
            guarded.machine.change(step, 0.0)
    return guarded


@pytest.mark.parametrize("phase", [Phase.PASSIVE, Phase.FAULT_DAMP, Phase.STOPPED])
def test_in_other_phases_nothing_is_sent(phase: Phase):
    robot = Obedient()
    guarded = begin(robot, Phase.PASSIVE)
    guarded.machine.change(phase, 0.0)
    decision = guarded.step(lambda state: np.zeros(2))
    assert decision.verdict is GuardVerdict.DAMP
    assert "write" not in robot.calls
    assert {"damp", "stop"} & set(robot.calls)


def test_a_fault_brakes_in_the_same_step_and_nothing_follows_it():
    robot = Obedient()
    guarded = begin(robot)
    assert guarded.step(lambda state: np.zeros(2)).verdict is GuardVerdict.GO
    sent = robot.calls.count("write")
    decision = guarded.step(lambda state: np.array([np.nan, 0.0]))
    assert (decision.verdict, decision.guard) == (GuardVerdict.DAMP, "finite")
    assert robot.mode is Mode.DAMP
    for _ in range(100):
        assert guarded.step(lambda state: np.zeros(2)).is_fault
    assert robot.calls.count("write") == sent


@pytest.mark.parametrize("target", [np.zeros(3), np.zeros((2, 1)), np.zeros(0)])
def test_a_target_of_another_width_brakes_and_raises_nothing(target: np.ndarray):
    robot = Obedient()
    guarded = begin(robot)
    decision = guarded.step(lambda state: target)
    assert (decision.verdict, decision.guard) == (GuardVerdict.DAMP, "finite")
    assert robot.mode is Mode.DAMP
    assert "write" not in robot.calls


class Stubborn(Obedient):
    """Its driver fails when it should brake."""

    failures = 0

    def damp(self) -> None:
        self.failures += 1
        raise OSError("bus error")


def test_a_driver_that_cannot_brake_is_stopped():
    robot = Stubborn()
    guarded = begin(robot)
    said = guarded.brake()
    assert said == "braking failed: OSError('bus error')"
    assert robot.mode is Mode.STOPPED
    assert robot.failures >= 2


def test_a_long_trial_piles_nothing_up_but_its_lateness(tmp_path: Path):
    robot = Obedient()
    log = TrialLog(robot.info, tmp_path / "trial.journal")
    guarded = begin(robot, log=log)

    def run(steps: int) -> None:
        for k in range(steps):
            target = 0.05 * np.sin([0.1 * k, 0.2 * k])
            assert not guarded.step(lambda state, to=target: to).is_fault

    run(500)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run(3000)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    rows = len(log.journal.read()["read"])
    log.journal.close()
    waiting = 3500 * 8 * (1 + sum(log.journal.columns.values()))  # until the next write
    assert rows == 3500
    assert grown < 2 * 8 * 3000 + waiting + 20_000  # lateness, eight bytes a step
