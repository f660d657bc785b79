"""Joints one by one: each servo alone, while all other joints move as measured.

A geared joint hardly feels the others but through gravity and through accelerations
that were measured too. Its own equation,

    (I + J) q̈ = clip(kp (u − q) − kd q̇) − d q̇ − τ(t, q) − friction,

with I and τ from the measured motion, needs no engine. Candidates for all joints then
cost a hundredth of what they cost in the whole twin, so that whole recordings can be
fitted instead of a few pieces. Valid as far as a joint's own error moves no other joint
much; a fit in the whole twin has the last word.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError
from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.problem.pieces import Piece, cut_pieces
from realworthy.identification.problem.preparation import PreparedRecording
from realworthy.identification.problem.problem import Problem
from realworthy.identification.problem.residuals import Residuals, SumOfSquares
from realworthy.identification.solver.jacobian import Colouring
from realworthy.parameters import ParameterSpace
from realworthy.simulators.inverse_dynamics import joint_loads
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands

Floats = NDArray[np.float64]
SINGLE_JOINT_KINDS = (
    "kp",
    "kd",
    "damping",
    "coulomb_friction",
    "armature",
    "sensor_bias",
)
"""Kinds of numbers that move a joint alone."""
_DELAY = "all.delay"
_PIECE_SECONDS = 10.0
"""[s] after which a joint starts again where it was measured."""
_ROWS_PER_RECORDING = 10.0
"""Independent rows that a recording is worth, beside what was believed before."""
_MIN_RECORDING_ERROR = 1e-6
"""[rad] error of a recording that counts as none."""
_DIVERGED = 1e5
"""Residual of a candidate that diverged."""


@dataclass(frozen=True, slots=True)
class PositionServo:
    """A native position servo of one joint."""

    joint: str
    drive: str
    column: int
    """Of the command."""
    lower: float
    upper: float
    """Ends of the command."""

    def name_of(self, kind: str) -> str:
        """The parameter of this servo or of its joint."""
        if kind == "sensor_bias":
            return f"{self.joint}.position.sensor_bias"
        of_joint = ("damping", "coulomb_friction", "armature")
        return f"{self.joint if kind in of_joint else self.drive}.{kind}"


def find_position_servos(
    twin: Twin, joints: Sequence[str]
) -> tuple[PositionServo, ...] | None:
    """Servos of all `joints`; None unless each has one that MuJoCo runs."""
    bound = bind(twin)
    if bound.drives:
        return None
    by_joint = {
        line.joint: PositionServo(
            line.joint,
            line.signal.removesuffix(".command"),
            column,
            line.lower,
            line.upper,
        )
        for column, line in enumerate(describe_commands(bound))
        if line.joint is not None and line.kind == "position"
    }
    servos = tuple(by_joint[joint] for joint in joints if joint in by_joint)
    known = all(s.name_of("kp") in twin.space for s in servos)
    return servos if known and len(servos) == len(joints) else None


class JointByJointProblem(SumOfSquares):
    """Residuals of every joint alone; each recording counts by its error, not squared.

    Weights make the sum of squares one of root mean squares (iteratively, see
    `weighted`): a recording in which something else happened does not lead the fit.
    """

    start_count = 0

    def __init__(
        self,
        problem: Problem,
        names: Sequence[str],
        servos: Sequence[PositionServo],
        *,
        twin: Twin | None = None,
        most: int = 80,
    ) -> None:
        """`names`: of kinds `SINGLE_JOINT_KINDS`, factors `all.<kind>`, or `all.delay`.

        Of all recordings together about `most` pieces count, spread evenly. `twin` is
        the problem's with other values of its drives.
        """
        twin = twin or problem.twin
        self.space = twin.space.select(names)
        self.coordinates = FitCoordinates(self.space)
        self._servos, joints = tuple(servos), [servo.joint for servo in servos]
        self._numbers = _Numbers(twin, self.space, servos)
        self._pieces = _choose_pieces(problem, most)
        self._gather(problem)
        length = [piece.row_count for piece in self._pieces]
        rows = np.arange(1, max(length) + 1)
        kept = rows[None] <= np.array(length)[:, None]  # (pieces, rows)
        self._kept = np.repeat(kept[:, None], len(joints), axis=1)
        counts = np.repeat(length, len(joints))
        ends = np.cumsum(counts)
        self.series = [
            slice(int(e - n), int(e)) for e, n in zip(ends, counts, strict=True)
        ]
        self.runs = [
            slice(self.series[k].start, self.series[k + len(joints) - 1].stop)
            for k in range(0, len(self.series), len(joints))
        ]
        columns = np.tile(np.arange(len(joints)), len(self._pieces))
        self.labels = np.repeat(columns, counts)
        self._sd = np.ones(len(self.series))

    @property
    def start_z(self) -> Floats:
        """(d,) the twin's nominal values as coordinates."""
        return self.coordinates.to_z(self.space.nominal)

    @property
    def colouring(self) -> Colouring:
        """Numbers of one kind are moved together: each moves its own joint alone."""
        touched = self._numbers.touched
        kinds = [p.kind for p in self.space]
        order = list(dict.fromkeys(kinds))
        return Colouring(np.array([order.index(k) for k in kinds]), touched)

    def residuals(self, z: ArrayLike, starts: Floats | None = None) -> Residuals:
        z = np.atleast_2d(np.asarray(z, dtype=np.float64))
        errors = self._simulate(self.coordinates.from_z(z))
        values = errors[:, self._kept]
        sd = np.repeat(self._sd, [run.stop - run.start for run in self.series])
        blown = np.asarray(~np.isfinite(values).all(axis=1))
        values[blown] = _DIVERGED
        return Residuals(np.clip(values / sd, -_DIVERGED, _DIVERGED), blown)

    def rmse(self, z: Floats) -> Floats:
        """(recordings, joints) root mean square error [rad or m]; NaN where none is."""
        errors = self._simulate(self.coordinates.from_z(z[None]))[0]
        squares = np.where(self._kept, errors, 0.0) ** 2
        sums, counts = squares.sum(axis=2), self._kept.sum(axis=2)
        which = np.array([piece.recording for piece in self._pieces])
        table = np.full((int(which.max()) + 1, len(self._servos)), np.nan)
        for recording in np.unique(which):
            chosen = which == recording
            table[recording] = np.sqrt(sums[chosen].sum(0) / counts[chosen].sum(0))
        return table

    def weighted(self, z: Floats) -> "JointByJointProblem":
        """The same residuals with weights that make squares around z plain errors."""
        errors = np.maximum(self.rmse(z), _MIN_RECORDING_ERROR)
        typical = np.nanmedian(errors, axis=0)
        which = [piece.recording for piece in self._pieces]
        rows = np.bincount(which, [piece.row_count for piece in self._pieces])
        size = np.sqrt(
            errors * typical * rows[: len(errors), None] / _ROWS_PER_RECORDING
        )
        other = copy.copy(self)
        other._sd = size[which].ravel()
        return other

    def _gather(self, problem: Problem) -> None:
        """Puts commands, loads and measurements of all pieces side by side."""
        length = max(piece.row_count for piece in self._pieces)
        sources: list[PreparedRecording] = problem.sources
        track = sources[0].track
        self._substeps = round(float(np.median(np.diff(track.rows))))
        self._timestep = track.timestep
        shape = (length, len(self._pieces), len(self._servos))
        self._before = int(np.ceil(self._numbers.longest / self._timestep)) + 1
        steps = np.arange(-self._before, length * self._substeps)
        self._goal = np.empty((len(steps), *shape[1:]))
        self._load, self._slope, self._inertia = (np.empty(shape) for _ in range(3))
        self._measured = np.empty((len(self._pieces), len(self._servos), length))
        self._start = np.empty((2, *shape[1:]))
        for p, piece in enumerate(self._pieces):
            source = sources[piece.recording]
            track, states = source.track, source.states
            columns = [track.joints.index(servo.joint) for servo in self._servos]
            rows = np.arange(piece.first, piece.first + piece.row_count)
            loads = joint_loads(
                track,
                rows,
                states.position[rows],
                states.velocity[rows],
                states.acceleration[rows],
            )
            index = np.minimum(np.arange(length), piece.row_count - 1)
            around = loads.torque - loads.slope * states.position[rows]
            self._load[:, p] = around[index][:, columns]
            self._slope[:, p] = loads.slope[index][:, columns]
            self._inertia[:, p] = loads.inertia[index][:, columns]
            last = track.position[rows + 1][index]
            self._measured[p] = last[:, columns].T
            self._start[0, p] = states.position[piece.first][columns]
            self._start[1, p] = states.velocity[piece.first][columns]
            sent = np.clip(track.rows[piece.first] + steps, 0, len(track.control) - 1)
            for j, servo in enumerate(self._servos):
                goal = track.control[sent, servo.column]
                self._goal[:, p, j] = np.clip(goal, servo.lower, servo.upper)

    def _simulate(self, e: Floats) -> Floats:
        """(n, pieces, joints, rows) simulated minus measured, for (n, d) values."""
        kp, kd, damping, friction, armature, bias = self._numbers.of(e)
        limit, late = self._numbers.limit, self._numbers.delays(e) / self._timestep
        several, which = np.unique(late, axis=0, return_inverse=True)
        goals = np.stack([self._delay(own) for own in several])
        dt, shape = self._timestep, (len(e), *self._start.shape[1:])
        q, v = (np.broadcast_to(part, shape) for part in self._start)
        out = np.empty((len(self._load), *shape))
        brake = dt * (kd + damping)
        for row in range(len(self._load)):
            inertia = self._inertia[row] + armature
            heavy = inertia + brake
            share, push, hold = inertia / heavy, dt / heavy, dt * friction / heavy
            slope = self._slope[row]
            load = self._load[row] - slope * bias
            for step in range(row * self._substeps, (row + 1) * self._substeps):
                goal = goals[which, step] if len(goals) > 1 else goals[0, step]
                braked = kd * v
                drive = np.clip(kp * (goal - q), braked - limit, braked + limit)
                v = share * v + push * (drive - load - slope * q)
                v = v - np.clip(v, -hold, hold)
                q = q + dt * v
            out[row] = q
        return np.moveaxis(out, 0, 3) - self._measured

    def _delay(self, late: Floats) -> Floats:
        """(substeps, pieces, joints) goals as followed (joints,) `late` substeps."""
        made = np.empty((len(self._goal) - self._before, *self._goal.shape[1:]))
        for j, off in enumerate(late):
            whole = int(np.floor(off))
            first, last = self._before - whole, len(self._goal) - whole
            newer, older = (
                self._goal[first:last, :, j],
                self._goal[first - 1 : last - 1, :, j],
            )
            made[..., j] = newer + (off - whole) * (older - newer)
        return made


