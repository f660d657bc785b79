"""Joins e to a twin: a compiled model with room for e, and how samples are written."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import BadModel, RealworthyError
from realworthy.parameters import Operation, Parameter, ParameterSpace, Scope
from realworthy.twins.compiled_model import OWN_PREFIX, CompiledModel, own_fields
from realworthy.twins.drives.install import ExplicitDrive, install_drives
from realworthy.twins.model_sources import compile_spec
from realworthy.twins.signal_sensors import add_sensors
from realworthy.twins.space import find_parameter, writer_of
from realworthy.twins.twin import Twin, check_told
from realworthy.twins.writers import WRITERS, Fields, ModelEdit, Rows
from realworthy.twins.writers.laws import is_explicit

Floats = NDArray[np.float64]
_ORDER = {kind: place for place, kind in enumerate(WRITERS)}
_OPERATIONS = (Operation.SET, Operation.SCALE, Operation.ADD)


@dataclass(frozen=True, slots=True)
class _Line:
    """One step of writing a sample: which columns of e go through which edit."""

    edit: ModelEdit
    columns: NDArray[np.intp]
    """Column of e for each component; −1 where a component is not in the space."""
    operation: Operation


class BoundTwin:
    """A twin joined to a parameter space: `compiled`, and `write` for samples of e."""

    def __init__(
        self,
        twin: Twin,
        space: ParameterSpace,
        compiled: CompiledModel,
        drives: Sequence[ExplicitDrive],
        room: Sequence[str] = (),
    ) -> None:
        self.twin, self.space, self.compiled = twin, space, compiled
        self.drives = tuple(drives)
        self._lines = _plan(compiled, space)
        names = [name for line in self._lines for name in line.edit.fields]
        names += room
        self.fields = tuple(dict.fromkeys(names))
        """Fields, MuJoCo's and ours, that differ between worlds."""
        inputs = set(mujoco.MjModel._setconst_inputs)
        self.needs_constants = any(
            name in inputs or name.startswith("opt.") for name in self.fields
        )
        """Whether MuJoCo derives other fields from those that a sample changes."""
        self._factors = _told_factors(twin, space)

    @property
    def model(self) -> mujoco.MjModel:
        """The compiled model at nominal values. Read it; `write` goes to copies."""
        return self.compiled.model

    def write(self, fields: Fields, rows: Rows, samples: ArrayLike) -> None:
        """Puts (n, d) samples of e into the worlds `rows` of the fields.

        Starts from the remembered nominals, so that writing twice is writing once.
        Constants that MuJoCo derives are the caller's to recompute.
        """
        samples = self.check_samples(samples) / self._factors
        for name in self.fields:
            fields[name][rows] = self.compiled.nominal(name)
        for line in self._lines:
            values = np.where(line.columns < 0, np.nan, samples[:, line.columns])
            line.edit.write(fields, rows, values, line.operation)

    def check_samples(self, samples: ArrayLike) -> Floats:
        """(n, d) samples; raises for values that no world may have."""
        samples = np.atleast_2d(np.asarray(samples, dtype=np.float64))
        if samples.shape[1] != len(self.space):
            raise RealworthyError(
                f"A sample of this space has {len(self.space)} values, not "
                f"{samples.shape[1]}.",
                hint=f"In order: {', '.join(self.space.names[:8])} …",
            )
        outside = ~((samples >= self.space.lower) & (samples <= self.space.upper))
        if outside.any():
            row, column = np.argwhere(outside)[0]
            parameter = self.space.parameters[column]
            raise RealworthyError(
                f"Sample {row}: '{parameter.name}' is {samples[row, column]:g} "
                f"{parameter.unit}, outside [{parameter.lower:g}, "
                f"{parameter.upper:g}].",
                hint="Sample from a belief within the bounds, or bind a wider space.",
            )
        return samples

    def sample_model(self, sample: ArrayLike) -> mujoco.MjModel:
        """A model of its own with one sample written and its constants recomputed."""
        import copy

        model = copy.copy(self.model)
        fields = {name: value.copy() for name, value in self.compiled.own.items()}
        self.write(model_fields(model, fields, self.fields), slice(None), sample)
        mujoco.mj_setConst(model, mujoco.MjData(model))
        return model


