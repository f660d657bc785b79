"""A policy with a slot: π(x, s), whose strategy s somebody gives it.

`conditioned.onnx` has the slot as inputs `strategy.1 …` of its contract, which `deploy
--input strategy.1=0.4` fills. s is what z was in training, but no longer a statement
about e: a search moves it to wherever the return is best. No twin has a parameter of
such a name, so none can be given it by mistake.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from realworthy.adaptation.conditioned import AdaptProblem, Teacher
from realworthy.adaptation.saving import save_with
from realworthy.errors import BadFile, RealworthyError
from realworthy.learning.networks import Activation, Actor, Mlp
from realworthy.policies.contract import Contract, InputRange
from realworthy.policies.terms import Linear
from realworthy.tasks.contract import build_contract

Floats = NDArray[np.float64]
_PREFIX = "strategy."
FILE, WEIGHTS = "conditioned.onnx", "conditioned.pt"
_SLACK = 0.25
"""Of its width in training, by which a strategy may go beyond it on either side."""


@dataclass(frozen=True, slots=True)
class StrategyVector:
    """What fills a policy's slot. Not e: nothing writes it into a model."""

    values: Floats

    def name(self) -> dict[str, float]:
        """By input of the policy."""
        return {f"{_PREFIX}{i + 1}": float(x) for i, x in enumerate(self.values)}


@dataclass(frozen=True, slots=True)
class StrategySlot:
    """Where strategies may lie."""

    lower: Floats
    upper: Floats
    default: Floats
    """z of the mean e: what doing nothing is."""

    @property
    def width(self) -> int:
        return len(self.default)

    def place(self, unit: Floats) -> StrategyVector:
        """Of coordinates 0 … 1, cut to them."""
        share = np.clip(unit, 0.0, 1.0)
        return StrategyVector(self.lower + share * (self.upper - self.lower))

    @property
    def start(self) -> Floats:
        """The default as coordinates 0 … 1."""
        return (self.default - self.lower) / (self.upper - self.lower)


def save_conditioned(problem: AdaptProblem, teacher: Teacher, folder: Path) -> None:
    """Writes the policy with its slot, and its weights for who fills it for good."""
    worlds = problem.build_worlds(1, problem.settings.seed)
    own = problem.definition.build(worlds.task.twin).terms
    z = teacher.encode(problem.build_worlds(1024, problem.settings.seed).reset())
    zero = torch.zeros(1, len(teacher.actor.normaliser.mean))
    width = len(teacher.history.present)
    default = teacher.network.encode(teacher.actor.normaliser(zero)[:, width:])[0]
    low, high = z.min(0).values, z.max(0).values
    slack = _SLACK * (high - low).clamp(min=1e-3)
    ends = low - slack, high + slack, default.clamp(low, high)
    slot = StrategySlot(*(x.double().numpy() for x in ends))
    names = tuple(StrategyVector(slot.default).name())
    contract = msgspec.structs.replace(
        build_contract(worlds),
        terms=(*own, Linear(name="strategy", signals=names)),
        inputs={
            **build_contract(worlds).inputs,
            **{
                name: InputRange(
                    lower=float(slot.lower[i]),
                    upper=float(slot.upper[i]),
                    default=float(slot.default[i]),
                )
                for i, name in enumerate(names)
            },
        },
    )
    body, normaliser = teacher.network.body, teacher.actor.normaliser
    actor = _build_actor(body, normaliser.mean[:width], normaliser.scale[:width], slot)
    save_with(folder / FILE, actor, contract, worlds, settings=problem.settings)
    state = {
        "layers": body.layers.state_dict(),
        "activation": problem.learner.activation.value,
        "mean": normaliser.mean[:width].clone(),
        "scale": normaliser.scale[:width].clone(),
    }
    torch.save(state, folder / WEIGHTS)


def read_slot(contract: Contract) -> StrategySlot:
    """Of a policy with inputs `strategy.1 …`."""
    ranges = [v for k, v in contract.inputs.items() if k.startswith(_PREFIX)]
    if not ranges:
        raise RealworthyError(
            f"The policy of task '{contract.task}' has no strategy to search.",
            hint="Make one: realworthy adapt rma TASK --output FOLDER, or up_osi.",
        )
    return StrategySlot(
        lower=np.array([x.lower for x in ranges]),
        upper=np.array([x.upper for x in ranges]),
        default=np.array([x.default for x in ranges]),
    )


def fill_slot(folder: Path, strategy: StrategyVector) -> Actor:
    """The policy whose slot is filled for good: it needs no input, and no history."""
    path = folder / WEIGHTS
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise RealworthyError(
            f"'{folder}' has no policy with a strategy to search.",
            hint="Make one: realworthy adapt rma TASK --output FOLDER, or up_osi.",
        ) from None
    except Exception as error:  # torch has many words for a broken file
        raise BadFile(path, f"it holds no weights: {error}.") from None
    layers = state["layers"]
    weights = [x for name, x in layers.items() if name.endswith("weight")]
    body = Mlp(
        weights[0].shape[1],
        tuple(len(x) for x in weights[:-1]),
        len(weights[-1]),
        activation=Activation(state["activation"]),
        output_gain=1.0,
        generator=torch.Generator(),
    )
    body.layers.load_state_dict(layers)
    values = torch.tensor(strategy.values, dtype=torch.float32)
    actor = Actor(body.fix_inputs(values), len(state["mean"]), len(weights[-1]), 1.0)
    actor.normaliser.fix(state["mean"], state["scale"])
    return actor.requires_grad_(False)


def _build_actor(body: Mlp, mean: Tensor, scale: Tensor, slot: StrategySlot) -> Actor:
    """π(x, s) on raw observations, s as it is."""
    plain = torch.zeros(slot.width), torch.ones(slot.width)
    last = body.layers[-1]
    assert isinstance(last, nn.Linear)
    actor = Actor(body, len(mean) + slot.width, last.out_features, 1.0)
    actor.normaliser.fix(torch.cat([mean, plain[0]]), torch.cat([scale, plain[1]]))
    return actor
