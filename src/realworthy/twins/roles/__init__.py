"""Which part of a robot does what: proposed from its model, each with the reason.

Proposals come from the tree of links, their shapes at home, sites, keyframes and
actuators; a name is a hint where these do not decide. A twin's own choices come first:
`roles:` in a twin file, `twin.with_roles`, `train --role`.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from realworthy.twins.roles.arm import find_gripper, find_tip
from realworthy.twins.roles.legs import Foot, find_feet
from realworthy.twins.roles.part import CHOSEN, MissingRole, RobotPart
from realworthy.twins.roles.symmetry import find_mirror_image
from realworthy.twins.roles.tree import KinematicTree

if TYPE_CHECKING:
    from realworthy.twins.twin import Twin

__all__ = ["Foot", "MissingRole", "RobotPart", "Roles"]


class Roles:
    """The parts of one twin; each is looked for when it is asked for."""

    def __init__(self, twin: "Twin") -> None:
        self._twin, self._choices = twin, twin.role_choices

    @cached_property
    def tip(self) -> RobotPart[str]:
        """The site, or else the body, that an arm brings somewhere."""
        return find_tip(self._tree, self._choices)

    @cached_property
    def gripper(self) -> RobotPart[tuple[str, ...]]:
        """Joints beyond the tip, which rest."""
        return find_gripper(self._tree, self._choices, self.tip)

    @cached_property
    def trunk(self) -> RobotPart[str]:
        """The body that floats and carries the legs."""
        base, reason = self._twin.base, self._twin.floating.reason
        return (
            RobotPart(None, reason)
            if base is None
            else RobotPart(base.body, reason, base.body)
        )

    @cached_property
    def feet(self) -> RobotPart[tuple[Foot, ...]]:
        """What stands on the ground: front before rear, left before right."""
        return find_feet(self._tree, self._choices)

    @cached_property
    def home(self) -> RobotPart[str]:
        """The keyframe that the robot starts in; empty: the model's zero pose."""
        model, choice = self._twin.compiled.model, self._choices.home
        names = [model.key(i).name for i in range(model.nkey)]
        if choice:
            return RobotPart(choice, CHOSEN, f"keyframe {choice}")
        if not names:
            return RobotPart("", "the model has no keyframe", "every joint at zero")
        first = "home" if "home" in names else names[0]
        why = "the keyframe of that name" if first == "home" else "the first keyframe"
        return RobotPart(first, why, f"keyframe {first or 0}")

    @cached_property
    def mirror_image(self) -> dict[str, tuple[str, float]] | None:
        """Joint → its partner on the other side, and the sign of angles there."""
        return find_mirror_image(self._tree)

    @cached_property
    def _tree(self) -> KinematicTree:
        return KinematicTree(self._twin)
