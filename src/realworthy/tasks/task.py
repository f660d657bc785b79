"""What is observed, rewarded and wanted of one robot; on tensors of all worlds."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Term
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.environment import TaskGroup
from realworthy.tasks.environment.mirrors import Reflection
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.twins import Twin
from realworthy.twins.roles import RobotPart

if TYPE_CHECKING:
    from realworthy.tasks.definition import TaskDefinition

Controller: TypeAlias = Callable[[Scene], Tensor]
"""(worlds, action_width) actions from the truth: a reference, not a policy."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where episodes begin; rows of worlds that do not begin are not looked at."""

    qpos: Tensor
    """(worlds, nq)"""
    qvel: Tensor
    """(worlds, nv)"""


@dataclass(frozen=True, slots=True)
class Input:
    """A number that somebody gives the policy, such as `goal.x`."""

    name: str
    lower: float
    upper: float
    unit: str
    default: float = 0.0


class Task(ABC):
    """One task on one twin. An instance remembers things of the worlds it runs in.

    Every method works on all worlds at once, never waits for the device, and changes
    nothing of the scene.
    """

    name: str
    twin: Twin
    added: tuple[str, ...] = ()
    """What the task added to the twin in simulation, a line each."""
    parts: Mapping[str, RobotPart[object]] = MappingProxyType({})
    """Role → what has it in this task, and why."""
    period: float
    """[s] of one control step."""
    seconds: float
    """[s] of one episode."""
    terms: tuple[Term, ...]
    """What the actor observes, all of it measurable on the robot."""
    action: ActionMap
    inputs: tuple[Input, ...] = ()
    """Goals and commands, by name; the task draws them, on a robot a person does."""
    noise: Mapping[str, float] = MappingProxyType({})
    """Ending of a signal's name, such as `.velocity`, → sd of its noise [its unit]."""
    unmeasured: tuple[str, ...] = ("base.position", "base.velocity")
    """Sensors of the twin that the robot itself lacks; terms may not need them."""
    weights: Mapping[str, float]
    """Reward term → weight; the reward is their sum times the period [s]."""
    reflection: Reflection | None = None
    """Its left–right symmetry, if it has one."""
    groups: tuple[TaskGroup, ...] = ()
    """Groups of observations beside those that every task has, such as a map of heights
    or an image; `observe_groups` gives them."""

    definition: "TaskDefinition | None" = None
    """What it was built from, where that has a name."""

    @classmethod
    def choose_randomization(cls, twin: Twin) -> Randomization:
        """How worlds differ where neither a preset nor anybody says otherwise."""
        return Randomization(belief=twin.belief, noise=1.0)

    @abstractmethod
    def prepare(self, scene: Scene) -> None:
        """Finds places and makes room to remember; called once."""

    @abstractmethod
    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        """Where the worlds of a mask begin; also forgets what was of their last time.

        Goals for the episode are drawn here.
        """

    def begin_practice(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        """Where they begin while a policy practises; elsewhere, where that helps it."""
        return self.begin(scene, worlds, chance)

    def advance(self, scene: Scene, chance: Chance) -> None:  # noqa: B027
        """Takes note of what happened in the step that was just made."""

    @abstractmethod
    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        """Reward term → (worlds,) before its weight."""

    def find_failures(self, scene: Scene) -> Tensor | None:
        """(worlds,) `Failure` codes that end an episode now; None: it never ends so."""
        return None

    @abstractmethod
    def is_success(self, scene: Scene) -> Tensor:
        """(worlds,) bool: an episode that ended now would have reached its goal."""

    def read_inputs(self, scene: Scene) -> Tensor | None:
        """(worlds, inputs) present values of `inputs`."""
        return None

    def observe_privileged(self, scene: Scene) -> Tensor | None:
        """(worlds, k) the group `privileged`: what is no term and no number of e."""
        return None

    def observe_groups(self, scene: Scene) -> Mapping[str, Tensor]:
        """Name of each of `groups` → (worlds, *shape), 32-bit floats.

        Policies see them as they are, without noise, delay or history.
        """
        return {}

    def build_reference(self, scene: Scene) -> Controller:
        """A controller that does the task, from the truth."""
        raise RealworthyError(f"Task '{self.name}' has no reference controller.")

    def find_pushed(self, scene: Scene) -> Tensor:
        """Places in `qvel` that pushes change: ground speed of the robot's base.

        A robot that is fixed to the world is pushed at its joints. Objects beside a
        robot are never pushed.
        """
        base = scene.find_base()
        dofs = scene.layout.robot_dofs.tolist()
        places = dofs if base is None else [base[1], base[1] + 1]
        return torch.tensor(places, device=scene.device)

    def memory(self) -> dict[str, Tensor]:
        """Tensors that it remembers, by name, live."""
        return {k: v for k, v in vars(self).items() if isinstance(v, Tensor)}
