"""`realworthy calibrate`."""

import json
from pathlib import Path

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.realities import (
    RealityFile,
    RealityNoise,
    StandIn,
    load_reality,
    make_reality,
)
from realworthy.realities.effects import Drag
from realworthy.recordings import save_recording
from realworthy.twins import load_twin

from .conftest import Run

NAMES = ("joint.damping", "joint.coulomb_friction")


@pytest.fixture
def swings(tmp_path: Path) -> list[str]:
    """Two motions of a pendulum whose truth is shipped."""
    robot = StandIn(load_reality("pendulum_1_easy"))
    t = np.arange(round(3 * robot.info.rate)) / robot.info.rate
    names = []
    for k, (slow, fast) in enumerate([(0.8, 1.9), (0.6, 2.3)]):
        torque = 1.2 * np.sin(2 * np.pi * slow * t) + 0.8 * np.sin(2 * np.pi * fast * t)
        save_recording(play(robot, {"joint.command": torque}), tmp_path / f"{k}.npz")
        names.append(f"{k}.npz")
    return names


def test_what_must_be_identified_decides_the_exit_status(run: Run, swings: list[str]):
    asked = ("calibrate", "pendulum", *swings, "--require-identified")
    told = run(*asked, "--output", "x.twin.yaml", "--parameters", *NAMES)
    assert told.status == 0, told.err
    both = ("joint.coulomb_friction", "all.coulomb_friction")  # one is the other
    told = run(*asked, "--output", "y.twin.yaml", "--parameters", *both)
    assert told.status in (1, 2)
    assert "coulomb_friction" in told.out + told.err
    vain = ("joint.damping", "pendulum.centre_of_mass.y")
    told = run(*asked, "--output", "z.twin.yaml", "--parameters", *vain)
    assert told.status == 1
    assert "Not identified, though it was required: " in told.out


def test_a_pendulum_is_calibrated_and_reported(
    run: Run, swings: list[str], tmp_path: Path
):
    outputs = ("--output", "x.twin.yaml", "--json", "x.json", "--report", "x.html")
    told = run("calibrate", "pendulum", *swings, *outputs, "--parameters", *NAMES)
    assert told.status == 0, told.err
    assert told.files == ("x.html", "x.json", "x.twin.yaml")  # no rest of the work
    truth = load_reality("pendulum_1_easy").file.parameters
    tree = json.loads((tmp_path / "x.json").read_text())
    belief = load_twin(tmp_path / "x.twin.yaml").belief
    for name in NAMES:
        own = tree["parameters"][name]
        assert own["verdict"] == "identified"
        assert abs(own["mean"] - truth[name]) < 4 * own["sd"]
        assert abs(belief.mean[name] - truth[name]) < 4 * belief.sd[name]
    assert tree["twin"] == "x.twin.yaml"
    assert (
        tree["heldout"]["position_rmse"]
        < 0.1 * (tree["heldout"]["position_rmse_before"])
    )
    assert tree["seconds"] > 0
    page = (tmp_path / "x.html").read_text()
    for words in (*NAMES, "Recordings that were not fitted", "identified"):
        assert words in page
    for role in ("real", "twin", "right"):  # before and after, in three dimensions
        assert f'{{"role":"{role}","position":"' in page
    again = run("calibrate", "pendulum", *swings, "--output", "x.twin.yaml")
    assert again.status == 2
    assert "it exists already" in again.err


