"""Writes a trained actor as a policy: one `.onnx`, its contract inside, checked."""

import contextlib
import copy
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.artefacts import writing
from realworthy.learning import onnx_writer, torch_writer
from realworthy.learning.networks import Actor
from realworthy.learning.normaliser import Normaliser
from realworthy.learning.onnx_writer import BadExport
from realworthy.policies import contract as policies
from realworthy.policies.contract import PARITY_COUNT, Contract, Parity
from realworthy.policies.measured_signals import check_measurable
from realworthy.policies.metadata import write_metadata
from realworthy.policies.numpy_runner import OPERATIONS
from realworthy.policies.parity import TOLERANCE
from realworthy.policies.policy import Engine, load_policy
from realworthy.robots import RobotInfo

_ENGINES: tuple[Engine, ...] = ("onnxruntime", "numpy")
_RANDOM_STEPS = 200
"""Of each random sequence that the round trip plays."""
_RANDOM_SEQUENCES = 5
_SEED = 20
Floats32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What the round trip found."""

    contract: Contract
    """As written: with normaliser and parity."""
    worst: dict[Engine, float]
    """Largest |policy − torch| of each engine."""
    compared_count: int
    """Actions compared by each."""


def export_policy(
    path: Path | str,
    actor: Actor,
    contract: Contract,
    *,
    measured: RobotInfo | Collection[str],
    rollout: Tensor | None = None,
    overwrite: bool = False,
) -> Exported:
    """Writes `actor` with `contract` to `path`, if the file then answers as it does.

    `measured` is what the robot measures: an actor that needs more is refused.
    `rollout` (steps, width) are raw observations of one episode, in order, as the
    actor takes them; they are compared beside random ones, and the first of them become
    the policy's examples. Images go out as bytes would show them.

    What `onnx_writer` does not know goes through PyTorch's exporter, which takes
    seconds, and may need onnxruntime to run.
    """
    if contract.provenance is None:
        raise BadExport("The contract does not name where the policy comes from.")
    given = {*contract.inputs, *contract.action.names}
    check_measurable(contract.terms, measured, given=given)
    actor = copy.deepcopy(actor).to("cpu", torch.float32).eval()
    packing = _Packing(contract)
    _check_width("observation", len(actor.normaliser.mean), packing.vector_width)
    sequences = [*_draw_sequences(actor.normaliser, packing)]
    if rollout is not None:
        _check_width("rollout", rollout.shape[-1], packing.width)
        rows = rollout.detach().to("cpu", torch.float32)
        sequences.insert(0, packing.round(rows))
    with _one_thread():
        answers = [_play_torch(actor, sequence) for sequence in sequences]
    _check_width("action", answers[0].shape[-1], contract.action.width)
    contract = msgspec.structs.replace(
        contract,
        normaliser=_describe(actor.normaliser, contract.width),
        parity=packing.choose_parity(sequences[0], answers[0]),
    )
    metadata = write_metadata(contract)
    is_known = onnx_writer.knows(actor) and not contract.others
    if is_known:
        model = onnx_writer.build_model(actor, metadata)
    else:
        model = torch_writer.build_model(actor, packing.inputs, metadata)
    engines = _ENGINES if is_known or _runs_in_numpy(model) else _ENGINES[:1]
    with writing(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(model.SerializeToString())
        worst: dict[Engine, float] = {
            engine: _compare(temporary, engine, packing, sequences, answers)
            for engine in engines
        }
    compared = sum(answer.size for answer in answers)
    return Exported(contract=contract, worst=worst, compared_count=compared)


def _check_width(what: str, actor: int, contract: int) -> None:
    if actor != contract:
        raise BadExport(
            f"The actor's {what} has {actor} numbers; the contract's has {contract}."
        )


def _runs_in_numpy(model: onnx.ModelProto) -> bool:
    return {node.op_type for node in model.graph.node} <= OPERATIONS.keys()


def _describe(normaliser: Normaliser, width: int) -> policies.NormaliserRecord:
    """Of the `width` numbers that terms give."""
    mean, scale = normaliser.mean[:width], normaliser.scale[:width]
    return policies.NormaliserRecord(
        mean=tuple(mean.tolist()), sd=tuple(scale.tolist())
    )


class _Packing:
    """How the inputs of a contract lie side by side in what an actor takes."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        seen = {"obs": (contract.width,)} if contract.terms else {}
        images = {name: image.shape for name, image in contract.images.items()}
        self.inputs: dict[str, tuple[int, ...]] = {**seen, **contract.arrays, **images}
        self.sizes = [math.prod(shape) for shape in self.inputs.values()]
        self.width = sum(self.sizes)
        self.vector_width = self.width - sum(map(math.prod, images.values()))

    def unpack(self, rows: Tensor) -> dict[str, Floats32]:
        """(…, width) as (…, *shape) by input."""
        parts = zip(self.inputs.items(), rows.split(self.sizes, dim=-1), strict=True)
        return {k: x.unflatten(-1, shape).numpy() for (k, shape), x in parts}

    def round(self, rows: Tensor) -> Tensor:
        """The same, images as bytes would show them."""
        parts = dict(zip(self.inputs, rows.split(self.sizes, dim=-1), strict=True))
        for name, image in self.contract.images.items():
            shown = torch.from_numpy(self._count(parts[name].numpy(), name))
            parts[name] = image.lower + (image.upper - image.lower) * (shown / 255)
        return torch.cat([*parts.values()], dim=-1).to(torch.float32)

    def choose_parity(self, sequence: Tensor, answers: Floats32) -> Parity:
        parts = self.unpack(sequence[:PARITY_COUNT])
        flat = {k: x.reshape(len(x), -1) for k, x in parts.items()}
        nothing = np.zeros((len(sequence[:PARITY_COUNT]), 0))
        return Parity(
            observations=_list_rows(flat.get("obs", nothing)),
            actions=_list_rows(answers[:PARITY_COUNT]),
            images={
                name: tuple(
                    row.tobytes()
                    for row in self._count(flat[name], name).astype(np.uint8)
                )
                for name in self.contract.images
            },
            arrays={name: _list_rows(flat[name]) for name in self.contract.arrays},
        )

    def _count(self, values: Floats32, name: str) -> Floats32:
        """Values of an image as 0 … 255."""
        image = self.contract.images[name]
        share = (values - image.lower) / (image.upper - image.lower)
        return np.round(255 * share.clip(0, 1)).astype(np.float32)


