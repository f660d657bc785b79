"""Motors against the textbook, a datasheet's line and Minitaur's table."""

import math

import msgspec
import numpy as np
import pytest

from realworthy.actuators import (
    Actuator,
    ActuatorOutput,
    BadActuator,
    ControllerDuty,
    ControllerTorque,
    ControllerVoltage,
    MotorDc,
    MotorTorqueSpeed,
    Thermal,
    build_law,
)

K, R, V = 0.32, 4.8, 7.4
PLAIN = MotorDc(torque_constant=K, resistance=R, supply_voltage=V)


def drive(
    motor: MotorDc | MotorTorqueSpeed,
    controller: ControllerDuty | ControllerTorque | ControllerVoltage,
    command: np.ndarray,
    velocity: np.ndarray,
    *,
    gear: float = 1.0,
    torque_limit: float | None = None,
) -> ActuatorOutput:
    """One step of a joint at position 0."""
    actuator = Actuator(
        joint="a",
        controller=controller,
        motor=motor,
        gear=gear,
        torque_limit=torque_limit,
    )
    law = build_law(actuator, timestep=0.001)
    still = np.zeros(velocity.size)
    state = law.initial_state(velocity.size, still)
    return law.step(command[:, None], still, velocity, still, {}, state)


def test_dc_torque_speed_curve_in_all_quadrants():
    speed = np.linspace(-40, 40, 401)  # no-load speed is 23 rad/s
    stall = K * V / R
    for voltage in (-V, -2.0, 0.0, 3.0, V):
        out = drive(PLAIN, ControllerVoltage(), np.full(401, voltage), speed)
        by_hand = np.array([K * (voltage - K * w) / R for w in speed])
        error = np.sqrt(np.mean((out.torque - by_hand) ** 2))
        assert error < 0.02 * stall
        assert out.current == pytest.approx(by_hand / K)


def test_back_emf_follows_the_torque_constant_unless_it_is_given():
    own = msgspec.structs.replace(PLAIN, back_emf_constant=0.25)
    speed = np.array([8.0])
    assert drive(
        own, ControllerVoltage(), np.array([V]), speed
    ).torque == pytest.approx(K * (V - 0.25 * 8.0) / R)
    law = build_law(
        Actuator(joint="a", controller=ControllerVoltage(), motor=PLAIN), timestep=0.001
    )
    stronger = {"torque_constant": np.array([0.4])}
    still = np.zeros(1)
    joint = still, speed, still
    out = law.step(np.full((1, 1), V), *joint, stronger, law.initial_state(1, still))
    assert out.torque == pytest.approx(0.4 * (V - 0.4 * 8.0) / R)


def test_a_torque_request_is_met_as_far_as_the_supply_and_the_limit_allow():
    motor = msgspec.structs.replace(PLAIN, current_limit=1.0)
    speed = np.array([0.0, 0.0, 10.0, 20.0, 30.0, -20.0])
    asked = np.array([0.2, 0.5, 0.5, 0.5, 0.5, 0.5])
    out = drive(motor, ControllerTorque(), asked, speed)
    # in reach; limited by 1 A; supply leaves (7.4−3.2)/4.8 A; 0.208 A; −0.458 A; 1 A
    by_hand = [0.2, K, K * 4.2 / R, K * 1.0 / R, K * -2.2 / R, K]
    assert out.torque == pytest.approx(by_hand)


def test_a_datasheet_line_bounds_driving_and_leaves_braking_whole():
    motor = MotorTorqueSpeed(stall_torque=10.0, no_load_speed=20.0)
    speed = np.array([0.0, 5.0, 10.0, 20.0, 30.0, -10.0, 10.0, -5.0])
    asked = np.array([99.0, 99.0, 2.0, 99.0, 99.0, 99.0, -99.0, -99.0])
    expected = [10.0, 7.5, 2.0, 0.0, 0.0, 10.0, -10.0, -7.5]
    out = drive(motor, ControllerTorque(), asked, speed)
    assert out.torque == pytest.approx(expected)
    limited = drive(motor, ControllerTorque(), asked, speed, torque_limit=6.0)
    assert limited.torque == pytest.approx(np.clip(expected, -6.0, 6.0))


