"""What of a model cannot be carried over to another engine, and what is left behind."""

from collections.abc import Iterator

import mujoco
import numpy as np

from realworthy.errors import RealworthyError
from realworthy.simulators.witnesses.export import shape_kind
from realworthy.simulators.witnesses.mechanism import ShapeKind

_EQUALITIES = {
    int(mujoco.mjtEq.mjEQ_JOINT): mujoco.mjtObj.mjOBJ_JOINT,
    int(mujoco.mjtEq.mjEQ_TENDON): mujoco.mjtObj.mjOBJ_TENDON,
}
"""What is coupled, where the model does not say it."""


class NotCarried(RealworthyError):
    """A model that an engine cannot have: `element` of it is what it lacks."""

    def __init__(self, engine: str, element: str, why: str) -> None:
        self.engine, self.element = engine, element
        super().__init__(
            f"{engine} cannot carry this model: {element} {why}.",
            hint="Certify it on MuJoCo alone, or take that element out of the model.",
        )


def check_carried(
    model: mujoco.MjModel, engine: str, *, without: frozenset[ShapeKind] = frozenset()
) -> None:
    """Raises `NotCarried` for the first element without which motion would be wrong.

    `without` names kinds of shapes that the engine lacks.
    """
    for i in np.flatnonzero(model.eq_active0):
        kind = mujoco.mjtEq(model.eq_type[i]).name.removeprefix("mjEQ_").lower()
        name = _name(model, mujoco.mjtObj.mjOBJ_EQUALITY, int(i))
        ends_kind = _EQUALITIES.get(model.eq_type[i], model.eq_objtype[i])
        first, second = (
            _name(model, mujoco.mjtObj(ends_kind), int(ends[i]))
            for ends in (model.eq_obj1id, model.eq_obj2id)
        )
        why = f"couples {first} and {second} ({kind})"
        raise NotCarried(engine, f"equality {name}", why)
    for i in np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_BALL):
        name = _name(model, mujoco.mjtObj.mjOBJ_JOINT, int(i))
        raise NotCarried(engine, f"joint {name}", "is a ball joint")
    for i in range(model.nactuator):
        if model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_BODY:
            name = _name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i)
            raise NotCarried(engine, f"actuator {name}", "acts on contacts (adhesion)")
    if model.nflex:
        name = _name(model, mujoco.mjtObj.mjOBJ_FLEX, 0)
        raise NotCarried(engine, f"flex {name}", "is soft")
    for i in _touching_geoms(model):
        kind = shape_kind(model, i)
        if kind is None or kind in without:
            name = _name(model, mujoco.mjtObj.mjOBJ_GEOM, i)
            what = mujoco.mjtGeom(model.geom_type[i]).name.removeprefix("mjGEOM_")
            raise NotCarried(engine, f"geom {name}", f"is of kind {what.lower()}")


def list_missing(model: mujoco.MjModel) -> Iterator[str]:
    """Sentences on what no engine here takes from a model, although it may matter."""
    if model.ntendon:
        limited = bool(model.tendon_limited.any())
        if limited or model.tendon_frictionloss.any() or model.tendon_armature.any():
            yield "Limits, dry friction and armature of tendons are left out."
    touching = list(_touching_geoms(model))
    if touching and (model.geom_condim[touching] > 3).any():
        yield "Torsional and rolling friction of contacts are left out."
    if touching and (model.geom_margin[touching] > 0).any():
        yield "Contact margins are left out."
    free = model.jnt_type[model.dof_jntid] == mujoco.mjtJoint.mjJNT_FREE
    if (model.dof_armature[free] > 0).any():
        yield "Armature of free joints is left out."
    if (model.dof_frictionloss[free] > 0).any():
        yield "Dry friction of free joints is left out."
    if model.nmocap:
        yield "Mocap bodies stand where the model puts them."
    if len(touching):
        yield (
            "Contacts have the engine's own stiffness, damping and restitution, not "
            "solref and solimp."
        )
    if len(touching) and (model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE):
        yield "Contact overrides are left out."


def _touching_geoms(model: mujoco.MjModel) -> Iterator[int]:
    in_pair = {*model.pair_geom1.tolist(), *model.pair_geom2.tolist()}
    for i in range(model.ngeom):
        if model.geom_contype[i] or model.geom_conaffinity[i] or i in in_pair:
            yield i


def _name(model: mujoco.MjModel, kind: mujoco.mjtObj, i: int) -> str:
    return f"'{(mujoco.mj_id2name(model, kind, i) if i >= 0 else '') or i}'"
