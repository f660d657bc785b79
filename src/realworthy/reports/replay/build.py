"""Replays of recordings: which frames, which robots, what must be said of them."""

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.gap import RecordingGap
from realworthy.recordings import Recording
from realworthy.reports.elements.numbers import Amount
from realworthy.reports.elements.plots import LABELS, LineRole
from realworthy.reports.replay.motion import (
    DrawnMotion,
    Take,
    find_poses,
    match_bodies,
    read_measured,
    replay_from_start,
)
from realworthy.reports.replay.replay import Replay
from realworthy.reports.replay.shapes import (
    BodyShape,
    is_moving,
    list_floors,
    list_shapes,
    rotate,
)
from realworthy.simulators.replay import Track, lay_out
from realworthy.twins import Twin

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
FRAME_RATE = 25.0
"""[1/s] at most; the page draws between frames."""
_MAX_SHOWN_S, _MIN_FRAME_RATE = 20.0, 12.5
"""[s] that are shown at most, and frames per second below which less is shown."""
_POSE_COUNT = 11_000
"""Poses of bodies in all: a page must stay small."""


def build_replay(
    one: RecordingGap,
    after: RecordingGap | None = None,
    labels: Mapping[LineRole, str] = LABELS,
) -> Replay | None:
    """The robot and its replay, beside that of a corrected twin; None: nothing to see.

    A recording that is long is shown where its replay is farthest off.
    """
    takes = {LineRole.TWIN: _take(one)} | (
        {LineRole.CORRECTED: _take(after)} if after else {}
    )
    worst = find_worst(after or one)
    return build_comparison(takes, title=one.name, worst=worst, labels=labels)


def build_comparison(
    takes: Mapping[LineRole, Take],
    *,
    title: str,
    worst: int,
    labels: Mapping[LineRole, str] = LABELS,
) -> Replay | None:
    """The robot of the last take, and the replay of each; None: nothing to see.

    `worst` is the row of the last take to look at. A floating base is where it was
    recorded, else it is held, and so it is said.
    """
    tracks = [take.track for take in takes.values()]
    first, last = tracks[0], tracks[-1]
    model = last.bound.model
    shapes = list_shapes(model)
    bodies = [shape.body for shape in shapes if is_moving(model, shape.body)]
    if not bodies:
        return None
    rows = choose_rows(last.time, worst, len(bodies) * (1 + len(takes)))
    real = find_poses(model, read_measured(last, rows), bodies)
    seen = LineRole.REAL if _is_same(first, last) else LineRole.CORRECTED_LOG
    motions = [_build_motion(seen, *real, label=labels[seen])]
    for role, take in takes.items():
        own = take.track.bound.model
        near = np.searchsorted(take.track.time, last.time[rows] - 1e-6)
        near = np.minimum(near, len(take.track.rows) - 1)
        qpos, sound = replay_from_start(take, near)
        poses = find_poses(own, qpos, match_bodies(model, own, bodies))
        lost = float(take.track.time[near[sound]]) if sound < len(near) else None
        motions.append(
            _build_motion(role, *poses, label=labels[role], diverged_at=lost)
        )
    remarks = _gather_remarks(last, rows, "where the error is largest")
    return _build(last, title, rows, shapes, motions, remarks)


def _take(one: RecordingGap) -> Take:
    return Take(one.track, one.states.position[:1], one.states.velocity[:1])


def build_episode(
    twin: Twin, recording: Recording, *, title: str, label: str, remark: str = ""
) -> Replay | None:
    """One robot as a recording has it, alone; None: nothing to see.

    Of a long one the end is shown; `remark` says more about it in words.
    """
    track = lay_out(twin, recording)
    model, shapes = track.bound.model, list_shapes(track.bound.model)
    bodies = [shape.body for shape in shapes if is_moving(model, shape.body)]
    if not bodies:
        return None
    rows = choose_rows(track.time, len(track.time) - 1, len(bodies))
    poses = find_poses(model, read_measured(track, rows), bodies)
    motion = _build_motion(LineRole.TWIN, *poses, label=label)
    remarks = [remark] if remark else []
    remarks += _gather_remarks(track, rows, "the last")
    return _build(track, title, rows, shapes, [motion], remarks)


