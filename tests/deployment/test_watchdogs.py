"""Watchdogs trip on what is wrong, in time, and on nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest

from realworthy.deployment.decision import GuardVerdict
from realworthy.deployment.freshness import Freshness
from realworthy.deployment.watchdogs import Sample, Watchdogs, WatchdogSettings
from realworthy.robots import Mode, RobotInfo, State
from realworthy.robots.limits import Limits

DT = 0.02
ORIENTATION = tuple(f"base.orientation.{axis}" for axis in "wxyz")
INFO = RobotInfo(
    name="leg",
    joints=("hip", "knee"),
    commands=("hip.command", "knee.command"),
    command_kind="position",
    rate=50.0,
    command_lower=np.full(2, -np.inf),
    command_upper=np.full(2, np.inf),
    other_signals=(*ORIENTATION, "knee.temperature"),
)
LIMITS = Limits(
    joints=("hip", "knee"),
    lower=np.full(2, -1.0),
    upper=np.full(2, 1.0),
    speed=np.full(2, 5.0),
    acceleration=np.full(2, np.inf),
    torque=np.full(2, 10.0),
)


def state(k: int, **changes: object) -> State:
    """The k-th measurement of a healthy robot that moves a little."""
    values: dict = {
        "time": 100 + k * DT,
        "sequence": k,
        "position": np.array([0.1 * math.sin(k), 0.2]),
        "velocity": np.array([0.1, 0.0]),
        "torque": np.zeros(2),
        "others": np.array([1.0, 0, 0, 0, 40.0]),
    }
    return State(**values | changes)


def watch(count: int, settings: WatchdogSettings | None = None, **changes):
    """Verdicts while something goes wrong, after ten healthy steps."""
    dogs = Watchdogs(INFO, LIMITS, DT, settings)
    for k in range(10):
        now = dogs.judge(Sample(now=k * DT, state=state(k)))
        assert now.verdict is GuardVerdict.GO, now
    found = []
    for k in range(10, 10 + count):
        sample = {"now": k * DT, "state": state(k)}
        for name, value in changes.items():
            if name in ("position", "velocity", "torque", "others", "mode", "time"):
                change = {name: value(k) if callable(value) else value}
                old = sample["state"]
                fields = {f: getattr(old, f) for f in old.__slots__}
                sample["state"] = State(**fields | change)
            else:
                sample[name] = value(k) if callable(value) else value
        found.append(dogs.judge(Sample(**sample)))
    return found


def first(found, verdict: GuardVerdict) -> int:
    """Steps after which a verdict comes."""
    return next(i + 1 for i, d in enumerate(found) if d.verdict >= verdict)


def test_a_healthy_robot_is_left_alone():
    assert all(d.verdict is GuardVerdict.GO for d in watch(500))


def test_states_that_stop_coming_warn_after_two_periods_and_trip_after_five():
    """Five commands at most answer the last state: `watch` begins a period after it."""
    found = watch(10, time=100 + 9 * DT)
    assert first(found, GuardVerdict.WARN) == 3
    assert first(found, GuardVerdict.DAMP) == 5
    assert found[4].guard == "state_age"
    assert found[4].reason == "the newest state is 100 ms old"


def test_states_that_queue_are_as_old_as_they_are():
    """Newer ones keep coming, each 100 ms after it was measured."""
    freshness = Freshness()
    ages = [freshness.update(k * DT, state(k)) for k in range(50)]
    assert max(ages) == pytest.approx(0, abs=1e-9)
    ages = [freshness.update(k * DT, state(k - 5)) for k in range(60, 70)]
    assert ages == pytest.approx([0.1] * 10, abs=1e-3)


def test_a_clock_that_drifts_is_followed():
    """Two quartzes of 95 ppm each, apart for ten minutes."""
    freshness = Freshness()
    worst = max(
        freshness.update(k * DT * 1.00019, state(k)) for k in range(int(600 / DT))
    )
    assert worst <= 1e-6


def test_a_delay_that_creeps_up_is_seen():
    """By 0.9 ms a second: half a second after ten minutes, nothing from state to state.

    A driver's stamps tell all of it but what two quartzes may drift; a wire, all.
    """
    freshness, wire = Freshness(), Freshness()
    for k in range(int(600 / DT)):
        late = 0.0009 * k * DT
        now = k * DT + late
        seen = freshness.update(now, state(k))
        known = wire.update(now, replace(state(k), sent_after=k * DT))
        assert known == pytest.approx(late, abs=1e-9)
    assert seen == pytest.approx(600 * (0.0009 - 0.0002), rel=0.01)


@pytest.mark.parametrize("jump", [math.inf, -math.inf, math.nan, 1e6, 5.0])
def test_a_stamp_that_cannot_be_true_trips_at_once(jump: float):
    freshness = Freshness()
    for k in range(10):
        assert freshness.update(k * DT, state(k)) == pytest.approx(0, abs=1e-9)
    strange = replace(state(10), time=state(10).time + jump)
    assert freshness.update(10 * DT, strange) == math.inf


@pytest.mark.parametrize("name", ["position", "velocity", "torque", "others"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_number_that_is_none_trips_at_once(name: str, bad: float):
    values = np.zeros(5 if name == "others" else 2)
    values[1] = bad
    found = watch(1, **{name: values})
    assert found[0].verdict is GuardVerdict.DAMP
    assert name in found[0].reason


@pytest.mark.parametrize(
    ("changes", "guard"),
    [
        ({"velocity": np.array([0.0, -5.1])}, "speed"),
        ({"torque": np.array([0.0, 11.1])}, "torque"),
        ({"position": lambda k: np.array([1.01 + 1e-3 * k, 0.0])}, "position"),
        ({"others": np.array([1, 0, 0, 0, 81.0])}, "temperature"),
        (
            {"others": np.array([math.cos(0.6), math.sin(0.6), 0, 0, 20])},
            "tilt",
        ),  # 1.2 rad
    ],
)
def test_three_measurements_beyond_a_limit_trip(changes, guard: str):
    found = watch(3, **changes)
    assert first(found, GuardVerdict.DAMP) == 3
    assert found[2].guard == guard
    assert found[2].reason


def test_eight_tenths_of_a_limit_warn():
    found = watch(5, velocity=np.array([0.0, 4.1]))
    assert {d.verdict for d in found} == {GuardVerdict.WARN}
    assert found[0].reason == "knee: speed 4.1 comes near 5 rad/s"


def test_a_robot_that_repeats_its_numbers_while_it_moves_is_frozen():
    """1 rad/s without a change of position: 10 mrad are 10 ms, and so one step; but
    three in a row must repeat, for a bus that was busy repeats one or two."""
    found = watch(10, position=np.array([0.3, 0.2]), velocity=np.array([1.0, 0.0]))
    assert first(found, GuardVerdict.DAMP) == 4
    assert found[3].guard == "frozen"


def test_a_sample_that_repeats_once_or_twice_is_a_busy_bus():
    place = [0.0, 0.1, 0.1, 0.3, 0.4, 0.4, 0.4, 0.7, 0.8, 0.8]
    found = watch(
        10,
        position=lambda k: np.array([place[k - 10], 0.0]),
        velocity=np.array([4.9, 0.0]),
    )
    assert not any(d.guard == "frozen" for d in found)


def test_an_effort_that_no_sensor_shows_is_a_robot_that_is_frozen():
    """A drive of torque, and not one digit that changes for 0.25 s."""
    still = {"position": np.zeros(2), "velocity": np.zeros(2)}
    found = watch(30, **still, command=np.array([3.0, 0.0]), pushes=True)
    assert first(found, GuardVerdict.DAMP) == 15
    assert found[14].guard == "frozen"


def test_a_joint_that_falls_is_stopped_before_it_is_beyond_its_speed():
    """0.3 rad/s faster with each row, of 5 rad/s."""
    found = watch(20, velocity=lambda k: np.array([0.0, 0.3 * k]))
    tripped = first(found, GuardVerdict.DAMP) - 1
    assert found[tripped].guard == "speed"
    assert 0.3 * tripped <= 5.0


def test_a_robot_far_outside_its_range_is_not_led_anywhere():
    dogs = Watchdogs(INFO, LIMITS, DT)
    assert not dogs.judge_rest(state(0)).is_fault
    for far in (1e6, 1.6, -1.6, math.nan, math.inf):
        strange = replace(state(0), position=np.array([far, 0.0]))
        assert dogs.judge_rest(strange).is_fault


def test_a_robot_that_rests_is_not_frozen():
    still = {"position": np.zeros(2), "velocity": np.zeros(2)}
    assert all(d.verdict is GuardVerdict.GO for d in watch(100, **still))
    held = watch(100, **still, command=np.array([0.3, 0.0]))
    assert all(d.verdict is GuardVerdict.GO for d in held)


def test_a_robot_that_answers_no_command_is_frozen():
    still = {"position": np.zeros(2), "velocity": np.zeros(2)}
    found = watch(100, **still, command=lambda k: np.array([0.01 * k, 0.0]))
    assert first(found, GuardVerdict.DAMP) == 15  # a quarter of a second after a change
    assert found[14].guard == "frozen"


def test_three_overruns_in_a_row_hold():
    found = watch(3, overrun=True)
    assert [d.verdict for d in found] == [
        GuardVerdict.WARN,
        GuardVerdict.WARN,
        GuardVerdict.HOLD,
    ]


def test_a_loop_that_stood_still_brakes():
    found = watch(1, late=0.3, overrun=True)
    assert (found[0].verdict, found[0].guard) == (GuardVerdict.DAMP, "stall")
    assert found[0].reason == "our own loop stood still for 300 ms"
    assert watch(1, late=0.2)[0].verdict is GuardVerdict.GO


def test_five_in_a_hundred_overruns_hold():
    found = watch(40, overrun=lambda k: k % 10 == 0)
    assert first(found, GuardVerdict.HOLD) == 21  # the third of fifty


def test_a_stop_at_the_robot_stops_us():
    assert watch(1, mode=Mode.STOPPED)[0].verdict is GuardVerdict.STOP


def test_observations_unlike_training_hold():
    strange = np.array([0.0, 9.0])
    found = watch(30, deviation=strange)
    assert first(found, GuardVerdict.HOLD) == 6  # half of the numbers, over 25 steps
    usual = watch(30, deviation=np.array([0.0, 7.9]))
    assert all(d.verdict is GuardVerdict.GO for d in usual)


def test_an_operator_that_goes_silent_holds():
    found = watch(80, operator_age=lambda k: (k - 10) * DT)
    assert first(found, GuardVerdict.WARN) == 27
    assert first(found, GuardVerdict.HOLD) == 52


def test_everything_said_is_counted():
    dogs = Watchdogs(INFO, LIMITS, DT)
    for k in range(5):
        hot = np.array([1.0, 0, 0, 0, 90])
        dogs.judge(Sample(now=k * DT, state=state(k, others=hot)))
    assert dogs.counts == {"temperature.warn": 2, "temperature.damp": 3}


def test_the_orientation_of_an_imu_is_watched_where_the_base_has_none():
    imu = tuple(f"imu_orientation.{axis}" for axis in "wxyz")
    info = replace(INFO, other_signals=("battery.voltage", *imu))
    dogs = Watchdogs(info, LIMITS, DT)
    fallen = np.array([12.0, 0.0, 1.0, 0.0, 0.0])
    for k in range(3):
        found = dogs.judge(Sample(now=k * DT, state=state(k, others=fallen)))
    assert (found.guard, found.reason) == ("tilt", "the base is tilted by 180°")
