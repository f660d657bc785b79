"""Many worlds behind a robot's interface, beside the one robot that is exact."""

import numpy as np
import pytest

from realworthy.realities import Interface, Reality, RealityFile, RealityNoise, StandIn
from realworthy.realities.control_link import ControlLink
from realworthy.realities.effects import (
    Backlash,
    Effect,
    Flexibility,
    Quantisation,
    Stribeck,
    SupplySag,
    ThermalFade,
)
from realworthy.realities.reality import make_reality
from realworthy.realities.worlds import RealityWorlds
from realworthy.robots import Command, State
from realworthy.twins import bind
from realworthy.twins.commands import describe_commands

from .conftest import PAIR, SERVO, MakeReality, rotor

NOISE = RealityNoise(
    position=0.01,
    velocity=0.1,
    torque=0.05,
    gyro=0.02,
    orientation=0.01,
    acceleration=0.1,
)
LEGS = [
    f"{leg}_{part}"
    for leg in ("FR", "FL", "RL", "RR")
    for part in ("hip", "thigh", "calf")
]


def describe(twin: str, *effects: Effect, **parts: object) -> Reality:
    file = RealityFile(schema=1, twin=twin, effects=list(effects), **parts)  # type: ignore[arg-type]
    return make_reality("test", file)


def pendulum() -> Reality:
    return describe(
        "pendulum",
        Stribeck(joint="joint", static=0.15),
        Backlash(joint="joint", width=0.02),
        ThermalFade(joint="joint", time_constant=0.5, loss=0.4, rated_torque=1.0),
        parameters={"joint.damping": 0.12, "all.delay": 0.012},
        interface=Interface(
            joint_sign=["joint"],
            encoder_offset={"joint": 0.03},
            unit_scale={"joint": 57.3},
        ),
    )


def arm() -> Reality:
    joints = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex")
    rest = ("wrist_yaw", "wrist_roll", "gripper")
    pan, lift, elbow, wrist = joints
    return describe(
        "arm",
        Flexibility(joint=lift, stiffness=60.0, damping=0.05),
        Backlash(joint=wrist, width=0.02),
        Quantisation(joint=elbow, step=0.01),
        parameters={f"{elbow}.position.sensor_bias": 0.05, "all.action_noise": 0.01},
        interface=Interface(
            joint_order=[elbow, lift, pan, wrist, *rest],
            joint_sign=[lift],
            default_pose={wrist: 0.08},
            rate=30.0,
        ),
        noise=NOISE,
    )


def velocity_arm() -> Reality:
    kind = Interface(command_kind="velocity", clock_offset=0.013)
    return describe("arm", interface=kind)


def quadruped() -> Reality:
    return describe(
        "quadruped",
        SupplySag(loss=0.2),
        interface=Interface(
            joint_order=LEGS,
            quaternion_order="xyzw",
            frame=(0.1, -0.2, 0.3),
            loss=0.2,
            stale_samples=0.1,
        ),
        noise=NOISE,
    )


def swing(reality: Reality, count: int) -> np.ndarray:
    """(count, inputs) commands that stay within limits and about home."""
    bound = bind(reality.twin)
    lines = describe_commands(bound)
    home = bound.compiled.own["own.initial_ctrl"]
    phase = 0.12 * np.arange(count)[:, None] + np.arange(len(lines))
    size = [2.0 if line.kind == "torque" else 0.3 for line in lines]
    return home + size * np.sin(phase)


