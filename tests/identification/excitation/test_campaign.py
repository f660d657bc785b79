"""Fit, design, record, refit: until it is known, or said that it cannot be."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import RealworthyError
from realworthy.identification.excitation import Status, identify
from realworthy.realities import RealityFile, RealityNoise, StandIn, make_reality
from realworthy.twins import Twin

from ..conftest import FIVE, SIGMA, draw_truth
from .conftest import quick


def hide(file: Path, seed: int) -> StandIn:
    described = RealityFile(
        schema=1,
        twin=file.name,
        seed=seed,
        parameters=draw_truth(seed),
        noise=RealityNoise(position=SIGMA, velocity=10 * SIGMA),
    )
    return StandIn(make_reality("hidden", described, folder=file.parent))


def test_what_was_asked_for_is_reached_and_true(joint: Twin, joint_file: Path):
    wanted = {"joint.kp": 0.4, "joint.coulomb_friction": 0.003}
    settings = quick(generations=1)
    settings.first_count = 3
    found = identify(joint, hide(joint_file, 1), FIVE, sd=wanted, settings=settings)
    assert found.status is Status.REACHED
    assert found.to_words().startswith("reached, with ")
    assert found.fit is not None
    truth = draw_truth(1)
    for name, sd in wanted.items():
        assert found.fit.sd[name] <= sd
        assert abs(found.fit.e[name] - truth[name]) < 4 * found.fit.sd[name]


def test_what_no_motion_can_show_is_said_before_the_robot_moves(
    joint: Twin, joint_file: Path
):
    """A mass along the axis turns with it: nothing depends on where it is."""
    robot = hide(joint_file, 2)
    name = "link.centre_of_mass.y"
    settings = quick(generations=1)
    settings.first_count = 2
    found = identify(joint, robot, (*FIVE, name), sd={name: 0.001}, settings=settings)
    assert found.status is Status.UNREACHABLE
    assert found.to_words() == (
        f"unreachable: these recordings cannot show {name} because nothing that these "
        "motions do depends on it"
    )
    assert found.recordings == ()
    assert robot.read().time == 0.0


def test_a_loop_without_a_wish_is_refused(joint: Twin, joint_file: Path):
    with pytest.raises(RealworthyError, match="No standard deviation was asked for"):
        identify(joint, hide(joint_file, 3), FIVE, sd={})


@pytest.mark.slow
def test_more_recordings_are_made_until_a_demanding_wish_is_met(
    joint: Twin, joint_file: Path
):
    settings = quick(generations=3)
    first = identify(
        joint, hide(joint_file, 4), FIVE, sd={"joint.kp": 1.0}, settings=settings
    )
    assert first.fit is not None
    assert len(first.recordings) == 1
    wanted = {"joint.damping": 0.6 * first.fit.sd["joint.damping"]}
    found = identify(
        joint, hide(joint_file, 4), FIVE, sd=wanted, rounds=6, settings=settings
    )
    assert found.status is Status.REACHED
    assert len(found.recordings) > 1
    assert found.fit is not None
    off = found.fit.e["joint.damping"] - draw_truth(4)["joint.damping"]
    assert np.abs(off) < 4 * wanted["joint.damping"]


@pytest.mark.slow
def test_a_wish_beyond_all_rounds_is_given_up_with_a_count(
    joint: Twin, joint_file: Path
):
    found = identify(
        joint,
        hide(joint_file, 5),
        FIVE,
        sd={"joint.kp": 1e-6, "joint.delay": 0.001},
        rounds=2,
        settings=quick(generations=2),
    )
    assert found.status is Status.UNREACHABLE
    assert set(found.reasons) == {"joint.kp"}
    assert "times the data" in found.to_words()
    assert found.fit is not None
    assert found.fit.sd["joint.delay"] <= 0.001
