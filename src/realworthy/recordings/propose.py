"""A mapping proposed for a foreign table: from names of columns, ranges and motion.

What names do not say, numbers do: positions in degrees leave the ranges of the joints,
a velocity is the derivative of its position, a clock runs forward. Every choice comes
with its reason, so that a reader can correct it before anything is built on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from realworthy.errors import BadRecording
from realworthy.recordings.column_names import (
    ColumnName,
    find_other_words,
    read_column,
)
from realworthy.recordings.column_units import UNITS
from realworthy.recordings.patterns import PLACE, STAR
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import CommandKind, Sidecar, SignalSource
from realworthy.recordings.signals import Table, Values
from realworthy.recordings.units import MIN_CORRELATION, compute_ratio

_RANGE_SLACK = 0.1
"""Share of a joint's range by which a position may leave it: encoders have offsets."""
_MAX_RADIANS, _MAX_DEGREES = 2.2 * np.pi, 800.0
"""[rad], [deg] of joints without limits: a turn each way, and a few."""
_SPEEDS = (("rad/s", 1.0), ("deg/s", 180 / np.pi), ("rpm", 30 / np.pi))
_SPEED_TOLERANCE = 0.12
"""Relative distance at which ∫velocity over Δposition counts as one of these; gears
and filters move it."""
_MAX_AMPERES = 50.0
"""[A] above which currents of a joint are taken for mA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFacts:
    """What a twin says of a joint, as far as a mapping needs it."""

    joint: str
    lower: float
    upper: float
    """[rad or m]; ±inf where there is no limit."""
    slides: bool
    command: str
    """Signal of its command; empty where nothing drives it."""
    command_kind: CommandKind | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProposal:
    """What one column is taken for, and why."""

    column: str
    signal: str
    """Empty: kept as it is."""
    unit: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingProposal:
    """A sidecar to convert with, and the reasons for it."""

    sidecar: Sidecar
    columns: tuple[ColumnProposal, ...]
    doubts: tuple[str, ...]
    """What should be looked at before anything is built on it."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Columns of one quantity, by joint."""

    signal: str
    """position, velocity, torque, current or command."""
    names: dict[str, ColumnName]
    unit: str
    reason: str
    offset: float = 0.0


def propose_mapping(table: Table, joints: Sequence[JointFacts]) -> MappingProposal:
    """The mapping of a table's columns to a twin's signals.

    Raises where no column can be a position of a joint.
    """
    facts = {fact.joint: fact for fact in joints}
    names = {c: read_column(c, tuple(facts)) for c in table}
    clock, clock_unit, clock_reason = _find_clock(table, names)
    doubts: list[str] = []
    moving = [n for c, n in names.items() if c != clock and _is_signal(table[c])]
    groups = _group(moving, table, joints, doubts)
    if "position" not in groups:
        listed = ", ".join(list(table)[:12]) + (" …" if len(table) > 12 else "")
        raise BadRecording(
            f"No column looks like a position of a joint: {listed}.",
            hint="Columns called q_0, joint1_pos or pos_elbow are recognised. Write a "
            "mapping by hand: docs/recordings.md, The sidecar.",
        )
    groups = _settle_units(groups, table, facts, clock, clock_unit, doubts)
    kind = _find_command_kind(groups, table, facts, doubts)
    proposed = [
        ColumnProposal(
            column=clock, signal="time", unit=clock_unit, reason=clock_reason
        )
    ]
    for group in groups.values():
        for joint, name in group.names.items():
            signal = _name_signal(group.signal, facts[joint])
            proposed.append(
                ColumnProposal(
                    column=name.column,
                    signal=signal,
                    unit=group.unit,
                    reason=group.reason,
                )
            )
    used = {one.column for one in proposed}
    proposed += [
        ColumnProposal(column=c, signal="", unit="", reason="")
        for c in table
        if c not in used
    ]
    sidecar = Sidecar(
        command_kind=kind,
        joints=_list_joints(groups),
        mapping=_write_mapping(clock, clock_unit, groups, facts),
    )
    return MappingProposal(
        sidecar=sidecar, columns=tuple(proposed), doubts=tuple(doubts)
    )


def _find_clock(table: Table, names: dict[str, ColumnName]) -> tuple[str, str, str]:
    """Column, unit and reason of the clock."""
    running = [c for c, values in table.items() if _is_running(values)]
    named = [c for c in running if names[c].is_clock]
    if not (named or running):
        raise BadRecording(
            "No column runs forward from row to row, as a clock does.",
            hint="Add one, in seconds, called time.",
        )
    clock = (named or running)[0]
    step = float(np.median(np.diff(table[clock])))
    unit = names[clock].unit if names[clock].unit in ("s", "ms", "us", "ns") else ""
    if unit:
        return clock, unit, f"its name; rows are {step:.4g} {unit} apart"
    unit = next(u for u, most in _CLOCK_STEPS if step < most)
    return clock, unit, f"it runs forward in steps of {step:.4g}"