def bind(
    twin: Twin, space: ParameterSpace | None = None, *, room: Sequence[str] = ()
) -> BoundTwin:
    """Compiles a twin with room for every parameter of `space` (none by default).

    `room` names fields of ours that may differ between worlds although no parameter of
    the space moves them, such as `own.law.arm.duty_gain`.
    """
    space = ParameterSpace([], owner=f"twin '{twin.name}'") if space is None else space
    for parameter in space:
        if parameter.scope is Scope.BOOT:
            raise RealworthyError(
                f"'{parameter.name}' changes the structure of the model.",
                hint="Compile one twin per value instead.",
            )
    compiled, drives, _ = _compile(twin, space)
    return BoundTwin(twin, space, compiled, drives, room)


def compile_twin(twin: Twin) -> CompiledModel:
    """The model at the twin's nominal values, without room for other ones."""
    return _compile(twin, ParameterSpace([]))[0]


def compile_with_spec(
    twin: Twin,
) -> tuple[CompiledModel, tuple[ExplicitDrive, ...], mujoco.MjSpec]:
    """The model at the twin's values, its explicit drives, and the spec of its text.

    The spec holds the structure; the values of the twin are in the model alone.
    """
    return _compile(twin, ParameterSpace([]))


def model_fields(
    model: mujoco.MjModel, own: dict[str, Floats], names: Sequence[str]
) -> dict[str, Floats]:
    """The fields of one model as those of one world: live views with a leading axis."""

    def view(name: str) -> Floats:
        if name.startswith(OWN_PREFIX):
            return own[name][None]
        if name.startswith("opt."):
            return getattr(model.opt, name[4:])[None]
        return getattr(model, name)[None]

    return {name: view(name) for name in names}


def _compile(
    twin: Twin, space: ParameterSpace
) -> tuple[CompiledModel, tuple[ExplicitDrive, ...], mujoco.MjSpec]:
    spec = twin.spec()
    drives = install_drives(spec, _keep_commands(twin, space))
    add_sensors(spec, twin.base)
    _limit_motors(spec)
    plain = compile_spec(spec, twin.name)
    first = CompiledModel(
        plain, {**own_fields(plain), **_law_fields(drives)}, twin.objects
    )
    delays = [
        find_parameter(first, name, twin.owner, twin.listing)
        for name in twin.parameters
    ]
    for parameter in delays:
        check_told(parameter, twin.parameters[parameter.name], owner=twin.owner)
    values = {n: t.value for n, t in twin.parameters.items() if t.value is not None}
    moved = [parameter for parameter in delays if parameter.name in values]
    _make_room(spec, first, [*space, *moved])
    model = compile_spec(spec, twin.name)
    _restore_inertials(model, plain)
    fields = {**own_fields(model), **_law_fields(drives)}
    compiled = CompiledModel(model, fields, twin.objects)
    if moved:
        _write_values(compiled, moved, values, owner=twin.owner)
    return compiled, drives, spec


def _keep_commands(twin: Twin, space: ParameterSpace) -> Twin:
    """The twin with drives that keep commands as long as any delay of e needs."""
    longest = {name: a.get_delay_limit() for name, a in twin.actuators.items()}
    for name in longest:
        for owner in (name, "all"):
            delay = twin.parameters.get(f"{owner}.delay")
            if delay is not None and delay.value is not None:
                longest[name] = max(longest[name], delay.value)
    for parameter in space.of_kind("delay"):
        for element in parameter.binding.elements:
            if element in longest:
                longest[element] = max(longest[element], parameter.upper)
    return twin.with_actuators(
        {
            name: msgspec.structs.replace(actuator, delay_limit=longest[name])
            for name, actuator in twin.actuators.items()
        }
    )


def _make_room(
    spec: mujoco.MjSpec, compiled: CompiledModel, wanted: list[Parameter]
) -> None:
    for parameter in wanted:
        for element in parameter.binding.elements:
            if is_explicit(compiled, parameter.kind, element):
                continue
            prepare = WRITERS[parameter.kind].prepare
            if prepare is not None:
                prepare(spec, compiled, element, parameter.upper)


def _restore_inertials(model: mujoco.MjModel, plain: mujoco.MjModel) -> None:
    """Puts back centres of mass that were moved to keep bodies general."""
    moved = (model.body_ipos != plain.body_ipos).any(1)
    if not moved.any():
        return
    model.body_sameframe[moved] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
    for field in ("body_mass", "body_ipos", "body_iquat", "body_inertia"):
        getattr(model, field)[moved] = getattr(plain, field)[moved]
    mujoco.mj_setConst(model, mujoco.MjData(model))


