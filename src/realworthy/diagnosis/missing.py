"""Suspects that a twin has nothing of."""

from collections.abc import Mapping

import numpy as np

from realworthy.diagnosis.diagnosis import CauseKind
from realworthy.diagnosis.scales import Scale
from realworthy.diagnosis.suspects import Number, Slot, Suspect
from realworthy.twins.layout import Layout

_MISSING = CauseKind.MISSING
_WIDEST = 0.2
"""[rad] A gear with more play than this has lost its teeth."""
_RATIO = 0.7
"""Change of a logarithm that is worth a look, where nobody has an idea."""


def list_missing(
    layout: Layout, scales: Mapping[str, Scale], duration: float
) -> list[Suspect]:
    """Effects on each of these joints; `duration` [s] of the longest recording."""
    found = []
    for joint, scale in scales.items():
        found += _frictions(joint, scale)
        found += _forces(joint, scale)
        if joint in layout.driven_joints:
            found += _drive(joint, scale, layout, duration)
    limits = layout.torque_limits
    if len(limits) and np.isfinite(limits).all():
        slots = tuple(Slot("supply_sag.loss", j) for j in layout.joints)
        number = Number(
            "supply_sag.loss", 0.0, 0.1, "1", slots[:1], lower=0.0, upper=0.9
        )
        found.append(
            Suspect("supply_sag", _MISSING, (), (number,), ((1.0,), (3.0,)), (0,))
        )
    return found


def _frictions(joint: str, scale: Scale) -> list[Suspect]:
    torque = 0.1 * scale.torque
    stribeck = (
        _strength(joint, "stribeck.static", torque, "N·m"),
        _size(joint, "stribeck.velocity", 0.15 * scale.velocity, "rad/s"),
    )
    hysteresis = (
        _strength(joint, "hysteresis.torque", torque, "N·m"),
        _size(joint, "hysteresis.stiffness", torque / (0.1 * scale.motion), "N·m/rad"),
    )
    load = (_strength(joint, "load_friction.coefficient", 0.1, "1"),)
    return [
        Suspect(
            "stribeck",
            _MISSING,
            (joint,),
            stribeck,
            _grid((0.2, 1.0, 4.0), (-1.0, 1.0)),
            (0,),
        ),
        Suspect(
            "hysteresis",
            _MISSING,
            (joint,),
            hysteresis,
            _grid((0.2, 1.0, 4.0), (-1.0, 2.0)),
            (0,),
        ),
        Suspect(
            "load_friction",
            _MISSING,
            (joint,),
            load,
            ((0.2,), (1.0,), (4.0,)),
            (0,),
        ),
    ]


def _forces(joint: str, scale: Scale) -> list[Suspect]:
    drag = _strength(
        joint, "drag.coefficient", 0.1 * scale.torque / scale.velocity**2, "N·m·s²/rad²"
    )
    spring = _strength(
        joint, "cable.stiffness", 0.1 * scale.torque / scale.motion, "N·m/rad"
    )
    middle = 0.5 * (scale.low + scale.high)
    rest = Number(
        f"{joint}.cable.rest", middle, scale.motion, "rad", (Slot("cable.rest", joint),)
    )
    found = [
        Suspect("drag", _MISSING, (joint,), (drag,), ((1.0,), (4.0,)), (0,)),
        Suspect(
            "cable",
            _MISSING,
            (joint,),
            (spring, rest),
            _grid((2.0,), (-2.0, 0.0, 2.0)),
            (0,),
        ),
    ]
    for side, end in ((1.0, scale.high), (-1.0, scale.low)):
        found.append(_contact(joint, scale, side, end))
    return found


def _contact(joint: str, scale: Scale, side: float, end: float) -> Suspect:
    """Something in the way at one end of the motion: a stiff one-sided spring."""
    reach = scale.high - scale.low
    number = Number(
        f"{joint}.contact.position",
        end + side * 0.1 * reach,
        side * 0.1 * reach,
        "rad",
        (Slot("contact.position", joint),),
    )
    stiffness = 5 * scale.torque / max(0.1 * reach, 1e-6)
    push = Number(
        f"{joint}.contact.stiffness",
        stiffness,
        _RATIO,
        "N·m/rad",
        (Slot("contact.stiffness", joint),),
        is_log=True,
        lower=0.1 * stiffness,
        upper=10 * stiffness,
    )
    which = Number(
        f"{joint}.contact.side",
        side,
        1.0,
        "1",
        (Slot("contact.side", joint),),
        lower=side,
        upper=side,
    )
    looks = ((-1.3, 0.0, 0.0), (-2.5, 0.0, 0.0))
    return Suspect("contact", _MISSING, (joint,), (number, push, which), looks)


def _drive(joint: str, scale: Scale, layout: Layout, duration: float) -> list[Suspect]:
    step = 0.02 * scale.motion + 0.002
    width = (_strength(joint, "backlash.width", step, "rad", upper=_WIDEST),)
    spring = (
        _size(
            joint,
            "flexibility.stiffness",
            scale.largest_torque / (0.1 * scale.motion),
            "N·m/rad",
        ),
        _size(
            joint,
            "flexibility.damping",
            0.01 * scale.torque / scale.velocity,
            "N·m·s/rad",
        ),
    )
    found = [
        Suspect(
            "backlash",
            _MISSING,
            (joint,),
            width,
            ((0.5,), (1.0,), (2.0,), (4.0,), (8.0,)),
        ),
        Suspect(
            "flexibility",
            _MISSING,
            (joint,),
            spring,
            _grid((-1.5, 0.0, 1.5, 3.0), (0.0,)),
        ),
    ]
    if duration > 0:
        loss = _strength(joint, "thermal_fade.loss", 0.1, "1", upper=0.95)
        time = _size(joint, "thermal_fade.time_constant", 0.5 * duration, "s")
        rated = _size(joint, "thermal_fade.rated_torque", scale.torque, "N·m")
        looks = tuple((2.0, t, r) for t in (-2.0, 0.0) for r in (-0.5, 1.0))
        found.append(
            Suspect(
                "thermal_fade", _MISSING, (joint,), (loss, time, rated), looks, (0,)
            )
        )
    return found


def _strength(
    joint: str, number: str, scale: float, unit: str, upper: float = np.inf
) -> Number:
    return Number(
        f"{joint}.{number}",
        0.0,
        scale,
        unit,
        (Slot(number, joint),),
        lower=0.0,
        upper=upper,
    )


def _size(joint: str, number: str, middle: float, unit: str) -> Number:
    return Number(
        f"{joint}.{number}",
        middle,
        _RATIO,
        unit,
        (Slot(number, joint),),
        is_log=True,
        lower=1e-3 * middle,
        upper=1e3 * middle,
    )


def _grid(
    first: tuple[float, ...], second: tuple[float, ...]
) -> tuple[tuple[float, float], ...]:
    return tuple((a, b) for a in first for b in second)
