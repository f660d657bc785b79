"""Where the bodies of a robot are, frame by frame: as measured, and as replayed."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.reports.elements.plots import LineRole
from realworthy.simulators import MujocoCpu, Outcome
from realworthy.simulators.replay import Replayer, Track
from realworthy.simulators.replay.inputs import Encoders
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
_CHUNK = 20_000
"""Substeps that are simulated in one call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnMotion:
    """One robot, real or simulated."""

    role: LineRole
    label: str
    position: Floats
    """(frames, bodies, 3) in the world [m]."""
    quaternion: Floats
    """(frames, bodies, 4) w-x-y-z."""
    diverged_at: float | None = None
    """[s] when the simulation was lost; it is shown as it was before."""


@dataclass(frozen=True, slots=True)
class Take:
    """Recorded commands, and the state that a replay of them starts from."""

    track: Track
    position: Floats
    """(1, joints) of the track, at its first row."""
    velocity: Floats


def read_measured(track: Track, rows: Rows) -> Floats:
    """(frames, nq) the robot as measured; what was not measured rests at home."""
    own, layout = track.bound.compiled.own, Layout(track.bound)
    simulator = MujocoCpu(track.bound, 1, substeps=1, thread_count=1)
    if track.overrides:
        simulator.tell({name: np.array([v]) for name, v in track.overrides.items()})
    qpos = np.tile(own["own.initial_qpos"], (len(rows), 1))
    qvel = np.zeros((len(rows), len(own["own.initial_qvel"])))
    places = [layout.joint(joint)[0] for joint in track.joints]
    encoders = Encoders(simulator, track.joints)
    position = track.position[rows]
    qpos[:, places], _ = encoders.read_back(position, np.zeros_like(position))
    if track.base is not None:
        track.base.put(qpos, qvel, rows)
    return qpos


def replay_from_start(take: Take, rows: Rows) -> tuple[Floats, int]:
    """(frames, nq) the twin under the same commands, and how many frames are sound.

    Frames after the simulation diverged repeat the last sound one.
    """
    track = take.track
    player = Replayer(track, 1, thread_count=1)
    player.play(0, 1, position=take.position, velocity=take.velocity)
    simulator, last = player.simulator, len(track.control) - 1
    qpos, now = [], 0
    for stop in track.rows[rows]:
        while now < stop:
            end = min(now + _CHUNK, int(stop))
            sent = np.minimum(np.arange(now, end), last)
            simulator.rollout(player.sent(sent[None]))
            now = end
        state = simulator.array("qpos")[0].copy()
        is_lost = simulator.outcomes()[0] == Outcome.DIVERGED
        if is_lost or not np.isfinite(state).all():
            break
        qpos.append(state)
    sound = len(qpos)
    if not sound:
        return read_measured(track, rows[:1]).repeat(len(rows), axis=0), 0
    return np.array(qpos + qpos[-1:] * (len(rows) - sound)), sound


def find_poses(
    model: mujoco.MjModel, qpos: Floats, bodies: Sequence[int]
) -> tuple[Floats, Floats]:
    """(frames, bodies, 3) and (frames, bodies, 4) by forward kinematics."""
    data, which = mujoco.MjData(model), np.asarray(bodies, dtype=np.intp)
    position = np.empty((len(qpos), len(which), 3))
    quaternion = np.empty((len(qpos), len(which), 4))
    for frame, values in enumerate(qpos):
        data.qpos[:] = values
        mujoco.mj_kinematics(model, data)
        position[frame], quaternion[frame] = data.xpos[which], data.xquat[which]
    return position, quaternion


def match_bodies(
    model: mujoco.MjModel, other: mujoco.MjModel, bodies: Sequence[int]
) -> list[int]:
    """The same bodies in another model of the robot: by name, else by place."""
    found = []
    for body in bodies:
        name = model.body(body).name
        place = mujoco.mj_name2id(other, mujoco.mjtObj.mjOBJ_BODY, name) if name else -1
        found.append(place if place >= 0 else min(body, other.nbody - 1))
    return found