_CLOCK_STEPS = (("s", 0.9), ("ms", 900.0), ("us", 9e5), ("ns", np.inf))
"""Units by the size of a clock's steps: of robots that log at 1.1 Hz to 2 kHz."""


def _is_running(values: Values) -> bool:
    return bool(np.isfinite(values).all() and (np.diff(values) > 0).all())


def _is_signal(values: Values) -> bool:
    return bool(np.isfinite(values).all())


def _group(
    names: Sequence[ColumnName],
    table: Table,
    joints: Sequence[JointFacts],
    doubts: list[str],
) -> dict[str, _Group]:
    """Columns by what they measure, each with its joint."""
    by_signal: dict[str, list[ColumnName]] = {}
    for name in names:
        signal = "command" if name.is_command else name.quantity
        if signal:
            by_signal.setdefault(signal, []).append(name)
    _settle_desired(by_signal, table)
    found = {}
    for signal, members in by_signal.items():
        owned = _assign(members, joints, doubts)
        if owned:
            units = {name.unit for name in owned.values()}
            unit = units.pop() if len(units) == 1 else ""
            reason = "names of the columns" if unit else ""
            found[signal] = _Group(signal, owned, unit, reason)
    return found


def _settle_desired(by_signal: dict[str, list[ColumnName]], table: Table) -> None:
    """`qd` is a goal where it stays near the positions, else a velocity."""
    speeds = by_signal.get("velocity", [])
    doubtful = [name for name in speeds if name.is_ambiguous]
    positions = by_signal.get("position", [])
    if not doubtful or len(doubtful) != len(positions) or "command" in by_signal:
        return
    pairs = zip(doubtful, positions, strict=True)
    if all(_is_near(table[a.column], table[b.column]) for a, b in pairs):
        by_signal["command"] = [replace(n, is_command=True) for n in doubtful]
        rest = [name for name in speeds if not name.is_ambiguous]
        if rest:
            by_signal["velocity"] = rest
        else:
            del by_signal["velocity"]


def _is_near(goal: Values, position: Values) -> bool:
    """Whether one follows the other at its own size."""
    spread = max(float(position.std()), 1e-9)
    return float(np.sqrt(np.mean((goal - position) ** 2))) < spread


def _assign(
    members: Sequence[ColumnName], joints: Sequence[JointFacts], doubts: list[str]
) -> dict[str, ColumnName]:
    """Joint → column: by name, by number, or in the order of the columns."""
    found = {name.joint: name for name in reversed(members) if name.joint}
    rest = [name for name in members if not name.joint]
    driven = [fact.joint for fact in joints if fact.command] or [
        fact.joint for fact in joints
    ]
    free = [joint for joint in driven if joint not in found]
    numbered = sorted(
        (name for name in rest if name.number is not None),
        key=lambda name: name.number or 0,
    )
    if not found and numbered:
        first = numbered[0].number or 0
        last = (numbered[-1].number or 0) - first
        if last < len(driven):
            places = {driven[(n.number or 0) - first]: n for n in reversed(numbered)}
            return {joint: places[joint] for joint in driven if joint in places}
        doubts.append(
            f"{numbered[0].column} … {numbered[-1].column} are more than the "
            f"{len(driven)} joints that are driven; the first are taken."
        )
        return dict(zip(driven, numbered, strict=False))
    if rest and len(rest) <= len(free) and (not found or len(rest) == len(free)):
        labels = [find_other_words(name) or name.column for name in rest]
        if len(free) > 1:
            pairs = ", ".join(
                f"{label} → {joint}" for label, joint in zip(labels, free, strict=False)
            )
            doubts.append(f"Joints by the order of the columns: {pairs}.")
        found |= dict(zip(free, rest, strict=False))
    return {fact.joint: found[fact.joint] for fact in joints if fact.joint in found}


def _settle_units(
    groups: dict[str, _Group],
    table: Table,
    facts: dict[str, JointFacts],
    clock: str,
    clock_unit: str,
    doubts: list[str],
) -> dict[str, _Group]:
    """Every group with a unit, by its name, the joints' ranges or the motion."""
    settled = dict(groups)
    position = settled["position"] = _settle_angle(
        groups["position"], table, facts, doubts
    )
    if "command" in groups:
        settled["command"] = _settle_command(
            groups["command"], position, table, facts, doubts
        )
    if "velocity" in groups and not groups["velocity"].unit.endswith("/s"):
        time = table[clock] * UNITS[clock_unit][1]
        settled["velocity"] = _settle_speed(
            groups["velocity"], position, table, time, doubts
        )
    if "torque" in groups and not groups["torque"].unit:
        settled["torque"] = replace(
            groups["torque"], unit="Nm", reason="no unit in the names: SI"
        )
    if "current" in groups and not groups["current"].unit:
        values = [table[n.column] for n in groups["current"].names.values()]
        large = max(float(np.abs(v).max()) for v in values) > _MAX_AMPERES
        unit = "mA" if large else "A"
        settled["current"] = replace(
            groups["current"], unit=unit, reason="by the size of the numbers"
        )
    return settled