def test_folds_are_in_the_file_and_on_the_page(
    run: Run, swings: list[str], tmp_path: Path
):
    told = run(
        *("calibrate", "pendulum", *swings, "--parameters", *NAMES, "--folds"),
        *("--output", "x.twin.yaml", "--json", "x.json", "--report", "x.html"),
    )
    assert told.status == 0, told.err
    assert told.files == ("x.html", "x.json", "x.twin.yaml")
    tree = json.loads((tmp_path / "x.json").read_text())
    folds = tree["folds"]
    assert [fold["held_out"] for fold in folds["folds"]] == [["0"], ["1"]]
    errors = [fold["position_rmse"] for fold in folds["folds"]]
    assert folds["position_rmse"] == pytest.approx(np.mean(errors))
    assert folds["position_rmse_worst"] == max(errors) < folds["position_rmse_before"]
    assert errors[1] == tree["heldout"]["position_rmse"]  # held out by default
    truth = load_reality("pendulum_1_easy").file.parameters
    for fold in folds["folds"]:
        for name in NAMES:
            assert fold["parameters"][name] == pytest.approx(truth[name], rel=0.05)
    page = (tmp_path / "x.html").read_text()
    assert "Recordings left out in turn" in page
    assert "worst fold" in page
    assert "2 folds are off by" in told.out


@pytest.mark.parametrize(
    ("method", "evaluations", "near", "is_short"),
    [
        ("cma_es", 250, 0.01, False),
        ("l_bfgs_b", 250, 0.01, True),  # kinks of dry friction stop it
        ("random_search", 250, 0.15, True),
    ],
)
def test_every_method_finds_planted_numbers_and_says_how_well(
    run: Run,
    swings: list[str],
    tmp_path: Path,
    method: str,
    evaluations: int,
    near: float,
    is_short: bool,
):
    """0.15 is what 250 draws come to: two numbers over e-fold ranges, 2/√250."""
    told = run(
        *("calibrate", "pendulum", *swings, "--parameters", *NAMES),
        *("--method", method, "--evaluations", evaluations),
        *("--output", "x.twin.yaml", "--json", "x.json", "--report", "x.html"),
    )
    assert told.status == 0, told.err
    tree = json.loads((tmp_path / "x.json").read_text())
    twin = load_twin(tmp_path / "x.twin.yaml")
    truth = load_reality("pendulum_1_easy").file.parameters
    for name in NAMES:
        own = tree["parameters"][name]
        assert abs(own["mean"] - truth[name]) < near * truth[name]
        assert abs(own["mean"] - truth[name]) < 4 * own["sd"]
        assert own["sd"] < 0.5 * truth[name]
    held = tree["heldout"]
    assert held["position_rmse"] < 0.5 * held["position_rmse_before"]
    assert tree["method"] == method
    assert twin.provenance is not None
    assert twin.provenance.method == method
    assert tree["evaluations"] < evaluations + 250  # what the last linearisation takes
    assert ("ended short of the minimum" in told.out) == is_short


def test_a_method_that_is_not_there_is_named_with_those_that_are(
    run: Run, swings: list[str]
):
    asked = ("calibrate", "pendulum", *swings, "--output", "x.twin.yaml", "--method")
    told = run(*asked, "cma")
    assert (told.status, told.files) == (2, ())
    assert "calibrate has no method 'cma'" in told.err
    assert "Nearest: 'cma_es'" in told.err
    told = run(*asked, "least_squares", "--evaluations", "10")
    assert (told.status, told.files) == (2, ())
    assert "Least squares takes no number of evaluations" in told.err
    told = run(*asked, "cma_es", "--evaluations", "0")
    assert told.status == 2
    assert "1 or more, not 0" in told.err


def test_another_name_is_refused_before_the_work(run: Run, swings: list[str]):
    told = run("calibrate", "pendulum", *swings, "--output", "x.yaml")
    told.check_mistake(
        "RealworthyError: A twin's file name ends in .twin.yaml, not 'x.yaml'.\n"
        "  Try: --output x.twin.yaml\n"
    )


def test_a_recording_of_another_robot_says_so(run: Run, swings: list[str]):
    told = run("calibrate", "arm", *swings, "--output", "x.twin.yaml")
    assert told.status == 2
    assert "have no joint in common" in told.err


def test_an_unknown_parameter_is_named(run: Run, swings: list[str]):
    told = run(
        *("calibrate", "pendulum", *swings, "--output", "x.twin.yaml"),
        *("--parameters", "joint.dampin"),
    )
    assert told.status == 2
    assert "Nearest: 'joint.damping'" in told.err
    assert told.files == ()


