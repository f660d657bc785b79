"""Captures' names, whatever they are, lead to the same parts of a body."""

from dataclasses import replace

import numpy as np
import pytest

from realworthy.errors import RealworthyError, UnknownName
from realworthy.recordings.motion import Motion
from realworthy.recordings.motion_layouts.amass import SMPL_JOINTS
from realworthy.recordings.poses import Poses
from realworthy.retargeting.figure import find_figure, load_figure, match, read_points


def name(*names: str) -> Motion:
    bodies = Poses(names, np.zeros((2, len(names), 3)))
    return Motion(np.array([0.0, 1]), (), np.empty((2, 0)), bodies=bodies)


def test_a_shoulder_is_a_shoulder_in_every_capture(person: Motion):
    human = load_figure("human")
    smpl = match(human, name(*SMPL_JOINTS), {})
    assert smpl["left_ankle"] == "left_ankle"
    assert smpl["left_toe"] == "left_foot"
    assert smpl["left_shoulder"] == "left_shoulder"
    bvh = match(human, name("mixamorig:LeftShoulder", "mixamorig:LeftArm"), {})
    assert bvh["left_shoulder"] == "mixamorig:LeftArm"
    assert bvh.keys() == {"left_shoulder"}
    walk = match(human, person, {})
    assert walk["left_ankle"] == "LeftFoot"
    assert walk["left_toe"] == "LeftToeBase"


def test_dogs_and_people_are_known_apart(person: Motion, dog: Motion):
    assert find_figure(person, {}).name == "human"
    assert find_figure(dog, {}).name == "dog"


def test_a_joint_with_an_unknown_name_is_asked_for(person: Motion):
    assert person.bodies is not None
    names = tuple("Fuss" if n == "LeftFoot" else n for n in person.bodies.names)
    strange = replace(person, bodies=replace(person.bodies, names=names))
    human = load_figure("human")
    with pytest.raises(RealworthyError, match="no joint for 'left_ankle'") as error:
        read_points(strange, human, {})
    assert "--point left_ankle=JOINT" in error.value.hint
    assert "Fuss" in error.value.hint
    points = read_points(strange, human, {"left_ankle": "Fuss"})
    assert (points["left_ankle"] == person.bodies["LeftFoot"]).all()


def test_chosen_joints_and_parts_must_exist(person: Motion):
    human = load_figure("human")
    with pytest.raises(UnknownName, match="no part 'left_anckle'"):
        read_points(person, human, {"left_anckle": "LeftFoot"})
    with pytest.raises(UnknownName, match="no joint 'LeftFeet'"):
        read_points(person, human, {"left_ankle": "LeftFeet"})


def test_a_figure_on_its_side_is_refused(person: Motion):
    assert person.bodies is not None
    lying = replace(person.bodies, position=person.bodies.position[..., [0, 2, 1]])
    with pytest.raises(RealworthyError, match="z does not point up"):
        read_points(replace(person, bodies=lying), load_figure("human"), {})


def test_a_robots_motion_has_no_figure():
    motion = Motion(np.array([0.0, 1]), ("knee",), np.zeros((2, 1)))
    with pytest.raises(RealworthyError, match="has no bodies"):
        read_points(motion, load_figure("human"), {})
