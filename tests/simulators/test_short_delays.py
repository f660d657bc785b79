"""Delays below a time step: continuous, and what a finer clock gives."""

import numpy as np
import pytest

from realworthy.recordings import Recording
from realworthy.simulators.replay import Replayer, lay_out, replay
from realworthy.twins import Twin
from tests.simulators.robots import make_twin

SERVO = """
<mujoco model="servo">
  <option timestep="{timestep}" integrator="implicitfast"/>
  <worldbody>
    <body name="rod">
      <joint name="hinge" axis="0 1 0" damping="0.4" armature="0.01"/>
      <inertial pos="0 0 -0.2" mass="0.4" diaginertia="0.01 0.01 0.001"/>
    </body>
  </worldbody>
  <actuator><position name="hinge" joint="hinge" kp="8"/></actuator>
</mujoco>
"""
STEP, RATE = 0.005, 200.0


def make(timestep: float = STEP) -> Twin:
    return make_twin(SERVO.format(timestep=timestep))


@pytest.fixture(scope="module")
def recording() -> Recording:
    t = np.arange(400) / RATE
    command = 0.5 * np.sin(9 * t) * np.minimum(1, 2 * t)
    rows = {"hinge.position": np.zeros(len(t)), "hinge.command": command}
    return Recording(t, rows)


def play(twin: Twin, recording: Recording) -> np.ndarray:
    return replay(twin, recording)[1].position[0, :, 0]


def test_two_fifths_of_a_step_are_what_a_clock_ten_times_finer_gives(
    recording: Recording,
):
    late = {"hinge.delay": 0.4 * STEP}
    fine = make(STEP / 10)
    wanted = play(fine.with_values(late), recording) - play(fine, recording)
    coarse = make()
    found = play(coarse.with_values(late), recording) - play(coarse, recording)
    off = np.sqrt(np.mean((found - wanted) ** 2) / np.mean(wanted**2))
    assert off < 0.05  # a whole step would be off by 1.5


def test_worlds_that_differ_in_their_delay_lie_between_their_neighbours(
    recording: Recording,
):
    space = make().space.select(["hinge.delay"])
    track = lay_out(make(), recording, space)
    delays = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5]) * STEP
    player = Replayer(track, len(delays))
    player.simulator.write(delays[:, None])
    played = player.play().position[..., 0]
    steps = np.sqrt(np.mean(np.diff(played, axis=0) ** 2, axis=1))
    assert steps == pytest.approx(steps.mean(), rel=0.1)  # no jump, nothing flat
    again = player.play().position[..., 0]
    assert np.array_equal(played, again)
    assert player.simulator.field("actuator_delay")[:, 0] == pytest.approx(delays)