def record_dragged(folder: Path, coefficient: float) -> list[str]:
    """Four motions of a pendulum with drag that no twin of a pendulum has."""
    file = RealityFile(
        schema=1,
        twin="pendulum",
        seed=3,
        noise=RealityNoise(position=0.0002),
        effects=[Drag(joint="joint", coefficient=coefficient)] if coefficient else [],
    )
    robot = StandIn(make_reality("dragged", file))
    t = np.arange(round(4 * robot.info.rate)) / robot.info.rate
    names = []
    for k, f in enumerate((0.5, 0.9, 1.3, 0.7)):
        torque = 1.5 * np.sin(2 * np.pi * f * t) * np.sin(t)
        save_recording(play(robot, {"joint.command": torque}), folder / f"{k}.npz")
        names.append(f"{k}.npz")
    return names


@pytest.mark.parametrize(("coefficient", "is_kept"), [(0.1, True), (0.0, False)])
def test_a_learned_force_is_kept_where_it_does_better_than_physics(
    run: Run, tmp_path: Path, coefficient: float, is_kept: bool
):
    names = record_dragged(tmp_path, coefficient)
    told = run(
        *("calibrate", "pendulum", *names, "--parameters", "joint.damping"),
        *("--output", "x.twin.yaml", "--json", "x.json", "--residual"),
    )
    assert told.status == 0, told.err
    learned = json.loads((tmp_path / "x.json").read_text())["residual"]
    twin = load_twin(tmp_path / "x.twin.yaml")
    assert learned["kept"] == is_kept
    assert (twin.residual is not None) == is_kept
    assert (tmp_path / "x.residual.yaml").exists() == is_kept
    assert f"{learned['without']:.3g} rad" in told.out
    assert f"{learned['with']:.3g} rad" in told.out
    if not is_kept:
        return
    # 0.58 was measured: damping had made up for part of the drag before
    assert learned["with"] < 0.7 * learned["without"]
    measured = run("measure", "x.twin.yaml", names[3])  # the twin's file is whole
    assert measured.status == 0, measured.err


def test_too_few_recordings_for_a_learned_force_are_refused_before_the_work(
    run: Run, swings: list[str]
):
    told = run(
        "calibrate", "pendulum", *swings, "--output", "x.twin.yaml", "--residual"
    )
    told.check_mistake(
        "BadRecording: A residual needs 2 recordings to fit beside those held out; "
        "there is 1.\n  Record another motion, or leave out --residual.\n"
    )


@pytest.mark.slow
def test_a_real_arm_is_calibrated_from_the_model_as_published(
    run: Run,
    data_folder: Path,
    menagerie_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """No value, no start, no bound and no choice of parameters by hand."""
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    told = run(
        *("calibrate", "menagerie:robotstudio_so101/so101"),
        *(data_folder / "so101_sage", "--importer", "so101_sage"),
        *("--output", "so101.twin.yaml", "--json", "so101.json"),
    )
    tree = json.loads((tmp_path / "so101.json").read_text())
    with capsys.disabled():
        print(f"\n  {tree['seconds']:.0f} s: {tree['summary']}")
    assert told.status == 0
    held = {e["recording"]: e["after"] for e in tree["heldout"]["recordings"]}
    assert tree["heldout"]["strange"] == ["single_joint_wrist_roll"]  # it stalled
    assert any("single_joint_wrist_roll" in said for said in tree["warnings"])
    usual = [held[n] for n in held if n != "single_joint_wrist_roll"]
    assert sum(usual) / len(usual) < 0.0065
    assert -0.08 < tree["parameters"]["table.height"]["mean"] < -0.03
    gains = [e["mean"] for n, e in tree["parameters"].items() if n.endswith(".kp")]
    assert all(8 < gain < 60 for gain in gains)  # published: 998
