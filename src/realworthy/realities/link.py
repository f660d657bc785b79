"""What stands between controllers and many worlds of a reality: commands, reports."""

import math

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import Draws
from realworthy.parameters.inertia import rotation
from realworthy.realities.effects import Quantisation
from realworthy.realities.interface import Translator
from realworthy.realities.reality import Reality
from realworthy.realities.truth import robot_joints
from realworthy.realities.worlds import RealityWorlds
from realworthy.simulators.inputs import Encoders
from realworthy.twins import bind
from realworthy.twins.layout import Layout, Measured
from realworthy.twins.measured import signal_names

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]
_JOINT_SIGNALS = ("position", "velocity", "torque")
_SPREAD = math.sqrt(6)
"""Width of a uniform age over the sd of the time between two samples of such ages."""
_EPISODE = 1_000_003
"""Numbers of draws that are kept for one episode; a step takes one."""


class Link:
    """A robot's interface in every world of a reality, stepped together.

    It does to commands and measurements what `StandIn` does to those of one robot, and
    draws the same noise: world i in its first episode is the stand-in's trial i. Some
    things differ. Steps are all equally long: where the interface has `jitter`,
    measurements are too old by up to √6 · jitter, evenly, so that the time between the
    samples has that standard deviation; commands are on time. And process noise is not
    the trial's: it is the world's own, and depends on when other worlds begin anew. A
    robot that has not been commanded does not brake, it keeps its home command. A world
    that diverges is an `Outcome`, not an error.
    """

    def __init__(self, reality: Reality, worlds: RealityWorlds) -> None:
        self.worlds, self._faults = worlds, reality.file.interface
        twin_layout = Layout(bind(reality.twin))
        joints = robot_joints(reality.twin, twin_layout)
        self.signals = signal_names(twin_layout.bound.model)
        """Names of the columns of a report: those of the twin."""
        self.unreported = _list_unreported(twin_layout, joints)
        """Those that no robot has, such as that of a link in play; they are NaN."""
        self._chance = _Chance(worlds.seed, worlds.simulator.world_count)
        self._commands = _Commands(reality, worlds, joints, twin_layout, self._chance)
        self._reports = _Reports(reality, worlds, joints, self, self._chance)
        oldest = self._faults.clock_offset + _SPREAD * self._faults.jitter
        depth = math.ceil(oldest / worlds.timestep) + 2 if oldest else 1
        truth = worlds.simulator.array("sensordata")
        self._past = np.zeros((depth, *truth.shape))
        """(substeps, worlds, true signals) what was true, the newest first."""
        self._newest = np.full((len(truth), len(self.signals)), np.nan)

    def begin(self, worlds: Ids) -> None:
        """Some worlds have begun anew and have been told nothing yet."""
        self._chance.begin(worlds)
        self._commands.begin(worlds)
        self._past[:, worlds] = self.worlds.simulator.array("sensordata")[worlds]
        self._newest[worlds] = self._measure(worlds)

    def step(self, command: Floats, substeps: int) -> None:
        """(worlds, inputs) commands as sent; the worlds go on by some substeps."""
        self._chance.tick += 1
        self._commands.send(command)
        left = substeps
        while left:
            held = 1 if len(self._past) > 1 else left
            goal, held = self._commands.drive(held)
            self.worlds.step(goal, held)
            self._remember()
            left -= held
        faults, everywhere = self._faults, np.arange(len(self._newest))
        is_lost = self._chance.happens("loss", faults.loss)
        is_stale = self._chance.happens("stale", faults.stale_samples)
        arrived = everywhere[~(is_lost | is_stale)]  # else the newest stays the newest
        self._newest[arrived] = self._measure(arrived)

    def report(self) -> Floats:
        """(worlds, signals) the newest that each robot has said."""
        return self._newest.copy()

    def reseed(self, seed: int) -> None:
        """Chance begins anew; worlds are to `begin` next."""
        self.worlds.reseed(seed)
        self._chance.reseed(seed)

    def _remember(self) -> None:
        self._past[1:] = self._past[:-1]
        self._past[0] = self.worlds.simulator.array("sensordata")

    def _measure(self, worlds: Ids) -> Floats:
        """(n, signals) reports of what was true some time ago."""
        faults, timestep = self._faults, self.worlds.timestep
        age = np.full(len(worlds), math.ceil((faults.clock_offset - 1e-9) / timestep))
        if faults.jitter:
            extra = _SPREAD * faults.jitter * self._chance.uniform("jitter", worlds)
            age += np.round(extra / timestep).astype(np.intp)
        return self._reports.make(self._past[age, worlds], worlds)


class _Chance:
    """Draws of worlds by name, in their present episodes (`begin`) and ticks."""

    def __init__(self, seed: int, world_count: int) -> None:
        self.tick = np.zeros(world_count, dtype=np.int64)
        self._episode = np.zeros_like(self.tick)
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        self._seed = seed
        self._episode[:] = -1

    def begin(self, worlds: Ids) -> None:
        self._episode[worlds] += 1
        self.tick[worlds] = 0

    def normal(
        self, stream: str, sd: float | Floats, width: int, worlds: Ids
    ) -> Floats:
        """(n, width) normal numbers; `sd` is a number or (n, width)."""
        if not np.any(sd):
            return np.zeros((len(worlds), width))
        draws, now = Draws(self._seed, stream), self._find_now(worlds)
        return sd * draws.normal(worlds, width, episode=now)

    def uniform(self, stream: str, worlds: Ids) -> Floats:
        """(n,) numbers between 0 and 1."""
        draws, now = Draws(self._seed, stream), self._find_now(worlds)
        return draws.uniform(worlds, 1, episode=now)[:, 0]

    def happens(self, stream: str, probability: float) -> NDArray[np.bool_]:
        """(worlds,) whether something of this probability happens now."""
        if not probability:
            return np.zeros(len(self.tick), dtype=np.bool_)
        return self.uniform(stream, np.arange(len(self.tick))) < probability

    def _find_now(self, worlds: Ids) -> NDArray[np.int64]:
        return self._episode[worlds] * _EPISODE + self.tick[worlds]