def _settle_angle(
    group: _Group, table: Table, facts: dict[str, JointFacts], doubts: list[str]
) -> _Group:
    """Degrees, radians or steps of an encoder, by the ranges of the joints."""
    if group.unit == "ticks":
        return _settle_ticks(group, table, doubts)
    if group.unit:
        return group
    own = {joint: table[name.column] for joint, name in group.names.items()}
    if any(facts[joint].slides for joint in own):
        doubts.append("Joints that slide are taken to be in the unit of the others.")
    for unit, most in (("rad", _MAX_RADIANS), ("deg", _MAX_DEGREES)):
        size = UNITS[unit][1]
        if all(_fits(v * size, facts[j], most * size) for j, v in own.items()):
            reason = "stays within the ranges of the joints, as "
            reason += "radians" if unit == "rad" else "degrees alone"
            return replace(group, unit=unit, reason=reason)
    if all(np.array_equal(v, np.round(v)) and np.ptp(v) > 10 for v in own.values()):
        return _settle_ticks(group, table, doubts)
    unit = "deg" if max(float(np.abs(v).max()) for v in own.values()) > 10 else "rad"
    doubts.append(
        f"{group.signal}: no unit keeps all joints within the twin's ranges; {unit} "
        "by their size. Is it the right twin, and are offsets missing?"
    )
    return replace(group, unit=unit, reason="by the size of the numbers")


def _settle_ticks(group: _Group, table: Table, doubts: list[str]) -> _Group:
    """Steps of an encoder: the least power of two that holds them, middle at zero."""
    most = max(float(np.abs(table[n.column]).max()) for n in group.names.values())
    lowest = min(float(table[n.column].min()) for n in group.names.values())
    count = 2 ** max(10, int(np.ceil(np.log2(max(most, 2.0)))))
    offset = -float(np.pi) if lowest >= 0 else 0.0
    doubts.append(
        f"{group.signal}: steps of an encoder, of which a turn is taken to have "
        f"{count}" + (", with zero in the middle." if offset else ".")
    )
    return replace(group, unit=f"ticks/{count}", reason="whole numbers", offset=offset)


def _fits(position: Values, fact: JointFacts, most: float) -> bool:
    """Whether a position stays where its joint can be."""
    if fact.slides:
        return True
    if not np.isfinite(fact.lower + fact.upper):
        return bool(np.abs(position).max() <= most)
    slack = _RANGE_SLACK * (fact.upper - fact.lower)
    low, high = float(position.min()), float(position.max())
    return fact.lower - slack <= low and high <= fact.upper + slack


def _settle_command(
    group: _Group,
    position: _Group,
    table: Table,
    facts: dict[str, JointFacts],
    doubts: list[str],
) -> _Group:
    """A goal of positions has their unit where it follows them."""
    if group.unit == "ticks":
        return replace(group, unit=position.unit, offset=position.offset)
    if group.unit:
        return group
    if _follows(group, position, table):
        return replace(
            group,
            unit=position.unit,
            reason="follows the positions",
            offset=position.offset,
        )
    kinds = {facts[joint].command_kind for joint in group.names}
    said = {name.quantity for name in group.names.values()}
    if kinds == {"position"} and said <= {"", "position"}:
        return _settle_angle(group, table, facts, doubts)
    return replace(group, reason="no unit in the names: SI")


def _follows(command: _Group, position: _Group, table: Table) -> bool:
    """Whether commands are goals of positions, in their very unit."""
    pairs = [
        (table[name.column], table[position.names[joint].column])
        for joint, name in command.names.items()
        if joint in position.names
    ]
    moved = [(a, b) for a, b in pairs if a.std() > 1e-9 and b.std() > 1e-9]
    return bool(moved) and sum(_is_near(a, b) for a, b in moved) > len(moved) / 2


