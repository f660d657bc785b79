"""Mappings proposed for tables whose truth is known."""

import numpy as np
import pytest

from realworthy.errors import BadRecording
from realworthy.recordings import Recording, build_recording
from realworthy.recordings.propose import JointFacts, propose_mapping
from realworthy.recordings.sidecar import CommandKind
from realworthy.recordings.signals import Table

JOINTS = ("base_yaw", "shoulder", "elbow_joint")
DEGREES = 180 / np.pi


def facts(kind: CommandKind = "position", grip: bool = False) -> list[JointFacts]:
    found = [
        JointFacts(
            joint=joint,
            lower=-2.0,
            upper=2.0,
            slides=False,
            command=f"{joint}.command",
            command_kind=kind,
        )
        for joint in JOINTS
    ]
    if grip:
        found.append(
            JointFacts(
                joint="finger",
                lower=0.0,
                upper=0.04,
                slides=True,
                command="gripper.command",
                command_kind="position",
            )
        )
    return found


def truth() -> Recording:
    time = np.arange(600) / 100
    signals = {}
    for k, joint in enumerate(JOINTS):
        speed, size = 1.1 + 0.7 * k, 0.9 - 0.1 * k
        signals[f"{joint}.position"] = size * np.sin(speed * time)
        signals[f"{joint}.velocity"] = size * speed * np.cos(speed * time)
        signals[f"{joint}.command"] = size * np.sin(speed * (time + 0.04))
    return Recording(time, signals)


def write(names: dict[str, str], clock: str, sizes: dict[str, float]) -> Table:
    """The truth under a lab's names: `names` of quantities with {j} or {k}."""
    known = truth()
    table = {clock: known.time * sizes["time"]}
    for quantity, name in names.items():
        for k, joint in enumerate(JOINTS):
            column = name.format(j=joint, k=k, k1=k + 1, J="ABC"[k])
            table[column] = known.signals[f"{joint}.{quantity}"] * sizes[quantity]
    return table


LABS = {
    "numbered, degrees": (
        {"position": "q_{k}", "velocity": "dq_{k}", "command": "q_des_{k}"},
        "stamp_us",
        {"time": 1e6, "position": DEGREES, "velocity": DEGREES, "command": DEGREES},
    ),
    "from one, unit in the name": (
        {"position": "Joint{k1}Pos_deg", "command": "Joint{k1}Cmd_deg"},
        "t_ms",
        {"time": 1e3, "position": DEGREES, "command": DEGREES},
    ),
    "names of joints, brackets": (
        {
            "position": "actual {j} [rad]",
            "velocity": "speed {j} [rpm]",
            "command": "goal {j} [rad]",
        },
        "time",
        {"time": 1.0, "position": 1.0, "velocity": 30 / np.pi, "command": 1.0},
    ),
    "q and qd, which are goals": (
        {"position": "q{k}", "command": "qd{k}"},
        "t",
        {"time": 1.0, "position": 1.0, "command": 1.0},
    ),
    "q and qd, which are speeds": (
        {"position": "q{k}", "velocity": "qd{k}"},
        "t",
        {"time": 1.0, "position": 1.0, "velocity": 1.0},
    ),
    "millidegrees of a clock without a name": (
        {"position": "pos_{j}", "velocity": "vel_{j}", "command": "target_{j}"},
        "tick_of_day",
        {"time": 1e9, "position": DEGREES, "velocity": 30 / np.pi, "command": DEGREES},
    ),
    "foreign names in the order of the model": (
        {"position": "angle_{J}", "command": "angle_cmd_{J}"},
        "time",
        {"time": 1.0, "position": DEGREES, "command": DEGREES},
    ),
}


@pytest.mark.parametrize("lab", LABS)
@pytest.mark.parametrize("grip", [False, True])
def test_the_proposal_turns_a_labs_columns_into_the_truth(lab: str, grip: bool):
    names, clock, sizes = LABS[lab]
    table = write(names, clock, sizes)
    found = propose_mapping(table, facts(grip=grip))
    recording = build_recording(dict(table), found.sidecar)
    known = truth()
    np.testing.assert_allclose(recording.time, known.time, atol=1e-9)
    expected = {n for n in known.signals if n.rpartition(".")[2] in names}
    assert set(recording.signals) == expected
    for name in expected:
        np.testing.assert_allclose(
            recording.signals[name], known.signals[name], atol=1e-9, err_msg=name
        )


def test_like_columns_become_one_entry():
    names, clock, sizes = LABS["numbered, degrees"]
    found = propose_mapping(write(names, clock, sizes), facts())
    assert found.sidecar.joints == JOINTS
    assert list(found.sidecar.mapping) == [
        "time",
        "*.position",
        "*.velocity",
        "*.command",
    ]
    assert found.sidecar.command_kind == "position"
    assert not found.doubts


def test_commands_of_grippers_keep_the_actuators_name():
    table = write({"position": "q{k}", "command": "cmd{k}"}, "time", {"time": 1.0,
        "position": 1.0, "command": 1.0})  # fmt: skip
    table["q3"] = 0.02 + 0.01 * np.sin(truth().time)
    table["cmd3"] = table["q3"].copy()
    found = propose_mapping(table, facts(grip=True))
    assert "gripper.command" in found.sidecar.mapping
    recording = build_recording(dict(table), found.sidecar)
    assert {"finger.position", "gripper.command"} <= set(recording.signals)


def test_goals_for_a_twin_of_torques_are_called_positions_and_doubted():
    table = write({"position": "q{k}", "command": "goal{k}"}, "time", {"time": 1.0,
        "position": 1.0, "command": 1.0})  # fmt: skip
    found = propose_mapping(table, facts("torque"))
    assert found.sidecar.command_kind == "position"
    assert any("Give it position drives" in doubt for doubt in found.doubts)


def test_steps_of_an_encoder_have_their_middle_at_zero():
    known = truth()
    table: Table = {"time": known.time}
    for k, joint in enumerate(JOINTS):
        turns = known.signals[f"{joint}.position"] / (2 * np.pi)
        table[f"raw_pos_{k}"] = np.round(2048 + 4096 * turns)
    found = propose_mapping(table, facts())
    recording = build_recording(dict(table), found.sidecar)
    for joint in JOINTS:
        name = f"{joint}.position"
        step = 2 * np.pi / 4096
        np.testing.assert_allclose(
            recording.signals[name], known.signals[name], atol=step
        )
    assert any("4096" in doubt for doubt in found.doubts)


def test_tables_without_positions_say_what_is_recognised():
    with pytest.raises(BadRecording, match="No column looks like a position"):
        propose_mapping({"time": np.arange(5.0), "load": np.ones(5)}, facts())


def test_tables_without_a_clock_ask_for_one():
    with pytest.raises(BadRecording, match="as a clock does"):
        propose_mapping({"q0": np.sin(np.arange(9.0))}, facts())
