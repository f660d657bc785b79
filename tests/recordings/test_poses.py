"""Poses, velocities and columns of a motion against hand arithmetic."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import BadFile, RealworthyError
from realworthy.recordings.motion import Motion, load_motion, save_motion
from realworthy.recordings.poses import Contacts, Poses


def turn_about_z(angle: np.ndarray) -> np.ndarray:
    zero = 0 * angle
    return np.stack([np.cos(angle / 2), zero, zero, np.sin(angle / 2)], axis=1)


def make() -> Motion:
    t = np.linspace(0, 2, 201)
    place = np.stack([np.cos(t), np.sin(t), 0.3 * t], axis=1)[:, None]
    turn = turn_about_z(3 * t)[:, None]
    return Motion(
        t,
        ("a",),
        np.sin(t)[:, None],
        base=Poses(("base",), place, turn),
        bodies=Poses(("left foot", "hand.tip"), np.repeat(place, 2, axis=1)),
        objects=Poses(("box",), 2 * place, turn),
        contacts=Contacts(("left_toe",), (t > 1)[:, None]),
    )


def test_a_file_holds_all_of_a_motion(tmp_path: Path):
    motion = make()
    save_motion(motion, tmp_path / "m.csv")
    found = load_motion(tmp_path / "m.csv")
    assert found.joints == motion.joints
    for name in ("base", "bodies", "objects"):
        one, other = getattr(motion, name), getattr(found, name)
        assert one.names == other.names
        np.testing.assert_allclose(other.position, one.position, atol=1e-6)
        if one.quaternion is not None:
            np.testing.assert_allclose(other.quaternion, one.quaternion, atol=1e-6)
    assert found.contacts is not None
    assert motion.contacts is not None
    assert (found.contacts.touching == motion.contacts.touching).all()


def test_velocities_are_those_of_the_formula_and_integrate_back():
    motion = make()
    base = motion.base
    assert base is not None
    t, speed = motion.time, base.velocity(motion.time)[:, 0]
    np.testing.assert_allclose(speed[1:-1, 0], -np.sin(t[1:-1]), atol=1e-4)
    spin = base.angular_velocity(t)[:, 0]
    np.testing.assert_allclose(spin, np.tile([0, 0, 3.0], (len(t), 1)), atol=1e-9)
    middle = (speed[1:] + speed[:-1]) / 2
    back = base.position[0, 0] + np.cumsum(middle * np.diff(t)[:, None], axis=0)
    way = np.linalg.norm(np.diff(base.position[:, 0], axis=0), axis=1).sum()
    assert np.abs(back[-1] - base.position[-1, 0]).max() < 0.01 * way


def test_resampling_goes_along_the_line_and_turns_at_constant_speed():
    motion = make().resampled(30.0)
    assert motion.base is not None
    assert motion.base.quaternion is not None
    np.testing.assert_allclose(
        np.abs(np.sum(motion.base.quaternion[:, 0] * turn_about_z(3 * motion.time), 1)),
        1.0,
        atol=1e-9,
    )
    assert motion.contacts is not None
    assert (motion.contacts.touching[:, 0] == (motion.time > 1)).mean() > 0.98


def test_a_cut_begins_at_zero_and_slower_takes_longer():
    motion = make().cut(0.5, 1.5)
    assert motion.time[0] == 0
    assert motion.duration == pytest.approx(1.0)
    assert motion.slowed(2.0).duration == pytest.approx(2.0)
    with pytest.raises(RealworthyError, match="no two rows"):
        make().cut(5, 6)


def test_what_is_no_quaternion_is_refused():
    with pytest.raises(RealworthyError, match="orientations have length 1"):
        Poses(("base",), np.zeros((3, 1, 3)), np.ones((3, 1, 4)))


def test_a_motion_needs_joints_or_bodies(tmp_path: Path):
    (tmp_path / "m.csv").write_text("time,contact.foot\n0,1\n1,0\n")
    with pytest.raises(BadFile, match="no column such as"):
        load_motion(tmp_path / "m.csv")


def test_a_figure_cannot_be_played():
    place = np.zeros((3, 1, 3))
    figure = Motion(np.arange(3.0), (), np.empty((3, 0)), bodies=Poses(("a",), place))
    with pytest.raises(RealworthyError, match="no robot can play it") as error:
        figure.sample(50.0)
    assert "retarget" in error.value.hint
