"""Suspects between the robot and its log, tried by replay before physics is blamed."""

from collections.abc import Mapping
from itertools import combinations
from math import log, pi

import numpy as np

from realworthy.diagnosis.diagnosis import CauseKind
from realworthy.diagnosis.edits import (
    Exchange,
    FlipSign,
    HoldCommands,
    IntegrateCommands,
    Part,
)
from realworthy.diagnosis.scales import Scale
from realworthy.diagnosis.suspects import Number, Slot, Suspect
from realworthy.twins import Twin
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout

_INTERFACE = CauseKind.INTERFACE
_RATES = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 100.0, 125.0, 200.0)
_UNITS = (180 / pi, 2 * pi, 1000.0)
"""Degrees, turns, thousandths."""
_RATIO = 0.1
"""Change of a scale's logarithm that is worth a look."""
_OFFSET = 0.05
"""[rad] of an encoder or a pose that is worth a look."""


def list_edits(
    twin: Twin, layout: Layout, joints: tuple[str, ...], rate: float
) -> list[Suspect]:
    """Signs, orders, rates and kinds of commands: things that are so or not so."""
    found = []
    lines = {x.joint: x for x in describe_commands(layout.bound) if x.joint}
    for joint in joints:
        for part in Part if joint in lines else (Part.BOTH,):
            edit = FlipSign(joint, part)
            found.append(Suspect("joint_sign", _INTERFACE, (joint,), edits=(edit,)))
    for first, second in combinations(joints, 2):
        if not _alike(layout, first, second):
            continue
        edit = Exchange(first, second)
        found.append(Suspect("joint_order", _INTERFACE, (first, second), edits=(edit,)))
    for slower in _RATES:
        if slower < 0.9 * rate:
            edit = HoldCommands(slower)
            found.append(Suspect("rate", _INTERFACE, (), edits=(edit,)))
    kinds = {line.kind for line in lines.values()}
    if kinds == {"position"}:
        low = tuple((j, line.lower) for j, line in lines.items())
        high = tuple((j, line.upper) for j, line in lines.items())
        edit = IntegrateCommands(low, high)
        found.append(Suspect("command_kind", _INTERFACE, (), edits=(edit,)))
    return found


def list_offsets(
    twin: Twin, layout: Layout, scales: Mapping[str, Scale]
) -> list[Suspect]:
    """Encoders with another zero or unit, and poses that robots add to commands."""
    found = []
    names = {p.name for p in twin.space if p.kind == "sensor_bias"}
    ranges = layout.joint_ranges()
    lines = {x.joint: x for x in describe_commands(layout.bound) if x.joint}
    for joint in scales:
        name = f"{joint}.position.sensor_bias"
        if name in names:
            number = Number(name, 0.0, _OFFSET, "rad", (name,))
            found.append(
                Suspect(
                    "encoder_offset",
                    _INTERFACE,
                    (joint,),
                    (number,),
                    ((-1.0,), (1.0,)),
                    (0,),
                )
            )
        found += _scale(joint, twin, is_bounded=bool(np.isfinite(ranges[joint][1])))
        if joint in lines and lines[joint].kind == "position":
            slot = Slot("default_pose.offset", joint)
            number = Number(f"{joint}.default_pose", 0.0, _OFFSET, "rad", (slot,))
            found.append(
                Suspect(
                    "default_pose",
                    _INTERFACE,
                    (joint,),
                    (number,),
                    ((-1.0,), (1.0,)),
                    (0,),
                )
            )
    return found


def _scale(joint: str, twin: Twin, *, is_bounded: bool) -> list[Suspect]:
    """Angles and speeds in another unit, or through another ratio.

    Turns and thousandths of a joint that has ends are seen in the log itself.
    """
    names = [f"{joint}.{part}.sensor_scale" for part in ("position", "velocity")]
    known = tuple(name for name in names if name in twin.space.names)
    if not known:
        return []
    number = Number(
        f"{joint}.unit_scale",
        1.0,
        _RATIO,
        "1",
        known,
        is_log=True,
        lower=1e-5,
        upper=1e5,
    )
    tried = _UNITS[:1] if is_bounded else _UNITS
    units = [side * log(unit) / _RATIO for unit in tried for side in (-1, 1)]
    looks = tuple((x,) for x in (-1.0, 1.0, *units))
    return [Suspect("unit_scale", _INTERFACE, (joint,), (number,), looks)]


def _alike(layout: Layout, first: str, second: str) -> bool:
    """Whether two joints could be taken for each other: both turn, or both slide."""
    model = layout.bound.model
    kinds = [int(np.asarray(model.joint(name).type).item()) for name in (first, second)]
    return kinds[0] == kinds[1]
