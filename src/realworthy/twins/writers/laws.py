"""Numbers of actuators that follow an explicit law instead of a native MuJoCo form."""

from functools import cache

from realworthy.actuators import KINDS
from realworthy.twins.compiled_model import CompiledModel
from realworthy.twins.writers.actuators import DELAY
from realworthy.twins.writers.writer import (
    FieldSlot,
    Group,
    ModelEdit,
    SlotEdit,
    Writer,
    ratio,
)

_PREFIX = "own.law."


def is_explicit(compiled: CompiledModel, kind: str, element: str) -> bool:
    """Whether an element's quantity is a number of its explicit law."""
    return f"{_PREFIX}{element}.{kind}" in compiled.own


@cache
def law_writer(kind: str) -> Writer:
    """The writer of one kind of law parameter, such as `stribeck_velocity`."""
    about = KINDS[kind]

    def elements(compiled: CompiledModel) -> tuple[str, ...]:
        tail = f".{kind}"
        names = [n.removeprefix(_PREFIX) for n in compiled.own if n.startswith(_PREFIX)]
        return tuple(n.removesuffix(tail) for n in names if n.endswith(tail))

    def edit(compiled: CompiledModel, element: str) -> ModelEdit:
        return SlotEdit(compiled, [FieldSlot(f"{_PREFIX}{element}.{kind}")])

    return Writer(
        kind=kind,
        unit=about.unit,
        group=Group.DELAY if kind == "delay" else Group.ACTUATOR,
        elements=elements,
        edit=edit,
        lower=about.lower,
        upper=DELAY.upper if kind == "delay" else about.upper,
        spread=ratio(0.7, 1.3),
    )
