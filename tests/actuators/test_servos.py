"""Published servo parameters against recordings of the servo itself."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from realworthy.actuators import (
    KINDS,
    SERVOS,
    Actuator,
    BenchLoad,
    build_law,
    load_servo,
    simulate_bench,
)
from realworthy.errors import BadFile, UnknownName

TIMESTEP = 0.002


@dataclass
class Logs:
    """Twelve recordings of an XL330 on a pendulum bench, on one time grid."""

    goal: np.ndarray
    """(steps, logs, 1), held between samples."""
    powered: np.ndarray
    gain: np.ndarray
    times: list[np.ndarray]
    positions: list[np.ndarray]


@pytest.fixture(scope="module")
def logs(data_folder: Path) -> Logs:
    files = sorted((data_folder / "bam_servos" / "xl330").glob("*.json"))
    trees = [json.loads(file.read_text()) for file in files]
    assert len(trees) == 12
    assert {(t["mass"], t["length"], t["vin"]) for t in trees} == {(0.49, 0.1, 7.4)}
    grid = TIMESTEP * np.arange(math.ceil(6.1 / TIMESTEP))
    goals, powered, times, positions = [], [], [], []
    for tree in trees:
        columns = {key: np.array([e[key] for e in tree["entries"]]) for key in ENTRIES}
        time = columns["timestamp"] - columns["timestamp"][0]
        held = np.searchsorted(time, grid + 1e-9, side="right") - 1
        goals.append(columns["goal_position"][held])
        powered.append(columns["torque_enable"][held])
        times.append(time)
        positions.append(columns["position"])
    return Logs(
        goal=np.stack(goals, axis=1)[:, :, None],
        powered=np.stack(powered, axis=1),
        gain=np.array([SERVOS["xl330"].error_gain * t["kp"] for t in trees]),
        times=times,
        positions=positions,
    )


ENTRIES = ("timestamp", "position", "goal_position", "torque_enable")


def replay(path: Path, logs: Logs) -> list[float]:
    """Mean absolute position error [rad] of each log, open loop from its first pose."""
    law = build_law(
        load_servo(path, joint="arm", kp=400, supply_voltage=7.4), timestep=TIMESTEP
    )
    zero = json.loads(path.read_text())["q_offset"]
    trace = simulate_bench(
        law,
        BenchLoad(mass=0.49, length=0.1, zero=zero),
        logs.goal,
        position=np.array([q[0] for q in logs.positions]),
        parameters={"duty_gain": logs.gain},
        powered=logs.powered,
    )
    grid = TIMESTEP * np.arange(len(trace.position))
    errors = []
    for n, (time, measured) in enumerate(zip(logs.times, logs.positions, strict=True)):
        replayed = np.interp(time, grid, trace.position[:, n])
        errors.append(float(np.abs(replayed - measured).mean()))
    return errors


@pytest.mark.parametrize(("year", "error"), [("2026-02", 0.0585), ("2026-07", 0.0797)])
def test_published_xl330_replays_its_recordings_as_well_as_published(
    year: str, error: float, data_folder: Path, logs: Logs
):
    folder = data_folder / "bam_servos" / f"published_parameters_{year}"
    assert np.mean(replay(folder / "xl330_m1.json", logs)) == pytest.approx(
        error, rel=0.1
    )


@pytest.mark.parametrize("model", ["m2", "m3", "m4", "m5", "m6"])
def test_richer_friction_replays_the_recordings_no_worse_than_m1(
    model: str, data_folder: Path, logs: Logs
):
    folder = data_folder / "bam_servos" / "published_parameters_2026-07"
    plain, richer = (
        replay(folder / f"xl330_{name}.json", logs) for name in ("m1", model)
    )
    assert np.mean(richer) <= np.mean(plain)


def test_every_published_duty_servo_loads_with_all_its_numbers(data_folder: Path):
    loaded = 0
    for path in sorted((data_folder / "bam_servos").glob("published_*/*.json")):
        tree = json.loads(path.read_text())
        if tree["actuator"] not in SERVOS:
            continue
        actuator = load_servo(path, joint="arm", kp=32)
        values = [
            v for k, v in tree.items() if isinstance(v, float) and k != "q_offset"
        ]
        numbers = actuator.parameters()
        assert set(values) <= set(numbers.values())
        assert set(numbers) <= set(KINDS)
        loaded += 1
    assert loaded >= 20


def test_the_xl330_gain_is_that_of_its_firmware(data_folder: Path):
    folder = data_folder / "bam_servos" / "published_parameters_2026-02"
    servo: Actuator = load_servo(folder / "xl330_m1.json", joint="arm", kp=800)
    # 800 × 4096/(2π)/(256·885): full duty at 0.434 rad
    assert servo.parameters()["duty_gain"] == pytest.approx(1 / 0.43443, rel=1e-4)


def test_a_file_of_another_servo_is_refused(tmp_path: Path):
    path = tmp_path / "servo.json"
    path.write_text('{"actuator": "xl33", "model": "m1", "kt": 1.0, "R": 1.0}')
    with pytest.raises(UnknownName, match=r"no servo 'xl33'.\n  Nearest: 'xl330'"):
        load_servo(path, joint="arm", kp=1)
    path.write_text('{"actuator": "xl330", "model": "m9", "kt": 1.0, "R": 1.0}')
    with pytest.raises(BadFile, match=r"m9"):
        load_servo(path, joint="arm", kp=1)
    path.write_text('{"actuator": "xl330", "model": "m1", "kt": 1.0}')
    with pytest.raises(BadFile, match=r"resistance"):
        load_servo(path, joint="arm", kp=1)
