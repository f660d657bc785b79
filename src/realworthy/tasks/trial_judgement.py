"""Whether a trial on a robot succeeded at its task, by what the robot measured.

The measured joints are put into the task's twin, moment by moment, and the task itself
judges where that leads. What no sensor of the robot shows, such as where a robot on
legs has walked, nobody can judge from its recording: then the answer is None.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from realworthy.errors import RealworthyError
from realworthy.policies import Policy, load_policy
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu
from realworthy.tasks.catalogue import find_learned_task
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.task import Task
from realworthy.twins import bind, load_twin
from realworthy.twins.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialJudgement:
    """Whether a trial succeeded; None: that cannot be seen on the robot."""

    success: bool | None
    reason: str
    """Why it cannot be seen; empty where it can."""


def judge_trial(
    policy: Policy | Path | str,
    recording: Recording,
    inputs: Mapping[str, float] | None = None,
) -> TrialJudgement:
    """At the end of a trial's recording, with the `inputs` that the policy was told."""
    policy = load_policy(policy)
    contract = policy.contract
    try:
        definition = find_learned_task(contract, policy.path)
        twin = load_twin(contract.twin.reference).with_roles(contract.roles)
        task = definition.build(twin)
    except RealworthyError as error:
        return TrialJudgement(
            success=None, reason=f"its task is not there: {error.problem.rstrip('.')}"
        )
    defaults = {name: one.default for name, one in contract.inputs.items()}
    return judge_recording(task, recording, {**defaults, **(inputs or {})})


def judge_recording(
    task: Task, recording: Recording, inputs: Mapping[str, float]
) -> TrialJudgement:
    """What a task says of a robot whose joints moved as recorded."""
    if problem := _find_unseen(task, recording):
        return TrialJudgement(success=None, reason=problem)
    bound = bind(task.twin)
    layout = Layout(bound)
    substeps = round(task.period / float(bound.model.opt.timestep))
    simulator = MujocoCpu(bound, 1, substeps=substeps)
    device = torch.device("cpu")
    scene, chance = Scene(simulator, device), Chance(0, 1, device)
    task.prepare(scene)
    task.begin(scene, torch.ones(1, dtype=torch.bool), chance)
    if not _tell(task, scene, inputs):
        return TrialJudgement(
            success=None, reason="its task draws its goals while it lasts"
        )
    joints = [joint for joint in layout.joints if joint in recording.joints]
    places = [layout.joint(joint) for joint in joints]
    rows = recording.resample(1 / task.period)
    position = rows.stack("position", joints)
    has_speeds = all(f"{joint}.velocity" in rows.signals for joint in joints)
    velocity = rows.stack("velocity", joints) if has_speeds else 0 * position
    qpos = simulator.array("qpos").copy()
    qvel = 0 * simulator.array("qvel")
    for q, dq in zip(position, velocity, strict=True):
        qpos[:, [place for place, _ in places]] = q
        qvel[:, [dof for _, dof in places]] = dq
        simulator.reset(qpos=qpos, qvel=qvel)
        scene.renew()
        scene.step_count += 1
        task.advance(scene, chance)
    return TrialJudgement(success=bool(task.is_success(scene)[0]), reason="")


def _find_unseen(task: Task, recording: Recording) -> str:
    """What a task needs to know and no recording of joints shows; empty: nothing."""
    if task.twin.base is not None:
        return f"where '{task.twin.base.body}' is, which floats, no joint shows"
    if task.twin.objects:
        return f"where '{task.twin.objects[0]}' is, no joint shows"
    read = {name.rpartition(".")[0] for t in task.terms for name in t.signals}
    joints = Layout(bind(task.twin)).joints
    missing = [j for j in joints if j in read and j not in recording.joints]
    return f"'{missing[0]}' was not recorded" if missing else ""


def _tell(task: Task, scene: Scene, inputs: Mapping[str, float]) -> bool:
    """Gives a task its goals; whether it took them."""
    if not task.inputs:
        return True
    now = task.read_inputs(scene)
    if now is None:
        return False
    wanted = torch.tensor([[inputs[one.name] for one in task.inputs]])
    now.copy_(wanted.to(now.dtype))
    again = task.read_inputs(scene)
    return again is not None and bool(torch.equal(again, now))
