"""Planted faults are found in logs of stand-in robots; healthy logs are not accused."""

from collections.abc import Callable
from functools import lru_cache

import msgspec
import numpy as np
import pytest
from scipy.signal import lfilter

from realworthy.diagnosis.fix import apply_fix
from realworthy.diagnosis.log import (
    Answer,
    Finding,
    Limits,
    inspect,
    read_limits,
)
from realworthy.diagnosis.log.lags import estimate_lag
from realworthy.realities import Interface, RealityNoise
from realworthy.recordings import Recording
from realworthy.twins import load_twin

from .generated_logs import NOISE, ROBOTS, record

DEGREES = 180 / np.pi
SEEDS = 20
FEW = 2

Plant = Callable[[Recording], Recording]


@lru_cache
def limits(robot: str) -> Limits:
    return read_limits(load_twin(robot))


@lru_cache(maxsize=512)
def healthy(robot: str, seed: int) -> Recording:
    return record(robot, seed)


def faults(recording: Recording, robot: str) -> list[Finding]:
    return [f for f in inspect(recording, limits=limits(robot)) if f.is_fault]


def times(**factors: float) -> Plant:
    """Signals (`__` for a dot) multiplied."""
    named = {name.replace("__", "."): value for name, value in factors.items()}
    return lambda r: r.with_signals({n: r.signals[n] * f for n, f in named.items()})


def exchanged(first: str, second: str) -> Plant:
    return lambda r: r.with_signals(
        {first: r.signals[second], second: r.signals[first]}
    )


def late(rows: int, *names: str) -> Plant:
    """Signals that are logged so many rows too late."""

    def plant(recording: Recording) -> Recording:
        moved = {n: np.roll(recording.signals[n], rows) for n in names}
        kept = {n: v[rows:] for n, v in (dict(recording.signals) | moved).items()}
        return Recording(recording.time[rows:], kept, recording.sidecar)

    return plant


def slow(beat: int, *names: str) -> Plant:
    """Signals that are measured anew only every `beat` rows."""
    return lambda r: r.with_signals(
        {n: r.signals[n][np.arange(len(r.time)) // beat * beat] for n in names}
    )


def clock_times(factor: float) -> Plant:
    return lambda r: Recording(r.time * factor, r.signals, r.sidecar)


GYRO = ("base.gyro.x", "base.gyro.y", "base.gyro.z")

BY_HAND: dict[str, tuple[str, Plant, str, tuple[str, ...]]] = {
    "velocity in degrees": (
        "arm",
        times(elbow_flex__velocity=DEGREES),
        "unit_scale",
        ("elbow_flex",),
    ),
    "position in degrees": (
        "pendulum",
        times(joint__position=DEGREES),
        "unit_scale",
        ("joint",),
    ),
    "position in ticks": (
        "arm",
        times(wrist_flex__position=4096 / (2 * np.pi)),
        "unit_scale",
        ("wrist_flex",),
    ),
    "velocity in rounds per minute": (
        "diffdrive",
        times(left_wheel__velocity=30 / np.pi),
        "unit_scale",
        ("left_wheel",),
    ),
    "command in degrees": (
        "quadruped",
        times(FL_hip__command=DEGREES),
        "unit_scale",
        ("FL_hip",),
    ),
    "torque in thousandths": (
        "pendulum",
        times(joint__torque=1e3),
        "unit_scale",
        ("joint",),
    ),
    "gyro in degrees": (
        "quadruped",
        times(base__gyro__x=DEGREES, base__gyro__y=DEGREES, base__gyro__z=DEGREES),
        "unit_scale",
        ("base.gyro",),
    ),
    "velocity turned round": (
        "arm",
        times(shoulder_lift__velocity=-1.0),
        "joint_sign",
        ("shoulder_lift",),
    ),
    "command turned round": (
        "quadruped",
        times(RL_hip__command=-1.0),
        "joint_sign",
        ("RL_hip",),
    ),
    "velocities exchanged": (
        "quadruped",
        exchanged("FL_calf.velocity", "RR_hip.velocity"),
        "joint_order",
        ("FL_calf", "RR_hip"),
    ),
    "commands exchanged": (
        "quadruped",
        exchanged("FL_hip.command", "RR_hip.command"),
        "joint_order",
        ("FL_hip", "RR_hip"),
    ),
    "velocity late": (
        "arm",
        late(5, "shoulder_pan.velocity"),
        "clock_offset",
        ("shoulder_pan",),
    ),
    "gyro late": ("quadruped", late(3, *GYRO), "clock_offset", ("base.gyro",)),
    "joint on a slow bus": (
        "arm",
        slow(4, *(f"elbow_flex.{q}" for q in ("position", "velocity", "torque"))),
        "rate",
        ("elbow_flex",),
    ),
    "clock in milliseconds": ("pendulum", clock_times(1e3), "unit_scale", ()),
}

BY_ROBOT: dict[str, tuple[Interface, str, tuple[str, ...]]] = {
    "loss": (Interface(loss=0.04), "dropped_samples", ROBOTS),
    "stale": (Interface(stale_samples=0.03), "stale_samples", ROBOTS),
    "quaternion": (
        Interface(quaternion_order="xyzw"),
        "quaternion_order",
        ("diffdrive", "quadruped"),
    ),
    "frame": (Interface(frame=(0.2, 0.1, 0.0)), "frame", ("diffdrive", "quadruped")),
}


def is_found(found: list[Finding], name: str, joints: tuple[str, ...]) -> bool:
    """That fault at that place, and nothing of that kind anywhere else."""
    return [f.joints for f in found if f.name == name] == [joints]


@pytest.mark.parametrize("case", BY_HAND)
def test_a_fault_planted_by_hand_is_found_alone(case: str):
    robot, plant, name, joints = BY_HAND[case]
    for seed in range(FEW):
        found = faults(plant(healthy(robot, seed)), robot)
        assert is_found(found, name, joints), [(f.name, f.joints) for f in found]
        assert len(found) == 1, [(f.name, f.joints) for f in found]


@pytest.mark.slow
@pytest.mark.parametrize("case", BY_HAND)
def test_a_fault_planted_by_hand_is_found_in_19_of_20_logs(case: str):
    robot, plant, name, joints = BY_HAND[case]
    hits = [
        is_found(faults(plant(healthy(robot, seed)), robot), name, joints)
        for seed in range(SEEDS)
    ]
    assert sum(hits) >= SEEDS - 1


@pytest.mark.parametrize(
    ("case", "robot"), [(c, r) for c, (*_, robots) in BY_ROBOT.items() for r in robots]
)
def test_a_robot_with_a_faulty_interface_gives_itself_away(case: str, robot: str):
    interface, name, _ = BY_ROBOT[case]
    found = faults(record(robot, 3, interface), robot)
    assert {f.name for f in found} == {name}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "robot"), [(c, r) for c, (*_, robots) in BY_ROBOT.items() for r in robots]
)
def test_a_faulty_interface_is_found_in_19_of_20_logs(case: str, robot: str):
    interface, name, _ = BY_ROBOT[case]
    found = [faults(record(robot, seed, interface), robot) for seed in range(SEEDS)]
    assert sum({f.name for f in fs} == {name} for fs in found) >= SEEDS - 1


