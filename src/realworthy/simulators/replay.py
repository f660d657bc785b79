"""A recording laid out on the clock of a twin's physics, and played there again.

Rows of a recording become substeps: the time step of the twin is shortened until a row
is a whole number of them, commands are held from row to row, and a start at any row is
given the commands that were sent before it, as a delay would still be carrying them.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.parameters import ParameterSpace
from realworthy.recordings import Recording
from realworthy.recordings.gaps import check_no_long_gap
from realworthy.simulators.base import (
    BaseMotion,
    has_base,
    join_bases,
    read_base,
)
from realworthy.simulators.effects import SubstepEffect
from realworthy.simulators.inputs import (
    Encoders,
    Inputs,
    check_joints,
    choose_inputs,
)
from realworthy.simulators.mujoco_cpu import MujocoCpu
from realworthy.simulators.short_delays import mixing
from realworthy.simulators.simulator import Outcome
from realworthy.twins import BoundTwin, Twin, bind
from realworthy.twins.layout import Layout
from realworthy.twins.structure import set_timestep

Floats = NDArray[np.float64]
_ROOM = 4_000_000
"""Numbers that are simulated before only the rows among them are kept."""
_STRETCH = 1.01
"""How much longer than the twin's own a time step may be, for clocks that are off."""
_ITERATIONS = 100
"""Of the solver of constraints, at least; it rarely takes ten."""
_UNEVEN = 0.02
"""Share of a row by which rows scatter when no clock has them as whole substeps."""
_SAME_CLOCK = 2e-4
"""Share by which rates may differ and still be laid out on one clock."""


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
    told: Mapping[str, float] = field(default_factory=dict)
    """Field of ours → its value in this recording, where its sidecar says one."""
    base: BaseMotion | None = None
    """How a floating base moved; None for a fixed one, or one that hangs."""
    hangs: bool = False
    """Whether a floating base was held still, since its motion was not recorded."""

    @property
    def timestep(self) -> float:
        return float(self.bound.model.opt.timestep)

    @property
    def time(self) -> Floats:
        """(T,) seconds since the first row, on the physics clock."""
        return np.asarray(self.rows * self.timestep, dtype=np.float64)


@dataclass(frozen=True)
class Played:
    """What worlds did with a track: (worlds, rows, joints), as it would be measured."""

    position: Floats
    velocity: Floats
    outcomes: NDArray[np.int64]


def lay_out(
    twin: Twin, recording: Recording, space: ParameterSpace | None = None
) -> Track:
    """Gets a recording ready to be replayed in a twin with room for e.

    A floating base that was not recorded is held still above the floor (`hangs`).
    """
    return lay_out_all(twin, [recording], space)[0]


def lay_out_all(
    twin: Twin, recordings: Iterable[Recording], space: ParameterSpace | None = None
) -> list[Track]:
    """Several recordings; those of equal rate share one bound twin, and so worlds."""
    clocks: dict[_Kind, list[tuple[float, BoundTwin]]] = {}
    floats, listed = twin.base is not None, list(recordings)
    hung = twin.hung() if floats else twin
    room = find_room(twin, listed, space)
    tracks = []
    for recording in listed:
        rate, hangs = recording.rate, floats and not has_base(recording)
        values = find_told(twin, recording, space)
        others = {n: v for n, v in values.items() if n not in room}
        alike = clocks.setdefault((hangs, tuple(others.items())), [])
        bound = next((b for r, b in alike if _fits(recording, r)), None)
        if bound is None:
            own = hung if hangs else twin
            own = own.with_values(others) if others else own
            bound = bind_at(own, rate, space, room=tuple(room.values()))
            alike.append((rate, bound))
        told = {f: values.get(n, twin.space[n].nominal) for n, f in room.items()}
        tracks.append(lay_out_on(bound, recording, hangs=hangs, told=told))
    return tracks


_Kind = tuple[bool, tuple[tuple[str, float], ...]]
"""Whether a base hangs, and numbers that are compiled into a bound twin."""


def find_told(
    twin: Twin, recording: Recording, space: ParameterSpace | None = None
) -> dict[str, float]:
    """Numbers of a twin that the recording's sidecar says, but for those of `space`."""
    moved = set() if space is None else set(space.names)
    told = recording.sidecar.parameters
    return {n: v for n, v in told.items() if n in twin.space and n not in moved}


def find_room(
    twin: Twin, recordings: Sequence[Recording], space: ParameterSpace | None = None
) -> dict[str, str]:
    """Names that recordings tell of explicit drives → fields of ours that hold them."""
    names = {name for r in recordings for name in find_told(twin, r, space)}
    fields = {name: f"own.law.{name}" for name in sorted(names)}
    return {n: field for n, field in fields.items() if field in twin.compiled.own}


