"""An adapted policy on the disk: one `.onnx`, as `certify` and `deploy` take any."""

import datetime
import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from realworthy.adaptation.conditioned import AdaptProblem
from realworthy.adaptation.settings import AdaptSettings
from realworthy.gap.intervals import Interval
from realworthy.learning.export import export_policy
from realworthy.learning.networks import Actor
from realworthy.learning.runs import find_commit, list_versions
from realworthy.policies.contract import (
    Contract,
    PolicyProvenance,
    TrainingEvaluation,
)
from realworthy.policies.terms import list_signals
from realworthy.tasks.contract import build_contract, list_measured
from realworthy.tasks.environment.evaluate import Evaluation
from realworthy.tasks.environment.worlds import TaskWorlds

POLICY, RANDOMIZED = "policy.onnx", "randomized.onnx"


def save_policy(
    path: Path,
    actor: Actor,
    worlds: TaskWorlds,
    *,
    settings: AdaptSettings,
    found: Evaluation | None = None,
) -> Path:
    """Writes what acts in such worlds, with how well it does there."""
    contract = msgspec.structs.replace(
        build_contract(worlds),
        evaluation=None if found is None else _describe(found),
    )
    return save_with(path, actor, contract, worlds, settings=settings)


def save_randomized(problem: AdaptProblem, actor: Actor, folder: Path) -> Path:
    """Writes the policy that adapting is compared with: it sees the present alone."""
    worlds = problem.build_worlds(1, problem.settings.seed)
    kept = set(problem.history.present.tolist())
    own, start = [], 0
    for term in worlds.task.terms:  # as many instants of each as the policy sees
        places = range(start, start + term.width * term.history)
        seen = len(kept.intersection(places)) // term.width
        start = places.stop
        own += [msgspec.structs.replace(term, history=seen)] if seen else []
    contract = msgspec.structs.replace(build_contract(worlds), terms=tuple(own))
    path = folder / RANDOMIZED
    return save_with(path, actor, contract, worlds, settings=problem.settings)


def save_filled(
    path: Path, actor: Actor, contract: Contract, settings: AdaptSettings
) -> Path:
    """Writes a policy for the robot of another, whose contract this is."""
    given = {*contract.inputs, *contract.action.names}
    measured = [x for x in list_signals(contract.terms) if x not in given]
    return _export(path, actor, contract, measured, settings)


def save_with(
    path: Path,
    actor: Actor,
    contract: Contract,
    worlds: TaskWorlds,
    *,
    settings: AdaptSettings,
) -> Path:
    """The same with a contract that is not quite that of the worlds."""
    return _export(path, actor, contract, list_measured(worlds), settings)


def _export(
    path: Path,
    actor: Actor,
    contract: Contract,
    measured: Sequence[str],
    settings: AdaptSettings,
) -> Path:
    provenance = PolicyProvenance(
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        versions=list_versions(),
        settings_hash=hashlib.sha256(msgspec.json.encode(settings)).hexdigest(),
        git=find_commit(),
    )
    export_policy(
        path,
        actor,
        msgspec.structs.replace(contract, provenance=provenance),
        measured=measured,
        overwrite=True,
    )
    return path


def _describe(found: Evaluation) -> TrainingEvaluation | None:
    if found.episode_count < 2:
        return None
    return TrainingEvaluation(
        episode_count=found.episode_count,
        success=found.success,
        success_interval=_pair(found.success_interval),
        mean_return=found.mean_return,
        return_interval=_pair(found.return_interval),
    )


def _pair(interval: Interval) -> tuple[float, float]:
    return interval.lower, interval.upper
