"""Each fault of the interface, held against the same robot without it."""

from itertools import pairwise

import numpy as np
import pytest

from realworthy.errors import RealworthyError
from realworthy.realities import Interface, StandIn
from realworthy.robots import State

from .conftest import FLOATER, PAIR, PERIOD, SERVO, MakeReality, listen, rotor, stacked

STEPS = 60
T = PERIOD * np.arange(STEPS)
WAVES = np.stack([0.5 * np.sin(20 * T), 0.8 * np.sin(13 * T) - 0.2], axis=1)
"""(steps, 2) goals [rad] for `left` and `right`; `free` has no motor."""
JOINTS = ["left", "free", "right"]


def hear(
    make: MakeReality, faults: Interface | None, commands: np.ndarray, model: str = PAIR
) -> list[State]:
    return listen(StandIn(make(model, interface=faults)), commands)


def test_a_sign_turns_measurements_and_commands(make: MakeReality):
    faulty = hear(make, Interface(joint_sign=["right"]), WAVES)
    clean = hear(make, None, WAVES * [1, -1])
    for name in ("position", "velocity", "torque"):
        expected = stacked(clean, name) * [1, 1, -1]
        np.testing.assert_allclose(stacked(faulty, name), expected, atol=1e-12)


def test_a_unit_scales_angles_and_speeds_and_what_is_commanded(make: MakeReality):
    degrees = 180 / np.pi
    faulty = hear(make, Interface(unit_scale={"left": degrees}), WAVES * [degrees, 1])
    clean = hear(make, None, WAVES)
    for name, scale in (("position", degrees), ("velocity", degrees), ("torque", 1.0)):
        expected = stacked(clean, name) * [scale, 1, 1]
        np.testing.assert_allclose(stacked(faulty, name), expected, atol=1e-9)


def test_an_offset_moves_positions_and_is_taken_off_commands(make: MakeReality):
    faulty = hear(
        make, Interface(encoder_offset={"left": 0.1}), WAVES + np.array([0.1, 0])
    )
    clean = hear(make, None, WAVES)
    expected = stacked(clean, "position") + np.array([0.1, 0, 0])
    np.testing.assert_allclose(stacked(faulty, "position"), expected, atol=1e-12)
    torque = stacked(clean, "torque")
    np.testing.assert_allclose(stacked(faulty, "torque"), torque, atol=1e-9)


def test_sign_unit_and_offset_compose(make: MakeReality):
    """Reported = scale · sign · true + offset, on commands the other way round."""
    faults = Interface(
        joint_sign=["left"], unit_scale={"left": 2.0}, encoder_offset={"left": 0.3}
    )
    faulty = hear(make, faults, WAVES * [-2, 1] + [0.3, 0])
    clean = hear(make, None, WAVES)
    expected = stacked(clean, "position") * [-2, 1, 1] + [0.3, 0, 0]
    np.testing.assert_allclose(stacked(faulty, "position"), expected, atol=1e-12)


@pytest.mark.parametrize(
    "order", [["right", "free", "left"], ["free", "right", "left"]], ids=str
)
def test_a_wrong_order_mixes_measurements_and_motors(
    make: MakeReality, order: list[str]
):
    """Under each name comes another joint; with two motors, commands change places."""
    faulty = hear(make, Interface(joint_order=order), WAVES)
    clean = hear(make, None, WAVES[:, ::-1])
    expected = stacked(clean, "position")[:, [JOINTS.index(name) for name in order]]
    np.testing.assert_allclose(stacked(faulty, "position"), expected, atol=1e-12)


def test_motors_are_not_exchanged_with_joints_that_have_none(make: MakeReality):
    faulty = hear(make, Interface(joint_order=["left", "right", "free"]), WAVES)
    clean = hear(make, None, WAVES)
    expected = stacked(clean, "position")[:, [0, 2, 1]]
    np.testing.assert_allclose(stacked(faulty, "position"), expected, atol=1e-12)