def test_firmware_bounds_the_duty_and_misses_its_current_limit_at_speed():
    limit = 0.5
    motor = msgspec.structs.replace(PLAIN, current_limit=limit)
    speed = np.linspace(-45, 45, 181)
    out = drive(motor, ControllerDuty(duty_gain=100.0), np.ones(181), speed)
    duty = []
    for w in speed:  # methods: [(K ω − R i_max)/V, (K ω + R i_max)/V] ∩ [−1, 1]
        lower, upper = (K * w - R * limit) / V, (K * w + R * limit) / V
        duty.append(min(max(min(max(100.0, lower), upper), -1.0), 1.0))
    assert out.current == pytest.approx((np.array(duty) * V - K * speed) / R)
    assert out.current is not None
    assert out.current[90] == pytest.approx(limit)
    assert out.current[0] > 2 * limit  # at −45 rad/s no duty can hold it


def test_minitaur_torque_follows_its_table():
    currents = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
    torques = [0.0, 1.0, 1.9, 2.45, 3.0, 3.25, 3.5]
    motor = MotorDc(
        torque_constant=0.0954,
        resistance=0.186,
        supply_voltage=16.0,
        current_table=tuple(currents),
        torque_table=tuple(torques),
    )
    duty, speed = np.linspace(-1, 1, 41), np.linspace(-60, 60, 41)
    out = drive(motor, ControllerVoltage(), 16.0 * duty, speed)
    current = (16.0 * duty - 0.0954 * speed) / 0.186
    by_hand = np.sign(current) * np.interp(np.abs(current), currents, torques)
    assert out.torque == pytest.approx(by_hand)
    assert drive(motor, ControllerVoltage(), 16 * np.ones(1), np.zeros(1)).torque == 3.5


def test_a_motor_gives_half_its_torque_at_its_saturation_current():
    motor = msgspec.structs.replace(PLAIN, saturation_current=V / R)
    volts, speed = np.array([V, -V, V / 2, 0.0]), np.array([0.0, 0.0, 0.0, 5.0])
    out = drive(motor, ControllerVoltage(), volts, speed)
    braking = -K * 5.0 / R
    by_hand = [K * V / R / 2, -K * V / R / 2, K * V / R / 3]
    by_hand.append(K * braking / (1 + abs(braking) * R / V))
    assert out.torque == pytest.approx(by_hand)
    assert out.current == pytest.approx([V / R, -V / R, V / R / 2, braking])
    with pytest.raises(BadActuator, match="saturation_current"):
        msgspec.structs.replace(
            motor, current_table=(0.0, 1.0), torque_table=(0.0, 0.3)
        )


def test_inductance_delays_the_current_by_its_time_constant():
    inductance = 0.012  # L/R = 2.5 ms
    motor = msgspec.structs.replace(PLAIN, inductance=inductance)
    law = build_law(
        Actuator(joint="a", controller=ControllerVoltage(), motor=motor),
        timestep=0.0005,
    )
    zero, currents, impulse = np.zeros(1), [], 0.0
    state = law.initial_state(1, zero)
    for _ in range(10):
        out = law.step(np.full((1, 1), V), zero, zero, zero, {}, state)
        state = out.state
        currents.append(state["current"][0, 0])
        impulse += out.torque[0] * 0.0005
    time = 0.0005 * np.arange(1, 11)
    tau = inductance / R
    assert currents == pytest.approx(V / R * (1 - np.exp(-time / tau)), rel=1e-9)
    exact = K * V / R * (0.005 - tau * (1 - math.exp(-0.005 / tau)))
    assert impulse == pytest.approx(exact, rel=1e-9)


def heat(motor: MotorDc, torque: float, seconds: float) -> np.ndarray:
    """Temperature rises [K], once a second, of a motor that holds `torque` at rest."""
    actuator = Actuator(joint="a", controller=ControllerTorque(), motor=motor)
    law = build_law(actuator, timestep=0.1)
    zero, rises = np.zeros(1), []
    state = law.initial_state(1, zero)
    for _ in range(round(seconds / 0.1)):
        rises.append(state["temperature_rise"][0, 0])
        state = law.step(np.full((1, 1), torque), zero, zero, zero, {}, state).state
    return np.array(rises)[::10]


def test_a_heated_motor_has_the_time_constant_of_its_resistance_and_capacity():
    thermal = Thermal(
        thermal_resistance=6.0, thermal_capacity=15.0, temperature_coefficient=0.0
    )
    motor = msgspec.structs.replace(PLAIN, thermal=thermal)
    rises = heat(motor, K * 0.8, 900.0)
    final = 6.0 * 0.8**2 * R
    assert rises[-1] == pytest.approx(final, rel=1e-3)
    reached = np.interp(final * (1 - math.exp(-1)), rises, np.arange(900))
    assert reached == pytest.approx(6.0 * 15.0, rel=0.02)


