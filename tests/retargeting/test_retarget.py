"""A person and a dog on robots: what a good result is, and what is said before."""

from dataclasses import asdict
from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.errors import MissingExtra, RealworthyError, Unwritable
from realworthy.recordings.motion import Motion, load_motion
from realworthy.retargeting import RetargetSettings, load_map, retarget
from realworthy.retargeting.metrics import measure_motion
from realworthy.retargeting.retarget import to_poses

from .conftest import NO_SOLVER, make_person

ON_MINK = pytest.mark.usefixtures("solver")


@pytest.fixture
def solver() -> None:
    pytest.importorskip("mink", reason=NO_SOLVER)


@ON_MINK
@pytest.mark.parametrize("legs", [0.8, 1.0, 1.2])
def test_people_of_any_size_walk_on_the_humanoid(legs: float):
    found = retarget(make_person(legs=legs), "humanoid")
    metrics = found.metrics
    assert metrics.is_good, asdict(metrics)
    assert metrics.limit_violations == 0
    assert metrics.foot_slide < 0.005
    assert metrics.penetration_max < 1e-4
    assert metrics.contacts_kept == 1.0
    assert metrics.key_body_error < 0.03
    assert found.frames_per_second > 100
    way = found.qpos[-1, :2] - found.qpos[0, :2]
    assert way[1] == pytest.approx(found.targets.scale * 0.75 * legs * 2.98, rel=0.02)
    assert abs(way[0]) < 0.02


@ON_MINK
def test_a_dog_trots_on_the_quadruped(dog: Motion, tmp_path: Path):
    found = retarget(dog, "quadruped", output=tmp_path / "m.csv")
    assert found.metrics.is_good
    assert found.metrics.key_body_error < 0.002
    assert found.metrics.fastest.endswith(("_hip", "_thigh", "_calf"))
    saved = load_motion(tmp_path / "m.csv")
    np.testing.assert_allclose(to_poses(found.robot, saved), found.qpos, atol=1e-9)
    assert saved.contacts is not None
    assert saved.contacts.names[0] == "front_left"
    with pytest.raises(Unwritable):
        retarget(dog, "quadruped", output=tmp_path / "m.csv")


@ON_MINK
def test_metrics_see_what_is_wrong(dog: Motion):
    """A result that is spoilt in one way fails in that way alone."""
    found = retarget(dog, "quadruped")
    robot, targets = found.robot, found.targets

    def spoil(qpos: np.ndarray) -> dict[str, object]:
        return asdict(measure_motion(robot, found.figure, targets, qpos))

    sunk = found.qpos - np.eye(robot.model.nq)[2] * 0.03
    assert spoil(sunk)["penetration_max"] == pytest.approx(0.03, abs=1e-3)
    assert spoil(sunk)["key_body_error"] == pytest.approx(0.03, abs=2e-3)
    high = found.qpos + np.eye(robot.model.nq)[2] * 0.03
    assert spoil(high)["contacts_kept"] == 0.0
    drift = found.qpos.copy()
    drift[:, 0] += 0.2 * targets.time
    assert spoil(drift)["foot_slide"] == pytest.approx(0.2, rel=0.02)
    bent = found.qpos.copy()
    knee = robot.joints.index("FL_calf")
    bent[7:9, robot.qpos[knee]] = robot.upper[knee] + 0.01
    assert spoil(bent)["limit_violations"] == 2
    assert spoil(bent)["fastest"] == "FL_calf"


@ON_MINK
def test_motors_are_never_asked_for_more_than_they_have(person: Motion):
    quick = retarget(person, "humanoid", settings=RetargetSettings(slower=0.6))
    ratio = quick.metrics.speed_ratio
    assert ratio is not None
    assert ratio <= 1.0


@ON_MINK
def test_a_motion_faster_than_the_motors_is_refused_before(person: Motion):
    with pytest.raises(RealworthyError, match="faster than the motors") as error:
        retarget(person, "humanoid", settings=RetargetSettings(slower=0.15))
    assert "knee turns at" in error.value.problem
    assert "--slower" in error.value.hint


@ON_MINK
def test_a_pose_that_was_put_first_is_left_out(person: Motion):
    assert person.bodies is not None
    moved = person.bodies.position.copy()
    moved[:2, :, 0] += 0.5
    moved[1, :, 1] += 2.0
    first = Motion(
        person.time,
        (),
        person.position,
        bodies=type(person.bodies)(person.bodies.names, moved),
    )
    found = retarget(first, "humanoid", settings=RetargetSettings(end=1.0))
    assert any("first 2 rows" in remark for remark in found.remarks)
    assert found.metrics.is_good


@ON_MINK
def test_a_map_of_ones_own_is_used(person: Motion, tmp_path: Path):
    found = retarget(person, "humanoid", settings=RetargetSettings(end=0.5))
    text = msgspec.yaml.encode(found.body_map)
    (tmp_path / "map.yaml").write_bytes(text.replace(b"right: right_foot", b""))
    with pytest.raises(RealworthyError, match="leaves out the right foot"):
        retarget(person, "humanoid", body_map=tmp_path / "map.yaml")
    (tmp_path / "map.yaml").write_bytes(text)
    assert load_map(tmp_path / "map.yaml") == found.body_map


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (RetargetSettings(slower=0.0), "cannot take 0 times as long"),
        (RetargetSettings(start=2.0, end=2.02), "fewer than four rows"),
        (RetargetSettings(start=7.0), "no two rows from 7"),
    ],
)
@ON_MINK
def test_nonsense_is_said_before_work(
    person: Motion, settings: RetargetSettings, message: str
):
    with pytest.raises(RealworthyError, match=message):
        retarget(person, "humanoid", settings=settings)


def test_without_the_solver_it_is_asked_for(
    dog: Motion, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(__import__("sys").modules, "mink", None)
    with pytest.raises(MissingExtra, match=r"needs mink") as error:
        retarget(dog, "quadruped")
    assert "realworthy[retarget]" in error.value.hint


@ON_MINK
def test_captured_people_walk_run_and_jump_on_a_g1(
    data_folder: Path, menagerie_root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    for clip in ("09_01", "16_01"):
        found = retarget(
            data_folder / f"cmu_mocap/{clip}.bvh.gz", "menagerie:unitree_g1", unit="cmu"
        )
        assert found.metrics.is_good, (clip, asdict(found.metrics))
        assert found.metrics.key_body_error < 0.03


@ON_MINK
def test_copied_joints_are_worse_by_far(
    data_folder: Path, menagerie_root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    monkeypatch.setenv("REALWORTHY_DATA", str(data_folder))
    from benchmarks.retargeting import copy_joints

    motion = load_motion(data_folder / "cmu_mocap/02_01.bvh.gz", unit="cmu")
    ours = retarget(motion, "menagerie:unitree_g1")
    poses = copy_joints(motion, ours)
    copied = measure_motion(ours.robot, ours.figure, ours.targets, poses)
    assert copied.foot_height_error > 3 * ours.metrics.foot_height_error
    assert copied.foot_slide > 3 * ours.metrics.foot_slide
