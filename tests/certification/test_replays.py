"""A failure that is named is played again, and recorded as it happened."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from realworthy.certification.certificate.results import make_case
from realworthy.certification.examination.folder import record_failure, save_replay
from realworthy.certification.subject import Subject
from realworthy.certification.suite.condition import Condition
from realworthy.recordings import load_recording
from realworthy.tasks.failures import Failure
from tests.certification.mutants import ExtraDelay, mutate

CASE = make_case(
    int(Failure.JOINT_LIMIT),
    cell="mass × 1.15",
    e={"all.mass": 1.15},
    seed=0,
    number=3,
    seconds=1.0,
)
CONDITION = Condition(times={"all.mass": 1.15})


@pytest.fixture(scope="module")
def late(balancing: Subject) -> Subject:
    return replace(balancing, wrap=lambda policy: mutate(policy, ExtraDelay(steps=8)))


def test_the_recording_ends_in_the_failure(late: Subject, tmp_path: Path):
    name = save_replay(late, CONDITION, CASE, tmp_path)
    assert name == "replays/mass___1_15_joint_limit_3.npz"
    recording = load_recording(tmp_path / name)
    rail = late.twin.compiled.model.joint("cart").range[1]
    last = abs(recording.signals["cart.position"][-1])
    assert last > 0.8 * rail
    assert np.abs(recording.signals["cart.position"][:-5]).max() < rail
    commands = recording.signals["cart.command"]
    assert np.abs(commands).max() <= 10.0 + 1e-6  # [N]
    assert (commands[:8] == 0).all()  # the planted delay
    start = recording.signals["pole.position"][0]
    assert abs(start) <= 0.15


def test_what_does_not_fail_again_is_not_recorded(balancing: Subject):
    assert record_failure(balancing, CONDITION, CASE) is None
