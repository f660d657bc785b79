"""A task tried again and again, by a policy or by the task's reference controller."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from realworthy.parameters import Belief, IndependentBelief, ParameterSpace
from realworthy.parameters.marginals import Fixed
from realworthy.policies import Pilot, Policy
from realworthy.policies.contract import InputRange
from realworthy.reports.elements.wording import describe_end
from realworthy.reports.view.play import EpisodeVerdict, Play, Reading, read_world
from realworthy.reports.view.policy_play import find_goal
from realworthy.reports.view.world import World
from realworthy.simulators import MujocoCpu
from realworthy.tasks.environment.environment import Step
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.failures import Failure
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Task

Floats = NDArray[np.float64]
_SAME = 1e-9


class TaskPlay(Play):
    """One world of a task; its episodes end as those of training do."""

    has_ghost = False

    def __init__(
        self, task: Task, space: ParameterSpace, policy: Policy | None = None
    ) -> None:
        """Without a policy the reference controller acts; not every task has one."""
        who = "its reference controller" if policy is None else policy.path.name
        self.name = f"{task.name} by {who}"
        self.about = f"Task '{task.name}' by {who}"
        self._space, self._task = space, task
        self._worlds = TaskWorlds(
            task, 1, randomization=_certain(space, {}), thread_count=1
        )
        simulator = self._worlds.simulator
        assert isinstance(simulator, MujocoCpu)
        self.world, self.period = World(simulator), self._worlds.period
        resting = () if policy is None else policy.contract.resting
        info = self.world.describe_for((*task.action.commands, *resting))
        self._pilot = None if policy is None else Pilot(policy, info)
        self._reference = None
        if policy is None:
            self._reference = task.build_reference(self._worlds.scene)
        self.inputs: Mapping[str, InputRange] = (
            {} if policy is None else policy.contract.inputs
        )
        self._told: dict[str, float] = {}
        self._home = np.array(self.world.bound.compiled.own["own.initial_ctrl"])
        self._places = [simulator.commands.index(n) for n in task.action.commands]
        self.restart()

    @torch.no_grad()
    def step(self) -> EpisodeVerdict | None:
        self.time += self.period
        step = self._worlds.step(self._act())
        return self._judge(step) if bool(step.done[0]) else None

    def restart(self) -> None:
        self.time = 0.0
        self._worlds.reset()
        if self._pilot is not None:
            self._pilot.reset()

    def write(self, values: Mapping[str, float]) -> None:
        self._worlds.randomize(_certain(self._space, values))  # of later episodes
        self._worlds.simulator.write(self._space.vector(values))
        self._worlds.measuring.renew()

    def tell(self, inputs: Mapping[str, float]) -> None:
        self._told = dict(inputs)

    def push(self, speed: float) -> None:
        super().push(speed)
        self._worlds.scene.renew()

    def read(self) -> Reading:
        command = self._home.copy()
        command[self._places] = self._worlds.scene.command[0].numpy()
        return read_world(self.world, self.time, command)

    def find_goal(self) -> Floats | None:
        return find_goal(self._list_told())

    def _act(self) -> torch.Tensor:
        """(1, actions)"""
        if self._pilot is None:
            assert self._reference is not None
            return self._reference(self._worlds.scene).clamp(-1, 1)
        self._pilot.set_inputs(self._list_told())
        self._pilot.act(self.world.state())
        return torch.from_numpy(self._pilot.action.astype(np.float32))[None]

    def _list_told(self) -> dict[str, float]:
        """The task's own goals and commands, but for those that somebody chose."""
        values = self._task.read_inputs(self._worlds.scene)
        if values is None:
            return {}
        names = [each.name for each in self._task.inputs]
        told = dict(zip(names, values[0].tolist(), strict=True)) | self._told
        return {
            name: min(max(value, self.inputs[name].lower), self.inputs[name].upper)
            if name in self.inputs
            else value
            for name, value in told.items()
        }

    def _judge(self, step: Step) -> EpisodeVerdict:
        seconds, self.time = self.time, 0.0
        if self._pilot is not None:
            self._pilot.reset()
        if bool(step.success[0]):
            return EpisodeVerdict(f"succeeded after {seconds:.1f} s", is_good=True)
        failure = Failure(int(step.failure[0]))
        if failure is Failure.NO_PROGRESS and self._told:
            # goals were not its own
            return EpisodeVerdict(f"time was up after {seconds:.1f} s", is_good=None)
        return EpisodeVerdict(
            describe_end(failure.name.lower(), seconds), is_good=False
        )


def can_judge(task: Task, policy: Policy) -> bool:
    """Whether a policy's actions mean in a task what they meant in training."""
    contract = policy.contract
    same_rate = abs(contract.period - task.period) < _SAME
    return same_rate and contract.action == task.action


def _certain(space: ParameterSpace, values: Mapping[str, float]) -> Randomization:
    """Every episode has exactly these numbers, nominal ones elsewhere."""
    e = space.values(space.vector(values))
    belief: Belief = IndependentBelief(
        space, {name: Fixed(value) for name, value in e.items()}
    )
    return Randomization(belief=belief)
