"""The twin of a robot: its model, what is believed of it, and where that came from."""

import math
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import msgspec
import mujoco

from realworthy import artefacts
from realworthy.actuators import Actuator, MotorNetwork
from realworthy.errors import (
    BadBelief,
    BadFile,
    MissingFile,
    RealworthyError,
    UnknownName,
    find_nearest,
)
from realworthy.parameters import Belief, Parameter, ParameterSpace
from realworthy.parameters.files import BeliefText, from_text, to_text
from realworthy.twins.compiled import Compiled
from realworthy.twins.inspection import Datasheet
from realworthy.twins.sources import (
    BUILTIN_FOLDER,
    MENAGERIE_PREFIX,
    MODEL_SUFFIXES,
    builtin_names,
    load_spec,
)

SCHEMA = 1
SUFFIX = ".twin.yaml"


class ParameterText(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a twin file says of one parameter; what it leaves out is the model's."""

    value: float | None = None
    lower: float | None = None
    upper: float | None = None


class Evidence(msgspec.Struct, forbid_unknown_fields=True):
    """A recording that a twin was fitted to."""

    recording: str
    sha256: str


class Provenance(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Where a twin came from."""

    parent: str = ""
    created: str = ""
    versions: dict[str, str] = {}
    recordings: list[Evidence] = []
    notes: str = ""


class TwinFile(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """`*.twin.yaml`."""

    schema: int
    name: str
    model: str
    description: str = ""
    sources: list[str] = []
    actuators: dict[str, Actuator] = {}
    datasheet: dict[str, Datasheet] = {}
    parameters: dict[str, ParameterText] = {}
    belief: BeliefText | None = None
    provenance: Provenance | None = None


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A model with names for its unknowns, and a belief about them.

    Twins do not change: `with_values`, `with_belief` and so on return another.
    """

    name: str
    base_spec: mujoco.MjSpec = field(repr=False)
    model: str
    """A path from `folder`, a built-in name or `menagerie:<robot>`; empty: no file."""
    folder: Path = Path()
    reference: str = ""
    """What `load_twin` was given; for messages."""
    description: str = ""
    sources: tuple[str, ...] = ()
    actuators: Mapping[str, Actuator] = field(default_factory=dict)
    """Drives that replace the model's own actuators of the same joints."""
    datasheet: Mapping[str, Datasheet] = field(default_factory=dict)
    parameters: Mapping[str, ParameterText] = field(default_factory=dict)
    belief_text: BeliefText | None = None
    provenance: Provenance | None = None

    @property
    def owner(self) -> str:
        """The twin in a message."""
        return f"twin '{self.name}'"

    @property
    def listing(self) -> str:
        """The command that lists the parameters; empty where no file holds the twin."""
        where = shlex.quote(self.reference)
        return f"realworthy show parameters --twin {where}" if self.reference else ""

    @cached_property
    def compiled(self) -> Compiled:
        """The model with this twin's values, and room for nothing else."""
        from realworthy.twins.bind import compile_twin

        return compile_twin(self)

    @cached_property
    def space(self) -> ParameterSpace:
        """Every number of this twin that can be unknown."""
        from realworthy.twins.space import full_space

        return full_space(self)

    @cached_property
    def belief(self) -> Belief:
        """What is believed: the calibrated belief, or a default around the nominals."""
        from realworthy.twins.space import default_belief

        if self.belief_text is not None:
            return from_text(self.belief_text, self.space)
        return default_belief(self)

    def spec(self) -> mujoco.MjSpec:
        """A copy of the model that may be edited."""
        return self.base_spec.copy()

    def with_values(self, values: Mapping[str, float]) -> "Twin":
        """The same twin with other nominal numbers, bounds kept."""
        changed = dict(self.parameters)
        for name, value in values.items():
            old = changed.get(name, ParameterText())
            changed[name] = ParameterText(float(value), old.lower, old.upper)
            check_told(self.space[name], changed[name], owner=self.owner)
        return replace(self, parameters=changed)

    def with_belief(
        self, belief: Belief, provenance: Provenance | None = None
    ) -> "Twin":
        """The same twin with another belief; its nominals become the belief's means."""
        moved = self.with_values(belief.mean)
        return replace(
            moved,
            belief_text=to_text(belief),
            provenance=provenance or self.provenance,
        )

    def edited(self, edit: Callable[[mujoco.MjSpec], object]) -> "Twin":
        """The same twin with its model's structure changed, which no file holds."""
        spec = self.spec()
        edit(spec)
        return replace(self, base_spec=spec, model="", reference="")

    def with_actuators(self, actuators: Mapping[str, Actuator]) -> "Twin":
        """The same twin with some of its drives described anew."""
        return replace(self, actuators={**self.actuators, **actuators})


def load_twin(reference: str | Path) -> Twin:
    """A built-in name, an MJCF or URDF file, `menagerie:<robot>` or a `*.twin.yaml`."""
    text, path = str(reference), Path(reference)
    if text.startswith(MENAGERIE_PREFIX):
        robot = text.removeprefix(MENAGERIE_PREFIX)
        spec = load_spec(text, Path())
        return Twin(name=robot, base_spec=spec, model=text, reference=text)
    if text in builtin_names():
        twin = _from_file(BUILTIN_FOLDER / (text + SUFFIX))
        return replace(twin, model=text, reference=text)
    if path.name.endswith(SUFFIX):
        return replace(_from_file(path), reference=text)
    if path.suffix.lower() in MODEL_SUFFIXES:
        spec = load_spec(path.name, path.parent)
        return Twin(
            name=path.stem,
            base_spec=spec,
            model=path.name,
            folder=path.parent,
            reference=text,
        )
    if os.path.exists(path):
        raise RealworthyError(
            f"'{text}' is not a twin.",
            hint=f"A twin is an .xml (MJCF) or .urdf file, or a *{SUFFIX}.",
        )
    if path.suffix or path.name != text:
        raise MissingFile(path)
    raise UnknownName(
        "twin",
        text,
        builtin_names(),
        owner="Realworthy",
        hint=f"{_suggest_robot(text)}Or give an .xml, .urdf or *{SUFFIX} file.",
    )


def save_twin(twin: Twin, path: Path | str, *, overwrite: bool = False) -> None:
    """Writes `*.twin.yaml`; the model file stays where it is, named relative to it."""
    path = Path(path)
    if not path.name.endswith(SUFFIX):
        raise RealworthyError(
            f"A twin's file name ends in {SUFFIX}, not '{path.name}'.",
            hint=f"Try: {path.name.partition('.')[0]}{SUFFIX}",
        )
    if not twin.model:
        raise RealworthyError(
            f"The model of {twin.owner} was edited, and no file holds it.",
            hint="Write twin.spec().to_xml() to a file, and load the twin from it.",
        )
    file = TwinFile(
        schema=SCHEMA,
        name=twin.name,
        model=_move_model(twin, path),
        description=twin.description,
        sources=list(twin.sources),
        actuators={name: _move(a, twin, path) for name, a in twin.actuators.items()},
        datasheet=dict(twin.datasheet),
        parameters=dict(twin.parameters),
        belief=twin.belief_text,
        provenance=twin.provenance,
    )
    artefacts.save(path, file, overwrite=overwrite)


def check_told(parameter: Parameter, told: ParameterText, *, owner: str) -> None:
    """Raises unless a value and its bounds lie where the parameter can be."""
    lower = parameter.lower if told.lower is None else told.lower
    upper = parameter.upper if told.upper is None else told.upper
    value = parameter.nominal if told.value is None else told.value
    if not parameter.lower <= lower <= upper <= parameter.upper:
        raise RealworthyError(
            f"{owner}: '{parameter.name}' cannot be bounded by [{lower:g}, {upper:g}] "
            f"{parameter.unit}.",
            hint=f"It lies within [{parameter.lower:g}, {parameter.upper:g}].",
        )
    slack = 1e-9 * abs(value)  # a mean of values at a bound may round past it
    if not lower - slack <= value <= upper + slack or math.isinf(value):
        raise RealworthyError(
            f"{owner}: '{parameter.name}' cannot be {value:g} {parameter.unit}.",
            hint=f"It lies within [{lower:g}, {upper:g}].",
        )


def _from_file(path: Path) -> Twin:
    file = artefacts.load(path, TwinFile, schema=SCHEMA)
    base = load_twin(file.model) if file.model in builtin_names() else None
    try:
        spec = base.base_spec if base else load_spec(file.model, path.parent)
    except MissingFile as error:
        problem = f"its model '{file.model}' is not there."
        raise BadFile(path, problem, hint=error.hint) from None
    twin = Twin(
        name=file.name,
        base_spec=spec,
        model=file.model,
        folder=path.parent,
        reference=str(path),
        description=file.description,
        sources=tuple(file.sources),
        actuators={**(base.actuators if base else {}), **file.actuators},
        datasheet={**(base.datasheet if base else {}), **file.datasheet},
        parameters={**(base.parameters if base else {}), **file.parameters},
        belief_text=file.belief,
        provenance=file.provenance,
    )
    _check_drives(file.actuators, path)
    if file.parameters:
        _ = twin.compiled  # a value that cannot be is refused at the door
    if file.belief is not None:
        _check_belief(twin, path)
    return twin


def _check_drives(actuators: Mapping[str, Actuator], path: Path) -> None:
    drives: dict[str, str] = {}
    for name, actuator in actuators.items():
        other = drives.setdefault(actuator.joint, name)
        if other != name:
            raise BadFile(
                path,
                f"actuators '{other}' and '{name}' both drive joint "
                f"'{actuator.joint}'.",
                hint="Keep one of them.",
            )


def _check_belief(twin: Twin, path: Path) -> None:
    try:
        _ = twin.belief
    except BadBelief as error:
        raise BadBelief(f"{path}: {error.problem}", hint=error.hint) from None


def _suggest_robot(name: str) -> str:
    """A robot of Menagerie that may have been meant."""
    import mujoco_menagerie

    nearest = find_nearest(name, mujoco_menagerie.names())
    return f"In Menagerie: {MENAGERIE_PREFIX}{nearest[0]}. " if nearest else ""


def _move_model(twin: Twin, path: Path) -> str:
    if twin.model.startswith(MENAGERIE_PREFIX) or twin.model in builtin_names():
        return twin.model
    return _relate(twin.folder / twin.model, path.parent)


def _move(actuator: Actuator, twin: Twin, path: Path) -> Actuator:
    """The drive as a twin file at `path` names it, its network's file included."""
    motor = actuator.motor
    if not isinstance(motor, MotorNetwork) or os.path.isabs(motor.file):
        return actuator
    moved = _relate(twin.folder / motor.file, path.parent)
    motor = msgspec.structs.replace(motor, file=moved)
    return msgspec.structs.replace(actuator, motor=motor)


def _relate(file: Path, folder: Path) -> str:
    """`file` as seen from `folder`; a link to a file stays a link."""
    return Path(
        os.path.relpath(file.parent.resolve(), folder.resolve()), file.name
    ).as_posix()
