"""What effects build into a model, against mechanics."""

import numpy as np
import pytest

from realworthy.realities import RealityFile, make_reality
from realworthy.realities.effects import (
    Backlash,
    Contact,
    Flexibility,
    Saturation,
    Slosh,
)
from realworthy.realities.worlds import RealityWorlds

from .conftest import (
    ARMATURE,
    INERTIA,
    LINK,
    PERIOD,
    SERVO,
    MakeReality,
    count_cycles,
    rotor,
    run,
)

G = 9.81


@pytest.mark.parametrize("angle", ["degree", "radian"])
def test_backlash_lets_link_and_motor_come_apart_by_its_width(
    make: MakeReality, angle: str
):
    model = rotor(SERVO).replace("<option", f'<compiler angle="{angle}"/><option')
    reality = make(model, Backlash(joint="hinge", width=0.05))
    course = run(RealityWorlds(reality), lambda t: 0.5 * np.sin(6 * t), 3.0)
    gap = course["qpos"][:, 1]
    assert np.ptp(gap) == pytest.approx(0.05, rel=0.05)


def test_in_its_play_the_motor_turns_alone_and_then_with_the_link(make: MakeReality):
    """Crossing half the play from rest takes √(width · armature / torque)."""
    true_armature = 2 * ARMATURE
    reality = make(
        rotor(),
        Backlash(joint="hinge", width=0.04),
        parameters={"hinge.armature": true_armature},
    )
    course = run(RealityWorlds(reality), 1.0, 1.0)
    link_moves = np.flatnonzero(np.abs(course["qvel"].sum(1)) > 1e-6)[0]
    crossing = np.sqrt(0.04 * true_armature / 1.0)
    assert course["time"][link_moves] == pytest.approx(crossing, abs=0.002)
    link = course["qpos"].sum(1)
    late = 0.5 * 1.0 / (LINK + true_armature) * 1.0**2
    assert link[-1] == pytest.approx(late, rel=0.1)


@pytest.mark.parametrize("rotor_inertia", [ARMATURE, 1e4])
def test_flexibility_rings_at_its_frequency(make: MakeReality, rotor_inertia: float):
    """ω² = k (1/J_motor + 1/J_link); with a motor that cannot move, k/J_link."""
    reality = make(
        rotor(),
        Flexibility(joint="hinge", stiffness=20.0),
        parameters={"hinge.armature": rotor_inertia},
    )
    worlds = RealityWorlds(reality)
    worlds.simulator.array("qvel")[0, 1] = 1.0
    course = run(worlds, 0.0, 3.0)
    expected = np.sqrt(20.0 * (1 / rotor_inertia + 1 / LINK)) / (2 * np.pi)
    found = count_cycles(course["qpos"][:, 1], course["time"])
    assert found == pytest.approx(expected, rel=0.01)


def test_play_and_flex_on_one_joint_run(make: MakeReality):
    reality = make(
        rotor(SERVO),
        Backlash(joint="hinge", width=0.02),
        Flexibility(joint="hinge", stiffness=50.0, damping=0.05),
    )
    worlds = RealityWorlds(reality)
    course = run(worlds, lambda t: 0.5 * np.sin(6 * t), 2.0)
    assert not worlds.has_diverged()
    assert np.ptp(course["qpos"][:, 1]) == pytest.approx(0.02, rel=0.1)


def test_joints_behind_a_new_one_start_where_they_did():
    effects = [
        Backlash(joint="shoulder_lift", width=0.02),
        Flexibility(joint="elbow_flex", stiffness=50.0),
        Slosh(body="wrist", mass=0.02, length=0.05),
    ]
    file = RealityFile(schema=1, twin="arm", effects=effects)
    reality = make_reality("test", file)
    layout = RealityWorlds(reality).layout
    start = reality.truth.compiled.nominal("own.initial_qpos")
    home = [0.0, -0.9, 0.9, 0.6, 0.0, 0.0, 0.3]
    names = [j for j in layout.joints if not j.endswith((".play", ".flex"))]
    assert [start[layout.joint(name)[0]] for name in names] == home
    assert start[layout.joint("shoulder_lift.play")[0]] == 0.0


