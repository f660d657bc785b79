"""A recording laid out on the clock of a twin's physics, and played there again.

Rows of a recording become substeps: the time step of the twin is shortened until a row
is a whole number of them, commands are held from row to row, and a start at any row is
given the commands that were sent before it, as a delay would still be carrying them.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import BadRecording
from realworthy.parameters import ParameterSpace
from realworthy.recordings import Recording
from realworthy.simulators.inputs import Inputs, choose_inputs
from realworthy.simulators.mujoco_cpu import MujocoCpu
from realworthy.simulators.simulator import Outcome
from realworthy.twins import BoundTwin, Twin, bind
from realworthy.twins.layout import Layout
from realworthy.twins.structure import set_timestep

Floats = NDArray[np.float64]
_CHUNK = 4000
"""Substeps that are simulated before only the rows among them are kept."""


@dataclass(frozen=True)
class Track:
    """One recording on the physics clock of one bound twin."""

    recording: Recording
    bound: BoundTwin
    inputs: Inputs
    joints: tuple[str, ...]
    """Joints that both the twin and the recording have."""
    rows: NDArray[np.intp]
    """(T,) substep at which each row was measured."""
    control: Floats
    """(substeps, inputs) what was sent, held from row to row."""
    position: Floats
    """(T, joints) measured [rad or m]."""
    velocity: Floats
    """(T, joints) measured, or differentiated where no velocity was recorded."""

    @property
    def timestep(self) -> float:
        return float(self.bound.model.opt.timestep)

    @property
    def time(self) -> Floats:
        """(T,) seconds since the first row, on the physics clock."""
        return self.rows * self.timestep

    def joint_inertia(self) -> Floats:
        """(joints,) inertia that each joint feels in the reference pose [kg·m²]."""
        layout = Layout(self.bound)
        dofs = [layout.joint(joint)[1] for joint in self.joints]
        return np.asarray(self.bound.model.dof_M0)[dofs]


@dataclass(frozen=True)
class Played:
    """What worlds did with a track: (worlds, rows, joints)."""

    position: Floats
    velocity: Floats
    outcomes: NDArray[np.int64]


def lay_out(
    twin: Twin, recording: Recording, space: ParameterSpace | None = None
) -> Track:
    """Gets a recording ready to be replayed in a twin with room for e."""
    rate = recording.rate
    nominal = float(twin.compiled.model.opt.timestep)
    per_row = max(1, int(np.ceil(1 / rate / nominal - 1e-3)))
    twin = twin.edited(partial(set_timestep, timestep=1 / rate / per_row))
    bound = bind(twin, space)
    layout = Layout(bound)
    joints = tuple(j for j in recording.joints if j in layout.joints)
    if not joints:
        raise BadRecording(
            f"{recording.owner} and twin '{twin.name}' have no joint in common.",
            hint=f"Recorded: {', '.join(recording.joints) or 'none'}. The twin has: "
            f"{', '.join(layout.joints)}. Name them alike in the sidecar's mapping.",
        )
    inputs = choose_inputs(bound, recording)
    elapsed = recording.time - recording.time[0]
    rows = np.round(elapsed / bound.model.opt.timestep).astype(np.intp)
    position = recording.stack("position", joints)
    return Track(
        recording=recording,
        bound=bound,
        inputs=inputs,
        joints=joints,
        rows=rows,
        control=_hold(inputs.values, rows),
        position=position,
        velocity=_velocities(recording, joints, position),
    )


class Replayer:
    """Replays tracks of one twin in many worlds at once; worlds are made once."""

    def __init__(
        self, track: Track, world_count: int, *, thread_count: int = 0
    ) -> None:
        self.track = track
        self.simulator = MujocoCpu(
            track.bound, world_count, substeps=1, thread_count=thread_count
        )
        layout = Layout(track.bound)
        places = [layout.joint(joint) for joint in track.joints]
        self._qpos = [q for q, _ in places]
        self._dofs = [v for _, v in places]

    def play(
        self,
        starts: ArrayLike = 0,
        row_count: int | None = None,
        *,
        position: Floats | None = None,
        velocity: Floats | None = None,
    ) -> Played:
        """From measured states at rows `starts` (one per world), for `row_count` rows.

        `position` and `velocity` (worlds, joints) take the place of what was measured.
        Row 0 of the answer is the start itself.
        """
        track, simulator = self.track, self.simulator
        count = simulator.world_count
        first = np.broadcast_to(np.asarray(starts, dtype=np.intp), (count,))
        length = (len(track.rows) - first.max()) if row_count is None else row_count
        index = first[:, None] + np.arange(length)
        at = track.rows[index] - track.rows[first][:, None]  # substeps since the start
        self._start(
            first,
            track.position[first] if position is None else position,
            track.velocity[first] if velocity is None else velocity,
        )
        control = track.rows[first][:, None] + np.arange(int(at.max()))
        control = np.minimum(control, len(track.control) - 1)
        played = self._advance(control, at)
        return Played(*played, simulator.outcomes())

    def _start(
        self, first: NDArray[np.intp], position: Floats, velocity: Floats
    ) -> None:
        track, simulator = self.track, self.simulator
        own = track.bound.compiled.own
        qpos = np.tile(own["own.initial_qpos"], (simulator.world_count, 1))
        qvel = np.tile(
            np.zeros_like(own["own.initial_qvel"]), (simulator.world_count, 1)
        )
        qpos[:, self._qpos] = position
        qvel[:, self._dofs] = velocity
        before = track.rows[first]
        simulator.reset(
            qpos=qpos, qvel=qvel, command=track.control[np.maximum(before - 1, 0)]
        )
        reach = int(track.bound.model.actuator_history[:, 0].max(initial=0))
        if reach:
            wanted = before[:, None] + np.arange(-reach, 0)
            simulator.prime(track.control[np.maximum(wanted, 0)])

    def _advance(
        self, control: NDArray[np.intp], at: NDArray[np.intp]
    ) -> tuple[Floats, Floats]:
        """Simulates in chunks and keeps the joints at the substeps `at`."""
        simulator, joints = self.simulator, len(self.track.joints)
        shape = (*at.shape, joints)
        position, velocity = np.empty(shape), np.empty(shape)
        qpos, qvel = simulator.array("qpos"), simulator.array("qvel")
        started = at == 0
        position[started] = np.broadcast_to(qpos[:, None, self._qpos], shape)[started]
        velocity[started] = np.broadcast_to(qvel[:, None, self._dofs], shape)[started]
        for begin in range(0, control.shape[1], _CHUNK):
            part = control[:, begin : begin + _CHUNK]
            qs, vs = simulator.rollout(self.track.control[part])
            world, row = np.nonzero((at > begin) & (at <= begin + part.shape[1]))
            place = at[world, row] - begin - 1
            position[world, row] = qs[world, place][:, self._qpos]
            velocity[world, row] = vs[world, place][:, self._dofs]
        return position, velocity


def replay(
    twin: Twin,
    recording: Recording,
    samples: ArrayLike | None = None,
    *,
    space: ParameterSpace | None = None,
) -> tuple[Track, Played]:
    """Plays a recording's commands from its first pose, in one world per sample of e."""
    track = lay_out(twin, recording, space)
    e = (
        None
        if samples is None
        else np.atleast_2d(np.asarray(samples, dtype=np.float64))
    )
    player = Replayer(track, 1 if e is None else len(e))
    if e is not None:
        player.simulator.write(e)
    return track, player.play()


def is_sound(played: Played) -> NDArray[np.bool_]:
    """(worlds,) whether a world got through without diverging."""
    finite = np.isfinite(played.position).all((1, 2))
    return finite & (played.outcomes != Outcome.DIVERGED)


def _hold(values: Floats, rows: NDArray[np.intp]) -> Floats:
    """(substeps, inputs) the command of the last row at or before each substep."""
    substeps = np.arange(int(rows[-1]) + 1)
    return values[np.searchsorted(rows, substeps, side="right") - 1]


def _velocities(
    recording: Recording, joints: tuple[str, ...], position: Floats
) -> Floats:
    differentiated = np.gradient(position, recording.time, axis=0)
    columns = [
        recording.signals.get(f"{joint}.velocity", differentiated[:, i])
        for i, joint in enumerate(joints)
    ]
    return np.stack(columns, axis=1)
