"""A policy under test: what it is played in, and the worlds of every condition."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.certification.suite.condition import Condition
from realworthy.errors import BadFile, RealworthyError
from realworthy.learning.presets import Randomize, choose_randomization
from realworthy.parameters import Belief, ParameterSpace, SampleBelief
from realworthy.policies import Contract, Policy, load_policy
from realworthy.tasks.catalogue import (
    TaskLike,
    find_learned_task,
    find_task,
    prepare_twin,
)
from realworthy.tasks.definition import TaskDefinition
from realworthy.tasks.environment.worlds import Simulate, TaskWorlds
from realworthy.tasks.randomization.randomization import Pushes, Randomization
from realworthy.tasks.task import Task
from realworthy.tasks.trial_play import check_task
from realworthy.twins import Twin, load_twin
from realworthy.twins.compiled_model import find_object_bodies
from realworthy.twins.variants import Variant, apply_variant

if TYPE_CHECKING:
    from realworthy.certification.foreign.draft import ContractDraft, ContractNote

Floats = NDArray[np.float64]
_ALL_MASS = "all.mass"
_PUSH_EVERY = (1.0, 3.0)
"""[s] between two pushes."""


_COSTLY = 5000
"""Steps of an episode times degrees of freedom: a cart-pole has 1,000, a quadruped
18,000."""


_SEARCHED_FOLDERS = 4
"""Folders above a policy, its own among them, in which its twin may lie."""


class CannotPlay(RealworthyError):
    """A condition that this twin, or this machine, cannot have; it is skipped."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One policy for one task on one twin.

    The policy sees the terms of its own contract, whatever the task's are.
    """

    path: Path
    contract: Contract
    task: TaskDefinition
    twin: Twin
    thread_count: int = 0
    assumed: tuple[str, ...] = ()
    """What the policy's file does not say, and nobody wrote beside it."""
    wrap: Callable[[Policy], Policy] | None = None
    """Puts something between the policy and its graph; for tests of suites."""

    @cached_property
    def belief(self) -> Belief | None:
        """What e may be: a calibrated twin's belief, or the task's own ranges."""
        is_calibrated = self.twin.belief_text is not None
        how = Randomize.BELIEF if is_calibrated else Randomize.PRESET
        return choose_randomization(self.task, self.twin, how).belief

    @property
    def is_costly(self) -> bool:
        """Whether an episode is long and has many joints, such as a walking one's."""
        steps = self.build_task().seconds / self.contract.period
        return steps * int(self.twin.compiled.model.nv) > _COSTLY

    def on(self, twin: Twin) -> "Subject":
        """The same policy on another twin of the robot."""
        return replace(self, twin=twin)

    def load(self, worlds: int) -> Policy:
        policy = load_policy(self.path, worlds=worlds, infer=lambda *_: self.contract)
        return policy if self.wrap is None else self.wrap(policy)

    def build_task(self, variant: Variant | None = None) -> Task:
        """The task as the policy's contract sees it."""
        twin = self.twin if variant is None else apply_variant(self.twin, variant)
        task, contract = self.task.build(twin), self.contract
        if task.terms != contract.terms or task.action != contract.action:
            task.terms, task.action = contract.terms, contract.action
            task.reflection = None
        task.period = contract.period
        return task

    def build_worlds(
        self,
        condition: Condition,
        count: int,
        *,
        seed: int,
        rows: Floats | None = None,
        names: tuple[str, ...] = (),
        numbers: NDArray[np.intp] | None = None,
    ) -> TaskWorlds:
        """`count` worlds; `rows` (count, d) are their values of the parameters `names`.

        Without rows every world is the twin as it is.
        """
        self._check_timestep(condition.variant)
        task = self.build_task(condition.variant)
        space, e = self._place(condition, count, rows, names)
        belief = None if not len(space) else SampleBelief(space, e)
        pushes = None
        if condition.push_speed:
            pushes = Pushes(speed=condition.push_speed, every=_PUSH_EVERY)
        return TaskWorlds(
            task,
            count,
            randomization=Randomization(
                belief=belief,
                noise=condition.noise,
                pushes=pushes,
                latency=(condition.late_steps, condition.late_steps),
            ),
            seed=seed,
            with_warp=condition.engine == "warp",
            thread_count=self.thread_count,
            simulate=_find_simulator(condition.engine),
            given=None if belief is None else e,
            numbers=numbers,
        )

    def find_e(self, condition: Condition) -> dict[str, float]:
        """Values of the parameters that a condition moves."""
        space, e = self._place(condition, 1, None, ())
        return dict(zip(space.names, e[0].tolist(), strict=True))

    def check_parameters(self, names: Mapping[str, float] | tuple[str, ...]) -> None:
        """Raises where the twin has no such number."""
        for name in names:
            if name not in self.twin.space:
                raise CannotPlay(f"twin '{self.twin.name}' has no '{name}'.")

    def _place(
        self,
        condition: Condition,
        count: int,
        rows: Floats | None,
        names: tuple[str, ...],
    ) -> tuple[ParameterSpace, Floats]:
        """The numbers that differ from the twin's, and each world's values of them."""
        self.check_parameters(condition.parameters)
        condition = self._spare_objects(condition)
        every = tuple(dict.fromkeys((*names, *condition.parameters)))
        space = self.twin.space.select(every)
        e = np.tile(space.nominal, (count, 1))
        if rows is not None:
            e[:, : len(names)] = rows
        for name, factor in condition.times.items():
            e[:, space.index(name)] *= factor
        for name, addition in condition.plus.items():
            e[:, space.index(name)] += addition
        for name in condition.parameters:
            i = space.index(name)
            low, high = space.lower[i], space.upper[i]
            if (e[:, i] < low).any() or (e[:, i] > high).any():
                raise CannotPlay(f"'{name}' would leave [{low:g}, {high:g}].")
        return space, e

    def _spare_objects(self, condition: Condition) -> Condition:
        """`all.mass` as masses of the robot alone: a payload is no heavier object."""
        factor = condition.times.get(_ALL_MASS)
        if factor is None or not self.twin.objects:
            return condition
        spared = {"all", *find_object_bodies(self.twin.compiled)}
        masses = [p for p in self.twin.space.of_kind("mass") if p.element not in spared]
        times = {n: f for n, f in condition.times.items() if n != _ALL_MASS}
        times |= {p.name: factor * times.get(p.name, 1.0) for p in masses}
        return msgspec.structs.replace(condition, times=times)

    def _check_timestep(self, variant: Variant) -> None:
        step = float(self.twin.compiled.model.opt.timestep) * variant.timestep
        count = self.contract.period / step
        if round(count) < 1 or abs(count - round(count)) > 1e-6:
            raise CannotPlay(
                f"{self.contract.period * 1e3:g} ms are no multiple of"
                f" {step * 1e3:g} ms."
            )


