"""Every task that comes with Realworthy, by name."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from realworthy.errors import RealworthyError, UnknownName
from realworthy.robots.roles import RoleChoices
from realworthy.tasks.arm.reach import Reach, ReachWrist
from realworthy.tasks.classic.acrobot import AcrobotBalance, AcrobotSwingUp
from realworthy.tasks.classic.cartpole import CartpoleBalance, CartpoleSwingUp
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.legged.biped import BipedVelocity
from realworthy.tasks.legged.quadruped import QuadrupedVelocity
from realworthy.tasks.task import Task
from realworthy.tasks.wheels.drive import DriveGoal, DrivePath, DriveVelocity
from realworthy.twins import Twin


@dataclass(frozen=True, slots=True)
class Entry:
    """A task that can be built on its own twin, or on another one."""

    build: Callable[[Twin | None], Task]
    twin: str
    """The twin that it is built on unless told."""
    about: str


TASKS: dict[str, Entry] = {
    "pendulum": Entry(
        PendulumSwingUp,
        "pendulum",
        "swing a pendulum up and balance it, with a motor too weak to lift it",
    ),
    "cartpole_balance": Entry(
        CartpoleBalance, "cartpole", "keep a pole upright on a cart"
    ),
    "cartpole_swing_up": Entry(
        CartpoleSwingUp, "cartpole", "swing a pole up with its cart, and balance it"
    ),
    "acrobot_balance": Entry(
        AcrobotBalance, "double_pendulum", "balance two links by the elbow alone"
    ),
    "acrobot_swing_up": Entry(
        AcrobotSwingUp, "double_pendulum", "swing two links up by the elbow alone"
    ),
    "reach": Entry(Reach, "arm", "bring an arm's tip to a point and hold it there"),
    "reach_wrist": Entry(
        ReachWrist, "arm", "bring an arm's wrist to a point and hold it there"
    ),
    "drive_goal": Entry(
        DriveGoal, "diffdrive", "drive to a pose up to a metre away and stay"
    ),
    "drive_path": Entry(DrivePath, "diffdrive", "follow a figure eight"),
    "drive_velocity": Entry(
        DriveVelocity, "diffdrive", "move forward and turn at commanded speeds"
    ),
    "quadruped": Entry(
        QuadrupedVelocity, "quadruped", "walk on four legs at commanded speeds"
    ),
    "biped": Entry(BipedVelocity, "humanoid", "walk on two legs at commanded speeds"),
}


def check_task(name: str) -> None:
    """Raises where no task is called so."""
    if name not in TASKS:
        hint = "All: realworthy show tasks"
        raise UnknownName("task", name, TASKS, owner="Realworthy", hint=hint)


def prepare_twin(name: str, twin: Twin, roles: RoleChoices | None = None) -> Twin:
    """The twin as a task sees it: parts as chosen, and with what the task adds.

    A policy's contract says which parts were chosen where it learned.
    """
    return build_task(name, twin.with_roles(roles or RoleChoices())).twin


def build_task(name: str, twin: Twin | None = None) -> Task:
    """A task by its name, on its own twin or on the one given.

    Raises where the twin given lacks a part of the task.
    """
    check_task(name)
    entry = TASKS[name]
    try:
        return entry.build(twin)
    except KeyError as error:  # MuJoCo's, of a joint or site that is not there
        if twin is None:
            raise
        raise RealworthyError(
            f"Task '{name}' does not fit twin '{twin.name}': {_name_part(error)}.",
            hint=f"It is for '{entry.twin}' and other twins of such a robot.",
        ) from None


def _name_part(error: KeyError) -> str:
    """The joint, body or site that MuJoCo did not find, without all that there are."""
    text = str(error.args[0])
    name = re.match(r"Invalid name '(.*?)'", text)
    return f"it has no part called '{name[1]}'" if name else text.removesuffix(".")
