"""Where two files of the same robot say different things about the same name."""

from collections.abc import Callable, Mapping

import mujoco

from realworthy.twins.inspection.findings import Finding, group
from realworthy.twins.inspection.tables import (
    ActuatorRow,
    BodyRow,
    JointRow,
    read_actuators,
    read_bodies,
    read_joints,
)

_TOLERANCE = 0.01
_SMALLEST = 1e-4  # a difference below this (rad, N·m, …) is rounding

_JOINT_NUMBERS: dict[str, Callable[[JointRow], float]] = {
    "lower bound": lambda row: row.range[0] if row.range else float("-inf"),
    "upper bound": lambda row: row.range[1] if row.range else float("inf"),
    "damping": lambda row: row.damping,
    "frictionloss": lambda row: row.frictionloss,
    "armature": lambda row: row.armature,
    "force limit": lambda row: (
        float("inf") if row.force_limit is None else row.force_limit
    ),
}
_BODY_NUMBERS: dict[str, Callable[[BodyRow], float]] = {"mass": lambda row: row.mass}
_ACTUATOR_NUMBERS: dict[str, Callable[[ActuatorRow], float]] = {
    "kp": lambda row: row.kp or 0.0,
    "kd": lambda row: row.kd or 0.0,
}


def check_others(
    model: mujoco.MjModel, others: Mapping[str, mujoco.MjModel]
) -> list[Finding]:
    """Findings for every number that differs by over 1 % between files."""
    findings: list[Finding] = []
    joints, bodies = read_joints(model), read_bodies(model)
    actuators = {row.name: row for row in read_actuators(model)}
    for title, other in others.items():
        other_joints = read_joints(other)
        mine = {row.name: row for row in joints if row.type != "free"}
        theirs = {row.name: row for row in other_joints if row.type != "free"}
        findings += _check_missing(title, mine.keys(), theirs.keys())
        findings += _compare(title, mine, theirs, _JOINT_NUMBERS)
        mine_bodies = {row.name: row for row in bodies}
        their_bodies = {row.name: row for row in read_bodies(other)}
        findings += _compare(title, mine_bodies, their_bodies, _BODY_NUMBERS)
        their_actuators = {row.name: row for row in read_actuators(other)}
        findings += _compare(title, actuators, their_actuators, _ACTUATOR_NUMBERS)
    return findings


def _compare[Row](
    title: str,
    mine: Mapping[str, Row],
    theirs: Mapping[str, Row],
    numbers: Mapping[str, Callable[[Row], float]],
) -> list[Finding]:
    findings: list[Finding] = []
    for quantity, read in numbers.items():
        details: dict[str, str] = {}
        for name in mine.keys() & theirs.keys():
            here, there = read(mine[name]), read(theirs[name])
            if _differ(here, there):
                details[name] = f"{here:.4g} here, {there:.4g} there"
        findings += group(
            "contradiction",
            "warning",
            details,
            f"{quantity} differs from '{title}'",
            hint="Find out which file is right and correct the other.",
        )
    return findings


def _differ(here: float, there: float) -> bool:
    if here == there:
        return False
    return abs(here - there) > max(_SMALLEST, _TOLERANCE * max(abs(here), abs(there)))
