"""One answer from a twin and recordings."""

import numpy as np
import pytest

from realworthy.errors import BadRecording
from realworthy.gap import measure
from realworthy.recordings import Recording, Sidecar, load_recording
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import builtin_names, load_twin

from .conftest import JOINTS, shadow


def test_a_right_twin_replays_a_recording_down_to_its_noise(arm):
    recording = shadow(arm, {"elbow.damping": 0.4}, seed=1, timestep=0.002)
    gap = measure(arm, recording)
    assert gap.replay.position_rmse == pytest.approx(1e-3, rel=0.3)
    assert gap.recordings[0].growth.kind == "noise_floor"


def test_the_joint_that_differs_stands_out_in_replay_and_in_torque(arm):
    recording = shadow(arm, {"lift.damping": 1.6}, seed=2)
    found = measure(arm, recording).recordings[0]
    assert max(found.replay.per_joint, key=found.replay.per_joint.__getitem__) == "lift"
    assert max(found.forces.rms, key=found.forces.rms.__getitem__) == "lift"


def test_a_late_robot_is_compared_as_late(arm):
    recording = shadow(arm, {"all.delay": 0.03}, seed=3)
    found = measure(arm, recording).recordings[0]
    for joint in JOINTS:
        compared = found.comparison[joint]
        assert compared.effects[0].name == "delay"
        assert compared.lag == pytest.approx(0.03, abs=0.006)


def test_figures_are_means_over_recordings(arm):
    recordings = [shadow(arm, {"elbow.damping": 0.8}, seed=s) for s in (4, 5)]
    gap = measure(arm, recordings)
    single = [measure(arm, r).replay.position_rmse for r in recordings]
    assert gap.replay.position_rmse == pytest.approx(np.mean(single))


def test_fingers_are_reported_apart(data_folder, menagerie_root, monkeypatch):
    """The published SO-101 model, on the project's own reading of the baseline."""
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    twin = load_twin("menagerie:robotstudio_so101/so101")
    motion = load_recording(data_folder / "so101_sage/static_holding", "so101_sage")
    gap = measure(twin, motion)
    per_joint = gap.replay.per_joint
    body = [per_joint[j] for j in per_joint if j != "gripper"]
    assert gap.replay.position_rmse == pytest.approx(np.sqrt(np.mean(np.square(body))))
    assert 0.02 < gap.replay.position_rmse < 0.04
    said = " ".join(gap.recordings[0].assumptions)
    assert "recorded velocity is not the derivative" in said


def test_what_was_assumed_is_said(arm):
    recording = shadow(arm, {"elbow.damping": 0.4}, seed=1, seconds=2.0)
    signals = {n: v for n, v in recording.signals.items() if n != "elbow.command"}
    signals["tail.position"] = np.zeros(len(recording.time))
    partial = Recording(recording.time, signals, recording.sidecar)
    said = measure(arm, partial).recordings[0].assumptions
    assert "elbow.command rests at the home pose: it was not recorded." in said
    assert "Recorded but not in the twin: tail." in said


def test_nothing_to_replay_is_refused_with_what_would_help(arm):
    recording = shadow(arm, {"elbow.damping": 0.4}, seed=1, seconds=2.0)
    signals = {n: v for n, v in recording.signals.items() if "command" not in n}
    with pytest.raises(BadRecording, match="has nothing that could drive twin 'arm'"):
        measure(arm, Recording(recording.time, signals))
    other = Recording(recording.time, {"knee.position": recording.time})
    with pytest.raises(BadRecording, match="no joint in common"):
        measure(arm, other)
    with pytest.raises(BadRecording, match="No recordings"):
        measure(arm, [])


def test_commands_of_another_kind_are_not_mistaken(arm):
    recording = shadow(arm, {"elbow.damping": 0.4}, seed=1, seconds=2.0)
    torque = recording.with_sidecar(Sidecar(command_kind="torque"))
    with pytest.raises(BadRecording, match="which takes position commands"):
        measure(arm, torque)


def test_degrees_are_seen_against_the_range_of_the_joint():
    twin = load_twin("arm")
    time = np.arange(200) / 100
    degrees = 40 * np.sin(time)
    recording = Recording(
        time, {"elbow_flex.position": degrees, "elbow_flex.command": 0.7 * np.sin(time)}
    )
    with pytest.raises(BadRecording, match="reaches 40, and the joint of twin 'arm'"):
        measure(twin, recording)


def test_a_command_of_the_wrong_kind_is_not_called_unrecorded(arm):
    recording = shadow(arm, {"elbow.damping": 0.4}, seed=1, seconds=2.0)
    motors = load_twin("double_pendulum")
    signals = {
        "shoulder.position": recording.signals["shoulder.position"],
        "shoulder.command": recording.signals["shoulder.command"],
        "elbow.position": recording.signals["elbow.position"],
        "elbow.torque": recording.signals["elbow.torque"],
    }
    told = Recording(recording.time, signals, Sidecar(command_kind="position"))
    said = " ".join(measure(motors, told).recordings[0].assumptions)
    assert "shoulder.command is a position, and the twin takes torque there" in said


@pytest.mark.parametrize("name", builtin_names())
def test_a_twin_measured_against_itself_has_no_gap(name: str):
    twin = load_twin(name)
    simulator = MujocoCpu(twin, 1)
    wave = 0.05 * np.sin(0.08 * np.arange(200))[:, None]
    commands = np.array(simulator.array("ctrl")[0]) + wave
    gap = measure(twin, record(simulator, commands)[0])
    assert gap.replay.position_rmse < 1e-4
    assert max(gap.horizons.values()) < 5e-3  # feet that have just touched down
    for joint, torque in gap.recordings[0].forces.rms.items():
        assert torque < 2 * gap.recordings[0].forces.floor[joint] + 1e-3


def test_a_legged_robot_whose_base_was_not_recorded_hangs():
    twin = load_twin("quadruped")
    hanging = MujocoCpu(twin.hung(), 1)
    wave = 0.2 * np.sin(0.08 * np.arange(200))[:, None]
    commands = np.array(hanging.array("ctrl")[0]) + wave
    gap = measure(twin, record(hanging, commands)[0])
    assert gap.replay.position_rmse < 1e-4
    said = gap.recordings[0].assumptions[0]
    assert said.startswith("The motion of the base was not recorded: it hangs still")
