"""A recording beside its replay: where the real robot was, and where the twin goes."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import ParameterSpace
from realworthy.recordings import Recording
from realworthy.reports.elements.numbers import join_units
from realworthy.reports.view.play import EpisodeVerdict, Play, Reading, read_world
from realworthy.reports.view.world import BodyPoses, World
from realworthy.simulators import MujocoCpu
from realworthy.simulators.replay import Replayer, lay_out
from realworthy.twins import Twin

Floats = NDArray[np.float64]
_PERIOD = 0.02
"""[s] that a step covers, in whole rows; slower recordings are stepped row by row."""


class ReplayPlay(Play):
    """The commands of a recording in the twin, open loop from the first pose.

    The ghost is the real robot: measured joints, and its base where it was recorded.
    When a number of e changes, the replay is made anew up to the present moment, so
    that what is seen is always one replay with one e.
    """

    has_ghost = True
    inputs = MappingProxyType({})

    def __init__(self, twin: Twin, space: ParameterSpace, recording: Recording) -> None:
        self.name = recording.name or "recording"
        self.about = f"'{self.name}': transparent as measured, solid as replayed"
        self._track = track = lay_out(twin, recording, space)
        self._space = space
        self._player = Replayer(track, 1, thread_count=1)
        self.world = World(self._player.simulator)
        self._ghost = World(MujocoCpu(track.bound, 1, substeps=1, thread_count=1))
        rows = max(1, round(_PERIOD * recording.rate))
        last = len(track.rows) - 1
        self._stops = np.append(np.arange(0, last, rows), last)
        """Rows at which a step ends."""
        self.period = float(np.mean(np.diff(track.time[self._stops])))
        self._columns = [self.world.joints.index(j) for j in track.joints]
        self._places = [self.world.layout.joint(joint)[0] for joint in track.joints]
        self._unit = join_units(self.world.units[j] for j in track.joints)
        overrides = recording.sidecar.parameters
        self._told = {
            name: overrides[name] for name in space.names if name in overrides
        }
        self.restart()
        self.write({})

    @property
    def row(self) -> int:
        """Of the recording, at which everything stands now."""
        return int(self._stops[self._stop])

    @property
    def error(self) -> float:
        """[rad or m] root mean square of replayed − measured positions, until now."""
        return float(np.sqrt(np.mean(np.square(self._errors)))) if self._errors else 0.0

    @property
    def note(self) -> str:
        return f"Position error {self.error:.3g} {self._unit} (RMS so far)"

    def step(self) -> EpisodeVerdict | None:
        if self._stop == len(self._stops) - 1:
            text = f"ended after {self.time:.1f} s, {self.error:.3g} {self._unit} off"
            verdict = EpisodeVerdict(text, is_good=None)
            self.restart()
            return verdict
        track, simulator = self._track, self.world.simulator
        first = int(track.rows[self.row])
        self._stop += 1
        self.time = float(track.time[self.row])
        for substep in range(first, int(track.rows[self.row])):
            simulator.step(self._player.sent(np.array([substep])))
        self._note_error()
        return self.end_if_diverged()

    def restart(self) -> None:
        self._stop, self.time = 0, 0.0
        self._errors: list[Floats] = []
        self._player.play(0, 1)

    def write(self, values: Mapping[str, float]) -> None:
        self.world.simulator.write(self._space.vector({**self._told, **values}))
        played = self._player.play(0, self.row + 1)
        self.world.simulator.refresh()  # measurements of a rollout are a substep old
        stops = self._stops[1 : self._stop + 1]
        errors = played.position[0, stops] - self._track.position[stops]
        self._errors = list(errors)

    def tell(self, inputs: Mapping[str, float]) -> None:
        """A recording listens to nobody."""

    def read(self) -> Reading:
        recorded = np.full(len(self.world.joints), np.nan)
        recorded[self._columns] = self._track.position[self.row]
        command = self._track.inputs.values[self.row]
        return read_world(self.world, self.time, command, recorded)

    def find_ghost(self) -> BodyPoses:
        fields = self._track.bound.compiled.own
        qpos = np.array(fields["own.initial_qpos"])[None]
        qvel = np.zeros((1, len(fields["own.initial_qvel"])))
        qpos[0, self._places] = self._track.position[self.row]
        if self._track.base is not None:
            self._track.base.put(qpos, qvel, np.array([self.row]))
        self._ghost.simulator.reset(qpos=qpos, qvel=qvel)
        return self._ghost.poses()

    def _note_error(self) -> None:
        measured = self.world.state().position[self._columns]
        self._errors.append(measured - self._track.position[self.row])