def build_subject(
    path: Path | str,
    *,
    task: TaskLike = "",
    twin: Twin | str = "",
    thread_count: int = 0,
) -> Subject:
    """A policy with the task and twin of its contract, or with those that are given.

    A foreign policy without a contract gets one as far as its file and the task tell.
    """
    from realworthy.certification.foreign.draft import ContractDraft, assist
    from realworthy.policies import load_contract
    from realworthy.policies.onnx_file import Graph

    path = Path(path)
    asked = find_task(task) if task else None
    drafts: list[ContractDraft] = []

    def infer(path: Path, _graph: Graph) -> Contract:
        drafts.append(assist(path, expect_contract(asked, twin)))
        return check_draft(drafts[0])

    contract = load_contract(path, infer=infer)
    definition = asked or find_learned_task(contract, path)
    if asked is not None and asked.is_task_of(contract) and not asked.settings:
        definition = asked.with_settings(contract.task_settings)
    model = twin or _find_own_twin(contract, path, definition)
    model = model if isinstance(model, Twin) else load_twin(model)
    check_task(definition, model.with_roles(contract.roles))
    subject = Subject(
        path=path,
        contract=contract,
        task=definition,
        twin=model.with_roles(contract.roles),
        thread_count=thread_count,
        assumed=tuple(_group(note for draft in drafts for note in draft.assumed)),
    )
    if not (definition.is_task_of(contract) or twin):
        _check_fit(subject)
    return subject.on(prepare_twin(definition, subject.twin))