def _write_values(
    compiled: CompiledModel,
    parameters: list[Parameter],
    values: Mapping[str, float],
    *,
    owner: str,
) -> None:
    """Moves the nominals of a compiled model to a twin's values."""
    space = ParameterSpace(parameters)
    e = np.array([[values[name] for name in space.names]], dtype=np.float64)
    lines = _plan(compiled, space)
    names = list(dict.fromkeys(name for line in lines for name in line.edit.fields))
    fields = model_fields(compiled.model, compiled.own, names)
    had_mass = compiled.model.body_mass > 0
    try:
        with np.errstate(all="ignore"):  # what overflows is refused below
            for line in lines:
                columns = np.where(line.columns < 0, np.nan, e[:, line.columns])
                line.edit.write(fields, slice(None), columns, line.operation)
    except np.linalg.LinAlgError:
        fields = {}
    _check_written(compiled, fields, had_mass, owner)
    mujoco.mj_setConst(compiled.model, mujoco.MjData(compiled.model))


def _check_written(
    compiled: CompiledModel, fields: Fields, had_mass: NDArray[np.bool_], owner: str
) -> None:
    """Raises where a twin's values leave a body massless or a number endless."""
    finite = fields and all(np.isfinite(values).all() for values in fields.values())
    lost = (compiled.model.body_mass <= 0) & had_mass
    if not finite or lost.any():
        raise BadModel(
            f"The values of {owner} make no model: a mass or an inertia is zero, or "
            "beyond all bounds.",
            hint="Correct them under parameters; look at mass and inertia first.",
        )


def _plan(compiled: CompiledModel, space: ParameterSpace) -> tuple[_Line, ...]:
    """The lines that write a sample: kinds in order, sets before scales before adds."""
    blocks: dict[tuple[str, str, Operation], dict[str, int]] = defaultdict(dict)
    for column, parameter in enumerate(space):
        for element in parameter.binding.elements:
            key = (parameter.kind, element, parameter.binding.operation)
            if parameter.component in blocks[key]:
                raise RealworthyError(
                    f"Two parameters move '{element}.{parameter.kind}'.",
                    hint="Keep one, or make one of them a factor.",
                )
            blocks[key][parameter.component] = column
    lines = []
    for kind, element, operation in sorted(blocks, key=_rank):
        columns = blocks[kind, element, operation]
        writer = writer_of(compiled, kind, element)
        places = np.array(
            [columns.get(c, -1) for c in writer.components], dtype=np.intp
        )
        lines.append(_Line(writer.edit(compiled, element), places, operation))
    return tuple(lines)


def _rank(key: tuple[str, str, Operation]) -> tuple[int, int]:
    kind, _, operation = key
    return _OPERATIONS.index(operation), _ORDER.get(kind, len(_ORDER))


def _told_factors(twin: Twin, space: ParameterSpace) -> Floats:
    """(d,) factors that the nominals have in them already, 1 where there is none."""
    factors = np.ones(len(space))
    for column, parameter in enumerate(space):
        value = twin.parameters.get(parameter.name)
        if parameter.binding.operation is Operation.SCALE and value and value.value:
            factors[column] = value.value
    return factors


def _law_fields(drives: Sequence[ExplicitDrive]) -> dict[str, Floats]:
    return {
        f"own.law.{drive.name}.{kind}": np.array(value)
        for drive in drives
        for kind, value in drive.law.parameters.items()
    }


def _limit_motors(spec: mujoco.MjSpec) -> None:
    """A torque motor whose command is limited has that torque limit; says so."""
    for actuator in spec.actuators:
        plain = (
            actuator.gaintype == mujoco.mjtGain.mjGAIN_FIXED
            and actuator.biastype == mujoco.mjtBias.mjBIAS_NONE
            and actuator.dyntype == mujoco.mjtDyn.mjDYN_NONE
        )
        low, high = actuator.ctrlrange
        unlimited = actuator.forcerange[0] >= actuator.forcerange[1]
        if plain and low < high and unlimited:
            gain = float(actuator.gainprm[0])
            actuator.forcerange = sorted((low * gain, high * gain))
            actuator.forcelimited = True
