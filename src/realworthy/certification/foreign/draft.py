"""Policies of other trainers: what their file says, what a task adds, what is missing.

mjlab and Isaac Lab write joint names, gains, the default pose and names of terms into
the file; rsl_rl's and Stable-Baselines3's own exporters write shapes only. `assist`
drafts the contract that must lie beside such a file, and says of every key whether it
was read, assumed from the task, or is missing. Nothing is guessed silently.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from realworthy.artefacts import dump_yaml, reading, writing
from realworthy.certification.foreign.exporter_metadata import (
    Notes,
    find_normaliser,
    read_notes,
)
from realworthy.certification.foreign.tree import draft_tree
from realworthy.errors import BadFile, RealworthyError
from realworthy.policies import Contract
from realworthy.policies.metadata import KEY, name_sidecar, read_metadata
from realworthy.policies.onnx_file import Graph, read_graph
from realworthy.policies.runner import Ports, Wiring, sort_ports


class Origin(StrEnum):
    """Who wrote a file, as far as it shows."""

    REALWORTHY = "Realworthy"
    MANAGER = "mjlab or Isaac Lab"
    """Metadata with names of joints and terms."""
    BARE = "a trainer that writes no metadata, such as rsl_rl or Stable-Baselines3"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractNote:
    """One sentence about one key of a contract."""

    key: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractDraft:
    """A contract as far as it can be told."""

    path: Path
    origin: Origin
    known: tuple[ContractNote, ...]
    """Read from the file."""
    assumed: tuple[ContractNote, ...]
    """Taken from the task, or by custom: to be looked at."""
    missing: tuple[ContractNote, ...]
    """To be filled in, by key."""
    contract: Contract | None
    """Whole; None where something is missing."""
    text: str
    """YAML, what was assumed and what is missing as comments."""

    def write(self) -> Path:
        """Writes `<name>.contract.yaml` beside the policy; never over another file."""
        sidecar = name_sidecar(self.path)
        with writing(sidecar) as temporary:
            temporary.write_text(self.text, encoding="utf-8")
        return sidecar


def assist(path: Path | str, expected: Contract | None = None) -> ContractDraft:
    """A draft of the contract of a foreign policy.

    `expected` is what the task's own policies have, `build_contract(worlds)`: it tells
    names of the twin, rates and limits, and whether widths are alike.
    """
    path = Path(path)
    return _draft(path, read_graph(path), expected)


def infer_contract(
    path: Path, graph: Graph, *, expected: Contract | None = None
) -> Contract:
    """For `load_policy(infer=…)`; raises with all that is missing.

    With a task: `functools.partial(infer_contract, expected=build_contract(worlds))`.
    """
    draft = _draft(path, graph, expected)
    if draft.contract is None:
        lines = "\n".join(f"  - {note.key}: {note.about}" for note in draft.missing)
        raise BadFile(
            path,
            f"it comes from {draft.origin}, and these are missing of its contract:\n"
            + lines,
            hint=f"Fill them in: assist(path).write() drafts {name_sidecar(path).name};"
            " docs/foreign_policies.md explains every key.",
        )
    return draft.contract


def _draft(path: Path, graph: Graph, expected: Contract | None) -> ContractDraft:
    if KEY in graph.metadata:
        contract = read_metadata(path, graph.metadata)
        tree, notes = msgspec.to_builtins(contract), Notes()
        notes.know("schema", "The contract is inside the file.")
        return _finish(path, Origin.REALWORTHY, tree, notes)
    ports = _sort(path, graph, None if expected is None else expected.action.width)
    with reading(path, "a policy whose metadata can be read"):
        said = read_notes(graph.metadata)
        tree, notes = draft_tree(path, ports, said, expected)
        normaliser = find_normaliser(graph, ports)
    if normaliser is not None:
        tree["normaliser"] = msgspec.to_builtins(normaliser)
        notes.know("normaliser", "The graph begins with (x − mean) / sd.")
    else:
        notes.assume(
            "normaliser",
            "The graph does not begin with one. If training kept one outside, such as"
            " VecNormalize, put it into `terms`: its mean as offset, 1/sd as scale.",
        )
    return _finish(path, Origin.BARE if said is None else Origin.MANAGER, tree, notes)


def _finish(
    path: Path, origin: Origin, tree: dict[str, object], notes: Notes
) -> ContractDraft:
    contract = None
    if not notes.missing:
        try:
            contract = msgspec.convert(tree, Contract)
        except (msgspec.ValidationError, RealworthyError) as error:
            notes.miss("terms", f"What was found contradicts itself: {error}")
    return ContractDraft(
        path=path,
        origin=origin,
        known=tuple(ContractNote(key=k, about=a) for k, a in notes.known),
        assumed=tuple(ContractNote(key=k, about=a) for k, a in notes.assumed),
        missing=tuple(ContractNote(key=k, about=a) for k, a in notes.missing),
        contract=contract,
        text=_write_text(path, origin, tree, notes),
    )


def _sort(path: Path, graph: Graph, action_width: int | None) -> Ports:
    try:
        return sort_ports(graph, Wiring(action_width=action_width))
    except ValueError as error:
        hint = (
            "Export the actor alone; or call its action `actions` among several"
            " outputs; or name the task, whose number of actions identifies it."
        )
        if any(port.name == "time_step" for port in graph.inputs):
            hint = (
                "It holds a motion that `time_step` plays. Export the policy without"
                " it, and give the motion to the observation as inputs."
            )
        raise BadFile(path, f"{error}.", hint=hint) from None


def _write_text(
    path: Path, origin: Origin, tree: dict[str, object], notes: Notes
) -> str:
    lines = [f"# The contract of {path.name}, which comes from {origin}."]
    if notes.missing:
        lines.append("# Fill in the keys that are marked MISSING.")
    for key in Contract.__struct_fields__:
        lines += [f"# Assumed: {about}" for k, about in notes.assumed if k == key]
        lines += [f"# MISSING: {about}" for k, about in notes.missing if k == key]
        is_missing = key in {k for k, _ in notes.missing}
        if key not in tree:
            lines += [f"# {key}:"] if is_missing else []
            continue
        text = dump_yaml({key: tree[key]}).rstrip()
        lines += [f"# {line}" if is_missing else line for line in text.splitlines()]
    return "\n".join(lines) + "\n"