def _check_fit(subject: Subject) -> None:
    """Raises where a policy cannot do another task than its own on its twin."""
    try:
        subject.build_task()
    except RealworthyError as error:
        task = subject.contract.task
        raise RealworthyError(
            f"Task '{subject.task.name}' does not fit {subject.path.name}, a policy "
            f"for '{task}' on twin '{subject.twin.name}': {error.problem}",
            hint=f"Leave out --task for '{task}', or name a task of the same robot.",
        ) from None


def _group(notes: "Iterable[ContractNote]") -> Iterator[str]:
    """Notes that say the same in one sentence."""
    keys: dict[str, list[str]] = {}
    for note in notes:
        keys.setdefault(note.about, []).append(note.key)
    for about, names in keys.items():
        yield f"{', '.join(names)}: {about}"


def expect_contract(task: TaskLike | None, twin: Twin | str) -> Contract | None:
    """What policies of ours for a task have; None where no task is named."""
    from realworthy.tasks.contract import build_contract

    if not task:
        return None
    model = load_twin(twin) if isinstance(twin, str) and twin else twin
    return build_contract(TaskWorlds(find_task(task).build(model or None), 1))


def check_draft(draft: "ContractDraft") -> Contract:
    """Its contract; raises with what was found and what is missing."""
    if draft.contract is not None:
        return draft.contract
    lines = [f"  - missing, {note.key}: {note.about}" for note in draft.missing]
    lines += [f"  - assumed, {note.key}: {note.about}" for note in draft.assumed]
    lines += [f"  - known, {note.key}: {note.about}" for note in draft.known]
    raise BadFile(
        draft.path,
        f"it comes from {draft.origin}, and its contract is not whole.\n"
        + "\n".join(lines),
        hint="Name the task (--task TASK), or let --draft write a contract beside it to"
        " fill in: docs/foreign_policies.md explains every key.",
    )


def _find_own_twin(
    contract: Contract, policy: Path, definition: TaskDefinition
) -> Twin | str:
    """The twin it was trained on; of a task in a file, what the task itself builds."""
    if contract.twin.reference or definition.twin:
        return find_twin(contract, policy)
    default = definition.build().twin
    return (
        default if default.name == contract.twin.name else find_twin(contract, policy)
    )


def find_twin(contract: Contract, policy: Path) -> str:
    """As `load_twin` takes it; the name where the file it was trained on is gone."""
    reference = contract.twin.reference
    if not reference:
        raise RealworthyError(
            "The policy does not say on which twin it was trained.",
            hint="Say it: --twin TWIN",
        )
    if reference.endswith((".yaml", ".xml", ".urdf")) and not Path(reference).exists():
        name = Path(reference).name
        near = [
            p / name for p in policy.parents[:_SEARCHED_FOLDERS] if (p / name).exists()
        ]
        hint = "Say where it is, or on which other twin to certify: --twin TWIN"
        if near:
            hint = f"A file of that name is near the policy: --twin {near[0]}"
        raise RealworthyError(
            f"The policy was trained on '{reference}', which is not there.", hint=hint
        )
    return reference


def _find_simulator(engine: str) -> Simulate | None:
    if engine in ("mujoco", "warp"):
        return None
    from realworthy.simulators.witnesses import WITNESSES

    return WITNESSES[engine]
