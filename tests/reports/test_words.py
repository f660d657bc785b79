"""Every cause that has a name has plain words."""

import pytest

from realworthy.diagnosis.diagnosis import CauseKind, Change, Verdict
from realworthy.reports.elements.wording import (
    describe_cause,
    describe_change,
    describe_kind,
    describe_verdict,
)

TEXT = """
joint_order joint_sign unit_scale encoder_offset default_pose clock_offset command_kind
rate dropped_samples stale_samples frame quaternion_order history_order mass
centre_of_mass inertia armature damping coulomb_friction kp kd torque_limit
torque_constant delay gravity_tilt contact_friction stribeck backlash hysteresis
flexibility drag load_friction saturation thermal_fade quantisation cable slosh
supply_sag contact unknown
"""
NAMES = TEXT.split()


@pytest.mark.parametrize("name", NAMES)
def test_a_cause_has_words_of_its_own(name: str):
    words = describe_cause(name)
    assert words.count(" ") >= 1
    assert "_" not in words
    assert words != name.replace("_", " ").capitalize()
    assert sum(describe_cause(other) == words for other in NAMES) == 1


def test_a_cause_without_words_keeps_its_name():
    assert describe_cause("gear_ratio") == "Gear ratio"


def test_verdicts_and_kinds_have_words():
    assert len({describe_verdict(verdict) for verdict in Verdict}) == len(Verdict)
    assert len({describe_kind(kind) for kind in CauseKind}) == len(CauseKind)


@pytest.mark.parametrize(
    ("name", "joints", "words"),
    [
        ("torque_limit", ("elbow",), "torque limit of elbow"),
        ("unknown", (), "something unknown"),
    ],
)
def test_changes(name: str, joints: tuple[str, ...], words: str):
    change = Change(
        name=name,
        joints=joints,
        size="",
        evidence="",
        next_step="",
        false_alarm_rate=0.01,
    )
    assert describe_change(change) == words
