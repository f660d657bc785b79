"""Armature, damping, dry friction, stiffness and rest position of joints."""

from collections.abc import Callable

import mujoco
import numpy as np

from realworthy.twins.compiled_model import CompiledModel, object_names
from realworthy.twins.writers.writer import (
    FieldSlot,
    Group,
    ModelEdit,
    SlotEdit,
    Writer,
    ratio,
)

_JOINT = mujoco.mjtObj.mjOBJ_JOINT
STIFF_FRICTION = np.array([0.9999, 0.9999, 0.001, 0.5, 2.0])
"""solimp that lets a stuck joint creep by micrometres instead of millimetres."""


def single_joints(compiled: CompiledModel) -> tuple[str, ...]:
    """Hinges and slides."""
    kinds = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    names = object_names(compiled.model, _JOINT)
    return tuple(
        n
        for n in names
        if int(compiled.model.jnt_type[compiled.id(_JOINT, n)]) in kinds
    )


def dof(compiled: CompiledModel, joint: str) -> int:
    """Place of a joint's velocity."""
    return int(compiled.model.jnt_dofadr[compiled.id(_JOINT, joint)])


def is_slide(model: mujoco.MjModel, joint: int) -> bool:
    return model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE


def _of_slides(unit: str) -> Callable[[CompiledModel, str], str]:
    """A writer's `own_unit`: of joints that slide; empty for those that turn."""

    def find(compiled: CompiledModel, joint: str) -> str:
        slides = is_slide(compiled.model, compiled.id(_JOINT, joint))
        return unit if slides else ""

    return find


def _dof_slot(field: str):
    def edit(compiled: CompiledModel, joint: str) -> ModelEdit:
        return SlotEdit(compiled, [FieldSlot(field, (dof(compiled, joint),))])

    return edit


def _edit_stiffness(compiled: CompiledModel, joint: str) -> ModelEdit:
    return SlotEdit(
        compiled, [FieldSlot("jnt_stiffness", (compiled.id(_JOINT, joint),))]
    )


def _stiffen_friction(
    spec: mujoco.MjSpec, compiled: CompiledModel, joint: str, _: float
) -> None:
    """Default `frictionloss` is a soft constraint: a stuck joint creeps."""
    spec.joint(joint).solimp_friction = STIFF_FRICTION


ARMATURE = Writer(
    kind="armature",
    unit="kg·m²",
    group=Group.JOINT,
    elements=single_joints,
    edit=_dof_slot("dof_armature"),
    lower=0.0,
    own_unit=_of_slides("kg"),
    spread=ratio(0.7, 1.3),
)
DAMPING = Writer(
    kind="damping",
    unit="N·m·s/rad",
    group=Group.JOINT,
    elements=single_joints,
    edit=_dof_slot("dof_damping"),
    lower=0.0,
    own_unit=_of_slides("N·s/m"),
    spread=ratio(0.5, 2.0),
)
COULOMB_FRICTION = Writer(
    kind="coulomb_friction",
    unit="N·m",
    group=Group.JOINT,
    elements=single_joints,
    edit=_dof_slot("dof_frictionloss"),
    lower=0.0,
    own_unit=_of_slides("N"),
    prepare=_stiffen_friction,
    spread=ratio(0.5, 2.0),
)
STIFFNESS = Writer(
    kind="stiffness",
    unit="N·m/rad",
    group=Group.JOINT,
    elements=single_joints,
    edit=_edit_stiffness,
    lower=0.0,
    own_unit=_of_slides("N/m"),
    spread=ratio(0.8, 1.2),
)
