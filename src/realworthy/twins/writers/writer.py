"""What a writer is: one physical quantity, and how its values enter model fields."""

import enum
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import (
    Marginal,
    Operation,
    Transform,
    TruncatedNormal,
    Uniform,
)
from realworthy.twins.compiled_model import CompiledModel

Floats = NDArray[np.float64]
Fields = Mapping[str, NDArray[np.float64]]
"""Field name → (worlds, …) live values."""
Rows = slice | NDArray[np.intp]
"""The worlds to write."""


class Group(enum.StrEnum):
    """What a quantity belongs to; diagnosis shares the gap out by it."""

    INERTIAL = "inertial"
    JOINT = "joint"
    ACTUATOR = "actuator"
    DELAY = "delay"
    SENSOR = "sensor"
    CONTACT = "contact"
    OBJECT = "object"
    ENVIRONMENT = "environment"
    INITIAL = "initial"
    VISUAL = "visual"


class ModelEdit(ABC):
    """A quantity joined to one element of one compiled model."""

    fields: tuple[str, ...]
    """Everything that `write` may change; restored to nominal before each sample."""

    @abstractmethod
    def nominal(self) -> Floats:
        """(components,) remembered values."""

    @abstractmethod
    def write(
        self, fields: Fields, rows: Rows, values: Floats, operation: Operation
    ) -> None:
        """Puts (n, components) values into worlds `rows`; NaN leaves a component."""


@dataclass(frozen=True, slots=True)
class FieldSlot:
    """A place in a field; holds `factor` times the value."""

    field: str
    index: tuple[int, ...] = ()
    factor: float = 1.0


class SlotEdit(ModelEdit):
    """A quantity that is copied as it is into one or more places per component."""

    def __init__(
        self, compiled: CompiledModel, *components: Sequence[FieldSlot]
    ) -> None:
        self.components = components
        names = [slot.field for slots in components for slot in slots]
        self.fields = tuple(dict.fromkeys(names))
        self._nominal = np.array(
            [_read(compiled, slots[0]) if slots else np.nan for slots in components]
        )

    def nominal(self) -> Floats:
        return self._nominal

    def write(
        self, fields: Fields, rows: Rows, values: Floats, operation: Operation
    ) -> None:
        for column, slots in enumerate(self.components):
            value = values[:, column]
            if np.isnan(value).any():
                continue
            for slot in slots:
                place = (rows, *slot.index)
                if operation is Operation.SET:
                    fields[slot.field][place] = slot.factor * value
                elif operation is Operation.SCALE:
                    fields[slot.field][place] *= value
                else:
                    fields[slot.field][place] += slot.factor * value


def combine(nominal: Floats, values: Floats, operation: Operation) -> Floats:
    """(n, components) numbers to write, where NaN keeps the nominal."""
    if operation is Operation.SCALE:
        combined = nominal * values
    elif operation is Operation.ADD:
        combined = nominal + values
    else:
        combined = values
    return np.where(np.isnan(values), nominal, combined)


@dataclass(frozen=True, kw_only=True, slots=True)
class Writer:
    """One physical quantity: who has it, its range, and how it is written."""

    kind: str
    unit: str
    group: Group
    elements: Callable[[CompiledModel], tuple[str, ...]]
    """Names of the elements of a model that have this quantity."""
    edit: Callable[[CompiledModel, str], ModelEdit]
    """The quantity joined to a named element."""
    components: tuple[str, ...] = ("",)
    lower: float = -math.inf
    upper: float = math.inf
    """Values beyond these cannot be; a twin or a belief may be narrower."""
    prepare: "Callable[[mujoco.MjSpec, CompiledModel, str, float], None] | None" = None
    """Makes room in the model before it is compiled, up to the largest value."""
    spread: Callable[[float], Marginal | None] = lambda nominal: None
    """The default belief around a nominal value; None: known, do not randomize."""
    own_unit: "Callable[[CompiledModel, str], str] | None" = None
    """Of an element, where elements differ; empty: it has no name for it."""

    def find_unit(self, compiled: CompiledModel, elements: Sequence[str]) -> str:
        """Of these elements together."""
        if self.own_unit is None:
            return self.unit
        units = {self.own_unit(compiled, name) for name in elements}
        return units.pop() or self.unit if len(units) == 1 else self.unit

    def transform(self, nominal: float, lower: float, upper: float) -> Transform:
        """Log where only ratios make sense, else identity."""
        positive = lower >= 0 and nominal > 0
        return Transform.LOG if positive and math.isinf(upper) else Transform.IDENTITY


def ratio(lower: float, upper: float) -> Callable[[float], Marginal | None]:
    """Uniform between two multiples of the nominal; nothing around zero."""

    def spread(nominal: float) -> Marginal | None:
        ends = sorted((lower * nominal, upper * nominal))
        return Uniform(*ends) if ends[0] < ends[1] else None

    return spread


def offset(sd: float) -> Callable[[float], Marginal | None]:
    """A bell around the nominal, cut at three standard deviations."""

    def spread(nominal: float) -> Marginal | None:
        return TruncatedNormal(nominal, sd, nominal - 3 * sd, nominal + 3 * sd)

    return spread


def between(lower: float, upper: float) -> Callable[[float], Marginal | None]:
    """Uniform between two numbers, wherever the nominal is."""
    return lambda nominal: Uniform(lower, upper)


def _read(compiled: CompiledModel, slot: FieldSlot) -> float:
    return float(compiled.nominal(slot.field)[slot.index]) / slot.factor
