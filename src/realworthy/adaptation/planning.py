"""Planning in the place of a policy: MPPI on the calibrated twin, or over its belief.

Three planners meet the same worlds, whose e is drawn from what is unknown: one plans on
the task's own twin as it is published, one at the e of the given twin or over draws of
its belief, and one, the oracle, at each world's own e.
"""

from pathlib import Path

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.adaptation.adaptation import NO_ROBOT, Adaptation, Arm
from realworthy.adaptation.conditioned import AdaptProblem, play
from realworthy.adaptation.mppi import Mppi, MppiSettings
from realworthy.adaptation.planner import (
    SUFFIX,
    PlannerFile,
    list_terms,
    save_planner,
)
from realworthy.progress import Progress, ignore
from realworthy.tasks.contract import build_contract
from realworthy.tasks.environment.environment import Observations
from realworthy.tasks.environment.worlds import TaskWorlds

Floats = NDArray[np.float64]
_EPISODES = 10
"""In which planners are compared, at most: each plan costs thousands of physics steps.
"""
_JUDGED = 2_000_003


def adapt_mppi(
    problem: AdaptProblem, folder: Path, *, progress: Progress = ignore
) -> Adaptation:
    """A planner at the mean e or over p(e), beside those at the nominal and true e."""
    s, settings = problem.settings, MppiSettings()
    belief = problem.randomization.belief
    assert belief is not None
    names = problem.names
    mean = np.array([[belief.mean[name] for name in names]])
    e = mean if s.draws == 1 else belief.sample(s.draws, seed=s.seed)
    count = min(s.evaluation_episodes, _EPISODES)
    worlds = _build_worlds(problem, count)
    worlds.rewind()
    worlds.reset()
    true = worlds.e[:, None]  # of the one episode that `play` plays
    own = problem.definition.build()
    planners = {
        "nominal": ("at the published e", Mppi(own, count, settings)),
        "adapted": (
            "at the mean e" if s.draws == 1 else f"over {s.draws} draws of e",
            Mppi(problem.build_task(), count, settings, names=names, e=e),
        ),
        "expert": (
            "at each world's own e",
            Mppi(problem.build_task(), count, settings, names=names, e=true),
        ),
    }
    arms = []
    for k, (name, (about, mppi)) in enumerate(planners.items()):
        found = _play(worlds, mppi)
        arms.append(Arm.of(name, about, found))
        progress((k + 1) / len(planners), f"planning {about}")
    timing = planners["adapted"][1].timing
    per_plan = timing.mean / count
    factor = settings.every * worlds.period / per_plan
    contract = msgspec.structs.replace(
        build_contract(worlds), terms=list_terms(worlds.task)
    )
    draws = tuple(map(tuple, e.tolist()))
    policy = save_planner(
        folder / f"policy{SUFFIX}",
        PlannerFile(contract=contract, settings=settings, names=names, e=draws),
    )
    reference = msgspec.structs.replace(
        contract.twin, name=own.twin.name, reference=own.twin.reference
    )
    before = save_planner(
        folder / f"nominal{SUFFIX}",
        PlannerFile(
            contract=msgspec.structs.replace(contract, twin=reference),
            settings=settings,
        ),
    )
    return Adaptation(
        method="mppi",
        task=problem.definition.name,
        folder=folder,
        policy=policy,
        before=before,
        arms=tuple(arms),
        adapted="adapted",
        baseline="nominal",
        oracle="expert",
        numbers={"real_time_factor": factor, "seconds_per_plan": per_plan},
        notes=(_describe_timing(settings, worlds.period, per_plan, factor),),
        stop=NO_ROBOT,
    )


def _build_worlds(problem: AdaptProblem, count: int) -> TaskWorlds:
    task = problem.build_task()
    task.terms = list_terms(task)
    seed = problem.settings.seed + _JUDGED
    return TaskWorlds(task, count, randomization=problem.randomization, seed=seed)


def _play(worlds: TaskWorlds, mppi: Mppi):
    joints = worlds.task.terms[0].width
    mppi.forget(np.ones(worlds.world_count, bool))

    def act(seen: Observations) -> Tensor:
        x = seen["policy"].double().numpy()
        action = mppi.act(x[:, :joints], x[:, joints:])
        return torch.from_numpy(action.astype(np.float32))

    return play(worlds, act)


def _describe_timing(
    settings: MppiSettings, period: float, seconds: float, factor: float
) -> str:
    """How long a plan took here, beside what the loop takes into account."""
    allowed = settings.latency * period
    words = f"A plan took {1e3 * seconds:.0f} ms here, {factor:.2g} × real time."
    if seconds <= allowed:
        return words
    return (
        f"{words} The loop allows {1e3 * allowed:.0f} ms from measurement to plan: on"
        " this machine plans come late, and `deploy` counts and skips those steps."
    )
