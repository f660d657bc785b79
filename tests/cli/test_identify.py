"""`realworthy identify`, on stand-ins whose truth is planted."""

import json
from pathlib import Path

import pytest

from realworthy.realities import StandIn, load_reality
from realworthy.recordings import load_recording
from realworthy.robots import Mode
from realworthy.twins import load_twin

from .conftest import Run, Write

LINK = """
<mujoco model="link">
  <option timestep="0.004" integrator="implicitfast"/>
  <worldbody>
    <body name="link">
      <joint name="joint" axis="0 1 0" damping="0.2" frictionloss="0.05"
             armature="0.01"/>
      <inertial pos="0 0 -0.2" mass="0.4" diaginertia="0.0028 0.0028 0.0005"/>
    </body>
  </worldbody>
  <actuator>
    <position name="joint" joint="joint" kp="20" kv="0.5" forcerange="-5 5"/>
  </actuator>
</mujoco>
"""
TRUTH = {"joint.kp": 16.0, "joint.damping": 0.3, "joint.coulomb_friction": 0.08}
ASKED = ("--parameters", *TRUTH, "--seconds", "2", "--output", "mine.twin.yaml")


@pytest.fixture
def planted(write: Write) -> tuple[str, ...]:
    write("link.xml", LINK)
    numbers = ", ".join(f"{name}: {value}" for name, value in TRUTH.items())
    write(
        "mine.reality.yaml",
        f"schema: 1\ntwin: link.xml\nseed: 5\nparameters: {{{numbers}}}\n"
        "noise: {position: 0.001, velocity: 0.01, torque: 0.02}\n",
    )
    return ("identify", "link.xml", "--robot", "sim:mine.reality.yaml", *ASKED)


def test_numbers_are_known_as_well_as_asked_and_true(
    run: Run, planted: tuple[str, ...], tmp_path: Path
):
    told = run(*planted, "--json", "found.json")
    assert told.status == 0, told.err
    assert told.files == ("found.json", "mine", "mine.twin.yaml", "mine/round_1.npz")
    assert "Until 3 numbers are as precise as asked" in told.out
    assert "Round 1: 3 of 3 numbers are as precise as asked, after 2 s" in told.out
    tree = json.loads((tmp_path / "found.json").read_text())
    assert tree["status"] == "reached"
    assert tree["robot_seconds"] == pytest.approx(2.0, abs=0.1)
    twin = load_twin(tmp_path / "mine.twin.yaml")
    assert twin.provenance is not None
    assert len(twin.provenance.recordings) == 1
    for name, true in TRUTH.items():
        found = tree["parameters"][name]
        assert found["sd"] <= found["wanted"]
        assert abs(found["mean"] - true) < 4 * found["sd"]
        assert twin.space[name].nominal == pytest.approx(found["mean"], rel=1e-3)


def test_ctrl_c_leaves_the_robot_braked_and_what_was_learnt(
    run: Run,
    planted: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """In the middle of the second motion."""
    reality = load_reality(str(tmp_path / "mine.reality.yaml"))
    robot = StandIn(reality)
    trials: list[int] = []
    wait, connect = robot.wait, robot.connect

    def begin() -> None:
        trials.append(1)
        connect()

    def stop(seconds: float) -> None:
        wait(seconds)
        if len(trials) == 2 and robot.read().time > 2.0:
            raise KeyboardInterrupt

    monkeypatch.setattr(robot, "connect", begin)
    monkeypatch.setattr(robot, "wait", stop)
    monkeypatch.setattr("realworthy.robots.address.open_robot", lambda *_, **__: robot)
    loop = "realworthy.identification.excitation.campaign._is_met"
    monkeypatch.setattr(loop, lambda *_: False)
    told = run(*planted)
    assert told.status == 130
    assert "mine.twin.yaml has what was known after the last round." in told.out
    trials.clear()
    robot.wait(0.1)  # a mode shows in the next measurement
    assert robot.read().mode is Mode.DAMP
    assert {"mine.twin.yaml", "mine/round_1.npz", "mine/round_2.npz"} <= {*told.files}
    assert not [name for name in told.files if name.endswith(".journal")]
    assert load_recording(tmp_path / "mine" / "round_2.npz").duration < 2.0
    twin = load_twin(tmp_path / "mine.twin.yaml")
    kp = twin.space["joint.kp"].nominal
    assert kp == pytest.approx(TRUTH["joint.kp"], rel=0.1)


def test_a_person_must_agree_to_each_motion(
    run: Run,
    planted: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    robot = StandIn(load_reality(str(tmp_path / "mine.reality.yaml")))
    monkeypatch.setattr("realworthy.robots.address.open_robot", lambda *_, **__: robot)
    wire = [x.replace("sim:mine.reality.yaml", "udp://127.0.0.1:9") for x in planted]
    told = run(*wire)
    assert "there is no terminal to ask" in told.err
    assert (told.status, told.files) == (2, ())
    monkeypatch.setattr("realworthy.cli.deploy.check_person", lambda: None)
    monkeypatch.setattr("realworthy.cli.deploy.ask", lambda question: False)
    told = run(*wire)
    assert (told.status, told.files) == (1, ())
    assert "the operator said no" in told.out
    assert robot.read().time == 0.0


def test_nothing_is_replaced_and_names_must_be_right(
    run: Run, planted: tuple[str, ...], write: Write
):
    write("mine/round_3.npz", "mine")
    told = run(*planted)
    assert told.status == 2
    assert "round_3.npz: it exists already" in told.err
    told = run(*planted[:-1], "mine.yaml")
    assert "A twin's file name ends in .twin.yaml" in told.err
    assert (told.status, told.files) == (2, ())
