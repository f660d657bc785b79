"""The shipped realities: they run, they repeat, and they are not their twins."""

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.realities import StandIn, load_reality, reality_names
from realworthy.robots import RobotInfo
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin

SECONDS = 2.0
SIZE = {"pendulum": 3.0, "double_pendulum": 0.4, "cartpole": 5.0, "servo_bench": 5.0}
"""Of the torques, forces and voltages that move the torque-driven twins."""


def excite(info: RobotInfo, twin: Twin) -> np.ndarray:
    """(steps, inputs) two sines per input around the home command, of growing phase."""
    t = np.arange(round(SECONDS * info.rate))[:, None] / info.rate
    phase = np.arange(len(info.commands))
    wave = 0.6 * np.sin(4 * t + phase) + 0.4 * np.sin(7 * t) - 0.6 * np.sin(phase)
    home = twin.compiled.own["own.initial_ctrl"]
    if info.command_kind == "position":
        return np.clip(home + 0.2 * wave, info.command_lower, info.command_upper)
    if info.command_kind == "velocity":
        return 0.5 * info.command_upper * (1 + wave)
    return SIZE[twin.name] * wave


def test_there_are_enough_of_them_over_enough_twins():
    files = [load_reality(name).file for name in reality_names()]
    assert len(files) >= 10
    assert len({file.twin for file in files}) >= 4
    assert len({file.seed for file in files}) == len(files)
    assert all(file.description.endswith(".") for file in files)


@pytest.mark.parametrize("name", reality_names())
def test_it_runs_repeats_and_differs_from_its_twin(name: str):
    reality = load_reality(name)
    robot = StandIn(reality)
    info = robot.info
    commands = excite(info, reality.twin)
    recording = play(robot, commands)
    assert recording.sidecar.twin == reality.twin.name
    assert all(np.isfinite(values).all() for values in recording.signals.values())
    assert recording.time[-1] == pytest.approx(SECONDS, rel=0.05)

    again = play(StandIn(reality), commands)
    assert again.sha256() == recording.sha256()

    timestep = float(reality.twin.compiled.model.opt.timestep)
    simulator = MujocoCpu(reality.twin, 1, substeps=round(1 / (info.rate * timestep)))
    (replayed,) = record(simulator, commands)
    positions = replayed.stack("position", info.joints).T
    known = np.array([np.interp(recording.time, replayed.time, p) for p in positions])
    error = recording.stack("position", info.joints).T - known
    noise = max(reality.file.noise.position, 1e-4)
    assert np.sqrt(np.mean(error**2, axis=1)).max() > 5 * noise
