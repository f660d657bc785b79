"""What other trainers write into an `.onnx`, and which joints of a twin they mean."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from realworthy.policies import Contract
from realworthy.policies.contract import NormaliserRecord
from realworthy.policies.onnx_file import Graph
from realworthy.policies.runner import Ports

_ROUNDED = re.compile(r"-?\d+\.\d{3}")
_HALF = 0.5e-3
"""Largest error of a number with three decimals."""
_HISTORIES = ("observation_terms_history_length", "observation_history_lengths")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExporterNotes:
    """Metadata of an exporter, as lists; empty where there is none."""

    joints: tuple[str, ...]
    stiffness: tuple[float, ...]
    """[N·m/rad] of driven joints, in the order of the joints."""
    damping: tuple[float, ...]
    """[N·m·s/rad]"""
    default: tuple[float, ...]
    """[rad] of the joints."""
    action_scale: tuple[float, ...]
    """One for all, or one for each action."""
    terms: tuple[str, ...]
    scales: tuple[tuple[float, ...], ...]
    """Of each term: one, or one for each of its numbers."""
    clips: tuple[tuple[float, ...], ...]
    """Least and most of each term, before its scale."""
    histories: tuple[int, ...]
    """Of each term; 0 or 1: only the present."""
    commands: tuple[str, ...]
    period: float | None
    """[s]"""
    substeps: int | None
    rounding: Mapping[str, float]
    """Key → largest relative error that its three decimals may hide."""


@dataclass(slots=True)
class Notes:
    """Sentences about keys, as (key, sentence)."""

    known: list[tuple[str, str]] = field(default_factory=list)
    assumed: list[tuple[str, str]] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)

    def know(self, key: str, about: str) -> None:
        self.known.append((key, about))

    def assume(self, key: str, about: str) -> None:
        self.assumed.append((key, about))

    def miss(self, key: str, about: str) -> None:
        self.missing.append((key, about))


def read_notes(metadata: Mapping[str, str]) -> ExporterNotes | None:
    """The notes of a manager-based exporter; None: there are none."""
    if "joint_names" not in metadata or "observation_names" not in metadata:
        return None
    numbers = {
        key: _split_numbers(metadata.get(key, ""))
        for key in (
            *("joint_stiffness", "joint_damping", "default_joint_pos", "action_scale"),
            *("control_dt", "decimation"),
        )
    }
    history = next((metadata[key] for key in _HISTORIES if key in metadata), "")
    return ExporterNotes(
        joints=_split(metadata["joint_names"]),
        stiffness=numbers["joint_stiffness"],
        damping=numbers["joint_damping"],
        default=numbers["default_joint_pos"],
        action_scale=numbers["action_scale"],
        terms=_split(metadata["observation_names"]),
        scales=_split_lists(metadata.get("observation_terms_scale", "")),
        clips=_split_lists(metadata.get("observation_terms_clip", "")),
        histories=tuple(int(n) for n in _split_numbers(history)),
        commands=_split(metadata.get("command_names", "")),
        period=next(iter(numbers["control_dt"]), None),
        substeps=next((int(n) for n in numbers["decimation"]), None),
        rounding=_find_rounding(metadata, numbers),
    )


def find_normaliser(graph: Graph, ports: Ports) -> NormaliserRecord | None:
    """(x − mean) / sd where a graph begins with it, as rsl_rl's do; None: it does not.

    A normaliser that stays outside the graph, as Stable-Baselines3's does, is not seen.
    """
    name, mean, width = ports.observation.name, None, ports.observation.shape[1]
    assert width is not None
    constants = graph.constants | {
        node.outputs[0]: np.asarray(node.attributes["value"])
        for node in graph.nodes
        if node.kind == "Constant" and "value" in node.attributes
    }
    for node in graph.nodes:
        if name not in node.inputs:
            continue
        if node.kind in ("Identity", "Cast", "Flatten"):
            name = node.outputs[0]
            continue
        constant = constants.get(node.inputs[-1])
        if (
            constant is None
            or node.inputs[0] != name
            or constant.size not in (1, width)
        ):
            return None
        values = np.broadcast_to(constant.ravel(), (width,)).astype(np.float64)
        if node.kind == "Sub" and mean is None:
            mean, name = values, node.outputs[0]
        elif node.kind == "Div" and mean is not None and (values > 0).all():
            return NormaliserRecord(
                mean=tuple(mean.tolist()), sd=tuple(values.tolist())
            )
        else:
            return None
    return None


def _find_rounding(
    metadata: Mapping[str, str], numbers: Mapping[str, tuple[float, ...]]
) -> dict[str, float]:
    found = {}
    for key, values in numbers.items():
        parts = [part for part in _split(metadata.get(key, "")) if part]
        sizes = [abs(value) for value in values if value]
        if parts and sizes and all(_ROUNDED.fullmatch(part) for part in parts):
            found[key] = _HALF / min(sizes)
    return found


def _split(text: str) -> tuple[str, ...]:
    """Words between commas; brackets and quotes of a printed list are dropped."""
    return tuple(word for raw in text.split(",") if (word := raw.strip(" []'\"()")))


def _split_numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in _split(text))
    except ValueError:
        return ()


def _split_lists(text: str) -> tuple[tuple[float, ...], ...]:
    return tuple(_split_numbers(part.replace(";", ",")) for part in _split(text))


def match_joints(
    joints: Sequence[str], notes: Notes, expected: Contract | None
) -> dict[str, str]:
    """The twin's joints by the file's, as far as they are found."""
    if expected is None:
        notes.assume("joints", "The twin's names are taken to be the file's.")
        return {joint: joint for joint in joints}
    plain = {_strip(joint): joint for joint in expected.joints}
    found = {}
    for joint in joints:
        if joint in expected.joints:
            found[joint] = joint
        elif _strip(joint) in plain:
            found[joint] = plain[_strip(joint)]
    if renamed := [f"{a} → {b}" for a, b in found.items() if a != b]:
        notes.assume(
            "joints", f"Names of the twin for the file's: {', '.join(renamed)}."
        )
    if lost := [joint for joint in joints if joint not in found]:
        notes.miss(
            "joints",
            f"The task has no joint {', '.join(map(repr, lost))}; it has"
            f" {', '.join(expected.joints)}. Say which is which, in the file's order.",
        )
    return found


def _strip(joint: str) -> str:
    return joint.lower().rpartition("/")[2].removesuffix("_joint").strip("_")


def find_driven(
    said: ExporterNotes,
    names: Mapping[str, str],
    ports: Ports,
    notes: Notes,
    expected: Contract | None,
) -> dict[str, str]:
    """The file's joints that an action moves → owners of their commands, in order."""
    count = ports.action.shape[1]
    if expected is None:
        owners = {joint: joint for joint in said.joints}
    else:
        known = expected.command_owners
        owners = {joint: name for joint, name in names.items() if name in known}
    if len(owners) == count:
        return owners
    notes.miss(
        "action",
        f"The graph gives {count} actions, and of {len(said.joints)} joints in the file"
        f" {len(owners)} are driven for certain: state which command each action is.",
    )
    notes.miss("gains", "Say kp and kd of each drive.")
    notes.miss("command_kind", "Say what commands are: position, velocity, torque.")
    return {}
