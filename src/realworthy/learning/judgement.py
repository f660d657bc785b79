"""The end of a run: its best policy is judged where nobody has chosen, and exported."""

import datetime
import hashlib
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import torch

from realworthy.gap.intervals import Interval
from realworthy.learning.export import export_policy
from realworthy.learning.learner import Learner
from realworthy.learning.network_input import find_policy_input
from realworthy.learning.practice import Practice
from realworthy.learning.runs import (
    BEST,
    describe_settings,
    find_commit,
    list_versions,
)
from realworthy.learning.training import Training
from realworthy.policies import contract as policies
from realworthy.policies.policy import load_policy
from realworthy.tasks.contract import build_contract, list_measured
from realworthy.tasks.environment.evaluate import Evaluation
from realworthy.tasks.environment.variety import describe_variety
from realworthy.tasks.environment.worlds import TaskWorlds

_UNSEEN = 2_000_003
"""Added to the seed for worlds that judge the best policy."""
_ANSWERS = 200
"""That are timed: a few milliseconds for most policies."""


def conclude(practice: Practice) -> Training:
    """Judges the best policy as randomized and on the twin itself, and exports it."""
    s, spread = practice.settings, practice.randomization
    best = practice.folder.load(BEST)
    practice.learner.load_weights(best)
    stage = best.get("growth", practice.growth.stage)
    practice.growth.go_back(stage)  # to the worlds that made it what it is
    worlds = practice.build(s.evaluation_episodes, s.seed + _UNSEEN, spread)
    found, variety = practice.evaluate(worlds), describe_variety(worlds)
    as_is = replace(spread, belief=None, processes=(), pushes=None)
    nominal = practice.build(s.evaluation_episodes, s.seed + _UNSEEN, as_is)
    at_nominal = practice.evaluate(nominal)
    _export(practice, found)
    stopped_by = practice.find_end()
    assert stopped_by is not None
    task, invalid = practice.worlds.task, practice.worlds.invalid_count
    steps = practice.step_count / practice.team.count
    diverged = _describe_diverged(invalid, steps, found, at_nominal)
    return Training(
        folder=practice.folder,
        task=task.name,
        twin=task.twin.reference or task.twin.name,
        variety=variety,
        grown=practice.growth.words,
        looks=tuple(practice.looks),
        step_count=practice.step_count,
        seconds=practice.seconds,
        steps_per_second=practice.steps_per_second,
        evaluation=found,
        at_nominal=at_nominal,
        invalid_count=invalid,
        update_count=practice.update_count,
        stopped_by=stopped_by,
        inference_us=time_inference(practice.folder.policy),
        added=task.added,
        warnings=(*practice.warnings, *diverged, *practice.learner.warnings),
    )


def _export(practice: Practice, found: Evaluation) -> None:
    s = practice.settings
    worlds = practice.build(1, s.seed, practice.growth.now)
    contract = msgspec.structs.replace(
        build_contract(worlds),
        evaluation=policies.TrainingEvaluation(
            episode_count=max(1, found.episode_count),
            success=found.success if found.episode_count else 0.0,
            success_interval=_pair(found.success_interval),
            mean_return=found.mean_return if found.episode_count else 0.0,
            return_interval=_bound_returns(found),
        ),
        provenance=policies.PolicyProvenance(
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            versions=list_versions(),
            settings_hash=hashlib.sha256(
                msgspec.json.encode(describe_settings(s))
            ).hexdigest(),
            git=find_commit(),
        ),
    )
    export_policy(
        practice.folder.policy,
        practice.learner.export(),
        contract,
        measured=list_measured(worlds),
        rollout=_play_one(worlds, practice.learner),
        overwrite=True,
    )


def time_inference(path: Path) -> float | None:
    """[µs] of an answer, median; None of a policy that sees more than signals."""
    policy = load_policy(path)
    if policy.contract.others:
        return None
    seen, spent = np.zeros(policy.contract.width), []
    for _ in range(_ANSWERS):
        began = time.perf_counter()
        policy.act(seen)
        spent.append(time.perf_counter() - began)
    return 1e6 * float(np.median(spent))


@torch.no_grad()
def _play_one(worlds: TaskWorlds, learner: Learner) -> torch.Tensor:
    """(steps, width) observations of the policy over one episode of one world."""
    memory, seen = learner.remember(1), []
    see = find_policy_input(worlds).join
    observations = worlds.reset()
    for _ in range(worlds.step_limit):
        seen.append(see(observations)[0])
        step = worlds.step(learner.act(observations, memory))
        if bool(step.done[0]):
            break
        observations = step.observations
    return torch.stack(seen)


def _describe_diverged(
    practised: int, step_count: float, *judged: Evaluation
) -> Iterator[str]:
    """What is to be said of physics that diverged."""
    hint = "Try a narrower belief, or a twin with a shorter time step."
    if practised:
        yield (
            f"The physics diverged in {practised} steps ({practised / step_count:.2g} "
            f"of all), from which nothing was learned. {hint}"
        )
    for where, found in zip(
        ("as randomized", "on the twin itself"), judged, strict=True
    ):
        if found.invalid_count:
            yield (
                f"The physics diverged in {found.invalid_count} of "
                f"{found.episode_count + found.invalid_count} episodes in which the "
                f"policy was judged {where}; counted as failures, it succeeds in "
                f"{found.least_success:.1%}. {hint}"
            )


def _bound_returns(found: Evaluation) -> tuple[float, float]:
    """95 % of the mean; of fewer than two episodes, which have none, all they did."""
    if found.episode_count > 1:
        return _pair(found.return_interval)
    mean = found.mean_return if found.episode_count else 0.0
    return mean, mean


def _pair(interval: Interval) -> tuple[float, float]:
    return interval.lower, interval.upper
