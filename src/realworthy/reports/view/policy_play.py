"""A twin under a policy, or under commands that somebody drags."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import ParameterSpace
from realworthy.policies import Pilot, Policy
from realworthy.policies.contract import InputRange
from realworthy.reports.view.play import EpisodeVerdict, Play, Reading, read_world
from realworthy.reports.view.world import World
from realworthy.simulators import MujocoCpu
from realworthy.simulators.replay import bind_at
from realworthy.twins import Twin, bind

Floats = NDArray[np.float64]
_PERIOD = 0.02
"""[s] between commands where no policy says."""
_SAME = 1e-9
"""[s] by which periods may differ and be the same."""
_OPEN = 10.0
"""How far a command without limits can be dragged."""
DRIVEN_COUNT = 12
"""Commands up to which each can be dragged."""


class PolicyPlay(Play):
    """A policy that nobody judges, at the twin's own interface."""

    has_ghost = False

    def __init__(self, twin: Twin, space: ParameterSpace, policy: Policy) -> None:
        self.name = policy.path.name
        self.about = f"{policy.path.name}: trained for '{policy.contract.task}'"
        period = policy.contract.period
        self.world = World(_build(twin, space, period))
        self.period = self.world.simulator.period
        self.inputs = policy.contract.inputs
        commands = (*policy.contract.action.commands, *policy.contract.resting)
        self._pilot = Pilot(policy, self.world.describe_for(commands))
        self._places = self.world.find_places(commands)
        self._home = np.array(self.world.bound.compiled.own["own.initial_ctrl"])
        self._space = space
        self.restart()

    def step(self) -> EpisodeVerdict | None:
        self._command[self._places] = self._pilot.act(self.world.state())
        self.world.simulator.step(self._command[None])
        self.time += self.period
        return self.end_if_diverged()

    def restart(self) -> None:
        self.time = 0.0
        self.world.simulator.reset()
        self._pilot.reset()
        self._command = self._home.copy()

    def write(self, values: Mapping[str, float]) -> None:
        self.world.simulator.write(self._space.vector(values))

    def tell(self, inputs: Mapping[str, float]) -> None:
        defaults = {name: each.default for name, each in self.inputs.items()}
        self._pilot.set_inputs({**defaults, **inputs})

    def read(self) -> Reading:
        return read_world(self.world, self.time, self._command)

    def find_goal(self) -> Floats | None:
        return find_goal(self._pilot.inputs)


class HoldPlay(Play):
    """Commands as they are dragged, from the pose that the twin begins in."""

    name = "by hand"
    has_ghost = False

    def __init__(self, twin: Twin, space: ParameterSpace) -> None:
        self.about = "Commands stay at the home pose until a slider moves them"
        self.world = World(_build(twin, space, _PERIOD))
        self.period = self.world.simulator.period
        self._space = space
        self._home = np.array(self.world.bound.compiled.own["own.initial_ctrl"])
        self._command = self._home.copy()
        self.inputs = MappingProxyType(self._list_inputs())
        self.restart()

    def step(self) -> EpisodeVerdict | None:
        self.world.simulator.step(self._command[None])
        self.time += self.period
        return self.end_if_diverged()

    def restart(self) -> None:
        self.time = 0.0
        self.world.simulator.reset()

    def write(self, values: Mapping[str, float]) -> None:
        self.world.simulator.write(self._space.vector(values))

    def tell(self, inputs: Mapping[str, float]) -> None:
        signals = [line.signal for line in self.world.lines]
        self._command = self._home.copy()
        for name, value in inputs.items():
            self._command[signals.index(name)] = value

    def read(self) -> Reading:
        return read_world(self.world, self.time, self._command)

    def _list_inputs(self) -> dict[str, InputRange]:
        if len(self.world.lines) > DRIVEN_COUNT:
            return {}
        found = {}
        for line, home in zip(self.world.lines, self._home.tolist(), strict=True):
            lower = line.lower if np.isfinite(line.lower) else home - _OPEN
            upper = line.upper if np.isfinite(line.upper) else home + _OPEN
            found[line.signal] = InputRange(
                lower=min(lower, home),
                upper=max(upper, home),
                default=home,
                unit=self.world.find_unit(line),
            )
        return found


def find_goal(told: Mapping[str, float]) -> Floats | None:
    """(3,) [m] a goal among what a policy is told; on the ground where it has no z."""
    if not {"goal.x", "goal.y"} <= set(told):
        return None
    return np.array([told["goal.x"], told["goal.y"], told.get("goal.z", 0.0)])


def _build(twin: Twin, space: ParameterSpace, period: float) -> MujocoCpu:
    """One world, its time step shortened where a period is no multiple of it."""
    bound = bind(twin, space)
    substeps = max(1, round(period / float(bound.model.opt.timestep)))
    if abs(substeps * float(bound.model.opt.timestep) - period) > _SAME:
        bound = bind_at(twin, 1 / period, space)
        substeps = round(period / float(bound.model.opt.timestep))
    return MujocoCpu(bound, 1, substeps=substeps, thread_count=1)