def test_a_default_pose_is_added_to_commands_only(make: MakeReality):
    faulty = hear(make, Interface(default_pose={"right": 0.1}), WAVES)
    clean = hear(make, None, WAVES + np.array([0, 0.1]))
    for name in ("position", "torque"):
        np.testing.assert_allclose(
            stacked(faulty, name), stacked(clean, name), atol=1e-12
        )


@pytest.mark.parametrize("substeps", [2, 3, 8])
def test_measurements_are_older_than_the_clock_says(make: MakeReality, substeps: int):
    offset = 0.001 * substeps
    faulty = hear(make, Interface(clock_offset=offset), WAVES)
    fine = StandIn(make(PAIR))
    truth = listen(fine, np.repeat(WAVES, 4, axis=0), period=0.001)
    np.testing.assert_allclose(stacked(faulty, "time"), PERIOD * np.arange(STEPS + 1))
    late = [truth[max(4 * k - substeps, 0)].position for k in range(STEPS + 1)]
    np.testing.assert_allclose(stacked(faulty, "position"), late, atol=1e-12)


def test_position_commands_can_be_taken_for_velocities(make: MakeReality):
    """0.5 rad, understood as 0.5 rad/s, moves a stiff servo by 0.5 rad in a second."""
    model = rotor(SERVO.replace('kp="50"', 'kp="2000"').replace('kv="2"', 'kv="40"'))
    faults = Interface(command_kind="velocity", encoder_offset={"hinge": 0.2})
    states = hear(make, faults, np.full((250, 1), 0.5), model)
    moved = states[-1].position[0] - 0.2
    lag = 0.5 * 40 / 2000  # speed · kd/kp
    assert moved == pytest.approx(0.5 - lag, abs=2e-3)
    assert states[-1].velocity[0] == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize("period", [PERIOD, 0.0125])
def test_the_robot_takes_in_commands_on_its_own_beat(make: MakeReality, period: float):
    """50 Hz: whatever comes in between is not seen, also during a long wait."""
    faults = Interface(rate=50.0)
    commands = WAVES[: round(0.2 / period)]
    seen = listen(StandIn(make(PAIR, interface=faults)), commands, period)
    beats = np.arange(0, 200, 20)  # [ms], and what was sent last by then
    newest = [commands[int(np.floor(b / (1000 * period) + 1e-9))] for b in beats]
    truth = listen(StandIn(make(PAIR)), np.repeat(newest, 20, axis=0), 0.001)
    moments = np.round(stacked(seen, "time") / 0.001).astype(int)
    expected = stacked(truth, "position")[moments]
    np.testing.assert_allclose(stacked(seen, "position"), expected, atol=1e-12)


def test_a_beat_that_divides_nothing_keeps_its_rate(make: MakeReality):
    """30 Hz at 250 Hz commands: thirty intakes in a second, not every ninth command."""
    robot = StandIn(make(rotor(SERVO), interface=Interface(rate=30.0)))
    states = listen(robot, 0.001 * np.arange(250.0)[:, None])
    position, speed, torque = (
        stacked(states, name)[:, 0] for name in ("position", "velocity", "torque")
    )
    goal = (torque + 2 * speed) / 50 + position  # what the servo must have been asked
    changes = np.count_nonzero(np.abs(np.diff(goal[1:])) > 5e-3)
    assert changes == 29


def test_jitter_is_the_spread_of_sample_times(make: MakeReality):
    faults = Interface(jitter=0.003)
    robot = StandIn(make(rotor(), interface=faults))
    times = stacked(listen(robot, np.zeros((4000, 1)), 0.02), "time")
    assert np.diff(times).std() == pytest.approx(0.003, rel=0.05)
    assert np.diff(times).mean() == pytest.approx(0.02, rel=0.02)


