"""`realworthy experiment`, against truths planted in a stand-in."""

import json
from pathlib import Path

import numpy as np
import pytest

from realworthy.realities import StandIn, load_reality
from realworthy.recordings import load_recording
from realworthy.robots import Command, Mode, Robot, RobotInfo, State
from realworthy.twins import load_twin

from .conftest import Run, Write

LINK = """
<mujoco model="link">
  <option timestep="0.001" integrator="implicitfast"/>
  <default>
    <joint solreffriction="0.004 1" solimpfriction="0.9999 0.9999 0.001"/>
  </default>
  <worldbody>
    <body name="link">
      <joint name="joint" axis="0 1 0" damping="0.2" frictionloss="0.05"
             armature="0.01"/>
      <inertial pos="0 0 -0.2" mass="0.4" diaginertia="0.0028 0.0028 0.0005"/>
    </body>
  </worldbody>
  <actuator>{actuator}</actuator>
</mujoco>
"""
SERVO = '<position name="joint" joint="joint" kp="20" kv="1.5"/>'
STIFF = '<position name="joint" joint="joint" kp="200" kv="8"/>'
MOTOR = '<motor name="joint" joint="joint" ctrlrange="-5 5"/>'
LINKS = 0.0028 + 0.4 * 0.2**2
"""[kg·m²] by hand, without the rotor."""


def plant(write: Write, actuator: str, truth: str, *, more: str = "") -> None:
    write("link.xml", LINK.format(actuator=actuator))
    write(
        "mine.reality.yaml",
        f"schema: 1\ntwin: link.xml\nseed: 3\nrate: 125\nparameters: {truth}\n"
        "noise: {position: 0.0002, velocity: 0.002, torque: 0.01}\n" + more,
    )


MINE = ("--robot", "sim:mine.reality.yaml")


def read_interval(tmp_path: Path, name: str) -> tuple[float, float]:
    tree = json.loads((tmp_path / "found.json").read_text())
    assert tree["outcome"] == "done"
    low, high = tree["quantities"][name]["interval"]
    return low, high


def test_friction_lies_in_its_interval_and_in_a_line_for_the_twin(
    run: Run, write: Write, tmp_path: Path
):
    truth = "{joint.coulomb_friction: 0.12, joint.damping: 0.31}"
    plant(write, SERVO, truth, more="timestep_factor: 0.5\n")
    asked = ("--speeds", "0.2", "0.4", "0.6", "0.8", "--report", "page.html")
    told = run("experiment", "friction", *MINE, *asked, "--json", "found.json")
    assert told.status == 0, told.err
    assert set(told.files) == {"friction_joint.npz", "found.json", "page.html"}
    assert told.out.startswith("joint moves between -0.3 … 0.3 rad for ")
    low, high = read_interval(tmp_path, "Coulomb friction")
    assert low < 0.12 < high < 0.13
    low, high = read_interval(tmp_path, "damping")
    assert low < 0.31 < high < 0.4
    line = next(x for x in told.out.splitlines() if "joint.coulomb_friction:" in x)
    pasted = f"schema: 1\nname: mine\nmodel: link.xml\nparameters:\n{line}\n"
    write("mine.twin.yaml", pasted)
    twin = load_twin(tmp_path / "mine.twin.yaml")
    nominal = twin.space["joint.coulomb_friction"].nominal
    assert nominal == pytest.approx(0.12, abs=0.005)
    page = (tmp_path / "page.html").read_text()
    assert "Friction at each speed" in page
    assert "joint.coulomb_friction:" in page


def test_inertia_and_the_rotor_that_is_left_of_it(
    run: Run, write: Write, tmp_path: Path
):
    plant(write, MOTOR, "{joint.armature: 0.035}")
    told = run("experiment", "inertia", *MINE, "--json", "found.json")
    assert told.status == 0, told.err
    low, high = read_interval(tmp_path, "inertia")
    assert low < LINKS + 0.035 < high < 1.1 * (LINKS + 0.035)
    assert "joint.armature: {value: 0.03" in told.out
    speed = load_recording(tmp_path / "inertia_joint.npz").signals["joint.velocity"]
    assert np.abs(speed).max() < 1.5  # pulses suit the joint


def test_delay_lies_in_its_interval(run: Run, write: Write, tmp_path: Path):
    plant(write, SERVO, "{joint.delay: 0.0137}")
    told = run("experiment", "delay", *MINE, "--repeats", "1", "--json", "found.json")
    assert told.status == 0, told.err
    low, high = read_interval(tmp_path, "delay")
    assert low < 0.0137 < high < 0.0157