def _list_rows(rows: NDArray[np.floating]) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, rows.tolist()))


def _draw_sequences(normaliser: Normaliser, packing: _Packing) -> Iterator[Tensor]:
    """Random observations about as large as those that were seen."""
    generator = torch.Generator().manual_seed(_SEED)
    for _ in range(_RANDOM_SEQUENCES):
        shape = (_RANDOM_STEPS, len(normaliser.mean))
        noise = torch.randn(shape, generator=generator)
        rows = [normaliser.mean + 2 * normaliser.scale * noise]
        for image in packing.contract.images.values():
            shape = (_RANDOM_STEPS, math.prod(image.shape))
            share = torch.rand(shape, generator=generator)
            rows.append(image.lower + (image.upper - image.lower) * share)
        yield packing.round(torch.cat(rows, dim=-1))


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Single rows are quicker on one thread, a great deal so on busy machines."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@torch.no_grad()
def _play_torch(actor: Actor, sequence: Tensor) -> Floats32:
    """(steps, actions) of an episode, step by step from a fresh state."""
    hidden = actor.network.initial_hidden(1)
    answers = []
    for row in sequence:
        action, hidden = actor(row[None], hidden)
        answers.append(action[0].numpy())
    return np.array(answers)


def _compare(
    path: Path,
    engine: Engine,
    packing: _Packing,
    sequences: list[Tensor],
    answers: list[Floats32],
) -> float:
    """Largest difference of a policy's actions; raises where it is too large."""
    policy = load_policy(path, engine=engine)
    worst = 0.0
    for sequence, wanted in zip(sequences, answers, strict=True):
        policy.reset()
        seen = [packing.unpack(row) for row in sequence]
        found = np.array([policy.act(row) for row in seen])
        off = float(np.abs(found - wanted).max())
        allowed = TOLERANCE * max(1.0, float(np.abs(wanted).max()))
        if not off <= allowed:
            raise BadExport(
                f"With {engine} the policy's actions differ from the actor's by up to"
                f" {off:.2g}; {allowed:.2g} is allowed.",
                hint="Nothing was written.",
            )
        worst = max(worst, off)
    return worst