@pytest.mark.parametrize(("robot", "joint"), [("arm", "elbow_flex")])
def test_a_joint_that_works_in_degrees_leaves_its_range(robot: str, joint: str):
    interface = Interface(unit_scale={joint: DEGREES})
    recording = record(robot, 1, interface, scales={joint: DEGREES})
    found = faults(recording, robot)
    assert is_found(found, "unit_scale", (joint,))
    assert found[0].fix is not None
    mended = apply_fix(recording, found[0].fix)
    clean = healthy(robot, 1)
    for quantity in ("position", "velocity", "command"):
        signal = f"{joint}.{quantity}"
        # Noise and clipping aside, the same motion in radians.
        assert mended.signals[signal].std() == pytest.approx(
            clean.signals[signal].std(), rel=0.2
        )


def test_jitter_is_measured_and_no_fault():
    recording = record("pendulum", 2, Interface(jitter=0.0016))
    spread = float(np.diff(recording.time).std())
    notes = [f for f in inspect(recording) if f.answer is Answer.NOTE]
    (jitter,) = [f for f in notes if f.name == "rate"]
    assert jitter.size == pytest.approx(spread, rel=0.1)
    assert not any(f.is_fault for f in inspect(recording))


def test_measurements_older_than_commands_are_a_note_only():
    """40 ms more of lag between command and position; servo or clock, who knows."""

    def lag(recording: Recording) -> float:
        found = [f for f in inspect(recording) if f.name == "clock_offset"]
        assert not any(f.is_fault for f in found)
        return next(f.size for f in found if f.answer is Answer.NOTE)

    shifted = record("quadruped", 0, Interface(clock_offset=0.04))
    more = lag(shifted) - lag(healthy("quadruped", 0))
    assert more == pytest.approx(0.04, abs=0.006)