class Ammeter(Robot):
    """A stand-in whose drive reports its current: torque over 0.85 N·m/A."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    @property
    def info(self) -> RobotInfo:
        info = self._robot.info
        return RobotInfo(
            name=info.name,
            joints=info.joints,
            commands=info.commands,
            command_kind=info.command_kind,
            rate=info.rate,
            command_lower=info.command_lower,
            command_upper=info.command_upper,
            other_signals=("joint.current",),
        )

    @property
    def steps_time(self) -> bool:
        return True

    def connect(self) -> None:
        self._robot.connect()

    def read(self) -> State:
        state = self._robot.read()
        return State(
            time=state.time,
            sequence=state.sequence,
            position=state.position,
            velocity=state.velocity,
            torque=state.torque,
            others=state.torque / 0.85 + 0.03,
            mode=state.mode,
        )

    def write(self, command: Command) -> None:
        self._robot.write(command)

    def wait(self, seconds: float) -> None:
        self._robot.wait(seconds)

    def damp(self) -> None:
        self._robot.damp()

    def stop(self) -> None:
        self._robot.stop()


def test_known_loads_tell_the_torque_constant(
    run: Run, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The operator hangs heavier links on, one after the other, as they are asked."""
    plant(write, STIFF, "{joint.coulomb_friction: 0.12}")
    asked: list[str] = []
    twin = load_twin(tmp_path / "link.xml")

    class Bench(Ammeter):
        def __init__(self) -> None:
            self.hang(0.2)

        def hang(self, mass: float) -> None:
            plant(
                write, STIFF, f"{{joint.coulomb_friction: 0.12, link.mass: {mass:g}}}"
            )
            self._robot = StandIn(load_reality(str(tmp_path / "mine.reality.yaml")))

    bench = Bench()
    masses = iter((0.2, 0.5, 0.9))

    def agree(question: str) -> bool:
        asked.append(question)
        bench.hang(next(masses))
        return True

    monkeypatch.setattr("realworthy.robots.address.open_robot", lambda *_, **__: bench)
    monkeypatch.setattr("realworthy.realities.stand_in.find_twin", lambda *_: twin)
    monkeypatch.setattr("realworthy.cli.deploy.ask", agree)
    monkeypatch.setattr("realworthy.cli.deploy.check_person", lambda: None)
    at = 1.57
    loads = [f"{mass * 9.81 * 0.2:.4f}" for mass in (0.2, 0.5, 0.9)]
    told = run(
        "experiment",
        "torque_constant",
        *MINE,
        "--torques",
        *loads,
        "--centre",
        str(at),
        "--json",
        "found.json",
    )
    assert told.status == 0, told.err
    assert [text.split(" on ")[0] for text in asked] == [
        f"Hang the load of {float(load):g} N·m" for load in loads
    ]
    low, high = read_interval(tmp_path, "torque constant")
    assert low < 0.85 < high
    assert high - low < 0.2
    assert {f"torque_constant_joint_{k}.npz" for k in (1, 2, 3)} < set(told.files)


def test_a_robot_that_cannot_is_told_what_it_needs(run: Run, write: Write):
    plant(write, MOTOR, "{}")
    for name in ("friction", "delay"):
        told = run("experiment", name, *MINE)
        told.check_mistake(
            "RealworthyError: This experiment sends position commands; robot 'link' "
            "takes torque commands.\n"
            "  Switch its drive to that mode, or analyse a recording at hand.\n"
        )
    plant(write, SERVO, "{}")
    told = run("experiment", "inertia", *MINE)
    assert "sends torque commands" in told.err
    assert (told.status, told.files) == (2, ())
    told = run("experiment", "torque_constant", *MINE, "--torques", "0", "1", "2")
    assert "does not report 'joint.current'" in told.err
    assert (told.status, told.files) == (2, ())


def test_options_of_another_experiment_and_joints_that_are_not_there(
    run: Run, write: Write
):
    plant(write, SERVO, "{}")
    run("experiment", "delay", *MINE, "--span", "1").check_mistake(
        "RealworthyError: --span means nothing to the experiment delay.\n"
        "  It takes --centre, --sizes, --repeats.\n"
    )
    told = run("experiment", "delay", *MINE, "--joint", "elbow")
    assert "has no joint 'elbow'" in told.err
    assert (told.status, told.files) == (2, ())
    told = run("experiment", "delay", *MINE, "--centre", "99")
    assert "the twin's limits are" in told.err
    assert (told.status, told.files) == (2, ())
    told = run("experiment", "torque_constant", *MINE, "--torques", "1")
    assert "needs three or more" in told.err


def test_a_guard_that_stops_it_is_a_negative_verdict_and_keeps_the_recording(
    run: Run, write: Write, tmp_path: Path
):
    """A datasheet that allows less speed than a step makes."""
    plant(write, SERVO, "{}")
    write(
        "slow.twin.yaml",
        "schema: 1\nname: slow\nmodel: link.xml\n"
        "datasheet: {joint: {speed_limit: 0.3}}\n",
    )
    told = run("experiment", "delay", *MINE, "--twin", "slow.twin.yaml")
    assert told.status == 1
    assert "No result: stopped by a guard: joint: speed" in told.out
    assert told.files == ("delay_joint.npz",)
    assert len(load_recording(tmp_path / "delay_joint.npz").time) > 10


def test_a_person_must_agree_where_a_robot_is_real(
    run: Run, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    plant(write, SERVO, "{}")
    robot = StandIn(load_reality(str(tmp_path / "mine.reality.yaml")))
    link = str(tmp_path / "link.xml")
    monkeypatch.setattr("realworthy.robots.address.open_robot", lambda *_, **__: robot)
    wire = ("--robot", "udp://127.0.0.1:9", "--twin", link)
    told = run("experiment", "delay", *wire)
    assert "there is no terminal to ask" in told.err
    assert (told.status, told.files) == (2, ())
    monkeypatch.setattr("realworthy.cli.deploy.check_person", lambda: None)
    monkeypatch.setattr("realworthy.cli.deploy.ask", lambda question: False)
    told = run("experiment", "delay", *wire)
    assert (told.status, told.files) == (1, ())
    assert "No result: the operator said no." in told.out
    assert robot.read().mode is Mode.DAMP
    assert robot.read().time == 0.0
