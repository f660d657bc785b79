"""Which numbers of an arm to fit first, where nobody has said. Experimental.

Equal servos are equal: a robot whose joints were published with the same gain has one
gain, one damping and one rotor to find, not one per joint. That keeps numbers apart
which a joint's own motion cannot, and a fit of eleven numbers is faster than one of
thirty. Dry friction depends on load and wear, so every joint has its own. An encoder
that is off shows in joints that gravity loads, and only there.
"""

from collections.abc import Sequence

import numpy as np

from realworthy.errors import RealworthyError
from realworthy.simulators import MujocoCpu
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout

_TIED = ("kp", "kd", "armature")
"""Kinds that equal servos share. A torque limit is left out: with it a search from a
gain that is far too high ended at a higher one, held back by the limit."""
_LOADED = 0.1
"""Share of the largest change of gravity torque from which a joint is loaded."""
_POSES = 64
_SWING = 0.6
"""[rad] around the home pose over which gravity is looked at."""


def choose_parameters(
    twin: Twin, joints: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Names of parameters for a first fit of position-controlled `joints` (all).

    Tied kinds are factors `all.<kind>` where every drive was published with the same
    number, and one number per joint where not.
    """
    lines = [line for line in describe_commands(bind(twin)) if line.kind == "position"]
    lines = [line for line in lines if joints is None or line.joint in joints]
    if not lines:
        raise RealworthyError(
            f"{twin.owner} has no position-controlled drive at these joints.",
            hint="Name the parameters to fit: realworthy show parameters --twin TWIN",
        )
    names = set(twin.space.names)
    drives = [line.signal.removesuffix(".command") for line in lines]
    moved = [line.joint for line in lines if line.joint is not None]
    chosen: list[str] = []
    for kind in _TIED:
        own = [n for n in _with_kind(kind, drives, moved) if n in names]
        values = {round(twin.space[n].nominal, 9) for n in own}
        tied = f"all.{kind}"
        if len(own) > 1 and len(values) == 1 and tied in names:
            chosen.append(tied)
        else:
            chosen += own
    chosen += [f"{j}.coulomb_friction" for j in moved]
    chosen += [f"{j}.position.sensor_bias" for j in find_loaded(twin, moved)]
    return tuple(name for name in dict.fromkeys(chosen) if name in names)


def find_loaded(twin: Twin, joints: Sequence[str]) -> tuple[str, ...]:
    """Joints whose gravity torque changes with the pose, compared with the others."""
    bound = bind(twin)
    simulator = MujocoCpu(bound, _POSES, substeps=1)
    layout = Layout(bound)
    places = [layout.joint(joint) for joint in joints]
    draw = np.random.default_rng(0)
    qpos = np.tile(bound.compiled.own["own.initial_qpos"], (_POSES, 1))
    for place, _ in places:
        qpos[:, place] += draw.uniform(-_SWING, _SWING, _POSES)
    simulator.reset(qpos=qpos)
    torque = np.array(simulator.array("qfrc_bias"))[:, [dof for _, dof in places]]
    change = torque.std(axis=0)
    if not change.max() > 0:
        return ()
    loaded = change > _LOADED * change.max()
    return tuple(j for j, is_loaded in zip(joints, loaded, strict=True) if is_loaded)


def _with_kind(kind: str, drives: Sequence[str], joints: Sequence[str]) -> list[str]:
    owners = joints if kind == "armature" else drives
    return [f"{owner}.{kind}" for owner in owners]
