"""The twin of a robot: its model, what is believed of it, and where that came from."""

import hashlib
import math
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import mujoco

from realworthy.actuators import Actuator
from realworthy.errors import RealworthyError
from realworthy.parameters import Belief, Parameter, ParameterSpace
from realworthy.parameters.belief_files import BeliefText, from_text, to_text
from realworthy.residuals import BadResidual, Residual, load_residual
from realworthy.robots.roles import RoleChoices
from realworthy.twins.compiled_model import CompiledModel
from realworthy.twins.drives.networks import DriveNetwork
from realworthy.twins.floating_base import (
    FREE,
    WORLD,
    Floating,
    FloatingBase,
    add_free_joint,
    find_floating,
    hang,
)
from realworthy.twins.inspection import Datasheet

if TYPE_CHECKING:
    from realworthy.twins.roles import Roles

RESIDUAL_LEFT_OUT = (
    "The twin's residual was left out: it makes up for what is looked for here."
)


class ParameterText(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a twin file says of one parameter; what it leaves out is the model's."""

    value: float | None = None
    """In the parameter's unit; of `all.<kind>` factors, the factor."""
    lower: float | None = None
    upper: float | None = None
    """Bounds, no wider than those of the physical quantity."""


class RecordingEvidence(msgspec.Struct, forbid_unknown_fields=True):
    """A recording that a twin was fitted to."""

    recording: str
    """Where it was."""
    sha256: str
    """`Recording.sha256()`: of its numbers, whatever the format."""


class Provenance(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Where a twin came from."""

    parent: str = ""
    """The twin that was calibrated."""
    method: str = ""
    """The search that found its numbers, such as `least_squares`."""
    created: str = ""
    """When, as ISO 8601."""
    versions: dict[str, str] = {}
    """Of the tools, by name."""
    recordings: list[RecordingEvidence] = []
    notes: str = ""


@dataclass(frozen=True, kw_only=True, repr=False)
class Twin:
    """A model with names for its unknowns, and a belief about them.

    Twins do not change: `with_values`, `with_belief` and so on return another.
    """

    name: str
    base_spec: mujoco.MjSpec
    model: str
    """A path from `folder`, a built-in name or `menagerie:<robot>`; empty: no file."""
    folder: Path = Path()
    reference: str = ""
    """What `load_twin` was given; for messages."""
    description: str = ""
    sources: tuple[str, ...] = ()
    actuators: Mapping[str, Actuator] = field(default_factory=dict)
    """Drives that replace the model's own actuators of the same joints."""
    networks: Mapping[str, DriveNetwork] = field(default_factory=dict)
    """Actuator → a network that drives its joint instead, within its envelope."""
    base_choice: str = ""
    """The floating base as chosen: `free`, `world` for a fixed robot, or a body; empty:
    by the rule of `twins/floating_base.py`."""
    table: float | None = None
    """Height [m] of a smooth, level surface that the model lacks; None: there is none.
    """
    datasheet: Mapping[str, Datasheet] = field(default_factory=dict)
    parameters: Mapping[str, ParameterText] = field(default_factory=dict)
    belief_text: BeliefText | None = None
    provenance: Provenance | None = None
    role_choices: RoleChoices = field(default_factory=RoleChoices)
    """Parts whose role was chosen; `roles` proposes the others."""
    residual: Residual | None = None
    """A learned force that the model lacks, within its envelope."""
    residual_file: str = ""
    """Where it is, a path from `folder`."""

    def __repr__(self) -> str:
        return f"<twin '{self.name}': {self.description or self.model or 'no file'}>"

    @property
    def owner(self) -> str:
        """The twin in a message."""
        return f"twin '{self.name}'"

    @property
    def listing(self) -> str:
        """The command that lists the parameters; empty where no file holds the twin."""
        where = shlex.quote(self.reference)
        return f"realworthy show parameters --twin {where}" if self.reference else ""

    @property
    def base(self) -> FloatingBase | None:
        """The body of the robot that floats; None: it is fixed to the world."""
        return self.floating.base

    @property
    def objects(self) -> tuple[str, ...]:
        """Floating bodies that are no part of the robot, such as a box to push."""
        return self.floating.objects

    @cached_property
    def floating(self) -> Floating:
        """Base and objects, with the reason."""
        joints = [actuator.joint for actuator in self.actuators.values()]
        return find_floating(self.base_spec, joints, self.base_choice, owner=self.owner)

    @cached_property
    def roles(self) -> "Roles":
        """Which part of the robot does what, with reasons."""
        from realworthy.twins.roles import Roles

        return Roles(self)

    @property
    def fingerprint(self) -> str:
        """Hash of the model, its drives and its numbers, whatever is believed."""
        values = {name: text.value for name, text in self.parameters.items()}
        told = {name: v for name, v in sorted(values.items()) if v is not None}
        learned = {name: network.file for name, network in self.networks.items()}
        parts = (dict(self.actuators), learned, self.table, told)
        digest = hashlib.sha256(self.base_spec.to_xml().encode())
        digest.update(msgspec.json.encode(parts, order="sorted"))
        return digest.hexdigest()

    @cached_property
    def compiled(self) -> CompiledModel:
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
        """A copy of the model that may be edited, with its table where it has one."""
        from realworthy.twins.structure import add_table

        spec = self.base_spec.copy()
        if self.table is not None:
            add_table(spec, self.table)
        return spec

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
        return replace(self, base_spec=spec, model="", reference="", table=None)

    def with_base(self, choice: str) -> "Twin":
        """The same twin on another base, as `base_choice` names it.

        `free` lets a robot go that the model fixes to the world, such as any URDF's.
        """
        spec = self.base_spec.copy()
        if choice == FREE and self.base is None:
            add_free_joint(spec, owner=self.owner)
        changed = replace(self, base_spec=spec, base_choice=choice)
        _ = changed.floating  # a body that does not float is refused here
        return changed

    def with_roles(self, choices: RoleChoices) -> "Twin":
        """The same twin with other parts chosen for some roles."""
        if choices == RoleChoices():
            return self
        moved = self.with_base(choices.trunk) if choices.trunk else self
        return replace(moved, role_choices=self.role_choices.merge(choices))

    def prepared(self, edit: Callable[[mujoco.MjSpec], object]) -> "Twin":
        """The same twin with what a task adds; loaded again, the task adds it again."""
        return replace(self.edited(edit), reference=self.reference)

    def hung(self) -> "Twin":
        """The same twin, its floating base held still above the floor's reach."""
        base = self.base
        if base is None:
            return self
        held = self.edited(lambda spec: hang(spec, base))
        return replace(held, base_choice=WORLD)

    def with_table(self, height: float | None) -> "Twin":
        """The same twin above another smooth, level surface, or above none."""
        kept = {n: t for n, t in self.parameters.items() if n != "table.height"}
        return replace(self, table=height, parameters=kept)

    def with_residual(self, path: Path | str) -> "Twin":
        """The same twin with the learned force of a file, fitted on this very twin."""
        path = Path(path)
        residual = load_residual(path)
        described = residual.description
        if described.fingerprint != self.fingerprint:
            whose = (
                f"'{described.twin}'" if described.twin else "one that it does not say"
            )
            raise BadResidual(
                f"{path} was fitted on another twin than {self.name!r}: on {whose}, "
                "whose model or numbers differ.",
                hint="Fit it again, on this twin; or leave the residual out.",
            )
        file = os.path.relpath(path.resolve(), self.folder.resolve())
        return replace(self, residual=residual, residual_file=file)

    def without_residual(self) -> "Twin":
        """The same twin, its physics alone."""
        return replace(self, residual=None, residual_file="")

    def with_actuators(self, actuators: Mapping[str, Actuator]) -> "Twin":
        """The same twin with some of its drives described anew."""
        return replace(self, actuators={**self.actuators, **actuators})


def check_told(parameter: Parameter, told: ParameterText, *, owner: str) -> None:
    """Raises unless a value and its bounds lie where the parameter can be."""
    unit = "" if parameter.unit == "1" else f" {parameter.unit}"
    lower = parameter.lower if told.lower is None else told.lower
    upper = parameter.upper if told.upper is None else told.upper
    value = parameter.nominal if told.value is None else told.value
    if not parameter.lower <= lower <= upper <= parameter.upper:
        raise RealworthyError(
            f"{owner}: '{parameter.name}' cannot be bounded by [{lower:g}, {upper:g}]"
            f"{unit}.",
            hint=f"It lies within [{parameter.lower:g}, {parameter.upper:g}].",
        )
    slack = 1e-9 * abs(value)  # a mean of values at a bound may round past it
    if not lower - slack <= value <= upper + slack or math.isinf(value):
        raise RealworthyError(
            f"{owner}: '{parameter.name}' cannot be {value:g}{unit}.",
            hint=f"It lies within [{lower:g}, {upper:g}].",
        )
