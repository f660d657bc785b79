"""A policy with memory and without e, and what it remembers (Peng et al. 2018).

A recurrent actor sees o_t and a_{t−1}; its critic knows e. The same learner without
memory is the baseline, and a policy that is told e is the oracle. A linear probe says
which numbers of e the memory holds: R² on worlds held out, beside that of a shuffled
pairing, which must be none.
"""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import torch

from realworthy.adaptation.adaptation import NO_ROBOT, Adaptation, Arm
from realworthy.adaptation.conditioned import (
    AdaptProblem,
    play,
    train_randomized,
    train_teacher,
)
from realworthy.adaptation.history import History
from realworthy.adaptation.probe import describe_probe, probe
from realworthy.adaptation.saving import POLICY, save_policy, save_randomized
from realworthy.learning.ppo import Ppo
from realworthy.learning.recurrent import RecurrentKind
from realworthy.progress import Progress, ignore, part

_WIDTH = 64
_HORIZON = 64
"""Steps that gradients reach back: more than the histories that other methods read."""
_HELD = 0.5
"""R² from which on a number counts as held."""
_PROBED = 512
"""Worlds that the probe reads."""


def adapt_memory(
    problem: AdaptProblem, folder: Path, *, progress: Progress = ignore
) -> Adaptation:
    """An LSTM beside the same layers without memory."""
    s = problem.settings
    history = History.of(problem.build_task(), 1)
    whole = replace(history, present=torch.arange(history.width))  # actions as well
    seeing = replace(problem, history=whole)
    recurrent = deepcopy(problem.learner)
    recurrent.recurrent, recurrent.recurrent_width = RecurrentKind.LSTM, _WIDTH
    recurrent.horizon = max(recurrent.horizon, _HORIZON)
    recurrent.minibatches = min(recurrent.minibatches, s.world_count)
    plain = train_randomized(seeing, progress=part(progress, 0.0, 0.25))
    teacher = train_teacher(
        seeing, latent_width=None, progress=part(progress, 0.25, 0.5)
    )
    learner = train_randomized(
        replace(seeing, learner=recurrent), progress=part(progress, 0.5, 0.95)
    )
    judged = seeing.build_judged()
    memory = learner.remember(judged.world_count)
    arms, path = [], folder / POLICY
    for name, about, act in (
        ("randomized", "no memory", plain.act),
        ("adapted", "memory", lambda seen: learner.act(seen, memory)),
        ("expert", "told e", teacher.act),
    ):
        found = play(judged, act)
        arms.append(Arm.of(name, about, found))
        if name == "adapted":
            actor = learner.export()
            save_policy(path, actor, judged, settings=s, found=found)
    save_randomized(seeing, plain.actor, folder)
    held, shuffled = probe_memory(seeing, learner)
    numbers = {f"r2.{name}": value for name, value in held.items()}
    numbers |= {f"r2_shuffled.{name}": value for name, value in shuffled.items()}
    return Adaptation(
        method="memory",
        task=problem.definition.name,
        folder=folder,
        policy=path,
        arms=tuple(arms),
        adapted="adapted",
        baseline="randomized",
        oracle="expert",
        numbers=numbers,
        notes=(describe_probe(held, clearly=_HELD),),
        stop=NO_ROBOT,
    )


@torch.no_grad()
def probe_memory(
    problem: AdaptProblem, learner: Ppo
) -> tuple[dict[str, float], dict[str, float]]:
    """R² of each number of e from the hidden state half through an episode.

    Then the same with the states of other worlds.
    """
    worlds = problem.build_worlds(_PROBED, problem.settings.seed + 31_337)
    memory = learner.remember(worlds.world_count)
    seen = worlds.reset()
    for _ in range(worlds.step_limit // 2):
        step = worlds.step(learner.act(seen, memory))
        memory.forget(step.done)
        seen = step.observations
    hidden = memory.hidden.transpose(0, 1).flatten(1).double().numpy()
    e = seen["e"].double().numpy()
    shuffled = probe(hidden[::-1].copy(), e, problem.names)
    return probe(hidden, e, problem.names), shuffled
