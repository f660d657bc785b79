"""`realworthy measure`."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.deployment import drive, play
from realworthy.realities import RealityFile, RealityNoise, StandIn, load_reality
from realworthy.realities.reality import make_reality
from realworthy.recordings import Recording, Sidecar, save_recording
from realworthy.residuals import save_residual
from realworthy.robots import State
from realworthy.simulators import MujocoCpu
from realworthy.twins import bind, load_twin, save_twin
from tests.residuals.examples import damper

from .conftest import Run, Write, swing_csv


@pytest.fixture
def swing(tmp_path: Path) -> Path:
    robot = StandIn(load_reality("pendulum_1_easy"))
    torque = 1.5 * np.sin(2 * np.pi * 0.8 * np.arange(400) / robot.info.rate)
    path = tmp_path / "swing.csv"
    save_recording(play(robot, {"joint.command": torque}), path)
    return path


def test_figures_are_written_for_programs(run: Run, swing: Path, tmp_path: Path):
    told = run("measure", "pendulum", str(swing), "--json", str(tmp_path / "gap.json"))
    assert told.status == 0
    assert "root mean square error of replaying 1 recording in pendulum" in told.out
    tree = json.loads((tmp_path / "gap.json").read_text())
    assert 0.01 < tree["replay"]["position_rmse"] < 1.0
    assert tree["replay"]["position_mae"] <= tree["replay"]["position_rmse"]
    assert set(tree["replay"]["per_joint"]) == {"joint"}
    assert tree["one_step"]["error"] > tree["one_step"]["floor"] > 0
    assert {"0.01", "0.1", "1"} <= set(tree["horizons"])
    assert tree["noise_floor"]["joint"] == pytest.approx(0.0005, rel=0.3)


def test_a_twin_with_a_residual_is_measured_with_it(
    run: Run, write: Write, tmp_path: Path
):
    """Of a robot with more damping, which a learned force makes up for."""
    told = {"joint.damping": 0.147}  # 0.1 more than the twin's
    file = RealityFile(schema=1, twin="pendulum", parameters=told)
    robot = StandIn(make_reality("damped", file))
    torque = 0.8 * np.sin(2 * np.pi * 0.5 * np.arange(400) / robot.info.rate)
    save_recording(play(robot, {"joint.command": torque}), tmp_path / "slow.csv")
    made = damper(joints=("joint",))
    described = msgspec.structs.replace(
        made.description,
        gain=0.2,
        twin="pendulum",
        fingerprint=load_twin("pendulum").fingerprint,
    )
    save_residual(tmp_path / "more.residual.yaml", replace(made, description=described))
    model = "schema: 1\nname: more\nmodel: pendulum\n"
    write("more.twin.yaml", f"{model}residual: more.residual.yaml\n")
    errors = []
    for twin in ("pendulum", "more.twin.yaml"):
        assert run("measure", twin, "slow.csv", "--json", f"{twin}.json").status == 0
        tree = json.loads((tmp_path / f"{twin}.json").read_text())
        errors.append(tree["replay"]["position_rmse"])
    assert errors[1] < 0.1 * errors[0]
    shown = run("show", "more.twin.yaml").out
    assert "Residual: a learned force on joint." in shown
    write(
        "other.twin.yaml",
        f"{model.replace('pendulum', 'arm')}residual: more.residual.yaml\n",
    )
    other = run("measure", "other.twin.yaml", "slow.csv", "--json", "other.json")
    assert (other.status, other.files) == (2, ())
    assert "was fitted on another twin than 'more': on 'pendulum'" in other.err


def test_a_recording_without_commands_is_refused(run: Run, tmp_path: Path):
    time = np.arange(200) / 100
    recording = Recording(time, {"joint.position": np.sin(time)})
    save_recording(recording, tmp_path / "mute.csv")
    told = run("measure", "pendulum", str(tmp_path / "mute.csv"))
    assert told.status == 2
    assert "has nothing that could drive twin 'pendulum'" in told.err
    assert "command_kind" in told.err


def test_a_recording_of_another_robot_is_refused(run: Run, swing: Path):
    told = run("measure", "arm", str(swing))
    assert told.status == 2
    assert "have no joint in common" in told.err


def test_a_bad_recording_among_good_ones_is_left_out_and_said(
    run: Run, swing: Path, tmp_path: Path
):
    time = np.arange(200) / 100
    mute = tmp_path / "mute.csv"
    save_recording(Recording(time, {"joint.position": np.sin(time)}), mute)
    told = run("measure", "pendulum", str(swing), str(mute))
    assert told.status == 0
    assert "replaying 1 recording in pendulum" in told.out
    assert "Excluded: recording 'mute' has nothing that could drive" in told.out


def test_a_report_under_another_ending_is_refused_before_the_work(
    run: Run, write: Write
):
    write("swing.csv", swing_csv())
    told = run("measure", "pendulum", "swing.csv", "--report", "gap.pdf")
    told.check_mistake(
        "Unwritable: Cannot write gap.pdf: a report is a page.\n  Try: gap.html\n"
    )


GAINS = np.array([-31.6, -49.7, -309.0, -48.4])
"""LQR of the built-in cart-pole: cart position and speed, pole angle and speed."""
TRUTH = {"pole.mass": 0.16, "cart.damping": 2.0}


def balance(state: State) -> list[float]:
    """Balances the pole while the cart goes to and fro by 0.2 m."""
    goal = 0.2 * np.sin(4.0 * state.time)
    x = [state.position[0] - goal, state.velocity[0], *state.position[1:]]
    return [float(-GAINS @ np.append(x, state.velocity[1]))]


def make_cart(seed: int) -> StandIn:
    noise = RealityNoise(position=1e-5, velocity=1e-4, process=0.05)
    file = RealityFile(
        schema=1, twin="cartpole", seed=seed, parameters=TRUTH, noise=noise
    )
    return StandIn(make_reality("cart", file))


def test_repeats_tell_the_twins_error_from_the_robots_own_scatter(
    run: Run, tmp_path: Path
):
    """A controller's commands, played open loop again and again, in two twins."""
    balanced = drive(make_cart(0), balance, seconds=1.5).signals["cart.command"]
    sidecar = Sidecar(command_kind="torque", repeat_group="to_and_fro")
    names = [f"{seed}.npz" for seed in range(1, 6)]
    for seed, name in enumerate(names, start=1):
        played = play(make_cart(seed), {"cart.command": balanced})
        save_recording(replace(played, sidecar=sidecar), tmp_path / name)
    right = load_twin("cartpole").with_values(TRUTH)
    save_twin(right, tmp_path / "right.twin.yaml")
    found = {}
    for twin in ("cartpole", "right.twin.yaml"):
        files = ("--json", f"{twin}.json", "--report", f"{twin}.html")
        told = run("measure", twin, *names, *files)
        assert told.status == 0, told.err
        assert "Repeats of the same commands" in told.out
        (found[twin],) = json.loads((tmp_path / f"{twin}.json").read_text())["repeats"]
        page = (tmp_path / f"{twin}.html").read_text()
        assert "the twin beside the robot" in page
        assert ("not above the robot" in told.out) == (twin != "cartpole")
        assert ("times the robot" in page) == (twin == "cartpole")
    wrong, same = found["cartpole"], found["right.twin.yaml"]
    assert wrong["count"] == 5
    assert wrong["horizons"]["verdict"] == "distinguishable"
    assert wrong["rho"] > 2
    assert same["horizons"]["verdict"] == "not_distinguishable"
    assert wrong["robot_error"] == pytest.approx(same["robot_error"])
    assert wrong["error_ratio"] > 2 * same["error_ratio"]
    assert wrong["rate"] == pytest.approx(
        5.0, rel=0.3
    )  # √(3 g / 4 l) = 4.95 of a rod of 2 · 0.3 m


