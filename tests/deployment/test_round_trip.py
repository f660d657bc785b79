"""Deploy, then calibrate on what the trials left: the circle is closed.

The reality is 20 % heavier than the twin and 15 ms late; its trials must tell so.
"""

from pathlib import Path

import pytest

from realworthy.deployment import (
    DeploySettings,
    GuardSettings,
    TrialOutcome,
    TrialSettings,
    WatchdogSettings,
    deploy,
)
from realworthy.identification import calibrate
from realworthy.realities import (
    RealityFile,
    RealityNoise,
    StandIn,
    make_reality,
    save_reality,
)
from realworthy.recordings import load_recording
from realworthy.robots import Robot
from realworthy.robots.clock import Clock, SteppedClock
from realworthy.twins import load_twin

from . import examples

MASS, DELAY = 1.2 * 0.676, 0.015
HEAVY = RealityFile(
    schema=1,
    twin="pendulum",
    parameters={"pendulum.mass": MASS, "all.delay": DELAY},
    noise=RealityNoise(position=5e-4, velocity=1e-2, torque=0.02),
)


def run(robot: Robot, clock: Clock | None, folder: Path, trials: int) -> list[Path]:
    policy = examples.load(examples.swinging(folder / "p.onnx"))
    patient = WatchdogSettings(
        overruns_in_a_row=1000, overrun_share=1.0, age_trip=25, stall=2.0
    )
    settings = DeploySettings(
        trials=trials,
        trial=TrialSettings(seconds=4),
        wiggles=False,
        guards=GuardSettings(watchdogs=patient),
    )
    found = deploy(policy, robot, folder / "t", settings=settings, clock=clock)
    done = [(trial.outcome, trial.reason) for trial in found.trials]
    assert done == [(TrialOutcome.DONE, "")] * trials
    return [trial.recording for trial in found.trials if trial.recording]


def check(paths: list[Path]) -> None:
    recordings = [load_recording(path) for path in paths]
    names = ["pendulum.mass", "all.delay"]
    found = calibrate(load_twin("pendulum"), recordings, parameters=names)
    mean = found.twin.belief.mean
    assert mean["pendulum.mass"] == pytest.approx(MASS, rel=0.05)
    assert mean["all.delay"] == pytest.approx(DELAY, abs=0.003)


def test_trials_of_a_stand_in_tell_its_mass_and_delay(tmp_path: Path):
    robot = StandIn(make_reality("heavy", HEAVY))
    check(run(robot, SteppedClock(robot), tmp_path, trials=2))


@pytest.mark.slow
def test_trials_over_the_wire_tell_the_same(start, tmp_path: Path):
    save_reality(HEAVY, tmp_path / "heavy.reality.yaml")
    process = start("pendulum", "--reality", str(tmp_path / "heavy.reality.yaml"))
    check(run(process.robot, None, tmp_path, trials=3))