def _fits(recording: Recording, rate: float) -> bool:
    """Whether a clock for one rate serves: equal rates, or rows at uneven times."""
    return abs(recording.rate / rate - 1) < _SAME_CLOCK or is_uneven(recording)


def is_uneven(recording: Recording) -> bool:
    """Whether rows come at times that are no multiples of anything."""
    steps = np.diff(recording.time)
    return bool(np.std(steps) > _UNEVEN * np.mean(steps))


class Replayer:
    """Replays tracks of one bound twin in many worlds at once; worlds are made once."""

    def __init__(
        self,
        track: Track | Sequence[Track],
        world_count: int,
        *,
        thread_count: int = 0,
        effects: Sequence[SubstepEffect] = (),
    ) -> None:
        self.load(track)
        self.track = self._tracks.first
        self.simulator = MujocoCpu(
            self.track.bound,
            world_count,
            substeps=1,
            thread_count=thread_count,
            effects=effects,
        )
        self._layout = Layout(self.track.bound)
        places = [self._layout.joint(joint) for joint in self.track.joints]
        self._qpos = [q for q, _ in places]
        self._dofs = [v for _, v in places]
        self._encoders = Encoders(self.simulator, self.track.joints)
        self.offset: Floats | None = None
        """(worlds, inputs) added to what was sent; nothing where None."""
        self.has_short_delays = True
        """Whether delays below a time step are what they are; else whole steps, as
        MuJoCo makes them."""

    def load(self, track: Track | Sequence[Track]) -> None:
        """Takes other tracks of the same bound twin and joints."""
        self._tracks = _Tracks((track,) if isinstance(track, Track) else tuple(track))

    def play(
        self,
        starts: ArrayLike = 0,
        row_count: int | None = None,
        *,
        tracks: ArrayLike = 0,
        position: Floats | None = None,
        velocity: Floats | None = None,
        unmeasured: Mapping[str, Floats] | None = None,
    ) -> Played:
        """From measured states at rows `starts` (one per world), for `row_count` rows.

        `tracks` says which of several tracks each world plays. `position` and
        `velocity` (worlds, joints) take the place of what was measured; `unmeasured`
        is joint → (worlds,) positions of others, which else rest at the home pose. Row
        0 of the answer is the start itself.
        """
        joined, simulator = self._tracks, self.simulator
        count = simulator.world_count
        which = np.broadcast_to(np.asarray(tracks, dtype=np.intp), (count,))
        first = np.broadcast_to(np.asarray(starts, dtype=np.intp), (count,))
        left = int((joined.lengths[which] - first).min())
        length = left if row_count is None else min(row_count, left)
        first = joined.first_rows[which] + first
        index = first[:, None] + np.arange(length)
        at = joined.rows[index] - joined.rows[first][:, None]  # substeps since start
        self._start(
            which,
            first,
            joined.position[first] if position is None else position,
            joined.velocity[first] if velocity is None else velocity,
            unmeasured or {},
        )
        control = joined.rows[first][:, None] + np.arange(int(at.max()))
        control = np.minimum(control, joined.last_substeps[which][:, None])
        before = np.maximum(control - 1, joined.first_substeps[which][:, None])
        played = self._advance(control, before, at)
        return Played(*played, simulator.outcomes())

    def _start(
        self,
        which: NDArray[np.intp],
        first: NDArray[np.intp],
        position: Floats,
        velocity: Floats,
        unmeasured: Mapping[str, Floats],
    ) -> None:
        joined, simulator = self._tracks, self.simulator
        own = self.track.bound.compiled.own
        qpos = np.tile(own["own.initial_qpos"], (simulator.world_count, 1))
        qvel = np.zeros((simulator.world_count, len(own["own.initial_qvel"])))
        qpos[:, self._qpos], qvel[:, self._dofs] = self._encoders.read_back(
            position, velocity
        )
        for joint, values in unmeasured.items():
            qpos[:, self._layout.joint(joint)[0]] = values
        if joined.base is not None:
            joined.base.put(qpos, qvel, first)
        if joined.told:
            simulator.tell({name: of[which] for name, of in joined.told.items()})
        now, oldest = joined.rows[first], joined.first_substeps[which]
        before = np.maximum(now - 1, oldest)
        simulator.reset(qpos=qpos, qvel=qvel, command=self.sent(before))
        reach = int(self.track.bound.model.actuator_history[:, 0].max(initial=0))
        if reach:
            wanted = now[:, None] + np.arange(-reach, 0)
            simulator.prime(self.sent(np.maximum(wanted, oldest[:, None])))

    def sent(self, substeps: NDArray[np.intp]) -> Floats:
        """(worlds, …, inputs) commands as the drives of each world understand them."""
        sent = self._encoders.understand(self._tracks.control[substeps])
        if self.offset is None:
            return sent
        return sent + self.offset.reshape(len(sent), *(1,) * (sent.ndim - 2), -1)

    def _advance(
        self,
        control: NDArray[np.intp],
        before: NDArray[np.intp],
        at: NDArray[np.intp],
    ) -> tuple[Floats, Floats]:
        """Simulates in chunks and keeps the joints at the substeps `at`.

        `control` and `before` say which commands are sent, and which were just before.
        """
        simulator, joints = self.simulator, len(self.track.joints)
        shape = (*at.shape, joints)
        position, velocity = np.empty(shape), np.empty(shape)
        qpos, qvel = simulator.array("qpos"), simulator.array("qvel")
        started = at == 0
        position[started] = np.broadcast_to(qpos[:, None, self._qpos], shape)[started]
        velocity[started] = np.broadcast_to(qvel[:, None, self._dofs], shape)[started]
        width = qpos.shape[1] + qvel.shape[1] + self._tracks.control.shape[1]
        chunk = max(1, _ROOM // (len(at) * width))
        with mixing(simulator) if self.has_short_delays else nullcontext() as share:
            for begin in range(0, control.shape[1], chunk):
                part = slice(begin, begin + chunk)
                sent = self.sent(control[:, part])
                if share is not None:
                    sent += share[:, None] * (self.sent(before[:, part]) - sent)
                qs, vs = simulator.rollout(sent)
                world, row = np.nonzero((at > begin) & (at <= begin + sent.shape[1]))
                place = at[world, row] - begin - 1
                position[world, row] = qs[world, place][:, self._qpos]
                velocity[world, row] = vs[world, place][:, self._dofs]
        return self._encoders.measure(position, velocity)


def replay(
    twin: Twin,
    recording: Recording,
    samples: ArrayLike | None = None,
    *,
    space: ParameterSpace | None = None,
) -> tuple[Track, Played]:
    """Plays a recording from its first pose, in one world per sample of e."""
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


class _Tracks:
    """Tracks of one bound twin end to end, and where each of them begins."""

    def __init__(self, tracks: tuple[Track, ...]) -> None:
        self.first = tracks[0]
        for track in tracks:
            if track.bound is not self.first.bound or track.joints != self.first.joints:
                raise ValueError("tracks of one replayer share a bound twin and joints")
        self.lengths = np.array([len(t.rows) for t in tracks])
        self.first_rows = np.cumsum(self.lengths) - self.lengths
        substeps = np.array([len(t.control) for t in tracks])
        self.first_substeps = np.cumsum(substeps) - substeps
        self.last_substeps = self.first_substeps + substeps - 1
        shifted = zip(tracks, self.first_substeps, strict=True)
        self.rows = np.concatenate([track.rows + first for track, first in shifted])
        self.control = np.concatenate([track.control for track in tracks])
        self.position = np.concatenate([track.position for track in tracks])
        self.velocity = np.concatenate([track.velocity for track in tracks])
        self.told = {
            name: np.array([track.told[name] for track in tracks])
            for name in self.first.told
        }
        self.base = join_bases([t.base for t in tracks if t.base is not None])


def bind_at(
    twin: Twin,
    rate: float,
    space: ParameterSpace | None = None,
    *,
    room: Sequence[str] = (),
) -> BoundTwin:
    """The twin with a time step of which a row is a whole number."""
    nominal = float(twin.compiled.model.opt.timestep)
    per_row = max(1, int(np.ceil(1 / rate / (_STRETCH * nominal))))
    timed = twin.edited(partial(set_timestep, timestep=1 / rate / per_row))
    return bind(timed.edited(_solve_exactly), space, room=room)


def _solve_exactly(spec: mujoco.MjSpec) -> None:
    """Lets the solver of constraints end by its tolerance, not by its budget.

    Budgets for speed leave errors that jump from state to state: with 10 iterations an
    arm with stiff dry friction answered a nudge of 1e-6 rad with 9e-3 rad.
    """
    option = spec.option
    option.iterations = max(option.iterations, _ITERATIONS)
    option.ls_iterations = max(option.ls_iterations, _ITERATIONS)


def lay_out_on(
    bound: BoundTwin,
    recording: Recording,
    *,
    hangs: bool = False,
    told: Mapping[str, float] | None = None,
) -> Track:
    """A recording on the clock of a twin that was bound before, see `bind_at`."""
    layout = Layout(bound)
    joints = tuple(j for j in recording.joints if j in layout.joints)
    check_joints(bound, recording)
    check_no_long_gap(recording.time, owner=recording.owner)
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
        told=told or {},
        base=read_base(bound, recording),
        hangs=hangs,
    )


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
