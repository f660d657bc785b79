"""What stands between controllers and many worlds of a reality: commands, reports."""

import math

import numpy as np
from numpy.typing import NDArray

from realworthy.realities.chance import RealityChance
from realworthy.realities.interface import Translator
from realworthy.realities.reality import Reality
from realworthy.realities.reports import Reports
from realworthy.realities.truth import robot_joints
from realworthy.realities.worlds import RealityWorlds
from realworthy.simulators.replay.inputs import Encoders
from realworthy.twins import bind
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]
_SPREAD = math.sqrt(6)
"""Width of a uniform age over the sd of the time between two samples of such ages."""


class ControlLink:
    """A robot's interface in every world of a reality, stepped together.

    It does to commands and measurements what `StandIn` does to those of one robot, and
    draws the same noise: world i in its first episode is the stand-in's trial i. Some
    things differ. Steps are all equally long: where the interface has `jitter`,
    measurements are too old by up to √6 · jitter, evenly, so that the time between the
    samples has that standard deviation; commands are on time. And process noise is not
    the trial's: it is the world's own, and depends on when other worlds start again. A
    robot that has not been commanded does not brake, it keeps its home command. A world
    that diverges is an `Outcome`, not an error.
    """

    def __init__(self, reality: Reality, worlds: RealityWorlds) -> None:
        self.worlds, self._faults = worlds, reality.file.interface
        twin_layout = Layout(bind(reality.twin))
        joints = robot_joints(reality.twin, twin_layout)
        translator = Translator(self._faults, joints, worlds.lines)
        world_count = worlds.simulator.world_count
        self._chance = chance = RealityChance(worlds.seed, world_count)
        self._commands = _Commands(reality, worlds, translator, twin_layout, chance)
        spread = _SPREAD * self._faults.jitter
        self._reports = Reports(
            reality, worlds, translator, twin_layout, chance, spread=spread
        )
        self.signals = self._reports.signals
        """Names of the columns of a report: those of the twin."""
        self.unreported = self._reports.unreported
        """Those that no robot has, such as that of a link in play; they are NaN."""
        self._newest = np.full((world_count, len(self.signals)), np.nan)

    def begin(self, worlds: Ids) -> None:
        """Some worlds have started again and have been told nothing yet."""
        self._chance.begin(worlds)
        self._commands.begin(worlds)
        self._reports.begin(worlds)
        self._newest[worlds] = self._measure(worlds)

    def step(self, command: Floats, substeps: int) -> None:
        """(worlds, inputs) commands as sent; the worlds go on by some substeps."""
        self._chance.tick += 1
        self._commands.send(command)
        left = substeps
        while left:
            held = 1 if self._reports.keeps_past else left
            goal, held = self._commands.drive(held)
            self.worlds.step(goal, held)
            self._reports.remember()
            left -= held
        faults, everywhere = self._faults, self._chance.everywhere
        is_lost = self._chance.happens("loss", faults.loss)
        is_stale = self._chance.happens("stale", faults.stale_samples)
        arrived = everywhere[~(is_lost | is_stale)]  # else the newest stays the newest
        self._newest[arrived] = self._measure(arrived)

    def report(self) -> Floats:
        """(worlds, signals) the newest that each robot has said."""
        return self._newest.copy()

    def reseed(self, seed: int) -> None:
        """Chance starts again; worlds are to `begin` next."""
        self.worlds.reseed(seed)
        self._chance.reseed(seed)

    def _measure(self, worlds: Ids) -> Floats:
        """(n, signals) reports of what was true some time ago."""
        jitter = self._faults.jitter
        if not jitter:
            return self._reports.make(worlds)
        extra = _SPREAD * jitter * self._chance.uniform("jitter", worlds)
        older = np.round(extra / self.worlds.timestep).astype(np.intp)
        return self._reports.make(worlds, older=older)


class _Commands:
    """From commands as sent to what reaches the actuators, in true coordinates."""

    def __init__(
        self,
        reality: Reality,
        worlds: RealityWorlds,
        translator: Translator,
        twin_layout: Layout,
        chance: RealityChance,
    ) -> None:
        self._faults = reality.file.interface
        self._worlds, self._chance = worlds, chance
        simulator, lines = worlds.simulator, worlds.lines
        self._offset = translator.understand(np.zeros(len(lines)))
        rows = [translator.understand(row) - self._offset for row in np.eye(len(lines))]
        self._gain = np.array(rows).reshape(len(lines), len(lines))
        self._encoders = Encoders(simulator, ())
        self._lower = np.array([line.lower for line in lines])
        self._upper = np.array([line.upper for line in lines])
        self._noise = np.array(simulator.field("own.action_noise"))
        self._is_velocity = self._faults.command_kind == "velocity"
        self._held = [
            (place, worlds.layout.joint(line.joint)[0])
            for place, line in enumerate(lines)
            if line.kind == "position" and line.joint in twin_layout.joints
        ]
        shape = (simulator.world_count, len(lines))
        self._sent, self._came = np.zeros(shape), np.zeros(shape)
        self._asked, self._goal = np.zeros(shape), np.zeros(shape)
        self._beat = np.zeros(simulator.world_count)

    def begin(self, worlds: Ids) -> None:
        """Servos hold where they are; the twin's home command has been sent."""
        simulator = self._worlds.simulator
        self._sent[worlds] = simulator.field("own.initial_ctrl")[worlds]
        self._goal[worlds] = 0.0
        for place, q in self._held:
            self._goal[worlds, place] = simulator.array("qpos")[worlds, q]
        self._goal = np.clip(self._goal, self._lower, self._upper)
        self._beat[worlds] = -1

    def send(self, command: Floats) -> None:
        """One that is not finite is ignored: the one before holds."""
        is_sound = np.isfinite(command).all(axis=1, keepdims=True)
        self._sent = np.where(is_sound, command, self._sent)
        sd, width, worlds = self._noise, self._sent.shape[1], self._chance.everywhere
        noise = self._chance.normal("action noise", sd, width, worlds)
        understood = (self._sent + noise) @ self._gain + self._offset
        self._came = self._encoders.understand(understood)

    def drive(self, substeps: int) -> tuple[Floats, int]:
        """What reaches the actuators, and for how many of the coming substeps."""
        substeps = self._take_in(substeps)
        asked, timestep = self._asked, self._worlds.timestep
        if self._is_velocity:
            asked, substeps = self._goal + asked * timestep, 1
        self._goal = np.clip(asked, self._lower, self._upper)
        return self._goal, substeps

    def _take_in(self, substeps: int) -> int:
        """Robots look for new commands; returns substeps until one looks again."""
        rate = self._faults.rate
        if not rate:
            self._asked = self._came
            return substeps
        time = self._worlds.simulator.array("time").reshape(-1)
        beat = np.floor(time * rate + 1e-6)
        looks = beat > self._beat
        self._asked = np.where(looks[:, None], self._came, self._asked)
        self._beat = beat
        left = ((beat + 1) / rate - time) / self._worlds.timestep
        return min(substeps, max(1, math.ceil(left.min() - 1e-6)))