def test_copper_heats_further_than_a_constant_resistance_would():
    thermal = Thermal(thermal_resistance=6.0, thermal_capacity=15.0)
    motor = msgspec.structs.replace(PLAIN, thermal=thermal)
    cold = 6.0 * 0.8**2 * R  # rise = cold (1 + α rise) at equilibrium
    rises = heat(motor, K * 0.8, 1500.0)
    assert rises[-1] == pytest.approx(cold / (1 - 0.00393 * cold), rel=1e-3)


def test_a_hot_motor_lowers_its_current_limit_linearly():
    thermal = Thermal(
        thermal_resistance=6.0,
        thermal_capacity=15.0,
        temperature_coefficient=0.0,
        warn_temperature=60.0,
        max_temperature=100.0,
    )
    motor = msgspec.structs.replace(
        PLAIN, thermal=thermal, current_limit=1.0, supply_voltage=24.0
    )
    actuator = Actuator(joint="a", controller=ControllerTorque(), motor=motor)
    law = build_law(actuator, timestep=0.001)
    still = np.zeros(4)
    rise = np.array([20.0, 45.0, 65.0, 90.0])[:, None]  # over 25 °C
    state = law.initial_state(4, still) | {"temperature_rise": rise}
    out = law.step(np.full((4, 1), 9.0), still, still, still, {}, state)
    assert out.current == pytest.approx([1.0, 0.75, 0.25, 0.0])


@pytest.mark.parametrize("controller", [ControllerTorque(), ControllerVoltage()])
def test_a_geared_motor_equals_the_same_motor_seen_from_the_joint(controller):
    gear, speed, command = 50.0, np.linspace(-25, 25, 11), np.linspace(-7, 7, 11)
    shaft = msgspec.structs.replace(PLAIN, torque_constant=K / gear)
    geared = drive(shaft, controller, command / 20, speed, gear=gear)
    plain = drive(PLAIN, controller, command / 20, speed)
    assert geared.torque == pytest.approx(plain.torque)
    assert geared.current == pytest.approx(plain.current)


def test_an_unpowered_motor_neither_pulls_nor_heats():
    motor = msgspec.structs.replace(
        PLAIN, thermal=Thermal(thermal_resistance=6.0, thermal_capacity=15.0)
    )
    law = build_law(
        Actuator(joint="a", controller=ControllerVoltage(), motor=motor), timestep=0.001
    )
    still = np.zeros(2)
    out = law.step(
        np.full((2, 1), V),
        still,
        still + 3.0,
        still,
        {},
        law.initial_state(2, still),
        powered=np.array([True, False]),
    )
    assert (out.torque != 0).tolist() == [True, False]
    assert (out.state["temperature_rise"][:, 0] > 0).tolist() == [True, False]


def test_an_unpowered_ideal_motor_does_not_pull():
    law = build_law(Actuator(joint="a", controller=ControllerTorque()), timestep=0.001)
    still, powered = np.zeros(2), np.array([True, False])
    state = law.initial_state(2, still)
    command = np.ones((2, 1))
    out = law.step(command, still, still, still, {}, state, powered=powered)
    assert out.torque.tolist() == [1.0, 0.0]


def test_an_impossible_motor_is_refused():
    with pytest.raises(BadActuator, match=r"dc: resistance is 0; it must be above 0."):
        MotorDc(torque_constant=K, resistance=0.0, supply_voltage=V)
    with pytest.raises(BadActuator, match=r"current_table must rise from 0"):
        msgspec.structs.replace(PLAIN, current_table=(0.0, 2.0), torque_table=(0.0,))
    derated = Thermal(
        thermal_resistance=6.0,
        thermal_capacity=15.0,
        warn_temperature=60.0,
        max_temperature=90.0,
    )
    with pytest.raises(BadActuator, match=r"lower a current_limit, and there is none"):
        msgspec.structs.replace(PLAIN, thermal=derated)
    upside_down = msgspec.structs.replace(derated, warn_temperature=95.0)
    with pytest.raises(BadActuator, match=r"the warning below the maximum"):
        msgspec.structs.replace(PLAIN, thermal=upside_down, current_limit=1.0)
