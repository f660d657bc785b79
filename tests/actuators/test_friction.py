"""Friction budgets by hand, and what they do to a joint on the bench."""

import math

import numpy as np
import pytest

from realworthy.actuators import (
    Actuator,
    BenchLoad,
    ControllerTorque,
    Friction,
    FrictionM1,
    FrictionM2,
    FrictionM3,
    FrictionM4,
    FrictionM5,
    FrictionM6,
    build_law,
    simulate_bench,
)

STRIBECK = {
    "stribeck_friction": 0.04,
    "stribeck_velocity": 0.5,
    "stribeck_exponent": 2.0,
}
DRY = {"coulomb_friction": 0.10, "damping": 0.02}
SIGMA = math.exp(-1.0)  # at 0.5 rad/s


def budget(friction: Friction, torque: float, load: float, velocity: float) -> float:
    actuator = Actuator(joint="a", controller=ControllerTorque(), friction=friction)
    law = build_law(actuator, timestep=0.001)
    state = law.initial_state(1, np.zeros(1))
    row = np.array([[torque]]), np.zeros(1), np.array([velocity]), np.array([load])
    return float(law.step(*row, {}, state).friction[0])


def test_m1_is_coulomb_and_viscous():
    assert budget(FrictionM1(**DRY), 1.0, -2.0, -0.5) == pytest.approx(0.10 + 0.01)


def test_m2_adds_stribeck_near_rest():
    m2 = FrictionM2(**DRY, **STRIBECK)
    assert budget(m2, 1.0, -2.0, 0.0) == pytest.approx(0.10 + 0.04)
    assert budget(m2, 1.0, -2.0, 0.5) == pytest.approx(0.11 + 0.04 * SIGMA)
    assert budget(m2, 1.0, -2.0, 500.0) == pytest.approx(0.10 + 10.0)


def test_m3_adds_a_share_of_the_torque_through_the_gearbox():
    m3 = FrictionM3(**DRY, load_friction=0.3)
    assert budget(m3, 1.0, -2.0, 0.5) == pytest.approx(0.11 + 0.3 * 3.0)
    assert budget(m3, 1.0, 1.0, 0.5) == pytest.approx(0.11)


def test_m4_weighs_load_and_stribeck_together():
    m4 = FrictionM4(**DRY, **STRIBECK, load_friction=0.3, stribeck_load_friction=0.2)
    by_hand = 0.11 + 0.3 * 3.0 + SIGMA * (0.04 + 0.2 * 3.0)
    assert budget(m4, 1.0, -2.0, 0.5) == pytest.approx(by_hand)


DIRECTIONAL = {
    "load_friction_motor": 0.3,
    "load_friction_external": 0.1,
    "stribeck_load_friction_motor": 0.05,
    "stribeck_load_friction_external": 0.2,
}


def test_m5_tells_driving_from_back_driving():
    m5 = FrictionM5(**DRY, **STRIBECK, **DIRECTIONAL)
    # |0.1·(−2) − 0.3·1| = 0.5, |0.2·(−2) − 0.05·1| = 0.45
    assert budget(m5, 1.0, -2.0, 0.5) == pytest.approx(0.11 + 0.5 + SIGMA * 0.49)
    driving, back_driving = budget(m5, 2.0, -1.0, 9.0), budget(m5, 1.0, -2.0, 9.0)
    assert driving - back_driving == pytest.approx((0.3 * 2 + 0.1) - (0.3 + 0.1 * 2))
    symmetric = FrictionM3(**DRY, load_friction=0.3)
    assert budget(symmetric, 2.0, -1.0, 9.0) == budget(symmetric, 1.0, -2.0, 9.0)


def test_m6_is_quadratic_in_the_weaker_of_opposing_torques():
    m5 = FrictionM5(**DRY, **STRIBECK, **DIRECTIONAL)
    m6 = FrictionM6(
        **DRY,
        **STRIBECK,
        **DIRECTIONAL,
        quadratic_load_friction_motor=0.008,
        quadratic_load_friction_external=0.003,
    )

    def extra(torque: float, load: float) -> float:
        return budget(m6, torque, load, 0.5) - budget(m5, torque, load, 0.5)

    assert extra(5.0, -3.0) == pytest.approx(SIGMA * 0.003 * 9)  # motor leads
    assert extra(3.0, -5.0) == pytest.approx(SIGMA * 0.008 * 9)  # load leads
    assert extra(5.0, 3.0) == 0.0  # they do not oppose
    assert extra(5.0, -5.0) == 0.0  # balanced: neither leads
    assert extra(5.0, 0.0) == 0.0


def test_a_joint_under_a_load_within_its_budget_does_not_creep():
    actuator = Actuator(
        joint="a",
        controller=ControllerTorque(),
        friction=FrictionM1(coulomb_friction=1.0),
    )
    law = build_law(actuator, timestep=0.002)
    bench = BenchLoad(mass=0.5, length=0.2, inertia=0.01)  # weight: 0.98 N·m
    start = np.array([0.3, math.pi / 2, -1.2])
    trace = simulate_bench(law, bench, np.zeros((5000, 3, 1)), position=start)
    assert np.all(trace.position == start)
    stopped = simulate_bench(
        law, bench, np.zeros((2000, 3, 1)), position=start, velocity=1.5
    )
    assert (stopped.position[-1] == stopped.position[500]).all()
    heavier = BenchLoad(
        mass=0.52, length=0.2, inertia=0.01
    )  # 1.02 N·m at the horizontal
    moved = simulate_bench(law, heavier, np.zeros((500, 3, 1)), position=start)
    assert (moved.position[-1] != start).tolist() == [False, True, False]


def test_coulomb_friction_takes_a_constant_arc_from_every_swing():
    coulomb, stiffness = 0.05, 4.0
    actuator = Actuator(
        joint="a",
        controller=ControllerTorque(),
        friction=FrictionM1(coulomb_friction=coulomb),
    )
    law = build_law(actuator, timestep=0.0002)
    q, v, inertia = np.array([0.5]), np.zeros(1), 0.02
    state, turns = law.initial_state(1, q), []
    for _ in range(4000):  # the torque of a spring, as a command
        out = law.step((-stiffness * q)[:, None], q, v, 0 * q, {}, state)
        stopping = -(inertia / law.timestep * v + out.torque)
        friction = np.clip(stopping, -out.friction, out.friction)
        after = v + law.timestep / inertia * (out.torque + friction)
        if v[0] * after[0] < 0:
            turns.append(abs(q[0]))
        q, v = q + law.timestep * after, after
    losses = -np.diff([0.5, *turns])
    assert len(losses) >= 3
    assert losses[:3] == pytest.approx(2 * coulomb / stiffness, rel=0.03)


def test_the_bench_without_friction_is_a_pendulum():
    law = build_law(Actuator(joint="a", controller=ControllerTorque()), timestep=0.0005)
    bench = BenchLoad(mass=0.5, length=0.25)
    trace = simulate_bench(law, bench, np.zeros((8000, 1, 1)), position=0.02)
    q = trace.position[:, 0]
    crossings = np.flatnonzero((q[:-1] > 0) & (q[1:] <= 0))
    period = np.diff(crossings).mean() * law.timestep
    assert period == pytest.approx(2 * math.pi * math.sqrt(0.25 / 9.81), rel=2e-3)
    assert q.max() == pytest.approx(0.02, rel=1e-2)
