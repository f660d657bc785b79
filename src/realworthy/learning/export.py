"""Writes a trained actor as a policy: one `.onnx`, its contract inside, checked."""

import contextlib
import copy
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.artefacts import writing
from realworthy.learning.networks import Actor
from realworthy.learning.normaliser import Normaliser
from realworthy.learning.onnx_writer import BadExport, build_model
from realworthy.policies import contract as policies
from realworthy.policies.contract import PARITY_COUNT, Contract, Parity
from realworthy.policies.measured import check_measurable
from realworthy.policies.metadata import write_metadata
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
    `rollout` (steps, width) are raw observations of one episode, in order; they are
    compared beside random ones, and the first of them become the policy's examples.
    """
    if contract.provenance is None:
        raise BadExport("The contract says nothing of where the policy comes from.")
    given = {*contract.inputs, *contract.action.names}
    check_measurable(contract.terms, measured, given=given)
    actor = copy.deepcopy(actor).to("cpu", torch.float32).eval()
    _check_width("observation", len(actor.normaliser.mean), contract.width)
    sequences = [*_draw_sequences(actor.normaliser)]
    if rollout is not None:
        _check_width("rollout", rollout.shape[-1], contract.width)
        sequences.insert(0, rollout.detach().to("cpu", torch.float32))
    with _one_thread():
        answers = [_play_torch(actor, sequence) for sequence in sequences]
    _check_width("action", answers[0].shape[-1], contract.action.width)
    contract = msgspec.structs.replace(
        contract,
        normaliser=_describe(actor.normaliser),
        parity=_choose_parity(sequences[0], answers[0]),
    )
    model = build_model(actor, write_metadata(contract))
    with writing(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(model.SerializeToString())
        worst: dict[Engine, float] = {
            engine: _compare(temporary, engine, sequences, answers)
            for engine in _ENGINES
        }
    compared = sum(answer.size for answer in answers)
    return Exported(contract=contract, worst=worst, compared_count=compared)


def _check_width(what: str, actor: int, contract: int) -> None:
    if actor != contract:
        raise BadExport(
            f"The actor's {what} has {actor} numbers; the contract's has {contract}."
        )


def _describe(normaliser: Normaliser) -> policies.Normaliser:
    return policies.Normaliser(
        mean=tuple(normaliser.mean.tolist()), sd=tuple(normaliser.scale.tolist())
    )


def _draw_sequences(normaliser: Normaliser) -> Iterator[Tensor]:
    """Random observations about as large as those that were seen."""
    generator = torch.Generator().manual_seed(_SEED)
    for _ in range(_RANDOM_SEQUENCES):
        shape = (_RANDOM_STEPS, len(normaliser.mean))
        noise = torch.randn(shape, generator=generator)
        yield normaliser.mean + 2 * normaliser.scale * noise


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


def _choose_parity(sequence: Tensor, answers: Floats32) -> Parity:
    return Parity(
        observations=tuple(map(tuple, sequence[:PARITY_COUNT].tolist())),
        actions=tuple(map(tuple, answers[:PARITY_COUNT].tolist())),
    )


def _compare(
    path: Path, engine: Engine, sequences: list[Tensor], answers: list[Floats32]
) -> float:
    """Largest difference of a policy's actions; raises where it is too large."""
    policy = load_policy(path, engine=engine)
    worst = 0.0
    for sequence, wanted in zip(sequences, answers, strict=True):
        policy.reset()
        found = np.array([policy.act(row) for row in sequence.numpy()])
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
