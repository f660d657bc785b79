"""Every number of a twin that can be unknown, and a sensible belief about it."""

from collections.abc import Mapping

from realworthy.actuators import KINDS
from realworthy.errors import UnknownName, UnknownParameter
from realworthy.parameters import (
    Binding,
    IndependentBelief,
    Marginal,
    Operation,
    Parameter,
    ParameterSpace,
    Transform,
)
from realworthy.twins.compiled_model import CompiledModel
from realworthy.twins.twin import ParameterText, Twin
from realworthy.twins.writers import WRITERS, Group, Writer
from realworthy.twins.writers.laws import is_explicit, law_writer

ALL = "all"
_SHARED = ("delay", "contact_friction", "restitution", "softness", "action_noise")
"""Kinds whose `all.<kind>` is one value for every element."""
_SCALED = (
    "mass",
    "armature",
    "damping",
    "coulomb_friction",
    "kp",
    "kd",
    "torque_limit",
)
"""Kinds whose `all.<kind>` is one factor for every element."""
_BELIEVED = (
    *("mass", "centre_of_mass", "armature", "damping", "coulomb_friction"),
    *("kp", "kd", "torque_limit", "resistance", "torque_constant"),
)
"""Kinds that a model without data is uncertain about."""


def writer_of(compiled: CompiledModel, kind: str, element: str) -> Writer:
    """Who writes a quantity of an element: its explicit law's writer, or MuJoCo's."""
    if is_explicit(compiled, kind, element):
        return law_writer(kind)
    if kind in WRITERS:
        return WRITERS[kind]
    raise UnknownName("kind", kind, {*WRITERS, *KINDS}, owner="Realworthy")


def elements_of(compiled: CompiledModel, kind: str) -> tuple[str, ...]:
    """Elements that have a quantity, through an explicit law or natively."""
    explicit = law_writer(kind).elements(compiled) if kind in KINDS else ()
    native = WRITERS[kind].elements(compiled) if kind in WRITERS else ()
    return tuple(dict.fromkeys((*explicit, *native)))


def full_space(twin: Twin) -> ParameterSpace:
    """All parameters of a twin, with the bounds that its file gives them."""
    parameters = _list_parameters(twin.compiled, twin.parameters)
    return ParameterSpace(parameters, owner=twin.owner, listing=twin.listing)


def _list_parameters(
    compiled: CompiledModel, told: Mapping[str, ParameterText]
) -> list[Parameter]:
    parameters: list[Parameter] = []
    for kind in {**WRITERS, **KINDS}:
        elements = elements_of(compiled, kind)
        for element in elements:
            parameters += _describe(compiled, told, kind, element, (element,))
        if kind in (*_SHARED, *_SCALED) and elements:
            parameters += _describe(compiled, told, kind, ALL, elements)
    return parameters


def find_parameter(
    compiled: CompiledModel, name: str, owner: str, listing: str = ""
) -> Parameter:
    """One parameter by its name, without listing all the others."""
    kinds = [kind for kind in {**WRITERS, **KINDS} if f".{kind}" in name]
    for kind in sorted(kinds, key=len, reverse=True):
        element, _, component = name.rpartition(f".{kind}")
        elements = elements_of(compiled, kind)
        bound = elements if element == ALL else (element,)
        if element not in (*elements, ALL) or not elements:
            continue
        for parameter in _describe(compiled, {}, kind, element, bound):
            if parameter.component == component.removeprefix("."):
                return parameter
    names = [parameter.name for parameter in _list_parameters(compiled, {})]
    raise UnknownParameter(name, names, owner=owner, listing=listing)


def default_belief(twin: Twin) -> IndependentBelief:
    """Moderate ranges around the nominals of what a model is usually wrong about.

    Masses ±20 %, centres of mass ±5 mm (one standard deviation), dampings and frictions
    within a factor of two, gains ±20 %, one delay of up to 20 ms for all actuators, and
    one friction of 0.4–1.2 for all surfaces that can touch.
    """
    marginals: dict[str, Marginal] = {}
    for parameter in twin.space:
        shared = parameter.name in (f"{ALL}.delay", f"{ALL}.contact_friction")
        single = parameter.kind in _BELIEVED and parameter.element != ALL
        if not (shared or single):
            continue
        element = parameter.binding.elements[0]
        writer = writer_of(twin.compiled, parameter.kind, element)
        marginal = writer.spread(parameter.nominal)
        if marginal is not None:
            marginals[parameter.name] = _within(marginal, parameter)
    return IndependentBelief(twin.space.select(list(marginals)), marginals)


def groups(twin: Twin, space: ParameterSpace) -> dict[Group, ParameterSpace]:
    """The parameters of a space by what they belong to."""
    found: dict[Group, list[Parameter]] = {}
    for parameter in space:
        element = parameter.binding.elements[0]
        group = writer_of(twin.compiled, parameter.kind, element).group
        found.setdefault(group, []).append(parameter)
    return {
        group: ParameterSpace(members, owner=space.owner)
        for group, members in found.items()
    }


def _describe(
    compiled: CompiledModel,
    told: Mapping[str, ParameterText],
    kind: str,
    name: str,
    elements: tuple[str, ...],
) -> list[Parameter]:
    writer = writer_of(compiled, kind, elements[0])
    scaled = name == ALL and kind in _SCALED
    nominals = writer.edit(compiled, elements[0]).nominal()
    made = []
    for component, found in zip(writer.components, nominals, strict=True):
        full_name = f"{name}.{kind}" + (f".{component}" if component else "")
        text = told.get(full_name, ParameterText())
        factor = 1.0 if text.value is None else text.value
        nominal = factor if scaled else float(found)
        lower = (0.0 if scaled else writer.lower) if text.lower is None else text.lower
        upper = writer.upper if text.upper is None else text.upper
        transform = writer.transform(nominal, lower, upper)
        made.append(
            Parameter(
                name=full_name,
                kind=kind,
                component=component,
                unit="×" if scaled else writer.find_unit(compiled, elements),
                nominal=nominal,
                lower=min(lower, nominal),
                upper=max(upper, nominal),
                transform=Transform.LOG if scaled else transform,
                binding=Binding(elements, Operation.SCALE if scaled else Operation.SET),
            )
        )
    return made


def _within(marginal: Marginal, parameter: Parameter) -> Marginal:
    """The default belief, cut to the parameter's bounds."""
    changes = {}
    for end, bound in (("lower", max), ("upper", min)):
        if hasattr(marginal, end):
            changes[end] = bound(getattr(marginal, end), getattr(parameter, end))
    fields = {name: getattr(marginal, name) for name in marginal.__struct_fields__}
    return type(marginal)(**{**fields, **changes})
