"""Which part of a robot does what, where somebody has chosen it by name."""

from collections.abc import Iterable

import msgspec

from realworthy.errors import RealworthyError, UnknownName

_EXAMPLES = {
    "tip": "tip=attachment_site",
    "gripper": "gripper=finger_joint1,finger_joint2",
    "feet": "feet=FL,FR,RL,RR",
    "trunk": "trunk=torso",
    "home": "home=stand",
    "action_scale": "action_scale=0.25",
    "gains": "gains=40,1",
}
_LISTS = ("gripper", "feet", "gains")


class RoleChoices(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """Roles that were chosen; those left empty are proposed from the model."""

    tip: str = ""
    """The site, or else the body, that an arm brings somewhere."""
    gripper: tuple[str, ...] = ()
    """Joints beyond the tip, which rest."""
    feet: tuple[str, ...] = ()
    """Sites, shapes or bodies that stand on the ground, in any order."""
    trunk: str = ""
    """The floating body that carries the legs."""
    home: str = ""
    """The keyframe of the pose that the robot starts in."""
    action_scale: float | None = None
    """[rad] that a leg's joint target moves per unit of action."""
    gains: tuple[float, float] | None = None
    """kp [N·m/rad] and kd [N·m·s/rad] of the servos that are driven."""

    @property
    def words(self) -> str:
        """As `parse_roles` reads them; empty where nothing was chosen."""
        values = {
            name: getattr(self, name)
            for name in self.__struct_fields__
            if getattr(self, name) not in ("", (), None)
        }
        return " ".join(f"{name}={_spell(value)}" for name, value in values.items())

    def merge(self, other: "RoleChoices") -> "RoleChoices":
        """These, with those that `other` chooses in their place."""
        chosen = {
            name: getattr(other, name)
            for name in other.__struct_fields__
            if getattr(other, name) not in ("", (), None)
        }
        return msgspec.structs.replace(self, **chosen)


def _spell(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def parse_roles(words: Iterable[str]) -> RoleChoices:
    """`tip=attachment_site`, `feet=FL,FR,RL,RR` … as choices."""
    found: dict[str, object] = {}
    for word in words:
        role, sign, value = word.partition("=")
        if role not in _EXAMPLES:
            raise UnknownName("role", role, _EXAMPLES, owner="a robot", hint="")
        if not sign or not value.strip(", "):
            raise RealworthyError(
                f"'{word}' does not say which part has the role '{role}'.",
                hint=f"Try: {_EXAMPLES[role]}",
            )
        parts = [part.strip() for part in value.split(",") if part.strip()]
        found[role] = parts if role in _LISTS else value.strip()
    try:
        return msgspec.convert(found, RoleChoices, strict=False)
    except msgspec.ValidationError as error:
        role = str(error).partition("$.")[2].partition("`")[0].partition("[")[0]
        raise RealworthyError(
            f"Role '{role}' cannot be read: {error}.",
            hint=f"Try: {_EXAMPLES.get(role, 'gains=40,1')}",
        ) from None
