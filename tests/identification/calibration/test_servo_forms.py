"""What a servo has beside its numbers, found from recordings of planted benches."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from realworthy.actuators import MotorDc
from realworthy.actuators.bench import BenchLoad, simulate_bench
from realworthy.actuators.law import build_law
from realworthy.identification.calibration.duty_servos import close_servo_loops
from realworthy.identification.calibration.servo_forms import (
    ServoForm,
    apply_form,
    choose_servo_form,
    split_experiments,
)
from realworthy.identification.problem.problem import Problem
from realworthy.recordings import Recording, Sidecar
from realworthy.twins import Twin, load_twin

RATE, SUBSTEPS = 170.0, 6
TIME = np.arange(300) / RATE
GAINS = (0.4, 0.8, 3.0)
SATURATED = 1.2
"""[A]; the bench's motor stalls at 1.5 A."""


def tell(gain: float, position: np.ndarray, goal: np.ndarray) -> Recording:
    signals = {"arm.position": position, "arm.command": goal}
    told = {"arm.duty_gain": gain, "arm.supply_voltage": 7.3}
    return Recording(TIME, signals, Sidecar(command_kind="position", parameters=told))


def record(saturation_current: float | None) -> list[Recording]:
    """A bench of `realworthy.actuators`, which knows no engine, at three gains."""
    still = np.zeros(len(TIME))
    loop = close_servo_loops(
        load_twin("servo_bench"), [tell(g, still, still) for g in GAINS]
    )
    actuator = loop.actuators["arm"]
    assert isinstance(actuator.motor, MotorDc)
    motor = msgspec.structs.replace(
        actuator.motor, saturation_current=saturation_current
    )
    law = build_law(
        msgspec.structs.replace(actuator, motor=motor), timestep=1 / RATE / SUBSTEPS
    )
    goal = 1.4 * np.sin(4 * TIME) + 0.4 * np.sin(11 * TIME)
    goals = np.repeat(goal, SUBSTEPS)[:, None, None]
    trace = simulate_bench(
        law,
        BenchLoad(mass=0.49, length=0.1, inertia=1e-6),
        np.repeat(goals, len(GAINS), axis=1),
        parameters={
            "duty_gain": np.array(GAINS),
            "supply_voltage": np.full(len(GAINS), 7.3),
        },
    )
    noise = np.random.default_rng(0).normal(scale=5e-4, size=(len(TIME), len(GAINS)))
    seen = trace.position[::SUBSTEPS] + noise
    return [tell(gain, seen[:, i], goal) for i, gain in enumerate(GAINS)]


@pytest.mark.slow
@pytest.mark.parametrize("saturation_current", [SATURATED, None])
def test_a_motor_that_saturates_is_told_from_one_that_does_not(
    saturation_current: float | None,
):
    recordings = record(saturation_current)
    twin = close_servo_loops(load_twin("servo_bench"), recordings)

    def pose(twin: Twin, names: Sequence[str]) -> Problem:
        return Problem(twin, recordings, names, horizon=np.inf)

    found = choose_servo_form(twin, pose)
    assert found.form.saturates == (saturation_current is not None)
    assert "left out" in found.to_words()
    if saturation_current is not None:
        fitted = found.values["arm.saturation_current"]
        # a rough fit to two logs, in steps of 6 ms, from 1.5 A
        assert fitted == pytest.approx(saturation_current, rel=0.3)


def test_new_terms_begin_where_a_small_gearbox_has_them():
    still = np.zeros(len(TIME))
    twin = close_servo_loops(load_twin("servo_bench"), [tell(1.0, still, still)])
    plain, rich = (
        apply_form(twin, ServoForm()),
        apply_form(twin, ServoForm(friction="m4", saturates=True)),
    )
    assert "arm.saturation_current" not in plain.space
    resistance = rich.space["arm.resistance"].nominal
    assert resistance == pytest.approx(
        plain.space["arm.resistance"].nominal * 0.8 / 1.2
    )
    assert rich.space["arm.load_friction"].nominal == 0.2
    stall = 7.3 / plain.space["arm.resistance"].nominal
    assert rich.space["arm.saturation_current"].nominal == pytest.approx(stall)


def test_every_third_experiment_is_left_out():
    still = np.zeros(len(TIME))
    twin = close_servo_loops(load_twin("servo_bench"), [tell(1.0, still, still)])
    recordings = [tell(gain, still, still) for gain in (1.0, 2.0, 3.0, 4.0, 5.0)]
    problem = Problem(twin, recordings, ["arm.resistance"], horizon=np.inf)
    fitted, left = split_experiments(problem)
    assert {piece.recording for piece in left.pieces} == {1, 4}
    assert {piece.recording for piece in fitted.pieces} == {0, 2, 3}
