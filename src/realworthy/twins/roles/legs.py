"""The feet of a robot that floats, and the joints of the leg above each.

Feet are the last links of their rows that, at home, reach as low as the lowest of all.
Which is left or in front is read off the trunk's own axes: x ahead, y to the left.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.robots.roles import RoleChoices
from realworthy.twins.roles.part import CHOSEN, RobotPart
from realworthy.twins.roles.tree import KinematicTree

Floats = NDArray[np.float64]
_LEVEL = 0.15
"""Share of the trunk's height above the lowest point, within which feet are at home,
and within which the shapes of a foot belong to its sole. Feet of eight robots of
Menagerie are below 0.01, hands of its humanoids at 0.71 and more; 2026-11-18."""
_ASIDE = 0.7
"""Share of the most that a joint moves the foot to the side, from which it is a hip's
roll as well: hips with slanted axes have two such, of which the later is so called."""
_MARGIN = 1.3
"""Size of a foot's touch site over that of its shape: contacts lie inside it."""


@dataclass(frozen=True, slots=True)
class Foot:
    """What of a leg stands on the ground, and the leg."""

    place: str
    """`front_left`, `left` and so on."""
    body: str
    site: str
    """Where a touch sensor `<site>_contact` is, or could be added."""
    feels: bool
    """Whether the model has that sensor."""
    joints: tuple[str, ...]
    """Of the leg, from the trunk on."""
    pitches: tuple[str, ...]
    """Those of its joints that turn about the trunk's y at home, such as knees."""
    leaning: str
    """The joint that moves the foot to the side, such as a hip's roll."""
    centre: tuple[float, float, float]
    """[m] of the sole in the body's frame."""
    lowest: tuple[float, float, float]
    """[m] of the point that touches the ground at home, in the body's frame."""
    radius: float
    """[m] about the centre in which contacts with the ground lie."""
    upright: tuple[float, float, float, float]
    """Quaternion w-x-y-z in the body's frame that is level at home."""


def find_feet(tree: KinematicTree, choices: RoleChoices) -> RobotPart[tuple[Foot, ...]]:
    """All feet: front before rear, left before right."""
    if not tree.base:
        return RobotPart(None, "it is fixed to the world, and legs carry what floats")
    links, why = _choose_links(tree, choices)
    if not links:
        return RobotPart(None, why)
    chains = {link: tree.list_chain(link) for link in links}
    for link, chain in chains.items():
        joints = [joint for body in chain for joint in tree.list_joints(body)]
        still = [joint for joint in joints if joint not in tree.driven]
        if still:
            joint, foot = tree.model.joint(still[0]).name, tree.name_body(link)
            return RobotPart(
                None, f"nothing drives joint '{joint}' above foot '{foot}'"
            )
    middles = {link: _find_middle(tree, link) for link in links}
    places = _name_places(tree, middles)
    if places is None:
        seen = ", ".join(tree.name_body(link) for link in links)
        return RobotPart(None, f"its feet ({seen}) are not on two sides of it")
    feet = tuple(_describe(tree, place, link) for place, link in places.items())
    return RobotPart(feet, why, ", ".join(_name(foot) for foot in feet))


def _name(foot: Foot) -> str:
    return f"{foot.place.replace('_', ' ')}: {foot.site if foot.feels else foot.body}"


def _choose_links(tree: KinematicTree, choices: RoleChoices) -> tuple[list[int], str]:
    """Links with feet, and why."""
    if choices.feet:
        bodies = [tree.find_body(name, "feet") for name in choices.feet]
        return [tree.list_chain(body)[-1] for body in bodies], CHOSEN
    last = [
        link
        for link in tree.list_beyond(tree.base)
        if not tree.list_children(link) and tree.list_shapes(link, touching=True)
    ]
    lows = {link: _find_low(tree, link) for link in last}
    lows = {link: low for link, low in lows.items() if np.isfinite(low)}
    if not lows:
        return [], "no link is carried by joints"
    floor = min(lows.values())
    reach = _LEVEL * (float(tree.data.xpos[tree.base][2]) - floor)
    feet = [link for link, low in lows.items() if low <= floor + reach]
    ends = "link that ends" if len(feet) == 1 else "links that end"
    return feet, (
        f"the {len(feet)} {ends} lowest at home, within {100 * reach:.0f} cm; "
        f"x of '{tree.name_body(tree.base)}' is ahead"
    )


def _find_low(tree: KinematicTree, link: int) -> float:
    points = tree.list_points(tree.list_shapes(link, touching=True))
    return float(points[:, 2].min()) if len(points) else np.inf