def test_repeats_of_a_motion_that_settles_compare_errors_alone(
    run: Run, tmp_path: Path
):
    robots = [StandIn(load_reality("pendulum_1_easy"), seed=seed) for seed in range(3)]
    torque = 0.5 * np.sin(2 * np.pi * 0.8 * np.arange(250) / robots[0].info.rate)
    sidecar = Sidecar(command_kind="torque", repeat_group="slow")
    for seed, robot in enumerate(robots):
        played = play(robot, {"joint.command": torque * (1 + (seed == 2))})
        name = "slow" if seed < 2 else "fast"
        sidecar = Sidecar(command_kind="torque", repeat_group=name)
        save_recording(replace(played, sidecar=sidecar), tmp_path / f"{seed}.npz")
    told = run("measure", "pendulum", "0.npz", "1.npz", "2.npz", "--json", "x.json")
    assert told.status == 0
    (one,) = json.loads((tmp_path / "x.json").read_text())["repeats"]
    assert (one["group"], one["count"]) == ("slow", 2)
    assert one["rho"] is None
    assert one["robot_error"] < one["twin_error"]
    assert "slow: Errors do not grow by themselves here" in told.out
    other = replace(
        play(robots[0], {"joint.command": 0.5 * torque}),
        sidecar=Sidecar(command_kind="torque", repeat_group="slow"),
    )
    save_recording(other, tmp_path / "3.npz")
    told = run("measure", "pendulum", "0.npz", "3.npz")
    assert "slow: Their commands or joints differ" in told.out


def test_of_a_robot_that_balances_the_short_horizon_comes_first(
    run: Run, tmp_path: Path
):
    """Of a pendulum that a controller holds upright, and a twin of other friction."""
    told = {"joint.damping": 0.12, "joint.coulomb_friction": 0.02}
    simulator = MujocoCpu(bind(load_twin("pendulum").with_values(told)), 1, substeps=5)
    simulator.reset(qpos=np.array([[np.pi - 0.1]]))
    rng = np.random.default_rng(1)
    rows: list[tuple[float, float, float]] = []
    for _ in range(400):
        angle = float(simulator.array("qpos")[0, 0]) - np.pi
        speed = float(simulator.array("qvel")[0, 0])
        torque = -8 * angle - 1.0 * speed + 0.2 * rng.standard_normal()
        read = angle + np.pi + 1e-3 * rng.standard_normal()
        rows.append((float(read), speed, float(torque)))
        simulator.step(np.array([[torque]]))
    position, velocity, command = np.array(rows).T
    signals = {"joint.position": position, "joint.velocity": velocity}
    signals["joint.command"] = command
    assert np.abs(position - np.pi).max() < 0.5  # it was held
    time = np.asarray(np.arange(400) * simulator.period, dtype=np.float64)
    balanced = Recording(time, signals, Sidecar(command_kind="torque"))
    save_recording(balanced, tmp_path / "up.csv")
    found = run("measure", "pendulum", "up.csv", "--report", "gap.html")
    first, second = found.out.splitlines()[:2]
    assert "root mean square error 0.1 s ahead of measured states in pendulum" in first
    assert float(first.split()[0]) < 0.1
    assert second.startswith("The motion is unstable: replaying it whole is off by")
    assert "0.1 s ahead of measured states" in (tmp_path / "gap.html").read_text()
