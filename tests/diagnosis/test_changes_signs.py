"""What recordings show without a model, against signals made by hand."""

import numpy as np
import pytest

from realworthy.diagnosis.changes.signs import SignKind, read_log, read_signs
from realworthy.recordings import Recording, Sidecar

RATE = 100.0
TIME = np.arange(0, 20, 1 / RATE)
WORKING = (TIME > 2) & (TIME < 18)


def fly(**signals: np.ndarray) -> Recording:
    names = {name.replace("__", "."): values for name, values in signals.items()}
    return Recording(time=TIME, signals=names)


def value(recording: Recording, kind: SignKind, element: str = "") -> float:
    signs = {(s.kind, s.element): s.value for s in read_signs(recording)}
    return signs[kind, element]


def test_an_effort_is_the_median_while_the_machine_works():
    left, right = 0.1 + 0.5 * WORKING, 0.1 + 0.7 * WORKING
    flight = fly(left__command=left, right__command=right)
    effort = value(flight, SignKind.EFFORT, "right.command")
    assert effort == pytest.approx(np.log(0.8))


def test_a_trim_is_a_share_of_the_thrust_beside_it():
    flight = fly(
        mixer__command__thrust=0.5 * WORKING, mixer__command__roll=-0.1 * WORKING
    )
    assert value(flight, SignKind.TRIM, "mixer.command.roll") == pytest.approx(-0.2)


def test_goals_are_no_efforts():
    goal = Recording(
        time=TIME,
        signals={"a.command": 1 + 0.1 * np.sin(TIME), "a.position": np.sin(TIME)},
        sidecar=Sidecar(command_kind="position"),
    )
    assert not [s for s in read_signs(goal) if s.kind is SignKind.EFFORT]


def test_vibration_and_sway_are_told_apart_by_their_bands():
    shake, swing = 0.3 * np.sin(2 * np.pi * 25 * TIME), 0.7 * np.sin(2 * np.pi * TIME)
    flight = fly(base__acceleration__x=shake + swing, base__acceleration__y=0 * TIME)
    shaking = value(flight, SignKind.VIBRATION, "base.acceleration")
    swaying = value(flight, SignKind.SWAY, "base.acceleration")
    assert np.exp(shaking) == pytest.approx(0.3 / np.sqrt(2), rel=0.02)
    assert np.exp(swaying) == pytest.approx(0.7 / np.sqrt(2), rel=0.05)


def test_a_hard_landing_does_not_count_as_vibration():
    noise = 0.1 * np.random.default_rng(0).normal(size=len(TIME))
    landed = noise + 50 * (np.abs(TIME - 15) < 0.02)
    calm, hard = (
        value(fly(imu__gyro__x=x), SignKind.VIBRATION, "imu.gyro")
        for x in (noise, landed)
    )
    assert hard == pytest.approx(calm, abs=0.1)


def test_a_late_servo_shows_by_how_much():
    goal = np.sin(2 * np.pi * 0.4 * TIME)
    late = Recording(
        time=TIME,
        signals={"a.command": goal, "a.position": np.sin(0.8 * np.pi * (TIME - 0.05))},
        sidecar=Sidecar(command_kind="position"),
    )
    assert value(late, SignKind.DELAY, "a") == pytest.approx(0.05, abs=2e-3)


def test_dropped_and_stale_rows_are_counted():
    position = np.cumsum(np.ones(len(TIME)))
    position[100:200] = position[100]  # 99 rows repeat the one before
    kept = np.ones(len(TIME), dtype=bool)
    kept[500:600:2] = False
    log = Recording(time=TIME[kept], signals={"a.position": position[kept]})
    found = {s.kind: s.value for s in read_log(log)}
    assert found[SignKind.DROPPED] == pytest.approx(50 / len(TIME))
    assert found[SignKind.STALE] == pytest.approx(99 / (len(TIME) - 51))
    assert np.exp(found[SignKind.RATE]) == pytest.approx(RATE)
