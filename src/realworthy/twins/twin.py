"""The twin of a robot: its model, what is believed of it, and where that came from."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import msgspec
import mujoco

from realworthy import artefacts
from realworthy.actuators import Actuator
from realworthy.errors import RealworthyError, UnknownName
from realworthy.parameters import Belief, ParameterSpace
from realworthy.parameters.files import BeliefText, from_text, to_text
from realworthy.twins.compiled import Compiled
from realworthy.twins.inspection import Datasheet
from realworthy.twins.sources import (
    BUILTIN_FOLDER,
    MENAGERIE_PREFIX,
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
    """What was asked for: a path or `menagerie:<robot>`."""
    folder: Path = Path()
    description: str = ""
    sources: tuple[str, ...] = ()
    actuators: Mapping[str, Actuator] = field(default_factory=dict)
    """Drives that replace the model's own actuators of the same joints."""
    datasheet: Mapping[str, Datasheet] = field(default_factory=dict)
    parameters: Mapping[str, ParameterText] = field(default_factory=dict)
    belief_text: BeliefText | None = None
    provenance: Provenance | None = None

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
            self.space.index(name)
            old = changed.get(name, ParameterText())
            changed[name] = ParameterText(value, old.lower, old.upper)
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
        """The same twin with its model's structure changed."""
        spec = self.spec()
        edit(spec)
        return replace(self, base_spec=spec)

    def with_actuators(self, actuators: Mapping[str, Actuator]) -> "Twin":
        """The same twin with some of its drives described anew."""
        return replace(self, actuators={**self.actuators, **actuators})


def load_twin(reference: str | Path) -> Twin:
    """A built-in name, an MJCF or URDF file, `menagerie:<robot>` or a `*.twin.yaml`."""
    text = str(reference)
    if text.startswith(MENAGERIE_PREFIX):
        robot = text.removeprefix(MENAGERIE_PREFIX)
        spec = load_spec(text, Path())
        return Twin(name=robot, base_spec=spec, model=text)
    if text in builtin_names():
        return replace(_from_file(BUILTIN_FOLDER / (text + SUFFIX)), model=text)
    path = Path(reference)
    if path.name.endswith(SUFFIX):
        return _from_file(path)
    if path.suffix.lower() in (".xml", ".urdf", ".mjcf"):
        spec = load_spec(path.name, path.parent)
        return Twin(name=path.stem, base_spec=spec, model=path.name, folder=path.parent)
    if path.exists():
        raise RealworthyError(
            f"'{text}' is not a twin.",
            hint=f"A twin is an .xml (MJCF) or .urdf file, or a *{SUFFIX}.",
        )
    hint = "Or give an .xml, .urdf or .twin.yaml file, or menagerie:<robot>."
    raise UnknownName("twin", text, builtin_names(), owner="Realworthy", hint=hint)


def save_twin(twin: Twin, path: Path | str, *, overwrite: bool = False) -> None:
    """Writes `*.twin.yaml`; the model file stays where it is, named relative to it."""
    path = Path(path)
    if not path.name.endswith(SUFFIX):
        raise RealworthyError(
            f"A twin's file name ends in {SUFFIX}, not '{path.name}'."
        )
    file = TwinFile(
        schema=SCHEMA,
        name=twin.name,
        model=_reference(twin, path),
        description=twin.description,
        sources=list(twin.sources),
        actuators=dict(twin.actuators),
        datasheet=dict(twin.datasheet),
        parameters=dict(twin.parameters),
        belief=twin.belief_text,
        provenance=twin.provenance,
    )
    artefacts.save(path, file, overwrite=overwrite)


def _from_file(path: Path) -> Twin:
    file = artefacts.load(path, TwinFile, schema=SCHEMA)
    base = load_twin(file.model) if file.model in builtin_names() else None
    spec = base.base_spec if base else load_spec(file.model, path.parent)
    twin = Twin(
        name=file.name,
        base_spec=spec,
        model=file.model,
        folder=path.parent,
        description=file.description,
        sources=tuple(file.sources),
        actuators={**(base.actuators if base else {}), **file.actuators},
        datasheet={**(base.datasheet if base else {}), **file.datasheet},
        parameters={**(base.parameters if base else {}), **file.parameters},
        belief_text=file.belief,
        provenance=file.provenance,
    )
    _check_names(twin, list(file.parameters))
    if file.belief is not None:
        _ = twin.belief  # a belief that cannot be is refused at the door
    return twin


def _check_names(twin: Twin, names: Sequence[str]) -> None:
    for name in names:
        twin.space.index(name)


def _reference(twin: Twin, path: Path) -> str:
    if twin.model.startswith(MENAGERIE_PREFIX) or twin.model in builtin_names():
        return twin.model
    return os.path.relpath((twin.folder / twin.model).resolve(), path.parent.resolve())
