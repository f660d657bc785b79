"""What of an adaptation happens on a robot: comparing policies, and searching."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.adaptation.adaptation import Adaptation, Arm
from realworthy.adaptation.saving import POLICY, RANDOMIZED, save_filled
from realworthy.adaptation.score import TrialScore
from realworthy.adaptation.settings import AdaptSettings
from realworthy.adaptation.strategy import search_strategy
from realworthy.adaptation.strategy_file import (
    FILE,
    StrategySlot,
    StrategyVector,
    fill_slot,
    read_slot,
)
from realworthy.adaptation.trials import RobotLost, RobotTrials, Score
from realworthy.errors import RealworthyError
from realworthy.policies import Policy, load_policy
from realworthy.policies.contract import Contract
from realworthy.progress import Progress, ignore
from realworthy.robots import Robot
from realworthy.tasks.catalogue import find_learned_task
from realworthy.twins import load_twin

Floats = NDArray[np.float64]
TRIALS = "trials"


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRobot:
    """A robot, and who agrees to what it does."""

    robot: Robot
    score: Score | None = None
    """Of a trial's recording; None: the task's own reward of what was measured."""
    confirm: Callable[[str], bool] | None = None

    def begin(
        self, policy: Policy, settings: AdaptSettings, folder: Path
    ) -> RobotTrials:
        """Trials of policies with such a contract."""
        contract = policy.contract
        definition = find_learned_task(contract, policy.path)
        twin = settings.twin or contract.twin.reference
        task = definition.build(load_twin(twin) if twin else None)
        return RobotTrials(
            robot=self.robot,
            score=self.score or TrialScore(task),
            folder=folder / TRIALS,
            seconds=settings.trial_seconds or task.seconds,
            limit=settings.trials,
            clean_before=settings.clean_before,
            confirm=self.confirm,
        )


def compare_on_robot(
    found: Adaptation,
    there: OnRobot,
    settings: AdaptSettings,
    *,
    progress: Progress = ignore,
) -> Adaptation:
    """The adapted policy and the randomized one on a robot, turn by turn."""
    before = found.before or found.folder / RANDOMIZED
    policies = [load_policy(path) for path in (before, found.policy)]
    trials = there.begin(policies[0], settings, found.folder)
    values: list[list[float]] = [[], []]
    stop = ""
    pairs = max(1, settings.trials // 2)
    for k in range(pairs):
        try:
            both = [trials.run(policy).value for policy in policies]
        except RobotLost as error:
            if not trials.done:
                raise
            stop = f"{error} The simulated comparison stands."
            break
        for kept, value in zip(values, both, strict=True):
            kept.append(value)
        progress((k + 1) / pairs, "trials")
    if not values[0]:
        return replace(found, stop=stop, real_seconds=trials.real_seconds)
    names = (f"{found.baseline}, robot", f"{found.adapted}, robot")
    more = [
        Arm(name=name, about="on the robot", returns=np.array(kept))
        for name, kept in zip(names, values, strict=True)
    ]
    found = replace(
        found,
        arms=(*found.arms, *more),
        baseline=names[0],
        adapted=names[1],
        oracle="",
        real_seconds=trials.real_seconds,
        trial_count=len(trials.done),
    )
    low, high = found.gain_interval
    if low > 0:
        words = "It helps on this robot: stop trying, and use it."
    elif high < 0:
        words = f"On this robot '{found.arms[0].name}' is better: use that."
    else:
        words = (
            f"{len(values[0])} pairs do not show a difference ({low:.3g} to"
            f" {high:.3g})."
        )
    return replace(found, stop=stop or words)


def adapt_strategy(
    run: Path,
    folder: Path,
    there: OnRobot,
    settings: AdaptSettings,
    *,
    progress: Progress = ignore,
) -> Adaptation:
    """The best strategy of the policy in the folder `run`, by trials on a robot."""
    path = run / FILE
    if not path.exists():
        raise RealworthyError(
            f"'{run}' has no policy with a strategy to search.",
            hint="Make one: realworthy adapt rma TASK --output FOLDER, or up_osi.",
        )
    policy = load_policy(path)
    slot = read_slot(policy.contract)
    trials = there.begin(policy, settings, folder)
    result = search_strategy(
        slot,
        _try_on(trials, policy),
        search=settings.search,
        trials=settings.trials,
        repeats=settings.repeats,
        seed=settings.seed,
        progress=progress,
    )
    used = result.strategy if result.is_used or not len(result.adapted) else None
    chosen = used or StrategyVector(slot.default)
    written = _fill(run, folder, policy.contract, slot, chosen, settings)
    searched = np.array([value for _, value in result.searched])
    return Adaptation(
        method="strategy",
        task=policy.contract.task,
        folder=folder,
        policy=written,
        arms=(
            Arm(name="searched", about="every trial of the search", returns=searched),
            Arm(
                name="as it was", about="fresh, z of the mean e", returns=result.before
            ),
            Arm(name="adapted", about="fresh, the winner", returns=result.adapted),
        ),
        adapted="adapted",
        baseline="as it was",
        real_seconds=trials.real_seconds,
        trial_count=len(trials.done),
        numbers={**chosen.name(), "winners_curse": result.luck},
        notes=_explain(trials, result.luck, is_used=used is not None),
        stop=result.stop,
    )


def _try_on(
    trials: RobotTrials, policy: Policy
) -> Callable[[Sequence[StrategyVector]], Floats]:
    return lambda vectors: np.array(
        [trials.run(policy, vector.name()).value for vector in vectors]
    )


def _fill(
    run: Path,
    folder: Path,
    contract: Contract,
    slot: StrategySlot,
    strategy: StrategyVector,
    settings: AdaptSettings,
) -> Path:
    """The policy without its slot, and without an input that nobody else knows."""
    names = set(strategy.name())
    plain = msgspec.structs.replace(
        contract,
        terms=tuple(x for x in contract.terms if not names & {*x.signals}),
        inputs={k: v for k, v in contract.inputs.items() if k not in names},
        parity=None,
        normaliser=None,
    )
    return save_filled(folder / POLICY, fill_slot(run, strategy), plain, settings)


def _explain(trials: RobotTrials, luck: float, *, is_used: bool) -> tuple[str, ...]:
    notes = []
    if not is_used:
        notes.append("The policy is as it was: fresh trials did not show a gain.")
    if np.isfinite(luck):
        notes.append(
            f"The search believed {luck:.3g} more return than fresh trials of the"
            " winner gave."
        )
    if stopped := [trial for trial in trials.done if trial.stopped]:
        notes.append(
            f"Guards stopped {len(stopped)} trials, the last one: {stopped[-1].stopped}"
        )
    notes.append("A strategy is no estimate of e: no twin takes it.")
    return tuple(notes)
