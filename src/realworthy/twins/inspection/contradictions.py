"""Where two files of the same robot say different things about the same name."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import mujoco

from realworthy.twins.inspection.findings import ModelFinding, group
from realworthy.twins.inspection.tables import (
    ActuatorRow,
    BodyRow,
    JointRow,
    read_actuators,
    read_bodies,
    read_joints,
)

Row = TypeVar("Row")
Value = float | str | None
_TOLERANCE = 0.01


@dataclass(frozen=True)  # slots and Generic do not mix on Python 3.11
class _Quantity(Generic[Row]):
    """A number or word of a row; numbers may differ by 1 % or by `rounding`."""

    name: str
    read: Callable[[Row], Value]
    rounding: float = 1e-9
    none_differs: bool = True
    """Whether None in one file (no limit, no such gain) contradicts a number."""

    def differs(self, here: Value, there: Value) -> bool:
        if here is None or there is None:
            return self.none_differs and here is not there
        if isinstance(here, str) or isinstance(there, str):
            return here != there
        allowed = max(self.rounding, _TOLERANCE * max(abs(here), abs(there)))
        return not math.isclose(here, there, rel_tol=0.0, abs_tol=allowed)


_OF_JOINTS = (
    _Quantity[JointRow]("lower bound", lambda row: row.range and row.range[0], 1e-3),
    _Quantity[JointRow]("upper bound", lambda row: row.range and row.range[1], 1e-3),
    _Quantity[JointRow]("damping", lambda row: row.damping),
    _Quantity[JointRow]("frictionloss", lambda row: row.frictionloss),
    _Quantity[JointRow]("armature", lambda row: row.armature),
    _Quantity[JointRow]("force limit", lambda row: row.force_limit),
)
_OF_BODIES = (_Quantity[BodyRow]("mass", lambda row: row.mass),)
_OF_ACTUATORS = (
    _Quantity[ActuatorRow]("kind", lambda row: row.kind),
    _Quantity[ActuatorRow]("kp", lambda row: row.kp, none_differs=False),
    _Quantity[ActuatorRow]("kd", lambda row: row.kd, none_differs=False),
)


def inspect_others(
    model: mujoco.MjModel, others: Mapping[str, mujoco.MjModel]
) -> list[ModelFinding]:
    """Findings for every number that differs between `model` and another file."""
    joints = _joints(model)
    bodies = {row.name: row for row in read_bodies(model)}
    actuators = {row.name: row for row in read_actuators(model)}
    findings: list[ModelFinding] = []
    for title, other in others.items():
        their_joints = _joints(other)
        their_bodies = {row.name: row for row in read_bodies(other)}
        their_actuators = {row.name: row for row in read_actuators(other)}
        findings += _inspect_missing(title, joints, their_joints)
        findings += _compare(title, joints, their_joints, _OF_JOINTS)
        findings += _compare(title, bodies, their_bodies, _OF_BODIES)
        findings += _compare(title, actuators, their_actuators, _OF_ACTUATORS)
    return findings


def _joints(model: mujoco.MjModel) -> dict[str, JointRow]:
    return {row.name: row for row in read_joints(model) if row.type != "free"}


def _inspect_missing(
    title: str, mine: Mapping[str, JointRow], theirs: Mapping[str, JointRow]
) -> list[ModelFinding]:
    details = {name: "only here" for name in mine if name not in theirs}
    details |= {name: "only there" for name in theirs if name not in mine}
    return group(
        "joint_missing",
        "note",
        details,
        f"not in both this file and '{title}'",
        hint="Only joints of the same name are compared.",
    )


def _compare(
    title: str,
    mine: Mapping[str, Row],
    theirs: Mapping[str, Row],
    quantities: tuple[_Quantity[Row], ...],
) -> list[ModelFinding]:
    findings: list[ModelFinding] = []
    for quantity in quantities:
        details: dict[str, str] = {}
        for name in (name for name in mine if name in theirs):
            here, there = quantity.read(mine[name]), quantity.read(theirs[name])
            if quantity.differs(here, there):
                details[name] = f"{_show(here)} here, {_show(there)} there"
        findings += group(
            "contradiction",
            "warning",
            details,
            f"{quantity.name} differs from '{title}'",
            hint="Find out which file is right and correct the other.",
        )
    return findings


def _show(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).lower()