def _settle_speed(
    group: _Group, position: _Group, table: Table, time: Values, doubts: list[str]
) -> _Group:
    """By the derivative of the positions."""
    factor = _compute_angle_factor(position.unit)
    ratios = []
    for joint, name in group.names.items():
        if joint not in position.names:
            continue
        signals = {
            "j.position": factor * table[position.names[joint].column],
            "j.velocity": table[name.column],
        }
        found = compute_ratio(Recording(time - time[0], signals), "j")
        if found and found[1] > MIN_CORRELATION:
            ratios.append(found[0])
    typical = float(np.median(ratios)) if ratios else np.nan
    for unit, size in _SPEEDS:
        if abs(typical / size - 1) < _SPEED_TOLERANCE:
            reason = f"{typical:.3g} × the derivative of the positions"
            return replace(group, unit=unit, reason=reason)
    unit = "deg/s" if position.unit == "deg" else "rad/s"
    doubts.append(f"velocity: its unit is taken to be {unit}, as positions are.")
    return replace(group, unit=unit, reason="as the positions")


def _compute_angle_factor(unit: str) -> float:
    if unit in UNITS:
        return UNITS[unit][1]
    return 2 * np.pi / float(unit.rpartition("/")[2])


def _find_command_kind(
    groups: dict[str, _Group],
    table: Table,
    facts: dict[str, JointFacts],
    doubts: list[str],
) -> CommandKind | None:
    """What commands are: by their names, by the positions they follow, or the twin."""
    driven = {fact.command_kind for fact in facts.values() if fact.command}
    if "command" not in groups and "torque" in groups and driven == {"torque"}:
        return "torque"  # what was measured drives the twin
    if "command" not in groups:
        doubts.append(
            "No column looks like a command: a twin can be compared only with what "
            "was sent. Log the goals, torques or voltages that went to the drives."
        )
        return None
    group = groups["command"]
    said = {name.quantity for name in group.names.values()} - {""}
    kinds: list[CommandKind | None] = [facts[j].command_kind for j in group.names]
    twins = max(set(kinds), key=kinds.count)
    if said & {"torque", "velocity"}:
        return "torque" if "torque" in said else "velocity"
    if _follows(group, groups["position"], table) and twins != "position":
        doubts.append(
            "Commands follow the positions, so they are goals of positions; the twin's "
            f"commands are of kind {twins}. Give it position drives: docs/twins.md."
        )
        return "position"
    return twins


def _name_signal(quantity: str, fact: JointFacts) -> str:
    if quantity == "command" and fact.command:
        return fact.command
    return f"{fact.joint}.{quantity}"


def _list_joints(groups: dict[str, _Group]) -> tuple[str, ...]:
    """Joints that patterns stand for, in the order by which they are counted."""
    for mark in (PLACE, STAR):
        marked = [
            list(group.names)
            for group in groups.values()
            if all(mark in name.template for name in group.names.values())
        ]
        if marked:
            return tuple(max(marked, key=len))
    return ()


def _write_mapping(
    clock: str,
    clock_unit: str,
    groups: dict[str, _Group],
    facts: dict[str, JointFacts],
) -> dict[str, SignalSource]:
    """One entry for all joints where their columns are alike, else one for each."""
    mapping: dict[str, SignalSource] = {}
    unit = None if clock_unit == "s" else clock_unit
    if clock != "time" or unit:
        mapping["time"] = SignalSource(source=clock, unit=unit)
    order = _list_joints(groups)
    for group in groups.values():
        entry = SignalSource(unit=_shorten(group.unit))
        if group.offset:  # else the key would stand in the file
            entry = msgspec.structs.replace(entry, offset=group.offset)
        signals = {j: _name_signal(group.signal, facts[j]) for j in group.names}
        plain = all(s == f"{j}.{group.signal}" for j, s in signals.items())
        template = _find_template(group, order) if plain else ""
        if template:
            source = None if template == f"{STAR}.{group.signal}" else template
            if source is None and entry == SignalSource():
                continue
            name = f"{STAR}.{group.signal}"
            mapping[name] = msgspec.structs.replace(entry, source=source)
            continue
        for joint, name in group.names.items():
            source = None if name.column == signals[joint] else name.column
            if source is None and entry == SignalSource():
                continue
            mapping[signals[joint]] = msgspec.structs.replace(entry, source=source)
    return mapping


def _find_template(group: _Group, order: Sequence[str]) -> str:
    """The pattern of which all columns of a group are; empty where there is none."""
    templates = {name.template for name in group.names.values()}
    template = templates.pop() if len(templates) == 1 else ""
    if template.count(STAR) + template.count(PLACE) != 1:
        return ""
    if PLACE in template:
        first = min(name.number or 0 for name in group.names.values())
        counted = {order.index(j) + first: n for j, n in group.names.items()}
        if any(name.number != place for place, name in counted.items()):
            return ""
    return template


def _shorten(unit: str) -> str | None:
    """None for SI units, which a mapping need not name."""
    return None if unit in ("", "rad", "rad/s", "Nm", "A", "m", "m/s") else unit
