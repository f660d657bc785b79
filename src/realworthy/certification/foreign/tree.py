"""From an exporter's notes and a task's own contract to the tree of a contract."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from realworthy.certification.foreign.exporter_metadata import (
    ExporterNotes,
    Notes,
    find_driven,
    match_joints,
)
from realworthy.certification.foreign.terms import draft_terms
from realworthy.policies import Contract
from realworthy.policies.contract import SCHEMA
from realworthy.policies.runner import Ports

_NO_CLIP = 100.0
"""Of actions that nobody clips: larger than any."""
_UNSAID = {
    "joints": "List the joints that it reads or moves: [hip, knee].",
    "command_kind": "Say what commands are: position, velocity, torque or voltage.",
    "gains": "Say what drives use for positions: {hip: {kp: 20, kd: 0.5}}; else {}.",
    "inputs": "State its commands: {command.forward: {lower: -1, upper: 1, default: 0,"
    " unit: m/s}}; or {}.",
    "conventions": "Say {quaternion: wxyz, gyro_frame: base, gravity: down,"
    " action_feedback: raw}, or used where last actions are those after clip.",
}
"""Keys that a file without metadata lacks → what to fill in."""
_FROM_TASK = {
    "twin": "Say which twin it is to run on: {name: leg, reference: leg.xml}.",
    "period": "Say how many seconds lie between two actions.",
    "substeps": "Say how many physics steps one action lasted in training.",
    "limits": "Say what training assumed: {knee: {lower: -1, upper: 2, effort: 23}}.",
    "delays": "Say least and most [s]: {observation: [0, 0], action: [0, 0.02]}.",
}
"""Keys that no exporter writes → what to fill in without a task."""


def draft_tree(
    path: Path, ports: Ports, said: ExporterNotes | None, expected: Contract | None
) -> tuple[dict[str, object], Notes]:
    """Keys and values of a contract as far as they can be told, and notes on them."""
    tree: dict[str, object] = {"schema": SCHEMA}
    notes = Notes()
    tree["task"] = path.stem if expected is None else expected.task
    notes.assume("task", "The file does not say what it learned.")
    if said is None:
        _take_from_task(tree, notes, ports, expected)
    else:
        _take_from_notes(tree, notes, ports, said, expected)
    for key, wanted in _FROM_TASK.items():
        if key in tree:
            continue
        if expected is None:
            notes.miss(key, wanted)
        else:
            tree[key] = msgspec.to_builtins(getattr(expected, key))
            notes.assume(key, f"Taken from task '{expected.task}'.")
    tree["history_layout"] = "term_major_oldest_first"
    notes.assume("history_layout", "Term after term, the oldest value of each first.")
    return tree, notes


def _take_from_task(
    tree: dict[str, object], notes: Notes, ports: Ports, expected: Contract | None
) -> None:
    """Where a file has shapes only: all of the task's, if the widths are alike."""
    seen, acts = ports.observation.shape[1], ports.action.shape[1]
    for key, width, what in (
        ("terms", seen, "numbers in an observation"),
        ("action", acts, "actions"),
    ):
        if expected is None:
            notes.miss(key, f"The file states only that there are {width} {what}.")
            continue
        wanted = expected.width if key == "terms" else expected.action.width
        parts = [f"{t.name} {t.width * t.history}" for t in expected.terms]
        has = f" ({' + '.join(parts)})" if key == "terms" else ""
        if width != wanted:
            notes.miss(
                key,
                f"The file has {width} {what}; policies of task '{expected.task}' have"
                f" {wanted}{has}. Say what they are.",
            )
            continue
        tree[key] = msgspec.to_builtins(getattr(expected, key))
        notes.assume(key, f"Taken from the task: {width} {what} there as here{has}.")
    for key, wanted in _UNSAID.items():
        if expected is None:
            notes.miss(key, wanted)
        else:
            tree[key] = msgspec.to_builtins(getattr(expected, key))
            notes.assume(key, f"Taken from task '{expected.task}'.")
    if expected is not None and expected.resting and "action" in tree:
        tree["resting"] = dict(expected.resting)
        notes.assume("resting", f"Taken from task '{expected.task}'.")


