"""Friction, forces and process noise against the laws they stand for."""

import numpy as np
import pytest

from realworthy.realities import RealityNoise
from realworthy.realities.effects import (
    Backlash,
    Cable,
    Drag,
    Hysteresis,
    LoadFriction,
    Stribeck,
)
from realworthy.realities.worlds import RealityWorlds

from .conftest import INERTIA, PERIOD, SERVO, MakeReality, rotor, run

COULOMB, STATIC = 0.3, 0.2
STICKY = rotor(joint=f'frictionloss="{COULOMB}"')


def break_away(worlds: RealityWorlds) -> float:
    """Torque [N·m] at which a slow ramp of 0.1 N·m/s starts to turn the rotor."""
    course = run(worlds, lambda t: 0.1 * t, 7.0)
    moving = np.flatnonzero(course["qvel"][:, 0] > 0.01)
    return float(0.1 * course["time"][moving[0]])


def test_stribeck_breaks_away_at_coulomb_plus_static(make: MakeReality):
    stribeck = Stribeck(joint="hinge", static=STATIC, velocity=0.05)
    assert break_away(RealityWorlds(make(STICKY))) == pytest.approx(COULOMB, rel=0.05)
    worlds = RealityWorlds(make(STICKY, stribeck))
    assert break_away(worlds) == pytest.approx(COULOMB + STATIC, rel=0.03)


def test_stribeck_slides_with_coulomb_friction_alone(make: MakeReality):
    reality = make(STICKY, Stribeck(joint="hinge", static=STATIC, velocity=0.05))
    speed = run(RealityWorlds(reality), 1.0, 0.3)["qvel"][:, 0]
    acceleration = (speed[-1] - speed[199]) / 0.1
    assert acceleration == pytest.approx((1.0 - COULOMB) / INERTIA, rel=0.01)


def test_a_stuck_joint_creeps_less_than_an_encoder_sees(make: MakeReality):
    reality = make(STICKY, Stribeck(joint="hinge", static=STATIC))
    course = run(RealityWorlds(reality), 0.9 * (COULOMB + STATIC), 2.0)
    assert abs(course["qpos"][-1, 0]) < 2e-4


@pytest.mark.parametrize("torque", [1.0, 3.0])
def test_load_friction_grows_with_the_torque(make: MakeReality, torque: float):
    reality = make(STICKY, LoadFriction(joint="hinge", coefficient=0.2))
    speed = run(RealityWorlds(reality), torque, 0.3)["qvel"][:, 0]
    acceleration = (speed[-1] - speed[99]) / 0.2
    left = torque - COULOMB - 0.2 * torque
    assert acceleration == pytest.approx(left / INERTIA, rel=0.01)


def test_friction_of_an_explicit_drive_gets_more_on_top(make: MakeReality):
    law = (
        "hinge: {joint: hinge, controller: {kind: torque}, torque_limit: 10, friction: "
        "{kind: m2, coulomb_friction: 0.3, stribeck_friction: 0.1}}"
    )
    bare = make(rotor(), actuators=law)
    more = make(rotor(), LoadFriction(joint="hinge", coefficient=0.2), actuators=law)
    for reality, lost in ((bare, 0.3), (more, 0.3 + 0.2 * 2.0)):
        speed = run(RealityWorlds(reality), 2.0, 0.4)["qvel"][:, 0]
        acceleration = (speed[-1] - speed[199]) / 0.2
        assert acceleration == pytest.approx((2.0 - lost) / INERTIA, rel=0.01)


def test_friction_starts_from_e_in_every_trial(make: MakeReality):
    reality = make(
        STICKY,
        Stribeck(joint="hinge", static=STATIC),
        parameters={"all.coulomb_friction": 2.0},
    )
    worlds = RealityWorlds(reality)
    for _ in range(3):
        worlds.reset()
        assert worlds.simulator.field("dof_frictionloss")[0, 0] == 2 * COULOMB
        run(worlds, 0.1, 0.02)
        now = worlds.simulator.field("dof_frictionloss")[0, 0]
        assert now == pytest.approx(2 * COULOMB + STATIC)


def test_drag_slows_a_coasting_rotor_hyperbolically(make: MakeReality):
    worlds = RealityWorlds(make(rotor(), Drag(joint="hinge", coefficient=0.01)))
    worlds.simulator.array("qvel")[0, 0] = 20.0
    speed = run(worlds, 0.0, 1.0)["qvel"][:, 0]
    assert speed[-1] == pytest.approx(20 / (1 + 0.01 * 20 * 1.0 / INERTIA), rel=0.01)


