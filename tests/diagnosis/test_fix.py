"""Fixes undo planted faults, say so in a sidecar, and never touch the original."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.diagnosis.fix import (
    Fix,
    Side,
    apply_fix,
    fix_clock,
    fix_frame,
    fix_offset,
    fix_order,
    fix_quaternion,
    fix_scale,
    fix_sign,
    join,
    to_sidecar,
    write_fixed,
)
from realworthy.errors import RealworthyError, UnknownName, Unwritable
from realworthy.realities import Interface, RealityFile, StandIn, make_reality
from realworthy.recordings import (
    Recording,
    Sidecar,
    SignalSource,
    load_recording,
    load_sidecar,
    save_recording,
)

from .generated_logs import move

RNG = np.random.default_rng(0)
TIME = np.linspace(0.0, 0.49, 50)
JOINTS = ("hip", "knee", "free")
QUANTITIES = ("position", "velocity", "torque")
SIDECAR = Sidecar(command_kind="position", rate=100.0)


def make() -> Recording:
    """Random numbers under the usual names; `free` has no motor."""
    names = [f"{j}.{q}" for j in JOINTS for q in QUANTITIES]
    names += ["hip.command", "knee.command", "hip.temperature"]
    names += [f"base.orientation.{a}" for a in "wxyz"]
    names += [f"base.gyro.{a}" for a in "xyz"]
    signals = {name: RNG.normal(size=len(TIME)) for name in names}
    return Recording(TIME, signals, SIDECAR)


def assert_same(first: Recording, second: Recording) -> None:
    assert first.sha256() == second.sha256()


def test_a_sign_turns_all_that_has_a_direction():
    before = make()
    after = apply_fix(before, fix_sign(before, ["hip"]))
    turned = {
        n for n in before.signals if (after.signals[n] != before.signals[n]).any()
    }
    assert turned == {"hip.position", "hip.velocity", "hip.torque", "hip.command"}
    for name in turned:
        np.testing.assert_array_equal(after.signals[name], -before.signals[name])


@pytest.mark.parametrize(
    ("side", "names"),
    [
        (Side.BOTH, {"hip.position", "hip.command"}),
        (Side.MEASUREMENTS, {"hip.position"}),
        (Side.COMMANDS, {"hip.command"}),
    ],
)
def test_an_offset_moves_positions_on_the_chosen_side(side: Side, names: set[str]):
    before = make()
    fix = fix_offset(before, "hip", 0.25, side=side)
    assert set(fix.mapping) == names
    after = apply_fix(before, fix)
    for name in names:
        np.testing.assert_array_equal(after.signals[name], before.signals[name] + 0.25)


def test_a_scale_leaves_torques_alone():
    fix = fix_scale(make(), "knee", 0.5)
    assert set(fix.mapping) == {"knee.position", "knee.velocity", "knee.command"}


def test_an_order_moves_columns_and_passes_over_missing_motors():
    """hip → knee → free → hip; of three joints only two have commands."""
    before = make()
    names = {"hip": "knee", "knee": "free", "free": "hip"}
    after = apply_fix(before, fix_order(before, names))
    for joint, name in names.items():
        for quantity in QUANTITIES:
            np.testing.assert_array_equal(
                after.signals[f"{joint}.{quantity}"],
                before.signals[f"{name}.{quantity}"],
            )
    pairs = {"hip.command": "knee.command", "knee.command": "hip.command"}
    for now, then in pairs.items():
        np.testing.assert_array_equal(after.signals[now], before.signals[then])


def test_an_order_that_is_none_is_refused():
    with pytest.raises(RealworthyError, match="every joint once"):
        fix_order(make(), {"hip": "knee", "knee": "knee"})


def test_an_unknown_joint_is_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="kneee") as error:
        fix_sign(make(), ["kneee"])
    assert error.value.nearest == ("knee",)


def test_a_clock_moves_measurements_and_not_commands():
    """Three rows late: what stands in row 3 happened in row 0."""
    before = make()
    after = apply_fix(before, fix_clock(before, 0.03))
    rows = len(after.time)
    assert rows >= len(TIME) - 4  # three, and one by rounding
    np.testing.assert_allclose(
        after.signals["hip.position"],
        before.signals["hip.position"][3 : 3 + rows],
        atol=1e-9,
    )
    np.testing.assert_array_equal(
        after.signals["hip.command"], before.signals["hip.command"][:rows]
    )


def test_an_orientation_is_put_in_order_and_inverted():
    before = make()
    fix = fix_quaternion("base.orientation", "zwxy", is_inverse=True)
    after = apply_fix(before, fix)
    expected = {"w": ("z", 1), "x": ("w", -1), "y": ("x", -1), "z": ("y", -1)}
    for axis, (column, sign) in expected.items():
        np.testing.assert_array_equal(
            after.signals[f"base.orientation.{axis}"],
            sign * before.signals[f"base.orientation.{column}"],
        )


def test_a_frame_that_mixes_axes_is_no_mapping():
    angle = 0.3
    c, s = np.cos(angle), np.sin(angle)
    fix = fix_frame("base.gyro", [[c, -s, 0], [s, c, 0], [0, 0, 1]])
    assert not fix.is_mapping
    assert "a mapping cannot say that" in to_sidecar(fix)
    before = make()
    after = apply_fix(before, fix)
    x, y = before.signals["base.gyro.x"], before.signals["base.gyro.y"]
    np.testing.assert_allclose(after.signals["base.gyro.x"], c * x - s * y, atol=1e-12)
    np.testing.assert_allclose(after.signals["base.gyro.y"], s * x + c * y, atol=1e-12)


def test_stale_rows_are_left_out():
    before = make()
    rows = np.array([0, 1, 1, 2, 3, 3, 3, 4])
    stale = Recording(
        TIME[: len(rows)], {n: v[rows] for n, v in before.signals.items()}, SIDECAR
    )
    fix = Fix(summary="stale", drop_repeats_of=("hip.position", "hip.velocity"))
    after = apply_fix(stale, fix)
    np.testing.assert_array_equal(after.time, TIME[[0, 1, 3, 4, 7]])


def every_mapping(recording: Recording) -> dict[str, Fix]:
    return {
        "sign": fix_sign(recording, ["hip", "knee"]),
        "scale": fix_scale(recording, "hip", np.pi / 180),
        "offset": fix_offset(recording, "knee", -0.125),
        "order": fix_order(recording, {"hip": "knee", "knee": "hip"}),
        "clock": fix_clock(recording, 0.0137),
        "quaternion": fix_quaternion("base.orientation", "zwxy"),
        "axes": fix_frame("base.gyro", [[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
    }


@pytest.mark.parametrize("name", every_mapping(make()))
def test_the_original_with_the_pasted_lines_is_the_corrected_recording(
    name: str, tmp_path: Path
):
    recording = make()
    fix = every_mapping(recording)[name]
    original = tmp_path / "run.csv"
    save_recording(recording, original)
    sidecar = tmp_path / "run.yaml"
    with sidecar.open("a", encoding="utf-8") as file:
        file.write(to_sidecar(fix))
    loaded = load_recording(original, check_units=False)
    assert_same(loaded, apply_fix(recording, fix))


def test_lines_replace_a_mapping_that_the_original_had(tmp_path: Path):
    """Degrees, mapped to radians, of a joint that also counts the other way."""
    degrees = Recording(TIME, {"raw": RNG.normal(size=len(TIME))}, Sidecar())
    original = tmp_path / "run.npz"
    save_recording(degrees, original)
    first = Sidecar(mapping={"hip.position": SignalSource("raw", scale=0.0175)})
    recording = load_recording(original, sidecar=first)
    fix = join([fix_sign(recording, ["hip"]), fix_offset(recording, "hip", 0.5)])
    pasted = tmp_path / "pasted.yaml"
    pasted.write_text("schema: 1\n" + to_sidecar(fix, recording), encoding="utf-8")
    loaded = load_recording(original, sidecar=pasted)
    expected = 0.5 - 0.0175 * degrees.signals["raw"]
    np.testing.assert_allclose(loaded.signals["hip.position"], expected, rtol=1e-12)
    np.testing.assert_allclose(
        apply_fix(recording, fix).signals["hip.position"], expected, rtol=1e-12
    )


def test_joined_fixes_do_what_they_do_one_after_the_other():
    recording = make()
    fixes = list(every_mapping(recording).values())
    one_by_one = recording
    for fix in fixes:
        one_by_one = apply_fix(one_by_one, fix)
    joined = apply_fix(recording, join(fixes))
    for name, values in one_by_one.signals.items():
        np.testing.assert_allclose(joined.signals[name], values, atol=1e-12)


def test_a_reality_is_mended_to_what_a_healthy_one_reports():
    """Sign, unit, offset and order of an arm, undone one after the other."""
    joint, other = "elbow_flex", "wrist_flex"
    clean = listen(Interface(), lambda commands: commands)
    names = list(clean.joints)
    i, k = names.index(joint), names.index(other)
    order = list(names)
    order[i], order[k] = other, joint

    def translate(commands: np.ndarray) -> np.ndarray:
        told = commands.copy()
        told[:, k] = -2.0 * commands[:, i] + 0.3  # the elbow goes by the wrist's name
        told[:, i] = commands[:, k]
        return told

    faults = Interface(
        joint_order=order,
        joint_sign=[joint],
        unit_scale={joint: 2.0},
        encoder_offset={joint: 0.3},
    )
    recording = listen(faults, translate)
    assert np.abs(recording.stack("position") - clean.stack("position")).max() > 0.1
    mended = apply_fix(recording, fix_order(recording, {joint: other, other: joint}))
    mended = apply_fix(mended, fix_offset(mended, joint, -0.3))
    mended = apply_fix(mended, fix_scale(mended, joint, 0.5))
    mended = apply_fix(mended, fix_sign(mended, [joint]))
    for quantity in ("position", "velocity", "torque", "command"):
        np.testing.assert_allclose(
            mended.stack(quantity, names),
            clean.stack(quantity, names),
            atol=1e-9,
            err_msg=quantity,
        )


def test_a_default_pose_is_an_offset_of_commands():
    pose = {"elbow_flex": 0.1}
    clean = listen(Interface(), lambda commands: commands)
    recording = listen(Interface(default_pose=pose), lambda c: c - 0.1 * (ELBOW == 1))
    fix = fix_offset(recording, "elbow_flex", 0.1, side=Side.COMMANDS)
    mended = apply_fix(recording, fix)
    for quantity in ("position", "command"):
        np.testing.assert_allclose(
            mended.stack(quantity), clean.stack(quantity), atol=1e-9
        )


ELBOW = np.array([0, 0, 1, 0, 0, 0, 0])
"""Where the arm's elbow stands among its commands."""


