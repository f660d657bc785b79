"""Imitation on the states that the imitator visits itself (DAgger, Ross et al. 2011).

Round i plays the mixture β_i of who leads and who imitates, asks for the right answer
in every state, adds it to all rounds before, and learns from all of them. With β = 1 in
every round it is cloning, whose imitator never sees what its own mistakes lead to.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from realworthy.progress import Progress, ignore
from realworthy.tasks.environment.environment import Observations
from realworthy.tasks.environment.evaluate import Act
from realworthy.tasks.environment.worlds import TaskWorlds

ROUNDS = 10
_BATCH = 512
_LEARNING_RATE = 1e-3
_GRADIENT_LIMIT = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImitationPlan:
    """How much is played and learned."""

    rounds: int = ROUNDS
    step_count: int
    """Control steps of all worlds and rounds together: labels that are asked for."""
    passes: int = 6
    """Over everything, after each round."""
    clones: bool = False
    """Whether the leader plays every round."""
    action_noise: float = 0.0
    """sd of what is added to actions, which also visits states beside the path."""
    seed: int = 0

    def lead_share(self, round_index: int) -> float:
        """β_i: the leader alone in the first round, the imitator alone after it."""
        return 1.0 if self.clones or round_index == 0 else 0.0


def imitate(
    imitator: nn.Module,
    worlds: TaskWorlds,
    plan: ImitationPlan,
    *,
    lead: Act,
    follow: Act,
    see: Callable[[Observations], Tensor],
    answer: Callable[[Observations], Tensor],
    progress: Progress = ignore,
    stage: str = "imitation",
) -> Tensor:
    """Teaches `imitator` that `answer` belongs to what is seen; the mean square errors.

    `follow` acts with the imitator as it stands. (rounds,) errors are those of answers
    before each round's learning, in the states of that round: none of them learned.
    """
    generator = torch.Generator().manual_seed(plan.seed)
    optimiser = torch.optim.Adam(imitator.parameters(), lr=_LEARNING_RATE)
    inputs, answers, errors = [], [], []
    observations = worlds.reset(scatter=True)
    steps = max(1, plan.step_count // (plan.rounds * worlds.world_count))
    for i in range(plan.rounds):
        leads = torch.rand(worlds.world_count, generator=generator)
        is_led = (leads < plan.lead_share(i))[:, None]
        fresh: list[tuple[Tensor, Tensor]] = []
        with torch.no_grad():
            for _ in range(steps):
                fresh.append((see(observations), answer(observations)))
                action = torch.where(is_led, lead(observations), follow(observations))
                noise = torch.randn(action.shape, generator=generator)
                observations = worlds.step(
                    action + plan.action_noise * noise
                ).observations
            x, y = (torch.cat(parts) for parts in zip(*fresh, strict=True))
            errors.append((imitator(x) - y).square().mean())
        inputs.append(x)
        answers.append(y)
        learn_answers(
            imitator,
            torch.cat(inputs),
            torch.cat(answers),
            passes=plan.passes,
            generator=generator,
            optimiser=optimiser,
        )
        progress((i + 1) / plan.rounds, stage)
    return torch.stack(errors)


def learn_answers(
    module: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    passes: int,
    generator: torch.Generator,
    optimiser: torch.optim.Optimizer,
) -> None:
    """Least squares by Adam, in shuffled minibatches."""
    weights = list(module.parameters())
    for rows in _shuffle(len(x), passes, generator):
        loss = (module(x[rows]) - y[rows]).square().mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(weights, _GRADIENT_LIMIT)
        optimiser.step()


def _shuffle(count: int, passes: int, generator: torch.Generator) -> Iterator[Tensor]:
    for _ in range(passes):
        yield from torch.randperm(count, generator=generator).split(_BATCH)
