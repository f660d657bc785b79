"""Joints with explicit drives, each alone while all others move as measured.

A drive whose law runs in Python once per substep is slow in the whole twin. Its own
equation,

    (I + J) q̈ = τ(u, q, q̇) − τ_load(t, q) − friction,

with the law's τ and friction budget, and with I and τ_load from the measured motion,
needs no engine: all candidates of all recordings are rows of one call. That makes a
search of thousands of candidates affordable, which sticking arms call for. Valid as far
as a joint's own error moves no other joint much; a fit in the whole twin has the last
word.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.actuators.friction import apply_friction
from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.problem.preparation import PreparedRecording
from realworthy.identification.problem.problem import Problem
from realworthy.simulators.explicit_laws import OFF
from realworthy.simulators.inverse_dynamics import joint_loads
from realworthy.twins import Twin
from realworthy.twins.commands import describe_commands
from realworthy.twins.drives.install import ExplicitDrive

Floats = NDArray[np.float64]
_DIVERGED = 1e3
"""[rad or m] error of a candidate that blew up."""


class DrivesAlone:
    """Replays of every explicit drive's joint by itself, over a problem's pieces."""

    def __init__(self, problem: Problem) -> None:
        """Of the problem's parameters, those of its drives, rotors and encoders."""
        self.space = problem.space
        self.coordinates = FitCoordinates(self.space)
        self.recording_count = len(problem.tracks)
        present = sorted({piece.recording for piece in problem.pieces})
        self._recordings = present
        self._lanes = [
            _Lanes(problem.twin, [problem.sources[i] for i in those], those, drive)
            for own in _group_by_clock(problem, present)
            for drive in problem.tracks[own[0]].bound.drives
            if (those := [i for i in own if drive.joint in problem.tracks[i].joints])
        ]

    def errors(self, z: ArrayLike) -> Floats:
        """(n, recordings) mean absolute error [rad or m] over rows and joints."""
        e = self.coordinates.from_z(np.atleast_2d(np.asarray(z, dtype=np.float64)))
        sums = np.zeros((len(e), max(self._recordings) + 1))
        counts = np.zeros(sums.shape[1])
        for lanes in self._lanes:
            sums[:, lanes.recordings] += lanes.simulate(e, self.space.names)
            counts[lanes.recordings] += 1
        return sums[:, self._recordings] / counts[self._recordings]


def _group_by_clock(problem: Problem, present: Sequence[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for i in present:
        groups.setdefault(id(problem.tracks[i].bound), []).append(i)
    return list(groups.values())


class _Lanes:
    """Recordings of one clock, side by side, of one drive."""

    def __init__(
        self,
        twin: Twin,
        sources: Sequence[PreparedRecording],
        recordings: Sequence[int],
        drive: ExplicitDrive,
    ) -> None:
        self.recordings = list(recordings)
        self._drive, self._twin = drive, twin
        tracks = [source.track for source in sources]
        self._timestep = tracks[0].timestep
        lengths = [int(t.rows[-1]) for t in tracks]
        steps, lanes = max(lengths), len(tracks)
        self._goal = np.empty((steps, lanes))
        self._load, self._slope = np.empty((steps, lanes)), np.empty((steps, lanes))
        self._inertia = np.empty((steps, lanes))
        self._start = np.empty((2, lanes))
        self._measured: list[tuple[NDArray[np.intp], Floats]] = []
        lines = describe_commands(tracks[0].bound)
        column = [line.signal for line in lines].index(f"{drive.name}.command")
        for k, (source, track) in enumerate(zip(sources, tracks, strict=True)):
            states, j = source.states, track.joints.index(drive.joint)
            rows = np.arange(len(track.rows))
            loads = joint_loads(
                track, rows, states.position, states.velocity, states.acceleration
            )
            around = loads.torque[:, j] - loads.slope[:, j] * states.position[:, j]
            last = np.searchsorted(track.rows, np.arange(steps), side="right") - 1
            last = np.minimum(last, len(rows) - 1)
            self._load[:, k] = around[last]
            self._slope[:, k] = loads.slope[last, j]
            self._inertia[:, k] = loads.inertia[last, j]
            sent = np.minimum(np.arange(steps), len(track.control) - 1)
            self._goal[:, k] = track.control[sent, column]
            self._start[:, k] = states.position[0, j], states.velocity[0, j]
            self._measured.append((track.rows[1:], track.position[1:, j]))
        self._overrides = {
            name.rpartition(".")[2]: np.array(
                [track.overrides[name] for track in tracks]
            )
            for name in tracks[0].overrides
            if name.startswith(f"own.law.{drive.name}.")
        }

    def simulate(self, e: Floats, names: Sequence[str]) -> Floats:
        """(n, recordings) mean absolute errors."""
        n, lanes, law = len(e), len(self.recordings), self._drive.law
        rows = n * lanes
        numbers, moved = self._read(e, names)
        shape = (n, lanes)
        bias = np.repeat(moved["sensor_bias"], lanes)
        armature = np.repeat(moved["armature"], lanes)

        def spread(values: Floats) -> Floats:
            return np.broadcast_to(values, shape).reshape(-1)

        q = spread(self._start[0]) - bias
        v = spread(self._start[1]).copy()
        goal = spread(self._goal[0]) - bias
        first = np.where(goal == OFF, q, goal)[:, None]
        state = law.initial_state(rows, q)
        state = law.prime(state, first, position=q, velocity=v)
        dt, steps = self._timestep, len(self._goal)
        path = np.empty((steps + 1, rows))
        path[0] = q
        for step in range(steps):
            goal = spread(self._goal[step]) - bias
            off = goal == OFF
            is_off = bool(off.any())
            sent = np.where(off, q, goal) if is_off else goal
            load = spread(self._load[step]) + spread(self._slope[step]) * q
            inertia = spread(self._inertia[step]) + armature
            out = law.step(
                sent[:, None],
                q,
                v,
                -load,
                numbers,
                state,
                powered=~off if is_off else None,
            )
            state = out.state
            free = v + dt * (out.torque - load) / inertia
            stop = apply_friction(out.friction, inertia * free / dt)
            v = free - dt * stop / inertia
            q = q + dt * v
            path[step + 1] = q
        path = path.reshape(steps + 1, n, lanes) + bias.reshape(n, lanes)
        errors = np.empty(shape)
        for k, (at, measured) in enumerate(self._measured):
            off_by = np.abs(path[at, :, k] - measured[:, None])
            errors[:, k] = np.mean(np.where(np.isfinite(off_by), off_by, _DIVERGED), 0)
        return np.minimum(errors, _DIVERGED)

    def _read(
        self, e: Floats, names: Sequence[str]
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """(n · recordings,) numbers of the law, and (n,) rotor and encoder offset."""
        drive, space, n = self._drive, self._twin.space, len(e)
        lanes = len(self.recordings)
        moved: dict[str, Floats] = {}
        for kind, name in (
            ("armature", f"{drive.joint}.armature"),
            ("sensor_bias", f"{drive.joint}.position.sensor_bias"),
        ):
            if name in names:
                moved[kind] = e[:, list(names).index(name)]
            else:
                nominal = space[name].nominal if name in space else 0.0
                moved[kind] = np.full(n, nominal)
        numbers: dict[str, Floats] = {
            kind: np.tile(values, n) for kind, values in self._overrides.items()
        }
        for i, name in enumerate(names):
            owner, _, kind = name.rpartition(".")
            if owner == drive.name and kind in drive.law.parameters:
                numbers[kind] = np.repeat(e[:, i], lanes)
        return numbers, moved