def test_a_rate_that_the_times_contradict():
    recording = healthy("pendulum", 0)
    said = msgspec.structs.replace(recording.sidecar, rate=250.0)
    (found,) = faults(recording.with_sidecar(said), "pendulum")
    assert found.name == "rate"
    assert found.fix is not None
    assert apply_fix(recording, found.fix).sidecar.rate == pytest.approx(125.0)


def test_commands_that_change_every_tenth_row_are_in_order():
    """A 50 Hz policy in a 500 Hz log."""
    held = slow(10, *(n for n in healthy("arm", 0).signals if n.endswith("command")))
    assert faults(held(healthy("arm", 0)), "arm") == []


def test_a_slow_bus_is_measured():
    recording = BY_HAND["joint on a slow bus"][1](healthy("arm", 0))
    (found,) = faults(recording, "arm")
    assert found.size == 4


def test_a_lag_is_estimated_between_rows():
    """22.5 ms at 125 Hz are 2.8 rows; a simulator's velocity is half a substep late."""
    recording = healthy("arm", 1)
    name, true = "shoulder_pan.velocity", 0.0225
    slope = np.gradient(recording.signals["shoulder_pan.position"], recording.time)
    before = estimate_lag(recording.time, slope, recording.signals[name])
    assert before is not None
    moved = np.interp(recording.time - true, recording.time, recording.signals[name])
    (found,) = faults(recording.with_signals({name: moved}), "arm")
    assert found.name == "clock_offset"
    assert found.interval is not None
    assert found.size - before.seconds == pytest.approx(true, abs=0.001)
    assert found.interval[0] < true + before.seconds < found.interval[1]


def test_a_filtered_velocity_is_not_a_late_clock():
    recording = healthy("arm", 1)
    name = "shoulder_pan.velocity"
    share = 1 - np.exp(-0.008 / 0.03)  # 30 ms
    smooth = lfilter([share], [1, share - 1], recording.signals[name])
    filtered = recording.with_signals({name: np.asarray(smooth)})
    assert faults(filtered, "arm") == []


def test_a_frame_is_recovered_with_its_angle():
    vector = np.array([0.2, 0.1, 0.0])
    found = faults(record("diffdrive", 5, Interface(frame=tuple(vector))), "diffdrive")
    (gyro,) = [f for f in found if f.joints == ("base.gyro",)]
    assert gyro.size == pytest.approx(np.linalg.norm(vector), abs=0.01)


def test_exchanged_axes_are_named_and_mended_by_a_mapping():
    """A quarter turn about x: what the sensor calls y is the body's -z."""
    recording = record("diffdrive", 5, Interface(frame=(np.pi / 2, 0.0, 0.0)))
    found = faults(recording, "diffdrive")
    (gyro,) = [f for f in found if f.joints == ("base.gyro",)]
    assert "its y is the body's -z" in gyro.evidence
    assert gyro.fix is not None
    assert gyro.fix.is_mapping
    mended = apply_fix(recording, gyro.fix)
    np.testing.assert_array_equal(
        mended.signals["base.gyro.z"], -recording.signals["base.gyro.y"]
    )


def test_every_fix_of_a_log_makes_it_healthy():
    plants = [BY_HAND[c] for c in ("velocity in degrees", "velocity turned round")]
    recording = healthy("arm", 1)
    for _, plant, _, _ in plants:
        recording = plant(recording)
    for finding in faults(recording, "arm"):
        assert finding.fix is not None
        recording = apply_fix(recording, finding.fix)
    np.testing.assert_allclose(
        recording.stack("velocity"), healthy("arm", 1).stack("velocity"), rtol=1e-12
    )


def test_a_short_log_is_not_judged():
    recording = healthy("arm", 0)
    short = recording.crop(recording.time[0], recording.time[9])
    found = inspect(short, load_twin("arm"))
    assert {f.answer for f in found} <= {Answer.CANNOT_TELL, Answer.NOTE}


@pytest.mark.parametrize("robot", ROBOTS)
def test_healthy_logs_are_not_accused(robot: str):
    for seed in range(FEW):
        assert faults(healthy(robot, seed), robot) == []


@pytest.mark.slow
@pytest.mark.parametrize("robot", ROBOTS)
def test_two_hundred_healthy_logs_are_not_accused(robot: str):
    """Fifty of each robot, without noise, with some and with much."""
    accused = []
    for seed in range(100, 150):
        factor = (0.0, 1.0, 4.0)[seed % 3]
        louder = {n: factor * getattr(NOISE, n) for n in NOISE.__struct_fields__}
        recording = record(robot, seed, noise=RealityNoise(**louder))
        accused += [(seed, f.name, f.joints) for f in faults(recording, robot)]
    assert accused == []
