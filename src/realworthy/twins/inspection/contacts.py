"""Checks of what touches what in the home pose."""

import mujoco

from realworthy.twins.inspection.findings import ModelFinding, group
from realworthy.twins.inspection.names import name_of
from realworthy.twins.inspection.pose import Posed

_DEPTH = 1e-3  # [m] soft contacts sink in less than this under a robot's weight


def inspect_contacts(posed: Posed) -> list[ModelFinding]:
    """A finding for shapes that overlap in the home pose, each pair at its deepest."""
    depths: dict[str, float] = {}
    for contact in posed.data.contact:
        if contact.dist < -_DEPTH:
            pair = " and ".join(sorted(_owner(posed.model, g) for g in contact.geom))
            depths[pair] = max(depths.get(pair, 0.0), -float(contact.dist))
    return group(
        "penetration",
        "warning",
        {pair: f"{depth * 1000:.1f} mm" for pair, depth in depths.items()},
        f"shapes overlap in pose '{posed.pose}'",
        hint="The simulation starts with a kick. Raise the pose, or exclude the pair "
        "in <contact> if the overlap is meant.",
    )


def _owner(model: mujoco.MjModel, geom: int) -> str:
    """The geom's name, or its body's: shapes in robot files seldom have names."""
    found = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, geom)
    body = int(model.geom_bodyid[geom])
    return found or name_of(model, mujoco.mjtObj.mjOBJ_BODY, body)
