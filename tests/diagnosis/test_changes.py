"""Flights of a real quadrotor, and what cannot be compared."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.diagnosis.changes import TooFewRecordings, find_changes
from realworthy.diagnosis.diagnosis import Change
from realworthy.errors import BadRecording
from realworthy.recordings import Recording, Sidecar, load_recordings
from realworthy.twins import load_twin

Flights = Callable[..., list[Recording]]
NORMAL = "normal_flight"
W3 = "add_weight_W3_near_M3"
CUT, TAPE = "cut_propeller_M3_3mm", "tape_on_propeller_M3"


@pytest.fixture(scope="module")
def flights(data_folder: Path) -> Flights:
    """Those of a condition, a vehicle and a kind."""
    found: dict[str, list[Recording]] = defaultdict(list)
    for flight in load_recordings(data_folder / "crazypad", "crazypad"):
        found[flight.sidecar.repeat_group or ""].append(flight)
    return lambda condition, vehicle, kind="motor": found[
        f"{condition}/{vehicle}/{kind}"
    ]


def say_all(changes: tuple[Change, ...]) -> str:
    return " ".join(f"{c.name} {c.size} {c.evidence}" for c in changes)


def test_normal_flights_left_out_one_by_one_raise_no_more_alarms_than_stated(
    flights: Flights,
):
    alarms = []
    for vehicle, kind in (("E8", "motor"), ("E9", "motor"), ("E8", "controller")):
        normal = flights(NORMAL, vehicle, kind)
        for i, left_out in enumerate(normal):
            rest = normal[:i] + normal[i + 1 :]
            alarms.append(bool(find_changes(None, rest, [left_out])))
    assert len(alarms) == 16
    assert np.mean(alarms) <= 0.1


@pytest.mark.parametrize("which", [0, 1])
def test_a_heavy_payload_is_found_and_placed_by_one_flight(
    flights: Flights, which: int
):
    now = [flights(W3, "E9")[which]]
    (change,) = find_changes(None, flights(NORMAL, "E9"), now)
    assert change.name == "mass"
    assert change.joints == ("m3",)
    assert change.false_alarm_rate < 1e-3
    assert "speaks for a payload" in change.evidence


@pytest.mark.parametrize(
    ("vehicle", "which"), [("E8", 0), ("E8", 1), ("E8", 2), ("E9", 0), ("E9", 1)]
)
def test_a_cut_propeller_is_found_and_told_from_a_payload_by_one_flight(
    flights: Flights, vehicle: str, which: int
):
    now = [flights(CUT, vehicle)[which]]
    (change,) = find_changes(None, flights(NORMAL, vehicle), now)
    assert change.name == "torque_constant"
    assert change.joints == ("m3",)
    assert change.false_alarm_rate < 0.05
    assert "out of balance" in change.evidence


def test_the_size_of_a_change_is_what_the_commands_show(flights: Flights):
    def work(flight: Recording) -> float:
        air = flight.signals["base.position.z"] > 0.25
        return float(np.median(flight.signals["m3.command"][air]))

    before, now = flights(NORMAL, "E9"), flights(W3, "E9")
    ratio = np.mean([work(f) for f in now]) / np.mean([work(f) for f in before])
    (change,) = find_changes(None, before, now)
    said = float(change.size.split("m3.command ")[1].split(" %")[0])
    assert said == pytest.approx(100 * (ratio - 1), abs=3)


def test_steering_shows_a_payload_without_motor_commands(flights: Flights):
    normal = flights(NORMAL, "E9", "controller")
    for flight in flights(W3, "E9", "controller"):
        (change,) = find_changes(None, normal, [flight])
        assert change.name in ("mass", "centre_of_mass")
        assert "mixer.command.roll" in change.evidence


def test_a_baseline_from_other_days_raises_few_alarms(flights: Flights):
    """Flights in runs of like trim, so that the left out ones have no neighbour."""
    e8, e9, steering = (
        flights(NORMAL, "E8"),
        flights(NORMAL, "E9"),
        flights(NORMAL, "E8", "controller"),
    )
    splits = [(e8[:3], e8[3:]), (e8[:5], e8[5:]), (e8[3:], e8[:3])]
    splits += [(steering[:3], steering[3:]), (e9[:3], e9[3:])]
    alarms = [bool(find_changes(None, b, [n])) for b, now in splits for n in now]
    assert len(alarms) == 12
    assert np.mean(alarms) <= 0.1


def test_tape_on_one_vehicle_is_too_faint_to_name(flights: Flights):
    for flight in flights(TAPE, "E8"):
        assert find_changes(None, flights(NORMAL, "E8"), [flight]) == ()


def test_vehicles_are_compared_with_themselves_only(flights: Flights):
    normal = flights(NORMAL, "E8") + flights(NORMAL, "E9")
    now = flights(TAPE, "E8") + flights(W3, "E9")
    changes = find_changes(None, normal, now)
    assert "E9: " in say_all(changes)
    assert "E8: " not in say_all(changes)
    with pytest.raises(BadRecording, match="different machines: E8 before, E9 now"):
        find_changes(None, flights(NORMAL, "E8"), flights(W3, "E9"))


def test_a_twin_that_cannot_replay_the_flights_does_not_stand_in_the_way(
    flights: Flights,
):
    (change,) = find_changes(
        load_twin("pendulum"), flights(NORMAL, "E9"), flights(W3, "E9")
    )
    assert change.name == "mass"


def test_one_flight_from_before_is_too_few(flights: Flights):
    with pytest.raises(TooFewRecordings, match="does not show how far") as caught:
        find_changes(None, flights(NORMAL, "E8")[:1], flights(CUT, "E8"))
    assert "2 or more, better 4" in caught.value.hint


def test_recordings_without_commands_in_common_are_refused(flights: Flights):
    motor, controller = flights(NORMAL, "E8"), flights(NORMAL, "E8", "controller")
    with pytest.raises(BadRecording, match="no commands in common") as caught:
        find_changes(None, motor, controller)
    assert "m1.command" in caught.value.hint


def test_other_robots_are_refused(flights: Flights):
    flight = flights(NORMAL, "E8")[0]
    other = flight.with_sidecar(msgspec.structs.replace(flight.sidecar, twin="arm"))
    with pytest.raises(BadRecording, match="different robots"):
        find_changes(None, [flight], [other])


@pytest.mark.parametrize("empty", ["before", "now"])
def test_nothing_given_is_refused(flights: Flights, empty: str):
    some = flights(NORMAL, "E8")
    given = ([], some) if empty == "before" else (some, [])
    with pytest.raises(BadRecording, match=f"from {empty}"):
        find_changes(None, *given)


def log(rate: float, *, keep: float = 1.0, seed: int = 0) -> Recording:
    """Ten seconds of a servo, with rows lost by chance."""
    time = np.arange(0, 10, 1 / rate)
    chance = np.random.default_rng(seed)
    kept = chance.uniform(size=len(time)) < keep
    kept[[0, -1]] = True
    position = np.sin(2 * time) + 1e-3 * chance.normal(size=len(time))
    signals = {"a.command": np.sin(2 * time)[kept], "a.position": position[kept]}
    sidecar = Sidecar(command_kind="position")
    return Recording(time=time[kept], signals=signals, sidecar=sidecar)


def test_a_slower_logger_and_lost_rows_are_named():
    before = [log(100, seed=i) for i in range(3)]
    (slower,) = find_changes(None, before, [log(50, seed=9)])
    assert slower.name == "rate"
    assert slower.size.startswith("100 Hz before, 50 Hz now")
    (lossy,) = find_changes(None, before, [log(100, keep=0.9, seed=9)])
    assert lossy.name == "dropped_samples"
    assert find_changes(None, before, [log(100, seed=9)]) == ()