def listen(
    interface: Interface, translate: Callable[[np.ndarray], np.ndarray]
) -> Recording:
    """One second of an arm without noise."""
    file = RealityFile(schema=1, twin="arm", interface=interface)
    robot = StandIn(make_reality("arm", file))
    return play(robot, translate(move(robot.info, 1.0, seed=0)))


def test_fixed_files_lie_beside_their_originals(tmp_path: Path):
    recording = make()
    original = tmp_path / "run.csv"
    save_recording(recording, original)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    loaded = load_recording(original, check_units=False)
    fix = fix_sign(loaded, ["hip"])
    (path,) = write_fixed([loaded], [fix])
    assert path == tmp_path / "run.fixed.csv"
    assert {n: (tmp_path / n).read_bytes() for n in before} == before
    fixed = load_recording(path, check_units=False)
    assert_same(fixed, apply_fix(recording, fix))
    notes = load_sidecar(tmp_path / "run.fixed.yaml").notes
    assert notes["fixes"] == [fix.summary]
    assert notes["fixed_from"] == {
        "sha256_of_numbers": recording.sha256(),
        "file": "run.csv",
        "sha256_of_file": hashlib.sha256(before["run.csv"]).hexdigest(),
    }


def test_nothing_is_written_where_one_file_is_in_the_way(tmp_path: Path):
    recordings = []
    for name in ("a.npz", "b.npz"):
        save_recording(make(), tmp_path / name)
        recordings.append(load_recording(tmp_path / name, check_units=False))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b.fixed.npz").write_text("mine")
    fix = fix_sign(recordings[0], ["hip"])
    with pytest.raises(Unwritable, match="exists already"):
        write_fixed(recordings, [fix], tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["b.fixed.npz"]
    written = write_fixed(recordings, [fix], tmp_path / "out", overwrite=True)
    assert [path.name for path in written] == ["a.fixed.npz", "b.fixed.npz"]
    assert_same(
        load_recording(written[1], check_units=False), apply_fix(recordings[1], fix)
    )


def test_an_original_is_never_written_over(tmp_path: Path):
    for name in ("run.npz", "run.fixed.npz"):
        save_recording(make(), tmp_path / name)
    paths = [tmp_path / "run.npz", tmp_path / "run.fixed.npz"]
    recordings = [load_recording(path, check_units=False) for path in paths]
    fix = fix_sign(recordings[0], ["hip"])
    with pytest.raises(Unwritable, match="this run reads that file"):
        write_fixed(recordings, [fix], overwrite=True)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_foreign_layout_becomes_a_table(data_folder: Path, tmp_path: Path):
    source = data_folder / "so101_sage" / "chirp_sweep"
    recording = load_recording(source, "so101_sage")
    fix = fix_offset(recording, "elbow_flex", 0.01)
    (path,) = write_fixed([recording], [fix], tmp_path)
    assert path.name == "chirp_sweep.fixed.csv"
    assert_same(load_recording(path), apply_fix(recording, fix))
    # The lines serve the importer as well.
    pasted = tmp_path / "pasted.yaml"
    pasted.write_text("schema: 1\n" + to_sidecar(fix), encoding="utf-8")
    again = load_recording(source, "so101_sage", sidecar=pasted)
    assert_same(again, apply_fix(recording, fix))