def _is_same(one: Track, other: Track) -> bool:
    """Whether two logs tell the same positions."""
    a, b = one.position, other.position
    return one.joints == other.joints and a.shape == b.shape and np.allclose(a, b)


def choose_rows(time: Floats, worst: int, body_count: int) -> Rows:
    """Rows of a recording that become frames, 25 a second or fewer.

    Of a long recording those around row `worst`; `body_count` bodies need poses.
    """
    count = max(2, _POSE_COUNT // body_count)
    span = min(float(time[-1] - time[0]), _MAX_SHOWN_S, count / _MIN_FRAME_RATE)
    latest = max(float(time[-1]) - span, float(time[0]))
    start = min(max(float(time[worst]) - span / 2, float(time[0])), latest)
    step = max(1 / FRAME_RATE, span / (count - 1))
    wanted = start + step * np.arange(int(span / step + 1e-6) + 1)
    return np.unique(np.minimum(np.searchsorted(time, wanted - 1e-6), len(time) - 1))


def find_worst(one: RecordingGap) -> int:
    """Row at which joints, each over its span, are farthest off; lost ones last."""
    spans = np.maximum(np.ptp(one.track.position, axis=0), 1e-9)
    off = np.abs(one.simulated - one.track.position) / spans
    return int(np.argmax(np.nan_to_num(np.minimum(off, 1e3), nan=1e3).sum(axis=1)))


def _build_motion(
    role: LineRole,
    position: Floats,
    quaternion: Floats,
    *,
    label: str = "",
    diverged_at: float | None = None,
) -> DrawnMotion:
    return DrawnMotion(
        role=role,
        label=label or LABELS[role],
        position=position,
        quaternion=quaternion,
        diverged_at=diverged_at,
    )


def _build(
    track: Track,
    title: str,
    rows: Rows,
    shapes: Sequence[BodyShape],
    motions: Sequence[DrawnMotion],
    remarks: Sequence[str],
) -> Replay:
    model = track.bound.model
    moving = [shape for shape in shapes if is_moving(model, shape.body)]
    base = None
    if track.base is not None:
        joint = int(np.flatnonzero(model.jnt_qposadr == track.base.qpos)[0])
        root = int(model.jnt_bodyid[joint])
        base = next((i for i, s in enumerate(moving) if s.body == root), None)
    return Replay(
        title=title,
        time=track.time[rows],
        shapes=tuple(moving),
        fixed=tuple(_fix(model, s) for s in shapes if not is_moving(model, s.body)),
        floors=() if track.hangs else tuple(list_floors(model)),
        motions=tuple(motions),
        base=base,
        remarks=tuple(remarks),
    )


def _fix(model: mujoco.MjModel, shape: BodyShape) -> BodyShape:
    """A shape that never moves, in the world's frame."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    turned = rotate(shape.mesh.vertices, data.xquat[shape.body])
    mesh = shape.mesh._replace(vertices=turned + data.xpos[shape.body])
    return BodyShape(0, mesh, shape.name)


def _gather_remarks(track: Track, rows: Rows, which: str) -> list[str]:
    """What is not as it was; `which` part of a long recording is shown."""
    said = []
    if track.hangs:
        said.append("The base is held still: its motion was not recorded.")
    model, hinge = track.bound.model, mujoco.mjtJoint
    single = (hinge.mjJNT_HINGE, hinge.mjJNT_SLIDE)
    names = [
        model.joint(i).name for i in range(model.njnt) if model.jnt_type[i] in single
    ]
    rest = [name for name in names if name not in track.joints]
    if rest:
        said.append(
            f"Not measured, so the robot is drawn with its {', '.join(rest)} at home."
        )
    time = track.time
    shown, whole = time[rows[-1]] - time[rows[0]], time[-1] - time[0]
    if shown < 0.95 * whole:
        said.append(
            f"{Amount(float(shown), 's')} of {Amount(float(whole), 's')} are shown, "
            f"{which}."
        )
    return said