@pytest.mark.parametrize("build", [pendulum, arm, velocity_arm, quadruped])
def test_a_world_reports_what_the_stand_in_of_its_trial_reports(build):
    reality, period = build(), 0.02
    worlds = RealityWorlds(reality, 2, thread_count=1)
    link = ControlLink(reality, worlds)
    robots = [StandIn(reality), StandIn(reality)]
    robots[1].connect()
    everywhere = np.arange(2)
    worlds.begin(everywhere)
    link.begin(everywhere)
    info = robots[0].info
    names = [
        *(f"{j}.{x}" for x in ("position", "velocity", "torque") for j in info.joints),
        *info.other_signals,
    ]
    columns = [link.signals.index(name) for name in names]
    assert sorted(names) == sorted(set(link.signals) - set(link.unreported))
    said = [_join(robot.read()) for robot in robots]
    np.testing.assert_allclose(link.report()[:, columns], said, atol=1e-6, rtol=0)
    moved = [said]
    for k, command in enumerate(swing(reality, 50)):
        for robot in robots:
            robot.write(Command(sequence=k, values=command))
            robot.wait(period)
        link.step(np.tile(command, (2, 1)), round(period / worlds.timestep))
        said = [_join(robot.read()) for robot in robots]
        np.testing.assert_allclose(link.report()[:, columns], said, atol=1e-6, rtol=0)
        moved.append(said)
    assert np.ptp(np.array(moved), axis=0)[:, : len(info.joints)].min() > 0.01


def _join(state: State) -> np.ndarray:
    return np.concatenate([state.position, state.velocity, state.torque, state.others])


def begin(
    reality: Reality, count: int, **start: object
) -> tuple[RealityWorlds, ControlLink]:
    worlds = RealityWorlds(reality, count, thread_count=1)
    link, everywhere = ControlLink(reality, worlds), np.arange(count)
    worlds.begin(everywhere, **start)  # type: ignore[arg-type]
    link.begin(everywhere)
    return worlds, link


def test_noise_has_its_sd_and_is_each_world_s_own(make: MakeReality):
    """Three joints at rest, so that everything that is reported is noise."""
    _, link = begin(make(PAIR, noise=NOISE), 300)
    rows = [link.report()]
    for _ in range(10):
        link.step(np.zeros((300, 2)), 4)
        rows.append(link.report())
    said = np.array(rows)
    for name in ("position", "velocity", "torque"):
        places = [link.signals.index(f"{j}.{name}") for j in ("left", "free", "right")]
        measured = said[..., places]
        assert measured.std() == pytest.approx(getattr(NOISE, name), rel=0.03)
        for axis in (0, 1, 2):  # steps, worlds and joints have nothing in common
            shared = measured.mean(axis=axis).std() / measured.std()
            assert shared == pytest.approx(measured.shape[axis] ** -0.5, rel=0.25)


def test_samples_are_lost_and_repeated_as_often_as_stated(make: MakeReality):
    faults = Interface(loss=0.2, stale_samples=0.1)
    _, link = begin(make(PAIR, noise=NOISE, interface=faults), 400)
    before, kept = link.report(), []
    for _ in range(20):
        link.step(np.zeros((400, 2)), 4)
        kept.append((link.report() == before).all(axis=1))
        before = link.report()
    share = 1 - 0.8 * 0.9
    sd = np.sqrt(share * (1 - share) / 8000)
    assert np.mean(kept) == pytest.approx(share, abs=3 * sd)
    assert np.std(np.mean(kept, axis=0)) > 0.05  # every world for itself


def test_jitter_is_the_sd_of_the_time_between_samples(make: MakeReality):
    """At one rad/s a position is a time."""
    reality = make(rotor(), interface=Interface(jitter=0.004))
    worlds, link = begin(reality, 200, qvel=[1.0])
    place, times = link.signals.index("hinge.position"), []
    for _ in range(60):
        link.step(np.zeros((200, 1)), 20)
        times.append(link.report()[:, place])
    passed = np.diff(np.array(times)[1:], axis=0)
    assert passed.mean() == pytest.approx(0.02, abs=1e-4)
    assert passed.std() == pytest.approx(0.004, rel=0.03)
    age = worlds.simulator.array("qpos")[:, 0] - times[-1]
    assert age.min() > -1e-9
    assert age.max() < np.sqrt(6) * 0.004 + 0.001