def _take_from_notes(
    tree: dict[str, object],
    notes: Notes,
    ports: Ports,
    said: ExporterNotes,
    expected: Contract | None,
) -> None:
    """Where a file has names: what it says, in the twin's names."""
    names = match_joints(said.joints, notes, expected)
    driven = find_driven(said, names, ports, notes, expected)
    if len(names) == len(said.joints):
        tree["joints"] = [names[joint] for joint in said.joints]
        notes.know("joints", f"{len(names)} joints are named.")
    commands = [f"{owner}.command" for owner in driven.values()]
    if driven:
        _draft_action(tree, notes, said, driven, commands)
        _draft_gains(tree, notes, said, driven)
    if len(names) == len(said.joints) and commands:
        width = cast(int, ports.observation.shape[1])
        draft = draft_terms(
            said, width=width, names=names, commands=commands, expected=expected
        )
        tree["terms"] = [msgspec.to_builtins(term) for term in draft.known]
        tree["inputs"] = msgspec.to_builtins(draft.inputs)
        notes.know("terms", f"{len(draft.known)} of {len(said.terms)} are understood.")
        for about in draft.assumed:
            notes.assume("terms", about)
        for about in draft.missing:
            notes.miss("terms", about)
    else:
        notes.miss("terms", f"In this order: {', '.join(said.terms)}.")
    tree["conventions"] = {
        "quaternion": "wxyz",
        "gyro_frame": "base",
        "gravity": "down",
        "action_feedback": "raw",
    }
    notes.assume(
        "conventions", "Those of mjlab and Isaac Lab; actions are fed back raw."
    )
    if said.period is not None:
        tree["period"] = said.period
        notes.know("period", f"{said.period:g} s.")
    if said.substeps is not None:
        tree["substeps"] = said.substeps
        notes.know("substeps", f"{said.substeps}.")


def _draft_action(
    tree: dict[str, object],
    notes: Notes,
    said: ExporterNotes,
    driven: Mapping[str, str],
    commands: Sequence[str],
) -> None:
    count = len(commands)
    scale = (
        said.action_scale * count if len(said.action_scale) == 1 else said.action_scale
    )
    places = [said.joints.index(joint) for joint in driven]
    if len(said.default) != len(said.joints) or len(scale) != count:
        notes.miss(
            "action",
            f"The file has {len(said.default)} default positions and {len(scale)}"
            f" action scales for {count} actions: say offset and scale of each.",
        )
        return
    tree["action"] = {
        "commands": list(commands),
        "offset": [said.default[i] for i in places],
        "scale": list(scale),
        "clip": _NO_CLIP,
    }
    notes.know("action", "command = default_joint_pos + action_scale · action.")
    notes.assume(
        "action", f"The file names no clip of actions; ± {_NO_CLIP:g} is none."
    )
    for key in ("default_joint_pos", "action_scale"):
        _note_rounding("action", key, said, notes)


def _draft_gains(
    tree: dict[str, object],
    notes: Notes,
    said: ExporterNotes,
    driven: Mapping[str, str],
) -> None:
    count = len(driven)
    tree["command_kind"] = "position"
    notes.know("command_kind", "Stiffness is stated, so commands are positions.")
    if len(said.joints) == len(said.stiffness) != count:
        places = [said.joints.index(joint) for joint in driven]
    else:
        places = list(range(count))
    if not count <= min(len(said.stiffness), len(said.damping)):
        notes.miss(
            "gains",
            f"The file has {len(said.stiffness)} stiffnesses and {len(said.damping)}"
            f" dampings for {count} drives: say kp and kd of each.",
        )
        return
    tree["gains"] = {
        owner: {"kp": said.stiffness[i], "kd": said.damping[i]}
        for owner, i in zip(driven.values(), places, strict=True)
    }
    notes.know("gains", f"joint_stiffness and joint_damping of {count} drives.")
    for key in ("joint_stiffness", "joint_damping"):
        _note_rounding("gains", key, said, notes)


def _note_rounding(key: str, name: str, said: ExporterNotes, notes: Notes) -> None:
    if name in said.rounding:
        notes.assume(
            key,
            f"{name} is rounded to three decimals: its smallest may be off by up to"
            f" {100 * said.rounding[name]:.2g} %.",
        )
