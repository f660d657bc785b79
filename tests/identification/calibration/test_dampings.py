"""What brakes a joint twice."""

import pytest

from realworthy.identification.calibration.parameter_choice import (
    pair_dampings,
    restore_dampings,
)
from realworthy.twins import load_twin

PAIR = ("elbow_flex.kd", "elbow_flex.damping")


def test_servos_of_an_arm_have_pairs_and_torque_drives_have_none():
    assert pair_dampings(load_twin("arm"), ["elbow_flex"]) == (PAIR,)
    assert pair_dampings(load_twin("double_pendulum"), ["shoulder", "elbow"]) == ()


def test_the_drive_has_what_the_published_damping_leaves():
    """The published damping is 0.6 N·m·s/rad."""
    arm = load_twin("arm")
    found = restore_dampings(arm, [PAIR], {PAIR[0]: 0.7, PAIR[1]: 0.4})
    assert found == pytest.approx({PAIR[0]: 0.5, PAIR[1]: 0.6})
    little = {PAIR[0]: 0.2, PAIR[1]: 0.3}
    assert restore_dampings(arm, [PAIR], little) == little