def test_drag_ends_in_a_terminal_speed(make: MakeReality):
    worlds = RealityWorlds(make(rotor(), Drag(joint="hinge", coefficient=0.01)))
    speed = run(worlds, 1.0, 2.0)["qvel"][-1, 0]
    assert speed == pytest.approx(np.sqrt(1.0 / 0.01), rel=0.01)


def test_a_cable_is_a_spring_around_its_rest(make: MakeReality):
    model = rotor(joint='damping="0.5"')
    cable = Cable(joint="hinge", stiffness=2.0, rest=0.3)
    for torque in (0.0, 1.0):
        worlds = RealityWorlds(make(model, cable))
        angle = run(worlds, torque, 3.0)["qpos"][-1, 0]
        assert angle == pytest.approx(0.3 + torque / 2.0, abs=1e-3)


def test_a_cable_pulls_the_link_and_not_the_motor(make: MakeReality):
    """Within its play the motor feels nothing of a cable on the link."""
    play = Backlash(joint="hinge", width=0.4)
    cable = Cable(joint="hinge", stiffness=2.0, rest=0.1)
    worlds = RealityWorlds(make(rotor(joint='damping="1"'), play, cable))
    course = run(worlds, 0.0, 0.2)
    motor, gap = course["qpos"].T
    assert np.abs(motor).max() < 1e-9
    assert gap.max() > 0.05


def test_hysteresis_closes_a_dahl_loop(make: MakeReality):
    """A slow servo takes the joint around ±A; Dahl's equation has a closed form."""
    slip, stiffness, amplitude = 0.5, 10.0, 0.1
    effect = Hysteresis(joint="hinge", torque=slip, stiffness=stiffness)
    model = rotor(SERVO.replace('kp="50" kv="2"', 'kp="5000" kv="50"'))
    reality = make(model.replace('forcerange="-10 10"', ""), effect)
    course = run(
        RealityWorlds(reality),
        lambda t: amplitude * np.sin(np.pi * t),
        6.0,
        "qfrc_applied",
    )
    angle, force = course["qpos"][-2000:, 0], -course["qfrc_applied"][-2000:, 0]
    reached = np.exp(-2 * stiffness * amplitude / slip)
    end = slip * (1 - reached) / (1 + reached)
    up = 2 * amplitude * slip - (slip + end) * slip / stiffness * (1 - reached)
    area = np.trapezoid(force, angle)
    assert force.max() == pytest.approx(end, rel=0.02)
    assert area == pytest.approx(2 * up, rel=0.02)


def test_hysteresis_slips_at_its_torque(make: MakeReality):
    effect = Hysteresis(joint="hinge", torque=0.5, stiffness=20.0)
    course = run(RealityWorlds(make(rotor(), effect)), 1.0, 0.5, "qfrc_applied")
    assert -course["qfrc_applied"][-1, 0] == pytest.approx(0.5, rel=1e-3)


def test_process_noise_moves_worlds_apart_as_its_size_says(make: MakeReality):
    worlds = RealityWorlds(make(rotor(), noise=RealityNoise(process=0.5)), 3000)
    worlds.step(np.zeros((3000, 1)), 4)
    speed = worlds.simulator.array("qvel")[:, 0].copy()
    assert speed.std() == pytest.approx(0.5 * PERIOD / INERTIA, rel=0.05)
    worlds.step(np.zeros((3000, 1)), 4)
    second = worlds.simulator.array("qvel")[:, 0] - speed
    assert abs(np.corrcoef(speed, second)[0, 1]) < 0.06  # drawn anew each period


def test_process_noise_repeats_by_seed_and_differs_by_trial(make: MakeReality):
    reality = make(rotor(), noise=RealityNoise(process=0.5))

    def speeds(*, seed: int, trial: int, threads: int = 1) -> np.ndarray:
        worlds = RealityWorlds(reality, 5, seed=seed, thread_count=threads)
        worlds.reset(trial)
        for _ in range(10):
            worlds.step(np.zeros((5, 1)), 4)
        return np.array(worlds.simulator.array("qvel"))

    first = speeds(seed=1, trial=1)
    np.testing.assert_array_equal(first, speeds(seed=1, trial=1, threads=2))
    assert (first != speeds(seed=1, trial=2)).all()
    assert (first != speeds(seed=2, trial=1)).all()
