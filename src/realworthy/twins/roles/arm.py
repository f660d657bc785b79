"""An arm's tip, and what moves beyond it: its gripper.

The arm is the longest row of links from the world, one carrying the next, until it
ends or branches into fingers. Where the last link is a jaw that closes on the link
before, the arm ends with that link. The tip is the outermost site of the arm's last
link; without sites it is the body that carries the gripper, or the last link itself.
"""

import numpy as np

from realworthy.robots.roles import RoleChoices
from realworthy.twins.roles.part import CHOSEN, RobotPart
from realworthy.twins.roles.tree import KinematicTree

_JAW_REACH = 0.65
"""Share of a jaw's length by which the link before reaches past the jaw's joint, at
least: it holds the other jaw. Four jaws of Menagerie and ours have 0.81 and more, last
links of three arms without one 0.54 and less; 2026-11-18."""
_JAW_CLOSED, _JAW_OPEN = 0.25, 0.6
"""Shares of a jaw's length that its end is from the link before: at most where it is
closed, at least where it is open. On the same arms jaws have 0.08 and less, then 0.79
and more; the end of a link that rolls stays as far, 0.37 and more."""
_PLACES = 25
"""Of its joint at which a jaw is looked at."""
_ARMS = 2
"""Rows of links that begin at what is fixed: more of them are fingers."""
_HINT = ("grip", "jaw", "finger", "claw")


def find_gripper(
    tree: KinematicTree, choices: RoleChoices, tip: RobotPart[str]
) -> RobotPart[tuple[str, ...]]:
    """Joints that hang on the link of the tip."""
    if choices.gripper:
        return RobotPart(choices.gripper, CHOSEN, ", ".join(choices.gripper))
    if tip.value is None:
        return RobotPart(None, "there is no tip that it could be beyond")
    body = tree.find_body(tip.value, "tip")
    chain = tree.list_chain(body)
    names = tree.name_joints(tree.list_beyond(chain[-1])) if chain else ()
    if not names:
        return RobotPart((), "no joint moves beyond the tip", "none")
    return RobotPart(names, "moves beyond the tip and stays at home", ", ".join(names))


def find_tip(tree: KinematicTree, choices: RoleChoices) -> RobotPart[str]:
    """The site, or else the body, that an arm brings somewhere."""
    if choices.tip:
        kind, _ = tree.locate(choices.tip, "tip")
        return RobotPart(choices.tip, CHOSEN, f"{kind} {choices.tip}")
    if tree.base:
        floats = tree.name_body(tree.base)
        return RobotPart(None, f"'{floats}' floats, and an arm stands on what is fixed")
    roots = tree.list_children(0)
    if not roots:
        return RobotPart(None, "no joint moves a link of it")
    if len(roots) > _ARMS:
        palm = tree.name_body(int(tree.model.body_parentid[roots[0]]))
        reason = f"{len(roots)} rows of links begin at '{palm}': a hand, not an arm"
        return RobotPart(None, reason)
    sizes = [len(tree.list_beyond(root)) for root in roots]
    root = roots[int(np.argmax(sizes))]
    others = "" if len(roots) == 1 else f", of the first of {len(roots)} arms"
    chain, why = _follow(tree, root, choices)
    if not chain:
        return RobotPart(None, "every joint is its gripper's")
    beyond = tree.name_joints(tree.list_beyond(chain[-1]))
    carried = tree.name_joints(chain)
    if len(beyond) > len(carried):
        return RobotPart(
            None,
            f"{len(beyond)} joints branch from '{tree.name_body(chain[-1])}', which "
            f"{len(carried)} carry: a hand, not an arm",
        )
    still = [
        j for link in chain for j in tree.list_joints(link) if j not in tree.driven
    ]
    if still:
        joint = tree.model.joint(still[0]).name
        return RobotPart(None, f"nothing drives joint '{joint}'")
    return _choose_point(tree, chain, why + others)


def _follow(
    tree: KinematicTree, root: int, choices: RoleChoices
) -> tuple[list[int], str]:
    """The arm's links from its root on, and why it ends there."""
    chain = [root]
    while True:
        if {*tree.name_joints(chain[-1:])} & {*choices.gripper}:
            return chain[:-1], "before the gripper that was chosen"
        carried = tree.list_children(chain[-1])
        if len(carried) > 1:
            return chain, f"which carries {len(carried)} fingers"
        if not carried:
            break
        chain += carried
    if len(chain) > 1 and _is_jaw(tree, chain[-2], chain[-1]):
        jaw = tree.name_joints(chain[-1:])[0]
        return chain[:-1], f"on which '{jaw}' closes a jaw"
    if len(chain) > 1 and _is_called_gripper(tree, chain[-1]):
        jaw = tree.name_joints(chain[-1:])[0]
        return chain[:-1], f"before '{jaw}', a gripper by its name"
    return chain, "with which the arm ends"


def _choose_point(tree: KinematicTree, chain: list[int], why: str) -> RobotPart[str]:
    model, last = tree.model, chain[-1]
    bodies = tree.list_welded(last)
    sites = [i for i in range(model.nsite) if int(model.site_bodyid[i]) in bodies]
    sites = [i for i in sites if model.site(i).name]
    count = len(tree.name_joints(chain))
    carried = f"that {count} joint{'s' * (count != 1)} in a row carry"
    if sites:
        anchor = tree.find_anchor(tree.list_joints(last)[0])
        away = [np.linalg.norm(tree.data.site_xpos[i] - anchor) for i in sites]
        name = model.site(sites[int(np.argmax(away))]).name
        return RobotPart(
            name, f"outermost site of the link {carried}, {why}", f"site {name}"
        )
    fingers = tree.list_children(last)
    body = int(model.body_parentid[fingers[0]]) if fingers else last
    name = tree.name_body(body)
    return RobotPart(name, f"the link {carried}, {why}; it has no site", f"body {name}")


def _is_jaw(tree: KinematicTree, before: int, last: int) -> bool:
    """Whether a link closes on the one that carries it, which reaches as far."""
    joints = tree.list_joints(last)
    shapes = tree.list_shapes(last, touching=False)
    points, fixed = (
        tree.list_points(tree.list_shapes(link, touching=False))
        for link in (last, before)
    )
    if len(joints) != 1 or not len(points) or not len(fixed):
        return False
    anchor = tree.find_anchor(joints[0])
    inner = tree.find_anchor(tree.list_joints(before)[0])
    lengths = np.linalg.norm(points - anchor, axis=1)
    end, length = int(lengths.argmax()), float(lengths.max())
    past = np.linalg.norm(fixed - inner, axis=1).max() - np.linalg.norm(anchor - inner)
    if past < _JAW_REACH * length:
        return False
    model, joint = tree.model, joints[0]
    low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-np.pi, np.pi)
    gaps = []
    for angle in np.linspace(low, high, _PLACES):
        pose = tree.home.copy()
        pose[model.jnt_qposadr[joint]] = angle
        tree.place(pose)
        tip = tree.list_points(shapes)[end]
        gaps.append(float(np.linalg.norm(fixed - tip, axis=1).min()))
    tree.place(tree.home)
    return min(gaps) < _JAW_CLOSED * length and max(gaps) > _JAW_OPEN * length


def _is_called_gripper(tree: KinematicTree, link: int) -> bool:
    """By its joint's name: a hint where shapes do not decide."""
    return any(
        hint in name.lower() for name in tree.name_joints([link]) for hint in _HINT
    )
