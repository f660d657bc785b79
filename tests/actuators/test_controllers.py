"""Controllers, filters and slew, against hand arithmetic and finer integration."""

import math

import numpy as np
import pytest

from realworthy.actuators import (
    Actuator,
    BenchLoad,
    ControllerPosition,
    ControllerPositionVelocity,
    ControllerTorque,
    ControllerVelocity,
    build_law,
    simulate_bench,
)


def ask(actuator: Actuator, command: list[float], q: float, v: float) -> float:
    law = build_law(actuator, timestep=0.001)
    state = law.initial_state(1, np.zeros(1))
    joint = np.array([q]), np.array([v]), np.zeros(1)
    return float(law.step(np.array([command]), *joint, {}, state).torque[0])


def test_each_controller_asks_for_the_torque_of_its_equation():
    assert ask(Actuator(joint="a", controller=ControllerTorque()), [3.0], 9, 9) == 3.0
    position = ControllerPosition(kp=20.0, kd=0.5)
    assert ask(
        Actuator(joint="a", controller=position), [0.4], 0.1, 2.0
    ) == pytest.approx(5.0)
    velocity = ControllerVelocity(kd=0.5)
    assert ask(
        Actuator(joint="a", controller=velocity), [3.0], 0.1, 2.0
    ) == pytest.approx(0.5)
    both = ControllerPositionVelocity(kp=20.0, kd=0.5, feed_forward=True)
    actuator = Actuator(joint="a", controller=both)
    assert ask(actuator, [0.4, 3.0, 0.25], 0.1, 2.0) == pytest.approx(6.75)


def test_inputs_name_the_columns_of_a_command():
    both = ControllerPositionVelocity(kp=1.0, kd=1.0, feed_forward=True)
    law = build_law(Actuator(joint="a", controller=both), timestep=0.001)
    assert law.inputs == ("position", "velocity", "torque")
    assert law.command_kind == "position"


def integrate_finely(
    *, kp: float, kd: float, inertia: float, delay: float, seconds: float, dt: float
) -> np.ndarray:
    """Positions after a unit step, in a PD loop whose torque acts `delay` late."""
    late = round(delay / dt)
    count = round(seconds / dt)
    q, v, torque = 0.0, 0.0, np.zeros(count)
    positions = np.empty(count)
    for n in range(count):
        positions[n] = q
        torque[n] = kp * (1.0 - q) - kd * v
        acting = torque[n - late] if n >= late else 0.0
        v_next = v + dt * acting / inertia
        q += dt * (v + v_next) / 2
        v = v_next
    return positions


@pytest.mark.parametrize("delay", [0.004, 0.0125, 0.0205])
def test_overshoot_of_a_delayed_loop_is_that_of_finer_integration(delay: float):
    kp, kd, inertia, dt = 30.0, 1.2, 0.05, 0.0005
    law = build_law(
        Actuator(joint="a", controller=ControllerTorque(), delay=delay), timestep=dt
    )
    q, v = np.zeros(1), np.zeros(1)
    state, positions = law.initial_state(1, q), []
    for _ in range(round(0.6 / dt)):
        positions.append(q[0])
        command = (kp * (1.0 - q) - kd * v)[:, None]
        out = law.step(command, q, v, np.zeros(1), {}, state)
        state = out.state
        v = v + dt * out.torque / inertia
        q = q + dt * v
    fine = integrate_finely(
        kp=kp, kd=kd, inertia=inertia, delay=delay, seconds=0.6, dt=dt / 20
    )
    assert max(positions) - 1.0 == pytest.approx(fine.max() - 1.0, rel=0.03)
    assert np.argmax(positions) * dt == pytest.approx(
        np.argmax(fine) * dt / 20, rel=0.03
    )


def test_a_delayed_goal_shifts_the_step_response_and_keeps_its_overshoot():
    kp, kd, inertia, delay = 30.0, 0.6, 0.05, 0.0173
    actuator = Actuator(
        joint="a", controller=ControllerPosition(kp=kp, kd=kd), delay=delay
    )
    law = build_law(actuator, timestep=0.0005)
    command = np.ones((1200, 1, 1))
    command[0] = 0.0
    q = simulate_bench(law, BenchLoad(inertia=inertia), command).position[:, 0]
    natural = math.sqrt(kp / inertia)
    ratio = kd / (2 * math.sqrt(kp * inertia))
    damped = math.sqrt(1 - ratio**2)
    assert q.max() - 1.0 == pytest.approx(math.exp(-math.pi * ratio / damped), rel=0.03)
    peak = math.pi / (natural * damped) + delay
    assert np.argmax(q) * 0.0005 == pytest.approx(peak, rel=0.03)


def test_the_velocity_filter_has_the_time_constant_asked_for():
    controller = ControllerPosition(kp=1.0, kd=1.0, velocity_filter=0.01)
    law = build_law(Actuator(joint="a", controller=controller), timestep=0.0005)
    state = law.initial_state(1, np.zeros(1))
    one, zero = np.ones(1), np.zeros(1)
    for _ in range(20):  # 0.01 s of 1 rad/s
        out = law.step(zero[:, None], zero, one, zero, {}, state)
        state = out.state
    assert out.torque[0] == pytest.approx(-(1 - math.exp(-1.0)), rel=1e-9)
    unfiltered = {"velocity_filter": np.zeros(1)}
    out = law.step(zero[:, None], zero, one, zero, unfiltered, state)
    assert out.torque[0] == -1.0


def test_a_slewed_goal_moves_no_faster_than_its_rate():
    controller = ControllerPosition(kp=1.0)
    actuator = Actuator(joint="a", controller=controller, slew_rate=5.0)
    law = build_law(actuator, timestep=0.01)
    zero, torques = np.zeros(1), []
    state = law.initial_state(1, zero)
    for goal in [0.12, 0.12, 0.12, 0.12, -1.0]:
        out = law.step(np.array([[goal]]), zero, zero, zero, {}, state)
        state = out.state
        torques.append(out.torque[0])
    assert torques == pytest.approx([0.05, 0.10, 0.12, 0.12, 0.07])
