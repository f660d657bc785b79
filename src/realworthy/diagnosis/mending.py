"""A twin with causes corrected, as far as a model can express them."""

from collections.abc import Callable
from functools import partial

from realworthy.diagnosis.suspects import Case, Slot
from realworthy.twins import Twin
from realworthy.twins.structure import (
    add_backlash,
    add_cable,
    add_drag,
    add_flexibility,
)

BUILT_IN = ("backlash", "flexibility", "drag", "cable")
"""Effects that a model can have."""


def put_right(twin: Twin, case: Case) -> tuple[Twin, list[str]]:
    """The twin with a case's numbers and effects, and effects that it cannot have."""
    told = dict.fromkeys((slot.effect, slot.joint) for slot in case.effects)
    for effect, joint in told:
        if effect in BUILT_IN:
            twin = twin.edited(_edit(effect, joint, case))
    left = dict.fromkeys(e for e, _ in told if e not in (*BUILT_IN, "default_pose"))
    return twin.with_values(dict(case.values)), list(left)


def _edit(effect: str, joint: str, case: Case) -> Callable[..., object]:
    def number(name: str) -> float:
        return case.effects[Slot(f"{effect}.{name}", joint)]

    if effect == "backlash":
        return partial(add_backlash, joint=joint, width=number("width"))
    if effect == "drag":
        return partial(add_drag, joint=joint, coefficient=number("coefficient"))
    if effect == "cable":
        return partial(
            add_cable, joint=joint, stiffness=number("stiffness"), rest=number("rest")
        )
    return partial(
        add_flexibility,
        joint=joint,
        stiffness=number("stiffness"),
        damping=number("damping"),
    )
