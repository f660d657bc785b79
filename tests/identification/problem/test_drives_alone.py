"""Joints with explicit drives replayed alone, against the whole twin and a bench."""

import msgspec
import numpy as np
import pytest

from realworthy.actuators import MotorDc
from realworthy.actuators.bench import BenchLoad, simulate_bench
from realworthy.actuators.law import build_law
from realworthy.identification.calibration.duty_servos import (
    close_servo_loops,
    list_servo_parameters,
)
from realworthy.identification.calibration.servo_search import (
    measure_mean_error,
    search_servo_numbers,
)
from realworthy.identification.problem.drives_alone import DrivesAlone
from realworthy.identification.problem.problem import Problem
from realworthy.recordings import Recording, Sidecar
from realworthy.twins import Twin, load_twin

RATE, SUBSTEPS = 170.0, 6
TIME = np.arange(300) / RATE
GAINS = (0.4, 0.8, 3.0)
PLANTED = {"resistance": 6.2, "torque_constant": 0.28}
OFF_AFTER = 1.3


def tell(gain: float, position: np.ndarray, goal: np.ndarray) -> Recording:
    signals = {
        "arm.position": position,
        "arm.command": goal,
        "arm.torque_enable": (TIME < OFF_AFTER).astype(float),
    }
    told = {"arm.duty_gain": gain, "arm.supply_voltage": 7.3}
    return Recording(TIME, signals, Sidecar(command_kind="position", parameters=told))


def close(recordings: list[Recording]) -> Twin:
    return close_servo_loops(load_twin("servo_bench"), recordings)


def record() -> list[Recording]:
    """A bench with a weaker motor; it knows no engine. Switched off after 1.3 s."""
    still = np.zeros(len(TIME))
    actuator = close([tell(g, still, still) for g in GAINS]).actuators["arm"]
    assert isinstance(actuator.motor, MotorDc)
    motor = msgspec.structs.replace(actuator.motor, **PLANTED)
    law = build_law(
        msgspec.structs.replace(actuator, motor=motor), timestep=1 / RATE / SUBSTEPS
    )
    goal = 1.4 * np.sin(4 * TIME) + 0.4 * np.sin(11 * TIME)
    goals = np.repeat(goal, SUBSTEPS)[:, None, None]
    on = np.repeat(TIME < OFF_AFTER, SUBSTEPS)[:, None]
    trace = simulate_bench(
        law,
        BenchLoad(mass=0.49, length=0.1, inertia=1e-6),
        np.repeat(goals, len(GAINS), axis=1),
        parameters={
            "duty_gain": np.array(GAINS),
            "supply_voltage": np.full(len(GAINS), 7.3),
        },
        powered=np.repeat(on, len(GAINS), axis=1),
    )
    noise = np.random.default_rng(0).normal(scale=5e-4, size=(len(TIME), len(GAINS)))
    seen = trace.position[::SUBSTEPS] + noise
    return [tell(gain, seen[:, i], goal) for i, gain in enumerate(GAINS)]


@pytest.fixture(scope="module")
def recordings() -> list[Recording]:
    return record()


def test_a_joint_alone_moves_as_in_the_whole_twin(recordings: list[Recording]):
    """Numbers that are far off, encoder included: errors of 0.05 to 0.5 rad agree."""
    twin = close(recordings)
    names = list_servo_parameters(twin)
    problem = Problem(twin, recordings, names, horizon=np.inf, estimate_starts=False)
    off = {"arm.position.sensor_bias": 0.1, "arm.coulomb_friction": 0.05}
    z = problem.coordinates.to_z(problem.space.vector(off))
    found = DrivesAlone(problem).errors(z)[0]
    whole = problem.mean_absolute_errors(problem.residuals(z[None]).values[0])
    expected = [own["arm"] for own in whole.values()]
    assert min(expected) > 0.02
    assert found == pytest.approx(expected, rel=0.05)


def test_a_search_finds_the_motor_of_a_bench(recordings: list[Recording]):
    """Two gains are fitted, and the third is predicted, from numbers 30 % off."""
    twin = close(recordings)
    names = [f"arm.{kind}" for kind in PLANTED]
    problem = Problem(twin, recordings, names, horizon=np.inf, estimate_starts=False)
    z = search_servo_numbers(DrivesAlone(problem.restricted([0, 1])), problem.start_z)
    e = problem.coordinates.from_z(z)
    assert e == pytest.approx(list(PLANTED.values()), rel=0.05)
    unseen = problem.restricted([2])
    assert measure_mean_error(unseen, z) < 0.01
    assert measure_mean_error(unseen, problem.start_z) > 0.05
