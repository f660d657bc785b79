"""The law of a drive, fitted to its log: what it recovers, and what it forgives."""

from dataclasses import replace

import numpy as np
import pytest

from realworthy.diagnosis.fix import apply_fix
from realworthy.diagnosis.log import Finding, inspect_together, read_limits
from realworthy.diagnosis.log.law import fit_law
from realworthy.diagnosis.lost_rows import find_lost_rows
from realworthy.recordings import Recording

from .random_interface import RATE, Columns, Robot, build, log, record


def healthy(name: str, seed: int = 0) -> tuple[Robot, Columns]:
    robot = build(name)
    return robot, log(robot, np.random.default_rng([99, seed]))


def faults(robot: Robot, *recordings: Recording) -> list[Finding]:
    seen = [f for f, _ in inspect_together(recordings, robot.twin) if f.is_fault]
    return [f for i, f in enumerate(seen) if f not in seen[:i]]


def changed(robot: Robot, **options: float) -> Robot:
    """The robot with other physics, the twin as it was."""
    other = build.__wrapped__("arm").model
    if kp := options.get("kp"):
        other.actuator_gainprm[:, 0] *= kp
        other.actuator_biasprm[:, 1] *= kp
    if mass := options.get("mass"):
        other.body_mass[1:] *= mass
        other.body_inertia[1:] *= mass
    if friction := options.get("friction"):
        other.dof_frictionloss[:] += friction
    return replace(robot, model=other)


@pytest.mark.parametrize("rows", [-4, 0, 3])
def test_a_lag_between_command_and_torque_is_recovered_to_a_row(rows: int):
    robot, columns = healthy("arm")
    joint = robot.joints[1]
    name = f"{joint}.command"
    moved = np.roll(columns[name], -rows)
    if rows:
        edge = slice(-rows, None) if rows > 0 else slice(None, -rows)
        moved[edge] = moved[0 if rows < 0 else -1]
    recording = record(robot, columns | {name: moved})
    limits = read_limits(robot.twin)
    law = fit_law([recording], joint, limits.drives[joint])
    assert law is not None
    assert law.holds
    # A command acts from its row to the next, so its middle is half a row later.
    assert law.lag == pytest.approx((rows + 0.5) / RATE, abs=0.6 / RATE)
    assert law.scale == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    "physics", [{"kp": 0.7}, {"kp": 1.5}, {"mass": 1.5}, {"friction": 0.2}]
)
def test_wrong_physics_is_no_fault_of_the_interface(physics: dict[str, float]):
    robot = changed(build("arm"), **physics)
    columns = log(robot, np.random.default_rng([98, 0]))
    assert faults(build("arm"), record(robot, columns)) == []


def test_a_late_answer_is_a_delay_and_no_fault():
    robot, columns = healthy("arm")
    names = [f"{joint}.command" for joint in robot.joints]
    early = {n: np.append(columns[n][3:], [columns[n][-1]] * 3) for n in names}
    assert faults(robot, record(robot, columns | early)) == []


def test_two_recordings_share_one_fault_with_one_fix():
    robot = build("arm")
    joint = robot.joints[2]
    recordings = []
    for seed in range(2):
        columns = log(robot, np.random.default_rng([97, seed]))
        columns[f"{joint}.position"] = columns[f"{joint}.position"] + 0.12
        recordings.append(record(robot, columns))
    (found,) = faults(robot, *recordings)
    assert (found.name, found.joints) == ("encoder_offset", (joint,))
    assert found.size == pytest.approx(0.12, abs=0.01)
    assert found.interval is not None


def test_rows_lost_behind_the_stamps_are_counted_and_their_time_is_restored():
    robot, columns = healthy("arm")
    kept = np.ones(len(columns["time"]), dtype=bool)
    rng = np.random.default_rng(5)
    for first in range(60, 900, 70):
        kept[first : first + int(rng.integers(6, 15))] = False
    stamps = columns["time"][: kept.sum()]
    cut = {n: v[kept] for n, v in columns.items()} | {"time": stamps}
    recording = record(robot, cut)
    lost = find_lost_rows(recording)
    true = int(np.count_nonzero(~kept))
    assert 0.6 * true < lost.counts.sum() < 1.2 * true
    (found,) = [f for f in faults(robot, recording) if f.name == "dropped_samples"]
    assert found.fix is not None
    assert not found.fix.is_mapping
    mended = apply_fix(recording, found.fix)
    off = mended.time - columns["time"][kept]
    assert np.abs(np.diff(off)).max() < 5 / RATE  # each gap to a few rows
    assert mended.time[-1] > 0.95 * columns["time"][kept][-1]


def test_stale_bursts_of_noisy_sensors_are_found():
    robot, columns = healthy("arm")
    rows = np.arange(len(columns["time"]))
    for first in range(50, 950, 30):
        rows[first : first + 6] = first - 1
    measured = {
        n: v[rows]
        for n, v in columns.items()
        if n != "time" and not n.endswith("command")
    }
    found = faults(robot, record(robot, columns | measured))
    assert "stale_samples" in {f.name for f in found}


@pytest.mark.parametrize("form", ["error", "increment", "velocity"])
def test_commands_of_another_form_are_rebuilt(form: str):
    robot, columns = healthy("arm", 3)
    commands = {n: v for n, v in columns.items() if n.endswith(".command")}
    period = np.diff(
        columns["time"], append=2 * columns["time"][-1] - columns["time"][-2]
    )
    made = {
        name: {
            "error": value - columns[name.replace("command", "position")],
            "increment": np.diff(value, prepend=value[0]),
            "velocity": np.diff(value, append=value[-1]) / period,
        }[form]
        for name, value in commands.items()
    }
    recording = record(robot, columns | made)
    (found,) = faults(robot, recording)
    assert found.name == "command_kind"
    assert found.fix is not None
    mended = apply_fix(recording, found.fix)
    for name, value in commands.items():
        tolerance = 1e-9 if form == "error" else 0.03
        half_way = 0.5 * (value + np.append(value[1:], value[-1]))
        true = half_way if form == "velocity" else value
        np.testing.assert_allclose(mended.signals[name], true, atol=tolerance)


def test_a_joint_that_counts_the_other_way_in_all_columns_is_found_by_gravity():
    robot, columns = healthy("arm")
    joint = "shoulder_lift"
    names = [n for n in columns if n.startswith(f"{joint}.")]
    (found,) = faults(robot, record(robot, columns | {n: -columns[n] for n in names}))
    assert (found.name, found.joints) == ("joint_sign", (joint,))
    assert found.fix is not None
    assert set(found.fix.mapping) == set(names)


def test_joints_under_each_others_names_in_all_columns_are_found_by_gravity():
    robot, columns = healthy("arm")
    first, second = "shoulder_lift", "wrist_flex"
    swapped = {
        name.replace(here, there): values
        for name, values in columns.items()
        for here, there in ((first, second), (second, first))
        if name.startswith(f"{here}.")
    }
    recording = record(robot, columns | swapped)
    (found,) = faults(robot, recording)
    assert (found.name, set(found.joints)) == ("joint_order", {first, second})
    assert found.fix is not None
    mended = apply_fix(recording, found.fix)
    np.testing.assert_array_equal(
        mended.signals[f"{first}.position"], columns[f"{first}.position"]
    )