def test_equal_seeds_repeat_and_others_do_not(make: MakeReality):
    reality = make(PAIR, noise=RealityNoise(position=0.01, process=0.2))

    def play(link: ControlLink) -> np.ndarray:
        for _ in range(5):
            link.step(np.zeros((3, 2)), 4)
        return link.report()[:, [link.signals.index("left.position")]]

    (_, one), (_, same), (worlds, other) = (begin(reality, 3) for _ in range(3))
    first = play(one)
    np.testing.assert_array_equal(first, play(same))
    other.reseed(9)
    worlds.begin(np.arange(3))
    other.begin(np.arange(3))
    assert not (first == play(other)).any()
    other.reseed(reality.file.seed)
    worlds.begin(np.arange(3))
    other.begin(np.arange(3))
    np.testing.assert_array_equal(first, play(other))


def test_a_world_that_begins_anew_is_cold_and_the_others_stay_warm(make: MakeReality):
    """A servo of 50 N·m/rad, jammed where it gives 2 N·m, of which heat takes half."""
    fade = ThermalFade(joint="hinge", time_constant=0.02, loss=0.5, rated_torque=0.5)
    stick = Stribeck(joint="hinge", static=0.5)
    jammed = {"hinge.armature": 1e6, "hinge.coulomb_friction": 0.2}
    reality = make(rotor(SERVO, 'frictionloss="0.1"'), fade, stick, parameters=jammed)
    worlds, link = begin(reality, 2, qpos=[-0.04])
    place = link.signals.index("hinge.torque")

    def play() -> np.ndarray:
        """(steps, worlds) torques over ten time constants."""
        rows = []
        for _ in range(50):
            link.step(np.zeros((2, 1)), 4)
            rows.append(link.report()[:, place])
        return np.array(rows)

    cold = play()
    assert cold[0] == pytest.approx(2.0, rel=0.15)
    assert cold[-1] == pytest.approx(1.0, rel=0.01)
    worlds.begin(np.array([0]), qpos=[[-0.04]])
    link.begin(np.array([0]))
    assert link.report()[0, place] == pytest.approx(2.0)
    again = play()
    np.testing.assert_array_equal(again[:, 0], cold[:, 0])
    assert again[:, 1] == pytest.approx(1.0, rel=0.01)
    friction = worlds.simulator.field("dof_frictionloss")[:, 0]
    assert friction == pytest.approx(0.7)  # the effect is not added twice


def test_process_noise_does_not_repeat_when_one_world_begins_anew(make: MakeReality):
    worlds, link = begin(make(rotor(), noise=RealityNoise(process=0.5)), 2)
    force = worlds.simulator.array("qfrc_applied")
    seen = []
    for _ in range(3):
        link.step(np.zeros((2, 1)), 4)
        seen.append(float(force[1, 0]))
        worlds.begin(np.array([0]))
        link.begin(np.array([0]))
    assert len(set(seen)) == 3


def test_a_command_that_is_no_number_leaves_the_last_one(make: MakeReality):
    worlds, link = begin(make(rotor(SERVO)), 2)
    link.step(np.array([[0.5], [0.5]]), 4)
    for _ in range(500):
        link.step(np.array([[np.nan], [0.5]]), 4)
    np.testing.assert_array_equal(*worlds.simulator.array("qpos"))
    assert worlds.simulator.array("qpos")[0, 0] == pytest.approx(0.5, abs=1e-3)


def test_a_link_behind_play_is_not_reported(make: MakeReality):
    actuators = (
        "hinge: {joint: hinge, controller: {kind: position, kp: 50, kd: 2}, "
        "torque_limit: 10, backlash: 0.05}"
    )
    _, link = begin(make(rotor(), actuators=actuators), 1)
    assert "hinge.play.position" in link.unreported
    said = dict(zip(link.signals, link.report()[0], strict=True))
    assert {name for name, x in said.items() if np.isnan(x)} == set(link.unreported)
