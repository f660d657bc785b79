"""A recording laid out on the clock of a twin's physics, ready to be replayed.

Rows of a recording become substeps: the time step of the twin is shortened until a row
is a whole number of them, and commands are held from row to row.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import ParameterSpace
from realworthy.recordings import Recording
from realworthy.recordings.missing_rows import check_no_long_gap
from realworthy.simulators.replay.base_motion import BaseMotion, has_base, read_base
from realworthy.simulators.replay.inputs import Inputs, check_joints, choose_inputs
from realworthy.twins import BoundTwin, Twin, bind
from realworthy.twins.layout import Layout
from realworthy.twins.structure import set_timestep

Floats = NDArray[np.float64]
_MAX_TIMESTEP_STRETCH = 1.01
"""How much longer than the twin's own a time step may be, for clocks that are off."""
_MIN_SOLVER_ITERATIONS = 100
"""Of the solver of constraints, at least; it rarely takes ten."""
_UNEVEN_ROW_SHARE = 0.02
"""Share of a row by which rows scatter when no clock has them as whole substeps."""
_SAME_RATE = 2e-4
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
    overrides: Mapping[str, float] = field(default_factory=dict)
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
    clocks: dict[_CompiledIn, list[tuple[float, BoundTwin]]] = {}
    floats, listed = twin.base is not None, list(recordings)
    hung = twin.hung() if floats else twin
    room = find_room(twin, listed, space)
    tracks = []
    for recording in listed:
        rate, hangs = recording.rate, floats and not has_base(recording)
        values = find_overrides(twin, recording, space)
        others = {n: v for n, v in values.items() if n not in room}
        alike = clocks.setdefault((hangs, tuple(others.items())), [])
        bound = next((b for r, b in alike if _fits(recording, r)), None)
        if bound is None:
            model = hung if hangs else twin
            model = model.with_values(others) if others else model
            bound = bind_at(model, rate, space, room=tuple(room.values()))
            alike.append((rate, bound))
        overrides = {f: values.get(n, twin.space[n].nominal) for n, f in room.items()}
        tracks.append(lay_out_on(bound, recording, hangs=hangs, overrides=overrides))
    return tracks


_CompiledIn = tuple[bool, tuple[tuple[str, float], ...]]
"""Whether a base hangs, and numbers that are compiled into a bound twin."""


def find_overrides(
    twin: Twin, recording: Recording, space: ParameterSpace | None = None
) -> dict[str, float]:
    """Numbers of a twin that the recording's sidecar says, but for those of `space`."""
    moved = set() if space is None else set(space.names)
    overrides = recording.sidecar.parameters
    return {n: v for n, v in overrides.items() if n in twin.space and n not in moved}


def find_room(
    twin: Twin, recordings: Sequence[Recording], space: ParameterSpace | None = None
) -> dict[str, str]:
    """Recorded numbers of explicit drives → fields of ours that hold them."""
    names = {name for r in recordings for name in find_overrides(twin, r, space)}
    fields = {name: f"own.law.{name}" for name in sorted(names)}
    return {n: field for n, field in fields.items() if field in twin.compiled.own}


def _fits(recording: Recording, rate: float) -> bool:
    """Whether a clock for one rate serves: equal rates, or rows at uneven times."""
    return abs(recording.rate / rate - 1) < _SAME_RATE or is_uneven(recording)


def is_uneven(recording: Recording) -> bool:
    """Whether rows come at times that are no multiples of anything."""
    steps = np.diff(recording.time)
    return bool(np.std(steps) > _UNEVEN_ROW_SHARE * np.mean(steps))


def bind_at(
    twin: Twin,
    rate: float,
    space: ParameterSpace | None = None,
    *,
    room: Sequence[str] = (),
) -> BoundTwin:
    """The twin with a time step of which a row is a whole number."""
    nominal = float(twin.compiled.model.opt.timestep)
    per_row = max(1, int(np.ceil(1 / rate / (_MAX_TIMESTEP_STRETCH * nominal))))
    timed = twin.edited(partial(set_timestep, timestep=1 / rate / per_row))
    return bind(timed.edited(_solve_exactly), space, room=room)


def _solve_exactly(spec: mujoco.MjSpec) -> None:
    """Lets the solver of constraints end by its tolerance, not by its budget.

    Budgets for speed leave errors that jump from state to state: with 10 iterations an
    arm with stiff dry friction answered a nudge of 1e-6 rad with 9e-3 rad.
    """
    option = spec.option
    option.iterations = max(option.iterations, _MIN_SOLVER_ITERATIONS)
    option.ls_iterations = max(option.ls_iterations, _MIN_SOLVER_ITERATIONS)


def lay_out_on(
    bound: BoundTwin,
    recording: Recording,
    *,
    hangs: bool = False,
    overrides: Mapping[str, float] | None = None,
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
        overrides=overrides or {},
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


def crop(track: Track, bound: BoundTwin, rows: slice) -> Track:
    """Some rows of a track, for a bound twin of this time step or of a part of it."""
    begin = int(track.rows[rows.start])
    kept = track.rows[rows] - begin
    base = None if track.base is None else track.base.cut(rows)
    return replace(
        track,
        bound=bound,
        rows=_stretch(kept, track.timestep, float(bound.model.opt.timestep)),
        control=_refine(track, bound, begin, int(kept[-1])),
        position=track.position[rows],
        velocity=track.velocity[rows],
        base=base,
    )


def _stretch(rows: NDArray[np.intp], had: float, has: float) -> NDArray[np.intp]:
    return np.round(rows * (had / has)).astype(np.intp)


def _refine(track: Track, bound: BoundTwin, begin: int, last: int) -> Floats:
    factor = round(track.timestep / float(bound.model.opt.timestep))
    return np.repeat(track.control[begin : begin + last + 1], factor, axis=0)
