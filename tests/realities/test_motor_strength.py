"""Motors that fade, and a supply that sags, for every kind of drive."""

import numpy as np
import pytest

from realworthy.realities.effects import SupplySag, ThermalFade
from realworthy.realities.worlds import RealityWorlds

from .conftest import DC_MOTOR, SERVO, MakeReality, rotor, run

LOSS, TIME_CONSTANT = 0.3, 0.5
FADE = ThermalFade(
    joint="hinge", time_constant=TIME_CONSTANT, loss=LOSS, rated_torque=0.5
)
JAMMED = {"hinge.armature": 1e6}
"""So that it does not turn, and a servo's torque is that of its command."""
LAW = (
    "hinge: {joint: hinge, controller: {kind: torque}, torque_limit: 10, "
    "soft_saturation: 100}"
)
DRIVES = {
    "motor": (rotor(), "", 2.0, 2.0),
    "servo": (rotor(SERVO), "", 0.04, 2.0),
    "servo at its limit": (rotor(SERVO), "", 2.0, 10.0),
    "motor limited by its joint": (
        rotor('<motor name="hinge" joint="hinge"/>', 'actuatorfrcrange="-2 2"'),
        "",
        5.0,
        2.0,
    ),
    "geared motor": (
        rotor('<motor name="hinge" joint="hinge" gear="4" ctrlrange="-9 9"/>'),
        "",
        0.5,
        2.0,
    ),
    "explicit drive": (rotor(), LAW, 2.0, 2.0),
    "dc motor": (rotor(DC_MOTOR), "", 8.0, 2.0),
}
"""Name → model, described actuators, command, torque [N·m] when all is well."""


@pytest.mark.parametrize("name", DRIVES)
def test_heat_takes_its_share_with_its_time_constant(make: MakeReality, name: str):
    model, actuators, command, torque = DRIVES[name]
    worlds = RealityWorlds(make(model, FADE, actuators=actuators, parameters=JAMMED))
    course = run(worlds, command, 5 * TIME_CONSTANT)
    strength = course["qfrc_actuator"][:, 0] / torque
    gone = (1 - strength) / LOSS
    assert strength[0] == pytest.approx(1.0, abs=0.01)
    assert strength[-1] == pytest.approx(1 - LOSS * (1 - np.exp(-5)), rel=0.01)
    found = course["time"][np.flatnonzero(gone > 1 - np.exp(-1))[0]]
    assert found == pytest.approx(TIME_CONSTANT, rel=0.05)


def test_heat_follows_the_square_of_the_torque(make: MakeReality):
    """At half of what is rated, a quarter of the heat."""
    fade = ThermalFade(joint="hinge", time_constant=0.1, loss=0.2, rated_torque=4.0)
    course = run(RealityWorlds(make(rotor(), fade, parameters=JAMMED)), 2.0, 1.0)
    strength = course["qfrc_actuator"][-1, 0] / 2.0
    assert strength == pytest.approx(1 - 0.2 * (2.0 * strength / 4.0) ** 2, rel=1e-3)


def test_rated_torque_is_half_of_the_limit_unless_given(make: MakeReality):
    given = ThermalFade(joint="hinge", time_constant=0.1, loss=0.2, rated_torque=5.0)
    left_out = ThermalFade(joint="hinge", time_constant=0.1, loss=0.2)
    first, second = (
        run(RealityWorlds(make(rotor(), fade)), 3.0, 0.2)["qfrc_actuator"]
        for fade in (given, left_out)
    )
    np.testing.assert_array_equal(first, second)


def test_a_hot_dc_motor_loses_torque_but_no_speed(make: MakeReality):
    """Heat is resistance: torque K (V − K ω)/R fades, V = K ω stays."""
    course = run(RealityWorlds(make(rotor(DC_MOTOR), FADE)), 6.0, 6.0)
    assert course["qvel"][-1, 0] == pytest.approx(6.0 / 0.5, rel=0.01)


TWO = """
<mujoco><option timestep="0.001"/><default><joint axis="0 0 1"/></default><worldbody>
  <body><joint name="a" frictionloss="1000"/><geom size="0.1"/></body>
  <body><joint name="b" frictionloss="1000"/><geom size="0.1"/></body>
</worldbody><actuator>
  <motor name="a" joint="a" ctrlrange="-4 4"/>
  <motor name="b" joint="b" ctrlrange="-8 8"/>
</actuator></mujoco>
"""


@pytest.mark.parametrize(
    ("command", "strength"), [((4.0, 8.0), 0.6), ((4.0, 0.0), 0.8), ((0.0, 2.0), 0.95)]
)
def test_the_supply_sags_with_the_mean_load(
    make: MakeReality, command: tuple[float, float], strength: float
):
    """loss 0.4: all at their limits leave 0.6; one of two at its limit leaves 0.8."""
    worlds = RealityWorlds(make(TWO, SupplySag(loss=0.4, time_constant=0.02)))
    worlds.step(np.array(command), 400)
    torque = worlds.simulator.array("qfrc_actuator")[0]
    np.testing.assert_allclose(torque, strength * np.array(command), rtol=1e-3)


def test_a_sagging_supply_slows_a_dc_motor(make: MakeReality):
    """Its voltage falls, so its no-load speed does: V (1 − loss · load) = K ω."""
    reality = make(rotor(DC_MOTOR, 'damping="0.05"'), SupplySag(loss=0.3))
    speed = run(RealityWorlds(reality), 12.0, 4.0)["qvel"][-1, 0]
    torque = 0.05 * speed
    volts = 12.0 * (1 - 0.3 * torque / 3.0)
    assert speed == pytest.approx((volts - torque * 2 / 0.5) / 0.5, rel=0.03)


def test_every_trial_starts_cold(make: MakeReality):
    worlds = RealityWorlds(
        make(rotor(SERVO), FADE, SupplySag(loss=0.3), parameters=JAMMED)
    )
    first = run(worlds, 0.04, 1.0)["qfrc_actuator"]
    worlds.reset()
    assert worlds.simulator.field("actuator_gainprm")[0, 0, 0] == 50.0
    np.testing.assert_array_equal(first, run(worlds, 0.04, 1.0)["qfrc_actuator"])
    assert first[-1] < 0.8 * first[0]
