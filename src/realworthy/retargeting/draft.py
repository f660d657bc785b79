"""A body map proposed from a robot's kinematics and names.

Legs are those of `twin.roles.feet`: the hip is where the first joint turns that pitches
the leg, knee and ankle where the next ones do. Arms are the other rows of links that
end free and have an elbow by name, or else the joint nearest to their middle.
"""

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.retargeting.body_map import BodyMap, PointOnBody
from realworthy.retargeting.figure import Figure, load_figure
from realworthy.twins import Twin
from realworthy.twins.roles.legs import Foot
from realworthy.twins.roles.tree import KinematicTree

Floats = NDArray[np.float64]


def draft_map(twin: Twin, figure: Figure | None = None) -> BodyMap:
    """A map of a robot that stands on two or four feet; to be looked at before use."""
    feet = twin.roles.feet
    if feet.value is None:
        raise RealworthyError(
            f"{twin.owner} cannot take the motion of a figure: {feet.reason}.",
            hint="Write a body map: docs/retarget.md shows one.",
        )
    wanted = {2: "human", 4: "dog"}.get(len(feet.value), "")
    if not wanted or (figure is not None and figure.name != wanted):
        what = "a person or a dog" if figure is None else f"a {figure.name}"
        raise RealworthyError(
            f"{twin.owner} has {len(feet.value)} feet, which is not as {what} has."
        )
    tree = KinematicTree(twin)
    figure = load_figure(wanted)
    points: dict[str, PointOnBody] = {}
    for foot in feet.value:
        points |= _draft_leg(tree, figure, foot)
    chest = ""
    if figure.arms:
        chest, arms = _draft_arms(tree, [foot.body for foot in feet.value])
        points |= arms
    return BodyMap(
        schema=1,
        figure=figure.name,
        trunk=tree.name_body(tree.base),
        chest=chest,
        points=points,
        feet={foot.place: foot.body for foot in feet.value},
        models=[twin.base_spec.modelname],
    )


def _draft_leg(
    tree: KinematicTree, figure: Figure, foot: Foot
) -> dict[str, PointOnBody]:
    parts, places = figure.feet[foot.place], foot.pitches
    joints = [int(tree.model.joint(name).id) for name in places]
    anchors = [tree.find_anchor(joint) for joint in joints]
    if len(anchors) < (3 if parts.knee else 1):
        raise RealworthyError(
            f"{tree.owner}: its {foot.place} leg has {len(anchors)} joints that pitch "
            "it; a hip, a knee and an ankle are looked for."
        )
    hip = anchors[0]
    if parts.knee:  # along its own axis to where the leg is
        axis = tree.find_axis(joints[0])
        hip = hip + axis * float(axis @ (anchors[1] - hip))
    found = {parts.hip: _fix(tree, tree.base, hip)}
    if parts.knee:
        found[parts.knee] = _fix(
            tree, int(tree.model.jnt_bodyid[joints[1]]), anchors[1]
        )
        found[parts.ankle] = _fix(tree, int(tree.model.body(foot.body).id), anchors[2])
    return found


def _draft_arms(
    tree: KinematicTree, feet: list[str]
) -> tuple[str, dict[str, PointOnBody]]:
    """The body that carries both arms, and their points; empty where there are none."""
    legs = {link for foot in feet for link in tree.list_chain(tree.model.body(foot).id)}
    ends = [
        link
        for link in tree.links
        if not tree.list_children(link) and link not in legs and link != tree.base
    ]
    chains = [tree.list_chain(end) for end in ends]
    chains = [chain for chain in chains if len(chain) >= 3 and not legs & set(chain)]
    if len(chains) < 2:
        return "", {}
    shared = set.intersection(*(set(chain) for chain in chains))
    torso = [link for link in chains[0] if link in shared]
    chest = torso[-1] if torso else tree.base
    found: dict[str, PointOnBody] = {}
    for chain in chains:
        arm = [link for link in chain if link not in shared]
        side = _find_side(tree, arm[0])
        if len(arm) < 3 or f"{side}_elbow" in found:
            continue
        elbow = _find_elbow(tree, arm)
        upper = arm[: arm.index(elbow)]
        shoulder = tree.data.xpos[upper[min(1, len(upper) - 1)]]
        found[f"{side}_shoulder"] = _fix(tree, chest, shoulder)
        found[f"{side}_elbow"] = _fix(tree, elbow, tree.data.xpos[elbow])
        found[f"{side}_wrist"] = _find_wrist(tree, arm, elbow)
    return (tree.name_body(chest), found) if len(found) == 6 else ("", {})


def _find_side(tree: KinematicTree, link: int) -> str:
    y = (tree.frame.T @ (tree.data.xpos[link] - tree.data.xpos[tree.base]))[1]
    return "left" if y > 0 else "right"


def _find_elbow(tree: KinematicTree, arm: list[int]) -> int:
    names = {link: " ".join(tree.name_joints([link])).lower() for link in arm}
    named = [link for link in arm if "elbow" in names[link]]
    if named:
        return named[0]
    reach = [
        float(np.linalg.norm(tree.data.xpos[k] - tree.data.xpos[arm[0]])) for k in arm
    ]
    middle = _reach_end(tree, arm[-1], tree.data.xpos[arm[0]])[1] / 2
    return arm[max(1, int(np.argmin(np.abs(np.array(reach) - middle))))]


def _find_wrist(tree: KinematicTree, arm: list[int], elbow: int) -> PointOnBody:
    """The last joint beyond the elbow; else the far end of the forearm."""
    if arm[-1] != elbow and "wrist" in " ".join(tree.name_joints(arm[-1:])).lower():
        return _fix(tree, arm[-1], tree.data.xpos[arm[-1]])
    end, _ = _reach_end(tree, arm[-1], tree.data.xpos[elbow])
    return _fix(tree, arm[-1], end)


def _reach_end(tree: KinematicTree, link: int, start: Floats) -> tuple[Floats, float]:
    """The middle of a link's farthest points from `start`, and the distance [m]."""
    points = tree.list_points(tree.list_shapes(link, touching=False))
    points = points if len(points) else tree.data.xpos[link][None]
    distance = np.linalg.norm(points - start, axis=1)
    far = points[distance >= distance.max() - 0.02].mean(axis=0)
    return far, float(np.linalg.norm(far - start))


def _fix(tree: KinematicTree, body: int, point: Floats) -> PointOnBody:
    local = tree.data.xmat[body].reshape(3, 3).T @ (point - tree.data.xpos[body])
    x, y, z = (round(float(value), 4) + 0.0 for value in local)
    return PointOnBody(tree.name_body(body), (x, y, z))
