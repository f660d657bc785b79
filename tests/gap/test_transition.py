"""One-step, multi-step and force gaps of planted differences (recipe G1)."""

import numpy as np
import pytest

from realworthy.gap.forces import measure_forces
from realworthy.gap.noise import estimate_noise
from realworthy.gap.states import estimate_states
from realworthy.gap.transition import _spread, measure_transition
from realworthy.simulators.replay import Replayer, lay_out

from .conftest import JOINTS, shadow


def look(arm, values, seed: int, **changes):
    recording = shadow(arm, values, seed=seed, **changes)
    track = lay_out(arm, recording)
    floor = estimate_noise(recording, track.joints)
    return track, estimate_states(track, floor), floor


@pytest.mark.parametrize("seed", range(20))
def test_the_force_gap_points_at_the_joint_whose_damping_is_wrong(arm, seed: int):
    """20 seeds: largest on that joint, and 0.5·b·q̇ within 15 %."""
    joint = JOINTS[seed % 3]
    track, states, _ = look(arm, {f"{joint}.damping": 0.6}, seed)
    gap = measure_forces(track, states, Replayer(track, 1).play().position[0])
    excess = {j: np.sqrt(max(gap.rms[j] ** 2 - gap.floor[j] ** 2, 0)) for j in JOINTS}
    assert max(excess, key=excess.__getitem__) == joint
    speed = states.velocity[gap.rows, JOINTS.index(joint)]
    # the missing torque is −0.5·b·q̇, found by regression so that noise averages out
    found = gap.torque[:, JOINTS.index(joint)]
    assert float(found @ speed / (speed @ speed)) == pytest.approx(-0.2, rel=0.15)


def test_a_right_model_is_at_its_noise_floor(arm):
    track, states, floor = look(arm, {"elbow.damping": 0.4}, seed=4, timestep=0.002)
    gap = measure_transition(track, states, floor)
    ratio = gap.position / gap.position_floor
    assert 0.9 < np.median(ratio) < 1.15
    # slopes of positions share the positions' noise, which the floor takes for two
    assert gap.normalised == pytest.approx(gap.normalised_floor, rel=0.25)


def test_a_wrong_model_rises_above_its_noise_floor_with_the_horizon(arm):
    track, states, floor = look(arm, {"elbow.damping": 1.2}, seed=4)
    gap = measure_transition(track, states, floor)
    elbow = gap.position[:, JOINTS.index("elbow")]
    assert elbow.max() > 8 * gap.position_floor[:, JOINTS.index("elbow")].max()
    assert gap.horizons[0] == pytest.approx(1 / track.recording.rate)
    assert gap.start_count > 200
    assert gap.diverged == 0


def test_recorded_velocities_that_do_not_fit_are_set_aside(arm):
    recording = shadow(arm, {"elbow.damping": 0.4}, seed=4)
    late = np.roll(recording.signals["elbow.velocity"], 40)
    broken = recording.with_signals({"elbow.velocity": late})
    track = lay_out(arm, broken)
    states = estimate_states(track, estimate_noise(broken, track.joints))
    assert states.velocity_source["elbow"] == "differentiated"
    assert states.velocity_source["lift"] == "recorded"
    true = recording.signals["elbow.velocity"]
    assert np.std(states.velocity[:, 2] - true) < 0.2 * np.std(true)


def test_a_joint_that_stands_still_but_for_rounding_is_not_divided_by_it():
    """A filter left 1e-17 rad/s of a joint at rest; a recording was off by 5e15."""
    rounding = 1e-17 * np.resize([1.0, -1.0], 100)
    moving = np.resize([0.0, 0.5], 100)
    spread = _spread(np.column_stack([rounding, moving]), 1)
    assert spread[0] == 1.0
    assert spread[1] == pytest.approx(0.5, rel=1e-3)
