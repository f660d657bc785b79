"""Suspects among the twin's own numbers."""

from collections.abc import Mapping
from dataclasses import replace
from math import log

import numpy as np

from realworthy.diagnosis.diagnosis import CauseKind
from realworthy.diagnosis.scales import Scale
from realworthy.diagnosis.suspects import Number, Suspect
from realworthy.parameters import Parameter
from realworthy.twins import Twin
from realworthy.twins.layout import Layout

OF_JOINTS = (
    *("armature", "damping", "coulomb_friction", "stiffness", "kp", "kd"),
    *("torque_limit", "gear", "delay", "resistance", "torque_constant"),
)
"""Kinds of a joint or its drive that may be wrong, one number each."""
OF_BODIES = ("mass", "centre_of_mass", "inertia")
SHARED = (
    *("all.mass", "all.armature", "all.damping", "all.coulomb_friction", "all.kp"),
    *("all.kd", "all.torque_limit", "all.delay", "world.gravity"),
)
_FACTOR = 0.25
"""Change of a logarithm that is worth a look: a quarter more or less."""
_PART = 0.1
"""Of the torques at work: what a joint's friction or spring must reach to show."""
_DELAY = 0.005
"""[s]"""
_SHIFT = 0.02
"""[m] of a centre of mass."""
_TILT = 0.05
"""[rad]"""
_DIAGONAL = ("d1", "d2", "d3")
_SHARES = (0.93, 0.82, 0.7, 0.57, 0.42)
"""Of the largest torque: where a limit is looked for."""
_LOOK_BOTH = ((-1.0,), (1.0,))
_LOOK_FAR = tuple((log(f) / _FACTOR,) for f in (0.02, 0.1, 0.4, 0.8, 1.25, 2.5, 10))
_GAINS = ("kp", "kd", "damping", "coulomb_friction")
"""Kinds that published models often have wrong by an order of magnitude."""
_LOOK_UP = ((1.0,), (3.0,))


def list_parametric(
    twin: Twin, layout: Layout, scales: Mapping[str, Scale]
) -> list[Suspect]:
    """Every number of a twin that recordings of these joints might show as wrong."""
    found = [
        suspect
        for parameter in twin.space
        if parameter.kind in OF_JOINTS and parameter.element != "all"
        for suspect in _of_joint(parameter, layout, scales)
    ]
    found += _of_bodies(twin, layout, scales)
    found += _shared(twin, layout, scales)
    found += _tilt(twin)
    return found


def parameter_names(suspects: list[Suspect]) -> list[str]:
    """Parameters of the twin that these suspects set."""
    slots = [slot for s in suspects for n in s.numbers for slot in n.slots]
    return list(dict.fromkeys(slot for slot in slots if isinstance(slot, str)))


def _of_joint(
    parameter: Parameter, layout: Layout, scales: Mapping[str, Scale]
) -> list[Suspect]:
    joint = joint_of(parameter.element, layout)
    if joint is None or joint not in scales:
        return []
    number, looks = _number(parameter, scales[joint])
    if not looks:
        return []
    return [
        Suspect(
            parameter.kind,
            CauseKind.PARAMETRIC,
            (joint,),
            (number,),
            looks,
            () if parameter.kind == "torque_limit" else (0,),
        )
    ]


def _number(
    parameter: Parameter, scale: Scale
) -> tuple[Number, tuple[tuple[float, ...], ...]]:
    """How a parameter is varied, and where it is looked at first."""
    kind, nominal = parameter.kind, parameter.nominal
    if kind == "torque_limit":
        return _limit(parameter, scale)
    if kind == "delay":
        return _linear(parameter, _DELAY), _LOOK_UP
    steps = {
        "damping": scale.torque / scale.velocity,
        "coulomb_friction": scale.torque,
        "armature": scale.inertia,
        "stiffness": scale.torque / scale.motion,
    }
    step = _PART * steps.get(kind, 0.0)
    if nominal > step or (nominal > 0 and not step):
        return _relative(parameter), _LOOK_FAR if kind in _GAINS else _LOOK_BOTH
    if not step:
        return _linear(parameter, 1.0), ()
    return _linear(parameter, step), _LOOK_UP  # next to nothing: only more can show


def _limit(
    parameter: Parameter, scale: Scale
) -> tuple[Number, tuple[tuple[float, ...], ...]]:
    """A limit is looked at where the recorded torques would meet it."""
    nominal, largest = parameter.nominal, scale.largest_torque
    number = _relative(parameter)
    if not np.isfinite(nominal) or nominal <= 0 or largest <= 0:
        return number, ()
    looks = [log(share * largest / nominal) / _FACTOR for share in _SHARES]
    looks = [x for x in looks if x < 0]
    if largest > 0.95 * nominal:
        looks.append(1.0)
    return number, tuple((x,) for x in looks)


