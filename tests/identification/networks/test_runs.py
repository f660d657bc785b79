"""Torques weighed by a known load, against the torques of a simulated drive."""

import numpy as np
import pytest

from realworthy.actuators import build_law, simulate_bench
from realworthy.errors import BadRecording, UnknownName
from realworthy.identification.networks import label_torque, read_runs
from realworthy.recordings import Recording

from .drives import BENCH, PLAIN, TIMESTEP, draw_goals


@pytest.fixture(scope="module")
def recorded() -> tuple[Recording, np.ndarray]:
    """A recording without torque, and the torque that there was."""
    goal = draw_goals(3, 1, 4.0)
    trace = simulate_bench(build_law(PLAIN, timestep=TIMESTEP), BENCH, goal[:, :, None])
    time = TIMESTEP * np.arange(len(goal))
    signals = {"j.position": trace.position[:, 0], "j.command": goal[:, 0]}
    return Recording(time, signals), trace.torque[:, 0] + trace.friction[:, 0]


def test_a_known_load_tells_the_torque(recorded: tuple[Recording, np.ndarray]):
    recording, torque = recorded
    labelled = label_torque(recording, "j", BENCH, armature=0.02)
    error = (labelled.signals["j.torque"] - torque)[50:-50]
    assert np.sqrt(np.mean(error**2)) < 0.05 * np.sqrt(np.mean(torque**2))


def test_a_load_that_is_wrong_by_half_is_told_apart(
    recorded: tuple[Recording, np.ndarray],
):
    recording, torque = recorded
    labelled = label_torque(recording, "j", BENCH, armature=0.06)
    error = (labelled.signals["j.torque"] - torque)[50:-50]
    assert np.sqrt(np.mean(error**2)) > 0.2 * np.sqrt(np.mean(torque**2))


def test_runs_are_read_at_the_rate_asked_for(recorded: tuple[Recording, np.ndarray]):
    labelled = label_torque(recorded[0], "j", BENCH, armature=0.02)
    (run,) = read_runs([labelled], ["j"], rate=100.0, gain=2.0)
    assert run.timestep == pytest.approx(0.01)
    assert run.position == pytest.approx(labelled.signals["j.position"][::5])
    assert run.error == pytest.approx(2 * (run.goal - run.position))


def test_recordings_without_torque_or_rows_are_refused(
    recorded: tuple[Recording, np.ndarray],
):
    with pytest.raises(UnknownName, match=r"j.torque"):
        read_runs([recorded[0]], ["j"], rate=100.0)
    with pytest.raises(BadRecording, match=r"No recordings"):
        read_runs([], rate=100.0)
    with pytest.raises(BadRecording, match=r"too short"):
        label_torque(recorded[0].crop(0, 0.03), "j", BENCH, armature=0.0)
