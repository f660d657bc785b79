"""`realworthy retarget`, and motions in `show` and `convert`."""

import json
from pathlib import Path

import pytest

from realworthy.recordings.motion import load_motion, save_motion

from ..retargeting.conftest import NO_SOLVER, make_dog
from .conftest import Run


@pytest.fixture
def clip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_motion(make_dog(seconds=1.0), tmp_path / "dog.csv")
    return Path("dog.csv")


def test_a_dogs_motion_becomes_the_quadrupeds(run: Run, clip: Path):
    pytest.importorskip("mink", reason=NO_SOLVER)
    outputs = ("--output", "robot.csv", "--json", "r.json", "--report", "r.html")
    found = run("retarget", str(clip), "--to", "quadruped", *outputs)
    assert found.status == 0, found.err
    assert "slide of standing feet" in found.out
    tree = json.loads(Path("r.json").read_text())
    assert tree["good"] is True
    assert tree["metrics"]["limit_violations"] == 0
    assert tree["metrics"]["foot_slide"] < 0.05
    assert tree["body_map_drafted"] is False
    assert load_motion("robot.csv").base is not None
    page = Path("r.html").read_text("utf-8")
    assert "Both in motion" in page
    assert 'class="scene"' in page
    again = run("retarget", str(clip), "--to", "quadruped", *outputs)
    assert again.status == 2
    assert "robot.csv" in again.err


def test_mistakes_are_said_before_work(run: Run, clip: Path):
    pytest.importorskip("mink", reason=NO_SOLVER)
    for arguments, message in (
        (("--to", "humanoid"), "has 2 feet, which is not as a dog has"),
        (("--to", "quadruped", "--point", "x"), "--point takes PART=JOINT"),
        (("--to", "quadruped", "--importer", "bhv"), "no layout of motions 'bhv'"),
        (("--to", "quadruped", "--output", "m.txt"), "ends in .csv"),
        (("--to", "quadruped", "--slower", "0.07"), "faster than the motors"),
    ):
        found = run("retarget", str(clip), *arguments)
        assert found.status == 2, arguments
        assert message in " ".join(found.err.split()), arguments
        assert "Traceback" not in found.err


def test_motions_are_shown(run: Run, clip: Path):
    found = run("show", str(clip), "--json", "s.json")
    assert found.status == 0
    assert "front_left_toe" in found.out
    tree = json.loads(Path("s.json").read_text())
    assert tree["rate"] == pytest.approx(60)
    assert tree["size"] == pytest.approx(0.56, abs=0.1)


def test_foreign_motions_are_converted(run: Run, clip: Path):
    from realworthy.recordings.motion_layouts.bvh import Bvh, BvhJoint, write_bvh

    channels = ("Xposition", "Yposition", "Zposition")
    joints = (
        BvhJoint("root", -1, (0.0, 0.0, 0.0), channels),
        BvhJoint("head", 0, (0.0, 150.0, 0.0), ()),
    )
    import numpy as np

    write_bvh(Bvh(joints, np.zeros((5, 3)), 0.01), "a.bvh")
    refused = run("convert", "a.bvh", "--output", "ours")
    assert refused.status == 2
    assert "--unit cm (1.50 m)" in " ".join(refused.err.split())
    found = run("convert", "a.bvh", "--output", "ours", "--unit", "cm")
    assert found.status == 0, found.err
    motion = load_motion("ours/a.csv")
    assert motion.bodies is not None
    np.testing.assert_allclose(motion.bodies["head"][0], [0, 0, 1.5], atol=1e-12)


def test_layouts_of_motions_are_listed(run: Run):
    found = run("show", "importers")
    assert "lafan1_csv" in found.out
    assert run("show", "importers", "bvh").status == 0
