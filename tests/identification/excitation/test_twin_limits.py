"""Limits from models and datasheets, and what is assumed where they are silent."""

import numpy as np
import pytest

from realworthy.errors import RealworthyError, UnknownName
from realworthy.identification.excitation.design_task import find_subject
from realworthy.identification.excitation.twin_limits import (
    LimitSettings,
    find_limits,
    stand,
    tighten,
)
from realworthy.twins import load_twin


def test_limits_are_those_of_the_model_and_its_datasheet():
    found = find_limits(load_twin("arm"), ["gripper", "elbow_flex"])
    np.testing.assert_allclose(found.lower, [-0.174533, -1.69])
    np.testing.assert_allclose(found.speed, 4.71)
    np.testing.assert_allclose(found.torque, 2.94)


def test_a_design_keeps_within_them():
    hard = find_limits(load_twin("arm"), ["elbow_flex"])
    own = tighten(hard, np.array([0.9]), LimitSettings(torque_share=0.5))
    assert own.upper[0] == pytest.approx(1.69 - 0.05 * 2 * 1.69)
    assert own.speed[0] == pytest.approx(0.8 * 4.71)
    assert own.acceleration[0] == pytest.approx(8 * 4.71)
    assert own.torque[0] == pytest.approx(1.47)


def test_nothing_turns_faster_than_once_a_second_unless_told():
    hard = find_limits(load_twin("quadruped"), ["FL_hip"])
    assert hard.speed[0] == 30.1
    home = np.zeros(1)
    assert tighten(hard, home, LimitSettings()).speed[0] == pytest.approx(2 * np.pi)
    assert tighten(hard, home, LimitSettings(speed=9.0)).speed[0] == 9.0


def test_where_nothing_is_stated_a_motion_is_slow_and_within_half_a_turn():
    found = find_limits(load_twin("servo_bench"))
    assert found.speed[0] == 3.0
    np.testing.assert_allclose([found.lower[0], found.upper[0]], [-np.pi, np.pi])


def test_legs_hang_and_wheels_stand():
    assert stand(load_twin("quadruped")).base is None
    assert stand(load_twin("diffdrive")).base is not None
    assert find_subject(load_twin("quadruped")).hangs
    assert not find_subject(load_twin("diffdrive")).hangs


@pytest.mark.parametrize(
    ("twin", "kinds"),
    [
        ("pendulum", {"armature", "damping", "coulomb_friction", "delay"}),
        ("servo_bench", {"armature", "damping", "coulomb_friction", "resistance"}),
        ("diffdrive", {"armature", "coulomb_friction", "kd", "delay"}),
        ("arm", {"armature", "damping", "coulomb_friction", "kp", "delay"}),
    ],
)
def test_by_default_a_motion_is_for_the_numbers_of_drives(twin: str, kinds: set[str]):
    found = {parameter.kind for parameter in find_subject(load_twin(twin)).space}
    assert kinds <= found
    assert not {"mass", "torque_limit", "contact_friction"} & found


def test_mistakes_are_refused():
    with pytest.raises(UnknownName, match="no driven joint 'knee'"):
        find_subject(load_twin("arm"), joints=["knee"])
    with pytest.raises(RealworthyError, match="sd of -1"):
        find_subject(load_twin("pendulum"), sd={"joint.damping": -1.0})
    with pytest.raises(RealworthyError, match="cannot be sent at 5000 Hz"):
        find_subject(load_twin("pendulum"), rate=5000.0)
    for bad in ({"speed": 0.0}, {"torque_share": 1.5}, {"clearance": -1.0}):
        with pytest.raises(RealworthyError):
            LimitSettings(**bad)
