"""Loops that firmware closed while recording."""

import numpy as np
import pytest

from realworthy.actuators import ControllerDuty, MotorDc
from realworthy.actuators.bench import BenchLoad, simulate_bench
from realworthy.actuators.law import build_law
from realworthy.identification.calibration.duty_servos import (
    close_servo_loops,
    find_duty_servos,
    list_servo_parameters,
)
from realworthy.recordings import Recording, Sidecar
from realworthy.simulators.replay import Replayer, lay_out_all
from realworthy.twins import load_twin

RATE = 200.0
TIME = np.arange(300) / RATE


def log(gain: float, temperature: float = 30.0, off_after: float = 9.0) -> Recording:
    """Goals of a servo that stands at 0.3 rad at first."""
    signals = {
        "arm.position": np.full(len(TIME), 0.3),
        "arm.velocity": np.zeros(len(TIME)),
        "arm.command": 0.8 * np.sin(3 * TIME),
        "arm.torque_enable": (off_after > TIME).astype(float),
    }
    told = {
        "arm.duty_gain": gain,
        "arm.supply_voltage": 7.3,
        "arm.ambient_temperature": temperature,
    }
    return Recording(TIME, signals, Sidecar(command_kind="position", parameters=told))


def test_a_loop_is_closed_where_recordings_say_its_gain():
    twin = close_servo_loops(load_twin("servo_bench"), [log(1.0, 28.0), log(3.0, 36.0)])
    assert find_duty_servos(twin) == ("arm",)
    actuator = twin.actuators["arm"]
    assert isinstance(actuator.controller, ControllerDuty)
    assert isinstance(actuator.motor, MotorDc)
    assert actuator.controller.duty_gain == 2.0
    assert actuator.motor.resistance == pytest.approx(4.76365)
    thermal = actuator.motor.thermal
    assert thermal is not None
    assert thermal.ambient_temperature == 32.0
    assert thermal.temperature_coefficient == 0.00393  # copper's, and not fitted
    assert "arm.temperature_coefficient" not in list_servo_parameters(twin)


def test_nothing_changes_where_recordings_say_no_gain():
    twin = load_twin("servo_bench")
    silent = Recording(TIME, log(1.0).signals, Sidecar(command_kind="position"))
    assert close_servo_loops(twin, [silent]) is twin


def test_each_recording_is_replayed_with_its_own_gain_and_switched_off_when_it_was():
    """Against the bench of `realworthy.actuators`, which knows no engine."""
    logs = [log(0.5), log(2.0, off_after=0.75)]
    twin = close_servo_loops(load_twin("servo_bench"), logs)
    tracks = lay_out_all(twin, logs)
    assert tracks[0].bound is tracks[1].bound
    played = Replayer(tracks, 2).play(tracks=[0, 1])
    timestep = tracks[0].timestep
    law = build_law(twin.actuators["arm"], timestep=timestep)
    per_row = int(tracks[0].rows[1])
    steps = per_row * (len(TIME) - 1) + 1
    goals = np.repeat(0.8 * np.sin(3 * TIME), per_row)[:steps, None, None]
    on = np.repeat(TIME < 0.75, per_row)[:steps, None]
    trace = simulate_bench(
        law,
        BenchLoad(mass=0.49, length=0.1, inertia=1e-6),
        np.repeat(goals, 2, axis=1),
        position=0.3,
        parameters={
            "duty_gain": np.array([0.5, 2.0]),
            "supply_voltage": np.full(2, 7.3),
        },
        powered=np.concatenate([np.ones_like(on), on], axis=1),
    )
    simulated = played.position[:, :, 0]
    assert np.abs(simulated - trace.position[::per_row].T).max() < 0.01
    assert np.abs(simulated[0] - simulated[1]).max() > 0.1
