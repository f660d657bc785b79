"""Tracks played again, in many worlds of a twin at once.

A start at any row is given the commands that were sent before it, as a delay would
still be carrying them.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.parameters import ParameterSpace
from realworthy.recordings import Recording
from realworthy.simulators.mujoco_cpu import MujocoCpu
from realworthy.simulators.replay.base_motion import join_bases
from realworthy.simulators.replay.inputs import Encoders
from realworthy.simulators.replay.track import Track, lay_out
from realworthy.simulators.short_delays import mixing
from realworthy.simulators.simulator import Outcome
from realworthy.simulators.substep_effect import SubstepEffect
from realworthy.twins import Twin
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
_CHUNK_NUMBERS = 4_000_000
"""Numbers that are simulated before only the rows among them are kept."""


@dataclass(frozen=True)
class Played:
    """What worlds did with a track: (worlds, rows, joints), as it would be measured."""

    position: Floats
    velocity: Floats
    outcomes: NDArray[np.int64]


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
        if joined.overrides:
            simulator.tell({name: of[which] for name, of in joined.overrides.items()})
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
        chunk = max(1, _CHUNK_NUMBERS // (len(at) * width))
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
        self.overrides = {
            name: np.array([track.overrides[name] for track in tracks])
            for name in self.first.overrides
        }
        self.base = join_bases([t.base for t in tracks if t.base is not None])
