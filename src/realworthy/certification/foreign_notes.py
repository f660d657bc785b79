"""What other trainers write into an `.onnx`, and what is noted about it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from realworthy.policies.contract import NormaliserRecord
from realworthy.policies.onnx_file import Graph
from realworthy.policies.runner import Ports

_ROUNDED = re.compile(r"-?\d+\.\d{3}")
_HALF = 0.5e-3
"""Largest error of a number with three decimals."""
_HISTORIES = ("observation_terms_history_length", "observation_history_lengths")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExporterNotes:
    """Metadata of an exporter, as lists; empty where it says nothing."""

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