@pytest.mark.parametrize("tilt", [0.0, 75.0])
def test_a_liquid_hangs_still_and_swings_like_a_pendulum(
    make: MakeReality, tilt: float
):
    model = f"""
<mujoco><option timestep="0.001"/><worldbody>
  <body name="tank" euler="{tilt} 20 0">
    <joint name="hinge" armature="1e5"/>
    <geom type="box" pos="0.1 0.2 0" size="0.1 0.1 0.1" mass="2"/>
  </body>
</worldbody>
<actuator><motor name="hinge" joint="hinge" ctrlrange="-1 1"/></actuator></mujoco>
"""
    liquid = Slosh(body="tank", mass=0.5, length=0.1, damping=1e-6)
    worlds = RealityWorlds(make(model, liquid))
    still = run(worlds, 0.0, 1.0, "subtree_com")
    assert np.abs(still["qvel"][:, 1:]).max() < 1e-3
    model_now = worlds.bound.model
    assert model_now.body_subtreemass[0] == pytest.approx(2.5)
    worlds.reset()
    worlds.simulator.array("qvel")[0, 1] = 0.3
    swing = run(worlds, 0.0, 5.0)
    expected = np.sqrt(G / 0.1) / (2 * np.pi)
    found = count_cycles(swing["qvel"][:, 1], swing["time"])
    assert found == pytest.approx(expected, rel=0.01)


def test_an_obstacle_stops_a_link_that_otherwise_touches_nothing(make: MakeReality):
    """The arm's side, 0.02 m off its axis, meets the box at y = 0.1 m."""
    wall = Contact(position=(0.2, 0.2, 0.0), size=(0.3, 0.1, 0.1))
    post = Contact(position=(-2.0, 0.0, 0.0), size=(0.1, 0.1, 0.1))
    free = run(RealityWorlds(make(rotor(SERVO))), 1.0, 1.0)
    stopped = run(RealityWorlds(make(rotor(SERVO), wall, post)), 1.0, 1.0)
    assert free["qpos"][-1, 0] == pytest.approx(1.0, abs=0.01)
    # corner of the arm at (0.3, 0.02): 0.3 sin q + 0.02 cos q = 0.1
    reach = np.arcsin(0.1 / np.hypot(0.3, 0.02)) - np.arctan2(0.02, 0.3)
    assert stopped["qpos"][-1, 0] == pytest.approx(reach, abs=0.02)


@pytest.mark.parametrize(
    "actuators",
    [
        "",
        "hinge: {joint: hinge, controller: {kind: torque}, torque_limit: 10}",
        "hinge: {joint: hinge, controller: {kind: torque}, torque_limit: 10, "
        "soft_saturation: 100}",
    ],
    ids=["model", "native drive", "explicit drive"],
)
def test_saturation_ends_the_torque(make: MakeReality, actuators: str):
    saturation = Saturation(joint="hinge", limit=2.0)
    worlds = RealityWorlds(make(rotor(), saturation, actuators=actuators))
    for command, torque in ((1.5, 1.5), (5.0, 2.0), (-5.0, -2.0)):
        worlds.reset()
        course = run(worlds, command, 0.1)
        assert course["qfrc_actuator"][-1, 0] == pytest.approx(torque, rel=1e-3)
        speed = course["qvel"][-1, 0]
        assert speed == pytest.approx(torque * 0.1 / INERTIA, rel=2e-3)


@pytest.mark.parametrize("factor", [0.5, 0.3, 2.0, 3.0])
def test_other_numerics_keep_the_control_period(make: MakeReality, factor: float):
    worlds = RealityWorlds(make(rotor(), timestep_factor=factor))
    assert worlds.period == pytest.approx(PERIOD)
    assert worlds.simulator.period == pytest.approx(PERIOD)
    assert worlds.timestep == pytest.approx(0.001 * factor, rel=0.35)


def test_what_effects_add_is_not_scaled_with_the_twin(make: MakeReality):
    reality = make(
        rotor(joint='damping="0.1"'),
        Flexibility(joint="hinge", stiffness=20.0, damping=0.3),
        Slosh(body="rotor", mass=0.5, length=0.1),
        parameters={"all.mass": 2.0, "all.damping": 3.0},
    )
    simulator = RealityWorlds(reality).simulator
    assert simulator.field("body_mass")[0, 1:] == pytest.approx([2.0, 0.5])
    assert simulator.field("dof_damping")[0, :2] == pytest.approx([0.3, 0.3])


def test_a_described_drive_can_be_late(make: MakeReality):
    """3 N·m after 10 ms: no torque in the ninth substep, all of it in the eleventh."""
    law = (
        "hinge: {joint: hinge, controller: {kind: torque}, torque_limit: 10, "
        "slew_rate: 1.0e9}"
    )
    reality = make(rotor(), actuators=law, parameters={"all.delay": 0.01})
    torque = run(RealityWorlds(reality), 3.0, 0.02)["qfrc_actuator"][:, 0]
    assert torque[8] == 0.0
    assert torque[11] == pytest.approx(3.0)