def _find_sole(tree: KinematicTree, link: int) -> tuple[Floats, float]:
    """Centre [m] in the world, and radius [m] of the contacts about it."""
    shapes = tree.list_shapes(link, touching=True)
    clouds = {shape: tree.list_points([shape]) for shape in shapes}
    lows = {s: float(x[:, 2].min()) for s, x in clouds.items() if len(x)}
    floor = min(lows.values())
    height = _LEVEL * (float(tree.data.xpos[tree.base][2]) - floor)
    low = [shape for shape, z in lows.items() if z <= floor + 0.2 * height]
    model = tree.model
    if len(low) == 1 and int(model.geom_type[low[0]]) == 2:  # a sphere
        size = float(model.geom_size[low[0], 0])
        return tree.data.geom_xpos[low[0]].copy(), _MARGIN * size
    points = np.concatenate(list(clouds.values()))
    points = points[points[:, 2] <= floor + height]
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    centre[2] = floor
    radius = float(np.linalg.norm(points - centre, axis=1).max())
    return centre, _MARGIN * max(radius, height / 2)


def _find_middle(tree: KinematicTree, link: int) -> Floats:
    """(3,) [m] of the sole in the trunk's frame."""
    centre, _ = _find_sole(tree, link)
    return tree.frame.T @ (centre - tree.data.xpos[tree.base])


def _name_places(
    tree: KinematicTree, middles: dict[int, Floats]
) -> dict[str, int] | None:
    """Place → link, front before rear, left before right; None where sides differ."""
    by_x = sorted(middles, key=lambda link: -middles[link][0])
    if len(by_x) == 2:
        rows = {"": by_x}
    elif len(by_x) == 4:
        rows = {"front_": by_x[:2], "rear_": by_x[2:]}
    else:
        return {f"leg{i + 1}": link for i, link in enumerate(by_x)}
    places: dict[str, int] = {}
    for row, pair in rows.items():
        left, right = sorted(pair, key=lambda link: -middles[link][1])
        if not middles[left][1] > 0 > middles[right][1]:
            return None
        places |= {f"{row}left": left, f"{row}right": right}
    return places


def _describe(tree: KinematicTree, place: str, link: int) -> Foot:
    centre, radius = _find_sole(tree, link)
    turn = tree.data.xmat[link].reshape(3, 3)
    low = centre.copy()
    low[2] = _find_low(tree, link)
    local, lowest = (
        (turn.T @ (x - tree.data.xpos[link])).tolist() for x in (centre, low)
    )
    quat = tree.data.xquat[link] * [1, -1, -1, -1]
    chain, touch = tree.list_chain(link), _find_touch_site(tree, link)
    joints = [joint for body in chain for joint in tree.list_joints(body)]
    aside = {joint: _measure_aside(tree, joint, centre) for joint in joints}
    leaning = [j for j, moved in aside.items() if moved >= _ASIDE * max(aside.values())]
    return Foot(
        place=place,
        body=tree.name_body(link),
        site=touch or _name_free_site(tree, f"{place}_foot"),
        feels=bool(touch),
        joints=tree.name_joints(chain),
        pitches=tuple(tree.model.joint(j).name for j in joints if _is_pitch(tree, j)),
        leaning=tree.model.joint(leaning[-1]).name,
        centre=(local[0], local[1], local[2]),
        lowest=(lowest[0], lowest[1], lowest[2]),
        radius=radius,
        upright=(float(quat[0]), float(quat[1]), float(quat[2]), float(quat[3])),
    )


def _is_pitch(tree: KinematicTree, joint: int) -> bool:
    """Whether the trunk's y is the axis nearest to the joint's."""
    return int(np.abs(tree.frame.T @ tree.find_axis(joint)).argmax()) == 1


def _measure_aside(tree: KinematicTree, joint: int, foot: Floats) -> float:
    """[m/rad] by which a hinge moves a foot along the trunk's y."""
    moved = np.cross(tree.find_axis(joint), foot - tree.find_anchor(joint))
    return float(abs((tree.frame.T @ moved)[1]))


def _name_free_site(tree: KinematicTree, name: str) -> str:
    """The name, or a longer one where a site is called so."""
    taken = {tree.model.site(i).name for i in range(tree.model.nsite)}
    while name in taken:
        name = f"{name}_touch"
    return name


def _find_touch_site(tree: KinematicTree, link: int) -> str:
    """The site of a link that has a touch sensor called after it."""
    model, bodies = tree.model, tree.list_welded(link)
    sensors = {model.sensor(i).name for i in range(model.nsensor)}
    for i in range(model.nsite):
        name = model.site(i).name
        if int(model.site_bodyid[i]) in bodies and f"{name}_contact" in sensors:
            return name
    return ""
