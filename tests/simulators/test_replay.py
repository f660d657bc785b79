"""Recordings on the physics clock: what is played again is what was recorded."""

import numpy as np
import pytest

from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu, record
from realworthy.simulators.replay import Replayer, lay_out, lay_out_all, replay
from realworthy.twins import BoundTwin, Twin
from tests.simulators.robots import make_twin

SERVO = """
<mujoco model="servo">
  <option timestep="0.002" integrator="implicitfast" iterations="3" ls_iterations="3"/>
  <worldbody>
    <body name="rod">
      <joint name="hinge" axis="0 1 0" damping="0.1" armature="0.01"
             frictionloss="0.05"/>
      <inertial pos="0 0 -0.3" mass="0.4" diaginertia="0.01 0.01 0.001"/>
    </body>
  </worldbody>
  <actuator><position name="hinge" joint="hinge" kp="8"/></actuator>
</mujoco>
"""
RATE = 125.0


@pytest.fixture(scope="module")
def twin() -> Twin:
    return make_twin(SERVO).with_values({"hinge.delay": 0.02})


def make_recording(twin: Twin, phase: float, *, seconds: float = 3.0) -> Recording:
    """Four substeps to a row."""
    simulator = MujocoCpu(lay_out_bound(twin), 1, substeps=4)
    t = np.arange(round(seconds * RATE)) / RATE
    command = 0.6 * np.sin(4 * t + phase) - 0.6 * np.sin(phase)
    return record(simulator, command[:, None])[0]


def lay_out_bound(twin: Twin) -> BoundTwin:
    """The twin as a replay binds it, with its solver let converge."""
    rows = {"hinge.position": np.zeros(3), "hinge.command": np.zeros(3)}
    return lay_out(twin, Recording(np.arange(3) / RATE, rows)).bound


@pytest.fixture(scope="module")
def recording(twin: Twin) -> Recording:
    return make_recording(twin, 0.3)


def test_a_recording_of_the_twin_is_replayed_exactly(twin: Twin, recording: Recording):
    track, played = replay(twin, recording)
    assert track.timestep == pytest.approx(0.002)
    assert played.position[0] == pytest.approx(track.position, abs=1e-9)
    assert played.velocity[0] == pytest.approx(track.velocity, abs=1e-7)


def test_a_start_midway_is_given_the_commands_on_their_way(
    twin: Twin, recording: Recording
):
    track = lay_out(twin, recording)
    starts = np.array([0, 57, 130, 200])
    played = Replayer(track, 4).play(starts, 100)
    for world, start in enumerate(starts):
        expected = track.position[start : start + 100]
        assert played.position[world] == pytest.approx(expected, abs=1e-6)


def test_several_tracks_play_side_by_side(twin: Twin):
    recordings = [make_recording(twin, p, seconds=s) for p, s in ((0.3, 3.0), (1.1, 2))]
    tracks = lay_out_all(twin, recordings)
    assert tracks[0].bound is tracks[1].bound
    played = Replayer(tracks, 3).play([0, 0, 40], 150, tracks=[0, 1, 0])
    for world, (track, start) in enumerate(((0, 0), (1, 0), (0, 40))):
        expected = tracks[track].position[start : start + 150]
        assert played.position[world] == pytest.approx(expected, abs=1e-6)


def test_rates_that_differ_get_clocks_of_their_own(twin: Twin, recording: Recording):
    slower = recording.resample(50.0)
    nearly = Recording(recording.time * (1 + 5e-5), recording.signals)
    tracks = lay_out_all(twin, [recording, slower, nearly])
    assert tracks[0].bound is tracks[2].bound
    assert tracks[0].bound is not tracks[1].bound
    assert tracks[1].timestep == pytest.approx(0.002)


def test_a_row_is_a_whole_number_of_substeps(twin: Twin, recording: Recording):
    for rate in (110.0, 99.7, 49.85):
        track = lay_out(twin, recording.resample(rate))
        per_row = round(1 / rate / track.timestep)
        assert per_row * track.timestep == pytest.approx(1 / rate)
        assert track.timestep <= 0.002 * 1.01
        assert set(np.diff(track.rows)) == {per_row}


def test_a_replay_lets_the_solver_converge(twin: Twin, recording: Recording):
    """A nudge of 1e-6 rad dies out; with three iterations it would be amplified."""
    track = lay_out(twin, recording)
    position = np.tile(track.position[0], (2, 1)) + np.array([[0.0], [1e-6]])
    played = Replayer(track, 2).play(position=position, velocity=np.zeros((2, 1)))
    assert np.abs(np.diff(played.position, axis=0)).max() < 3e-6


def test_a_servo_follows_its_own_encoder(twin: Twin, recording: Recording):
    """Bias b: the same commands, read as goals, put the joint at position − b."""
    space = twin.space.select(["hinge.position.sensor_bias"])
    weightless = twin.with_values({"world.gravity": 0.0})
    plain = make_recording(weightless, 0.3)
    track = lay_out(weightless, plain, space)
    player = Replayer(track, 2)
    player.simulator.write([[0.0], [0.2]])
    played = player.play()
    assert played.position[0] == pytest.approx(track.position, abs=1e-6)
    # without gravity a shifted encoder cannot be seen
    assert played.position[1] == pytest.approx(track.position, abs=1e-6)
    track = lay_out(twin, recording, space)
    player = Replayer(track, 2)
    player.simulator.write([[0.0], [0.2]])
    fallen = player.play().position
    assert np.abs(fallen[1] - fallen[0]).max() > 0.01


def test_tracks_of_different_twins_do_not_share_worlds(
    twin: Twin, recording: Recording
):
    with pytest.raises(ValueError, match="share a bound twin"):
        Replayer([lay_out(twin, recording), lay_out(twin, recording)], 1)
