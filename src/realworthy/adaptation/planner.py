"""A planner as a policy: a file that `certify` and `deploy` take like any `.onnx`.

`X.planner.yaml` holds the contract of a policy, the e to plan at and how plans are
searched; the twin and the task are named in the contract. It answers as a policy does,
from measured joints, and its plans are late by as much as it says.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.adaptation.mppi import Mppi, MppiSettings, PlanTiming
from realworthy.artefacts import Migrator, load, writing
from realworthy.artefacts.text import dump_yaml
from realworthy.errors import RealworthyError
from realworthy.policies.contract import Contract
from realworthy.policies.policy import Policy
from realworthy.policies.runner import Floats32, Runner
from realworthy.policies.terms import Linear, Term
from realworthy.tasks.catalogue import find_learned_task
from realworthy.tasks.task import Task
from realworthy.twins import load_twin

Floats = NDArray[np.float64]
SUFFIX = ".planner.yaml"
SCHEMA = 1
MIGRATORS: dict[int, Migrator] = {}


class PlannerFile(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """What is in `X.planner.yaml`."""

    schema: int = SCHEMA
    contract: Contract
    settings: MppiSettings = MppiSettings()
    names: tuple[str, ...] = ()
    """Parameters whose values are not the twin's nominal ones."""
    e: tuple[tuple[float, ...], ...] = ()
    """Draws of them, each a row; one row plans at one e, several over p(e)."""


@dataclass(slots=True)
class PlannerRunner(Runner):
    """Plans in the place of a graph."""

    mppi: Mppi
    joint_count: int

    def run(self, observations: Floats32, *others: Floats32) -> Floats32:
        seen = observations.astype(np.float64)
        count = self.joint_count
        action = self.mppi.act(seen[:, :count], seen[:, count : 2 * count])
        return action.astype(np.float32)

    def reset(self, worlds: NDArray[np.bool_] | None = None) -> None:
        count = self.mppi.world_count
        self.mppi.forget(np.ones(count, bool) if worlds is None else worlds)

    @property
    def timing(self) -> PlanTiming:
        return self.mppi.timing


def list_terms(task: Task) -> tuple[Term, ...]:
    """What a planner sees: every joint, its position and its speed, as they are."""
    model = task.twin.compiled.model
    joints = [model.joint(i).name for i in range(model.njnt)]
    return (
        Linear(name="positions", signals=tuple(f"{x}.position" for x in joints)),
        Linear(name="velocities", signals=tuple(f"{x}.velocity" for x in joints)),
    )


def save_planner(path: Path, file: PlannerFile) -> Path:
    """Writes it whole, and refuses what could not be planned."""
    load_task(file.contract, path)
    with writing(path, overwrite=True) as temporary:
        temporary.write_text(dump_yaml(msgspec.to_builtins(file)), encoding="utf-8")
    return path


def read_planner(path: Path) -> PlannerFile:
    return load(path, PlannerFile, schema=SCHEMA, migrators=MIGRATORS)


def load_task(contract: Contract, path: Path) -> Task:
    """The task that is planned, on the twin of the contract."""
    reference = contract.twin.reference
    definition = find_learned_task(contract, path)
    return definition.build(load_twin(reference) if reference else None)


def load_planner(path: Path, worlds: int) -> Policy:
    """The planner as a policy, for so many worlds."""
    file = read_planner(path)
    e = np.array(file.e) if file.e else None
    if (e is None) != (not file.names):
        raise RealworthyError(f"'{path}' names parameters and has no values for them.")
    task = load_task(file.contract, path)
    mppi = Mppi(task, worlds, file.settings, names=file.names, e=e)
    return Policy(
        path=path,
        contract=file.contract,
        engine="numpy",
        worlds=worlds,
        recurrent=True,
        inputs={"obs": (file.contract.width,)},
        _runner=PlannerRunner(mppi, len(file.contract.terms[0].signals)),
    )


def load_planner_contract(path: Path) -> Contract:
    """The contract alone; nothing is planned."""
    return read_planner(path).contract
