"""`show FILE` of a motion: what moves in it, and how fast."""

import numpy as np

from realworthy.cli.printing import counted, emit_heading, emit_note, emit_table
from realworthy.cli.progress import waiting
from realworthy.recordings.motion import Motion, load_motion
from realworthy.recordings.motion_layouts.scale import measure_size
from realworthy.recordings.poses import Poses


def show_motion(
    path: str,
    layout: str | None,
    twin: str,
    *,
    unit: str | None,
    rate: float | None,
) -> object:
    """Joints, base, bodies, objects and contacts."""
    with waiting("Reading"):
        motion = load_motion(
            path, layout, unit=unit, rate=rate, joints=list_joints(twin)
        )
    size = measure_size(motion)
    hertz = (len(motion.time) - 1) / motion.duration
    emit_heading(
        path,
        f"motion, {counted(len(motion.time), 'row')}, {motion.duration:.3f} s at "
        f"{hertz:.4g} Hz",
    )
    rows = [
        (name, *map(float, values), "rad") for name, *values in _list_joint_rows(motion)
    ]
    if rows:
        emit_table("Joints", ("name", "min", "max", "fastest", "unit"), rows)
    things = {"base": motion.base, "body": motion.bodies, "object": motion.objects}
    moved = {k: _describe(motion, p) for k, p in things.items() if p is not None}
    for kind, each in moved.items():
        emit_table(
            {"base": "Base", "body": "Bodies", "object": "Objects"}[kind],
            ("name", "lowest [m]", "highest [m]", "goes [m]", "fastest [m/s]"),
            [(name, *values) for name, values in each.items()],
        )
    touching: dict[str, float] = {}
    if motion.contacts is not None:
        share = motion.contacts.touching.mean(axis=0).tolist()
        touching = dict(zip(motion.contacts.names, share, strict=True))
        emit_table("Contacts", ("name", "share of rows"), list(touching.items()))
    if size is not None:
        emit_note(f"The bodies extend over {size:.2f} m.")
    return {
        "rows": len(motion.time),
        "seconds": motion.duration,
        "rate": hertz,
        "joints": list(motion.joints),
        "bodies": [] if motion.bodies is None else list(motion.bodies.names),
        "size": size,
        "contacts": touching,
    }


def list_joints(twin: str) -> tuple[str, ...]:
    """Hinges and slides of a twin in its order, for files that do not name theirs."""
    if not twin:
        return ()
    from realworthy.twins import load_twin
    from realworthy.twins.writers.joints import single_joints

    return tuple(single_joints(load_twin(twin).compiled))


def _list_joint_rows(motion: Motion) -> list[tuple[str, float, float, float]]:
    if not motion.joints:
        return []
    speed = np.abs(np.gradient(motion.position, motion.time, axis=0)).max(axis=0)
    low, high = motion.position.min(axis=0), motion.position.max(axis=0)
    names = enumerate(motion.joints)
    return [(name, low[i], high[i], speed[i]) for i, name in names]


def _describe(motion: Motion, poses: Poses) -> dict[str, tuple[float, ...]]:
    """Name → lowest, highest, way on the ground, fastest."""
    speed = np.linalg.norm(poses.velocity(motion.time), axis=2)
    found: dict[str, tuple[float, ...]] = {}
    for i, name in enumerate(poses.names):
        track = poses.position[:, i]
        way = float(np.linalg.norm(track[-1, :2] - track[0, :2]))
        ends = float(track[:, 2].min()), float(track[:, 2].max())
        found[name] = (*ends, way, float(speed[:, i].max()))
    return found
