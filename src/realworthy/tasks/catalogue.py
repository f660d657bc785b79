"""Every task that comes with Realworthy, by name."""

from pathlib import Path
from typing import TypeAlias

from realworthy.errors import RealworthyError, UnknownName
from realworthy.policies.contract import Contract
from realworthy.robots.roles import RoleChoices
from realworthy.tasks.arm.reach import Reach, ReachWrist
from realworthy.tasks.classic.acrobot import AcrobotBalance, AcrobotSwingUp
from realworthy.tasks.classic.cartpole import CartpoleBalance, CartpoleSwingUp
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.definition import TaskDefinition
from realworthy.tasks.legged.biped import BipedVelocity
from realworthy.tasks.legged.quadruped import QuadrupedVelocity
from realworthy.tasks.task import Task
from realworthy.tasks.task_files import (
    define_task,
    is_file_task,
    load_task,
    recall_task,
)
from realworthy.tasks.wheels.drive import DriveGoal, DrivePath, DriveVelocity
from realworthy.twins import Twin

TaskLike: TypeAlias = TaskDefinition | type[Task] | str
"""A task as verbs take it: by name, of ours or `my_file.py:MyTask`, as a class, or as
`find_task` gives it, with settings."""

TASKS: dict[str, TaskDefinition] = {
    each.name: each
    for each in (
        TaskDefinition(
            name="pendulum",
            kind=PendulumSwingUp,
            twin="pendulum",
            about="swing a pendulum up and balance it, with a motor too weak to lift"
            " it",
        ),
        TaskDefinition(
            name="cartpole_balance",
            kind=CartpoleBalance,
            twin="cartpole",
            about="keep a pole upright on a cart",
        ),
        TaskDefinition(
            name="cartpole_swing_up",
            kind=CartpoleSwingUp,
            twin="cartpole",
            about="swing a pole up with its cart, and balance it",
        ),
        TaskDefinition(
            name="acrobot_balance",
            kind=AcrobotBalance,
            twin="double_pendulum",
            about="balance two links by the elbow alone",
        ),
        TaskDefinition(
            name="acrobot_swing_up",
            kind=AcrobotSwingUp,
            twin="double_pendulum",
            about="swing two links up by the elbow alone",
        ),
        TaskDefinition(
            name="reach",
            kind=Reach,
            twin="arm",
            about="bring an arm's tip to a point and hold it there",
        ),
        TaskDefinition(
            name="reach_wrist",
            kind=ReachWrist,
            twin="arm",
            about="bring an arm's wrist to a point and hold it there",
        ),
        TaskDefinition(
            name="drive_goal",
            kind=DriveGoal,
            twin="diffdrive",
            about="drive to a pose up to a metre away and stay",
        ),
        TaskDefinition(
            name="drive_path",
            kind=DrivePath,
            twin="diffdrive",
            about="follow a figure eight",
        ),
        TaskDefinition(
            name="drive_velocity",
            kind=DriveVelocity,
            twin="diffdrive",
            about="move forward and turn at commanded speeds",
        ),
        TaskDefinition(
            name="quadruped",
            kind=QuadrupedVelocity,
            twin="quadruped",
            about="walk on four legs at commanded speeds",
        ),
        TaskDefinition(
            name="biped",
            kind=BipedVelocity,
            twin="humanoid",
            about="walk on two legs at commanded speeds",
        ),
    )
}


def find_task(task: TaskLike) -> TaskDefinition:
    """A task by name, by class or as it is; a file that is named is run."""
    if isinstance(task, TaskDefinition):
        return task
    if not isinstance(task, str):
        return define_task(task)
    if task in TASKS:
        return TASKS[task]
    if is_file_task(task):
        return load_task(task)
    hint = "Or one of your own: my_file.py:MyTask. All: realworthy show tasks"
    raise UnknownName("task", task, TASKS, owner="Realworthy", hint=hint)


def find_learned_task(contract: Contract, policy: Path) -> TaskDefinition:
    """The task that a policy learned, with the settings that it had."""
    if contract.task_file is not None:
        found = recall_task(contract.task_file, policy)
    elif contract.task in TASKS:
        found = TASKS[contract.task]
    else:
        unknown = UnknownName("task", contract.task, TASKS, owner="Realworthy")
        raise RealworthyError(
            unknown.problem,
            hint="Say which task the policy is for: --task NAME; all: realworthy show"
            " tasks",
        )
    return found.with_settings(contract.task_settings)


def prepare_twin(task: TaskLike, twin: Twin, roles: RoleChoices | None = None) -> Twin:
    """The twin as a task sees it: parts as chosen, and with what the task adds.

    A policy's contract says which parts were chosen where it learned.
    """
    return build_task(task, twin.with_roles(roles or RoleChoices())).twin


def build_task(task: TaskLike, twin: Twin | None = None) -> Task:
    """A task on its own twin or on the one given.

    Raises where the twin given lacks a part of the task.
    """
    return find_task(task).build(twin)