def _of_bodies(
    twin: Twin, layout: Layout, scales: Mapping[str, Scale]
) -> list[Suspect]:
    grouped: dict[tuple[str, str], list[Parameter]] = {}
    for parameter in twin.space:
        if parameter.kind in OF_BODIES and parameter.element != "all":
            grouped.setdefault((parameter.kind, parameter.element), []).append(
                parameter
            )
    found = []
    for (kind, body), members in grouped.items():
        below = joints_below(body, layout)
        if below and not any(joint in scales for joint in below):
            continue
        joints = tuple(below[:1])
        if kind == "mass":
            numbers, looks = [_relative(members[0])], _LOOK_BOTH
        elif kind == "centre_of_mass":
            numbers = [_linear(p, _SHIFT) for p in members]
            looks = tuple(
                tuple(sign * float(i == k) for k in range(3))
                for i in range(3)
                for sign in (-1.0, 1.0)
            )
        else:
            numbers = [_linear(p, 0.2) for p in members if p.component in _DIAGONAL]
            looks = ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
        found.append(
            Suspect(
                kind,
                CauseKind.PARAMETRIC,
                joints,
                tuple(numbers),
                looks,
                tuple(range(len(numbers))),
                touches=tuple(below),
                owner=body,
            )
        )
    return found


def _shared(twin: Twin, layout: Layout, scales: Mapping[str, Scale]) -> list[Suspect]:
    found = []
    for parameter in twin.space:
        if parameter.name not in SHARED:
            continue
        elements = parameter.binding.elements
        if parameter.element == "all" and len(elements) < 2:
            continue
        if parameter.kind == "torque_limit":
            continue
        joints = [joint_of(element, layout) for element in elements]
        joints = tuple(j for j in joints if j is not None and j in scales)
        if parameter.kind == "delay":
            number, looks = _linear(parameter, _DELAY), _LOOK_UP
            names = tuple(f"{element}.delay" for element in elements)
            number = replace(number, slots=names)  # one value, set for each of them
        else:
            far = parameter.kind in _GAINS
            number, looks = _relative(parameter), _LOOK_FAR if far else _LOOK_BOTH
        if parameter.kind == "gravity":  # nowhere on Earth is it far off
            low, high = 0.9 * parameter.nominal, 1.1 * parameter.nominal
            number = replace(number, lower=low, upper=high, scale=0.05)
        if parameter.kind in ("mass", "gravity"):
            joints = ()
        found.append(
            Suspect(
                parameter.kind,
                CauseKind.PARAMETRIC,
                joints,
                (number,),
                looks,
                (0,),
                owner=parameter.element,
            )
        )
    return found


def _tilt(twin: Twin) -> list[Suspect]:
    members = [p for p in twin.space if p.kind == "gravity_tilt"]
    if not members:
        return []
    numbers = tuple(_linear(p, _TILT) for p in members)
    looks = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))
    return [Suspect("gravity_tilt", CauseKind.PARAMETRIC, (), numbers, looks, (0, 1))]


def _relative(parameter: Parameter) -> Number:
    return Number(
        parameter.name,
        parameter.nominal,
        _FACTOR,
        parameter.unit,
        (parameter.name,),
        is_log=True,
        lower=max(parameter.lower, 1e-3 * parameter.nominal),
        upper=min(parameter.upper, 1e3 * parameter.nominal),
    )


def _linear(parameter: Parameter, scale: float) -> Number:
    return Number(
        parameter.name,
        parameter.nominal,
        scale,
        parameter.unit,
        (parameter.name,),
        lower=parameter.lower,
        upper=parameter.upper,
    )


def joint_of(element: str, layout: Layout) -> str | None:
    """The joint that a joint's or an actuator's parameter is about."""
    if element in layout.joints:
        return element
    if element in layout.actuators:
        i = layout.actuators.index(element)
        for joint in layout.driven_joints:
            if layout.actuator(joint) == i:
                return joint
    return None


def joints_below(body: str, layout: Layout) -> list[str]:
    """Hinges and slides that move a body, its own first, down to the base."""
    model, found = layout.bound.model, []
    i = model.body(body).id
    while i > 0:
        first, count = int(model.body_jntadr[i]), int(model.body_jntnum[i])
        names = [model.joint(j).name for j in range(first, first + count)]
        found += [name for name in reversed(names) if name in layout.joints]
        i = int(model.body_parentid[i])
    return found