class _Numbers:
    """Every joint's numbers, for many candidates at once."""

    def __init__(
        self, twin: Twin, space: ParameterSpace, servos: Sequence[PositionServo]
    ):
        self.touched = np.zeros((len(space), len(servos)), dtype=bool)
        self._delay = _collect(twin, servos, "delay")
        self.limit = _collect(twin, servos, "torque_limit")
        self.limit[self.limit == 0.0] = np.inf
        self._late = space.names.index(_DELAY) if _DELAY in space else None
        if self._late is not None:
            self.touched[self._late] = True
        upper = twin.space[_DELAY].upper if _DELAY in twin.space else 0.0
        self.longest = max(upper, float(self._delay.max()))
        """[s] delay that any candidate may have."""
        self._nominal = {
            kind: _collect(twin, servos, kind) for kind in SINGLE_JOINT_KINDS
        }
        self._columns: dict[str, list[tuple[int, int | None]]] = {}
        for column, name in enumerate(space.names):
            for j, servo in enumerate(servos):
                for kind in SINGLE_JOINT_KINDS:
                    if name in (servo.name_of(kind), f"all.{kind}"):
                        self.touched[column, j] = True
                        place = None if name.startswith("all.") else j
                        self._columns.setdefault(kind, []).append((column, place))
        lost = [space.names[i] for i in np.flatnonzero(~self.touched.any(axis=1))]
        if lost:
            raise RealworthyError(
                f"{', '.join(lost)} move no joint alone.",
                hint=f"Kinds that do: {', '.join(SINGLE_JOINT_KINDS)}.",
            )

    def of(self, e: Floats) -> list[Floats]:
        """(n, 1, joints) of each kind in turn."""
        delayed = []
        for kind in SINGLE_JOINT_KINDS:
            values = np.tile(self._nominal[kind], (len(e), 1))
            for column, joint in self._columns.get(kind, ()):
                if joint is None:
                    values = self._nominal[kind] * e[:, column : column + 1]
                else:
                    values[:, joint] = e[:, column]
            delayed.append(values[:, None])
        return delayed

    def delays(self, e: Floats) -> Floats:
        """(n, joints) [s]."""
        late = self._delay if self._late is None else e[:, self._late, None]
        return np.broadcast_to(late, (len(e), len(self._delay)))


def _collect(twin: Twin, servos: Sequence[PositionServo], kind: str) -> Floats:
    names = [servo.name_of(kind) for servo in servos]
    return np.array([twin.space[n].nominal if n in twin.space else 0.0 for n in names])


def _choose_pieces(problem: Problem, most: int) -> list[Piece]:
    tracks = problem.tracks
    pieces = [p for i, t in enumerate(tracks) for p in cut_pieces(t, i, _PIECE_SECONDS)]
    every = max(1, round(len(pieces) / most))
    return pieces[every // 2 :: every] or pieces