class _Commands:
    """From commands as sent to what reaches the actuators, in true coordinates."""

    def __init__(
        self,
        reality: Reality,
        worlds: RealityWorlds,
        joints: tuple[str, ...],
        twin_layout: Layout,
        chance: _Chance,
    ) -> None:
        self._faults = reality.file.interface
        self._worlds, self._chance = worlds, chance
        simulator, lines = worlds.simulator, worlds.lines
        translator = Translator(self._faults, joints, lines)
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
        self._everywhere = np.arange(simulator.world_count)
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
        sd, width, worlds = self._noise, self._sent.shape[1], self._everywhere
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


class _Reports:
    """From true `sensordata` to what robots report: truth with noise and faults."""

    def __init__(
        self,
        reality: Reality,
        worlds: RealityWorlds,
        joints: tuple[str, ...],
        link: Link,
        chance: _Chance,
    ) -> None:
        file, simulator = reality.file, worlds.simulator
        self._faults, self._noise, self._chance = file.interface, file.noise, chance
        self._layout, self._width = worlds.layout, len(link.signals)
        self._scale, self._bias, self._sd = (
            np.array(simulator.field(f"own.sensor_{name}"))
            for name in ("scale", "bias", "noise")
        )
        true, told = simulator.signals, link.signals
        own = {name: [f"{joint}.{name}" for joint in joints] for name in _JOINT_SIGNALS}
        self._places = {k: [true.index(name) for name in own[k]] for k in own}
        self._targets = {k: [told.index(name) for name in own[k]] for k in own}
        taken = {name for names in own.values() for name in names} | {*link.unreported}
        others = [name for name in told if name not in taken]
        self._others = [true.index(name) for name in others]
        self._other_targets = [told.index(name) for name in others]
        translator, unit = Translator(file.interface, joints, worlds.lines), len(joints)
        turns = translator.report_velocity, translator.report_torque
        speed, torque = (
            np.array([turn(row) for row in np.eye(unit)]).reshape(unit, unit)
            for turn in turns
        )
        self._gains = {"position": speed, "velocity": speed, "torque": torque}
        self._offset = translator.report_position(np.zeros(unit))
        steps = {e.joint: e.step for e in file.effects if isinstance(e, Quantisation)}
        self._steps = np.array([steps.get(joint, 0.0) for joint in joints])
        frame = np.array(file.interface.frame)
        self._turn = rotation(_find_quaternions(frame[None])[0])

    def make(self, truth: Floats, worlds: Ids) -> Floats:
        """(n, signals) of (n, true signals) of some worlds."""
        noise = self._chance.normal(
            "sensor noise", self._sd[worlds], truth.shape[1], worlds
        )
        row = self._scale[worlds] * truth + self._bias[worlds] + noise
        report = np.full((len(worlds), self._width), np.nan)
        for name in _JOINT_SIGNALS:
            sd, width = getattr(self._noise, name), len(self._steps)
            noise = self._chance.normal(f"measured {name}", sd, width, worlds)
            measured = row[:, self._places[name]] + noise
            if name == "position":
                measured = self._quantise(measured)
            report[:, self._targets[name]] = measured @ self._gains[name]
        report[:, self._targets["position"]] += self._offset
        self._disturb_inertial(row, worlds)
        report[:, self._other_targets] = row[:, self._others]
        return report

    def _quantise(self, position: Floats) -> Floats:
        step = np.where(self._steps > 0, self._steps, 1.0)
        return np.where(self._steps > 0, np.round(position / step) * step, position)

    def _disturb_inertial(self, row: Floats, worlds: Ids) -> None:
        for kind in ("gyro", "acceleration"):
            for number, place in enumerate(self._layout.sensors(kind)):
                noisy = row[:, place] + self._draw(kind, number, worlds)
                row[:, place] = noisy @ self._turn.T
        for number, place in enumerate(self._layout.sensors("orientation")):
            error = _find_quaternions(self._draw("orientation", number, worlds))
            turned = _multiply(row[:, place], error)
            is_last = self._faults.quaternion_order == "xyzw"
            row[:, place] = np.roll(turned, -1, axis=1) if is_last else turned

    def _draw(self, kind: Measured, number: int, worlds: Ids) -> Floats:
        sd = getattr(self._noise, kind)
        return self._chance.normal(f"measured {kind} {number}", sd, 3, worlds)


def _list_unreported(layout: Layout, joints: tuple[str, ...]) -> tuple[str, ...]:
    hidden = [joint for joint in layout.joints if joint not in joints]
    return tuple(f"{joint}.{name}" for joint in hidden for name in _JOINT_SIGNALS)


def _find_quaternions(vectors: Floats) -> Floats:
    """(n, 4) w, x, y, z of (n, 3) rotation vectors [rad]."""
    angle = np.linalg.norm(vectors, axis=1, keepdims=True)
    axis = vectors / np.where(angle > 0, angle, 1.0)
    return np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * axis], axis=1)


def _multiply(first: Floats, second: Floats) -> Floats:
    """(n, 4) the rotations `second`, then `first`."""
    w, v, u, x = first[:, :1], first[:, 1:], second[:, :1], second[:, 1:]
    scalar = w * u - (v * x).sum(axis=1, keepdims=True)
    return np.concatenate([scalar, w * x + u * v + np.cross(v, x)], axis=1)