def test_lost_samples_never_arrive(make: MakeReality):
    robot = StandIn(make(rotor(), interface=Interface(loss=0.2)))
    states = listen(robot, np.zeros((4000, 1)))
    new = np.diff(stacked(states, "sequence"))
    assert set(new.tolist()) == {0, 1}
    assert np.mean(new == 0) == pytest.approx(0.2, rel=0.1)
    for before, after in pairwise(states):
        assert (after is before) == (after.sequence == before.sequence)


def test_stale_samples_repeat_with_a_new_time(make: MakeReality):
    robot = StandIn(make(rotor(), interface=Interface(stale_samples=0.2)))
    states = listen(robot, np.full((2000, 1), 0.01))
    assert (np.diff(stacked(states, "time")) > 0).all()
    assert (np.diff(stacked(states, "sequence")) == 1).all()
    same = np.diff(stacked(states, "position")[:, 0]) == 0
    assert np.mean(same) == pytest.approx(0.2, rel=0.1)


def others(states: list[State], robot: StandIn, sensor: str) -> np.ndarray:
    names = [s for s in robot.info.other_signals if s.rsplit(".", 1)[0] == sensor]
    places = [robot.info.other_signals.index(name) for name in names]
    return stacked(states, "others")[:, places]


@pytest.mark.parametrize("sensor", ["base.gyro", "imu_gyro", "imu_accelerometer"])
def test_a_turned_frame_turns_gyros_and_accelerometers(make: MakeReality, sensor: str):
    """A quarter turn about z: what was x is reported as y, what was y as −x."""
    turned = StandIn(
        make(FLOATER, interface=Interface(frame=(0.0, 0.0, np.pi / 2))), seed=1
    )
    straight = StandIn(make(FLOATER), seed=1)
    push = np.full((50, 1), 2.0)
    x, y, z = others(listen(straight, push), straight, sensor).T
    expected = np.stack([-y, x, z], axis=1)
    assert np.abs(expected).max() > 0.1
    found = others(listen(turned, push), turned, sensor)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("sensor", ["base.orientation", "imu_orientation"])
def test_the_other_quaternion_order_puts_w_last(make: MakeReality, sensor: str):
    rolled = StandIn(make(FLOATER, interface=Interface(quaternion_order="xyzw")))
    straight = StandIn(make(FLOATER))
    push = np.full((50, 1), 2.0)
    wxyz = others(listen(straight, push), straight, sensor)
    found = others(listen(rolled, push), rolled, sensor)
    np.testing.assert_array_equal(found, wxyz[:, [1, 2, 3, 0]])


@pytest.mark.parametrize(
    ("faults", "problem"),
    [
        ({"loss": 1.0}, "interface: loss is not a probability below 1."),
        (
            {"stale_samples": -0.1},
            "interface: stale_samples is not a probability below 1.",
        ),
        ({"jitter": -1.0}, "interface: jitter is -1; it must be 0 or more."),
        ({"rate": np.nan}, "interface: rate is nan; it must be 0 or more."),
        (
            {"clock_offset": -0.1},
            "interface: clock_offset is -0.1; it must be 0 or more.",
        ),
        (
            {"unit_scale": {"left": -1.0}},
            "interface: unit_scale of 'left' is -1; it must be above 0.",
        ),
        (
            {"frame": (0.0, np.inf, 0.0)},
            "interface: encoder_offset, default_pose and frame must be finite.",
        ),
        ({"command_kind": "torque"}, "interface: command_kind is 'torque'."),
        ({"quaternion_order": "zyxw"}, "interface: quaternion_order is 'zyxw'."),
    ],
)
def test_faults_that_cannot_be_are_refused(faults: dict[str, object], problem: str):
    with pytest.raises(RealworthyError) as caught:
        Interface(**faults)  # type: ignore[arg-type]
    assert caught.value.problem == problem


def test_an_order_names_every_joint_once(make: MakeReality):
    with pytest.raises(RealworthyError) as caught:
        make(PAIR, interface=Interface(joint_order=["left", "right"]))
    assert str(caught.value) == (
        "interface: joint_order must name every joint once.\n"
        "  Joints: left, free, right."
    )
