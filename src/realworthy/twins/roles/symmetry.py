"""Which joint is which one's mirror image, left and right of the trunk exchanged."""

import numpy as np
from numpy.typing import NDArray

from realworthy.twins.roles.tree import KinematicTree

Floats = NDArray[np.float64]
_IMAGE_TOLERANCE = 0.02
"""Share of the robot's breadth by which places may miss their image: models are rounded
to millimetres."""
_PARALLEL = 0.98
"""Least cosine between an axis and its image: within 11 degrees."""
_SLIDE = 2


def find_mirror_image(tree: KinematicTree) -> dict[str, tuple[str, float]] | None:
    """Joint → its partner, and the sign of angles there; None: no mirror image.

    As the robot is at home, in the frame of its floating base.
    """
    joints = [joint for link in tree.links for joint in tree.list_joints(link)]
    places = np.array([_place(tree, joint) for joint in joints])
    if not len(places):
        return None
    near = _IMAGE_TOLERANCE * float(np.ptp(places[:, 1]) or np.ptp(places))
    found: dict[str, tuple[str, float]] = {}
    for joint, place in zip(joints, places, strict=True):
        image = _reflect(tree, joint)
        misses = np.linalg.norm(places - place * [1, -1, 1], axis=1)
        alike = [
            (float(image @ _turn_back(tree, joints[k])), k)
            for k in np.flatnonzero(misses <= near).tolist()
            if int(tree.model.jnt_type[joints[k]]) == int(tree.model.jnt_type[joint])
        ]
        cosine, k = max(alike, key=lambda pair: abs(pair[0]), default=(0.0, -1))
        if abs(cosine) < _PARALLEL:
            return None
        name, partner = (tree.model.joint(j).name for j in (joint, joints[k]))
        found[name] = (partner, 1.0 if cosine > 0 else -1.0)
    is_mutual = all(found[partner][0] == name for name, (partner, _) in found.items())
    return found if is_mutual else None


def _place(tree: KinematicTree, joint: int) -> Floats:
    """(3,) [m] of a joint in the base's frame."""
    return tree.frame.T @ (tree.find_anchor(joint) - tree.data.xpos[tree.base])


def _turn_back(tree: KinematicTree, joint: int) -> Floats:
    """(3,) a joint's axis in the base's frame."""
    return tree.frame.T @ tree.find_axis(joint)


def _reflect(tree: KinematicTree, joint: int) -> Floats:
    """(3,) a joint's axis in the mirror.

    A slide's turns its y round; a hinge's, about which it turns, keeps y alone.
    """
    is_slide = int(tree.model.jnt_type[joint]) == _SLIDE
    return _turn_back(tree, joint) * ([1, -1, 1] if is_slide else [-1, 1, -1])
