"""`realworthy excite`."""

import json
from pathlib import Path

import pytest

from realworthy.recordings.motion import load_motion

from .conftest import MODEL, Run, Write

QUICK = ("--seconds", "2", "--output", "sway.csv")


def test_a_motion_and_its_figures_are_written(run: Run, write: Write, tmp_path: Path):
    write("leg.xml", MODEL)
    told = run("excite", "leg.xml", *QUICK, "--json", "sway.json")
    assert told.status == 0
    assert set(told.files) == {"sway.csv", "sway.json"}
    motion = load_motion(tmp_path / "sway.csv")
    assert motion.joints == ("hip",)
    assert motion.duration == pytest.approx(2.0, abs=0.02)
    tree = json.loads((tmp_path / "sway.json").read_text())
    assert tree["motion"] == "sway.csv"
    assert {"hip.damping", "all.delay"} <= set(tree["parameters"])
    for name, limit in (("speed", "speed"), ("torque", "torque")):
        assert 0 < tree["peaks"]["hip"][name] <= tree["limits"]["hip"][limit]
    assert tree["parameters"]["hip.damping"]["sd"] > 0
    assert "Predicted peaks, over 8 draws of the belief" in told.out
    assert "Expected precision from one recording" in told.out


def test_a_wish_that_is_not_met_is_a_negative_verdict(run: Run, write: Write):
    write("leg.xml", MODEL)
    told = run("excite", "leg.xml", *QUICK, "--sd", "hip.damping=1e-9")
    assert told.status == 1
    assert "times the data" in told.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sd", "hip.damping"), "RealworthyError: --sd takes NAME=SD"),
        (("--sd", "hip.damping=much"), "RealworthyError: --sd takes NAME=SD"),
        (("--sd", "hip.dampin=1"), "UnknownParameter: twin 'leg' has no parameter"),
        (("--parameters", "hip.dampin"), "UnknownParameter: twin 'leg' has no"),
        (("--joints", "knee"), "UnknownName: twin 'leg' has no driven joint 'knee'."),
        (("--seconds", "0"), "RealworthyError: A motion of 0 s cannot be designed."),
        (("--speed", "-1"), "RealworthyError: The speed limit is -1"),
        (("--torque", "2"), "RealworthyError: torque_share is 2"),
        (("--output", "sway.mp4"), "RealworthyError: A motion's file name ends in"),
    ],
)
def test_mistakes(run: Run, write: Write, arguments: tuple[str, ...], message: str):
    write("leg.xml", MODEL)
    told = run("excite", "leg.xml", *arguments)
    assert told.err.startswith(message)
    assert told.status == 2
    assert told.files == ()


def test_an_existing_motion_is_not_replaced(run: Run, write: Write):
    write("leg.xml", MODEL)
    write("motion.csv", "mine")
    run("excite", "leg.xml").check_mistake(
        "Unwritable: Cannot write motion.csv: it exists already.\n"
        "  Choose another name, or give --overwrite (overwrite=True).\n"
    )


def test_a_twin_without_drives(run: Run, write: Write):
    write("leg.xml", MODEL.partition("<actuator>")[0] + "</mujoco>")
    told = run("excite", "leg.xml")
    assert told.status == 2
    assert "has no joint that an actuator drives" in told.err
