"""Whether a policy answers as it did at export: its examples, played again."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import say
from realworthy.errors import BadFile
from realworthy.policies.runner import Floats32

if TYPE_CHECKING:
    from realworthy.policies.policy import Policy

Inputs: TypeAlias = Mapping[str, NDArray[np.floating]]
"""By the name of an input, (steps, …)."""
TOLERANCE = 1e-5
"""By which actions may differ from those at export, of 1 or of the largest action."""


def check_answers(policy: "Policy") -> None:
    """Raises where it does not answer as it did at export, or not with numbers."""
    parity = policy.contract.parity
    try:
        answers = _answer(policy, recall_examples(policy))
        apart = _measure_dependence(policy)
    except Exception as error:  # shapes within a graph are found out by running it
        raise BadFile(policy.path, f"its graph does not run: {say(error)}") from None
    if answers.shape[1:] != (policy.worlds, policy.contract.action.width):
        raise BadFile(
            policy.path,
            f"its graph gives actions of shape {answers.shape[1:]}; its contract has"
            f" {policy.contract.action.width}.",
        )
    if not np.isfinite(answers).all():
        raise BadFile(policy.path, "its actions are not numbers (NaN or infinite).")
    if apart > _allow(answers):
        raise BadFile(
            policy.path,
            f"its actions in one world change by {apart:.2g} with what others see.",
            hint="Export it for one row, without batch statistics (model.eval()).",
        )
    if parity is None:
        return
    worst = measure_parity(policy)
    if worst > _allow(np.array(parity.actions)):
        raise BadFile(
            policy.path,
            f"its actions differ by up to {worst:.2g} from those at export, for the"
            f" same {len(parity.actions)} observations.",
            hint="The weights or the contract were changed since. Export it again.",
        )


def recall_examples(policy: "Policy") -> Inputs:
    """(steps, …) of every input: what it saw at export; zeros where it kept nothing."""
    contract = policy.contract
    if (parity := contract.parity) is None:
        return {name: np.zeros((2, *shape)) for name, shape in policy.inputs.items()}
    steps = len(parity.actions)
    rows = np.array(parity.observations).reshape(steps, contract.width)
    examples = policy.split(rows)
    for name, image in contract.images.items():
        share = np.frombuffer(b"".join(parity.images[name]), np.uint8) / np.float32(255)
        values = image.lower + (image.upper - image.lower) * share
        examples[name] = values.reshape(steps, *image.shape)
    for name, shape in contract.arrays.items():
        examples[name] = np.array(parity.arrays[name]).reshape(steps, *shape)
    return examples


def measure_parity(policy: "Policy") -> float:
    """Largest |action − action at export| over the policy's examples; 0 without any."""
    parity = policy.contract.parity
    if parity is None:
        return 0.0
    answers = _answer(policy, recall_examples(policy))
    return float(np.abs(answers - np.array(parity.actions)[:, None]).max(initial=0.0))


def is_same(policy: "Policy") -> bool:
    """Whether it answers its own examples as it did at export, within `TOLERANCE`."""
    parity = policy.contract.parity
    return parity is None or measure_parity(policy) <= _allow(np.array(parity.actions))


def _answer(policy: "Policy", seen: Inputs) -> Floats32:
    """(steps, worlds, actions) from a fresh state, every world seeing the same."""
    policy.reset()
    answers = []
    for step in range(min(map(len, seen.values()), default=0)):
        rows = {name: x[step : step + 1] for name, x in seen.items()}
        answers.append(
            policy.act({k: np.repeat(x, policy.worlds, 0) for k, x in rows.items()})
        )
    policy.reset()
    return np.array(answers)


def _measure_dependence(policy: "Policy") -> float:
    """By how much the first world's action changes with what the others see."""
    if policy.worlds == 1:
        return 0.0
    chance = np.random.default_rng(0)
    rows = {
        name: chance.normal(size=(policy.worlds, *shape))
        for name, shape in policy.inputs.items()
    }
    policy.reset()
    among = policy.act(rows)[0]
    alone = _answer(policy, {name: x[:1] for name, x in rows.items()})[0, 0]
    return float(np.abs(among - alone).max(initial=0.0))


def _allow(actions: NDArray[np.floating]) -> float:
    return TOLERANCE * float(max(1.0, np.abs(actions).max(initial=0.0)))
