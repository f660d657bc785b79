"""A policy at a robot's own interface: states in, commands out."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError, UnknownName
from realworthy.policies.measured_signals import list_measured
from realworthy.policies.observer import Observer
from realworthy.policies.policy import Policy
from realworthy.robots import RobotInfo, State

Floats = NDArray[np.float64]


class Pilot:
    """Observer, policy and action map of one robot; goes by names, not by order.

    Decides nothing about safety: what may reach a motor is a guard's business.
    """

    observation: Floats
    """(width,) that the last commands came from."""
    action: Floats
    """(actions,) raw, as the network gave it."""
    used: Floats
    """(actions,) after clip and smoothing."""

    def __init__(self, policy: Policy, info: RobotInfo) -> None:
        contract = policy.contract
        contract.check_against(info)
        self.policy = policy
        self.inputs = {name: each.default for name, each in contract.inputs.items()}
        self._map = contract.action
        measured = list_measured(info)
        names = (*measured, *self._map.names, *self.inputs)
        self._observer = Observer(contract.terms, self._map, names)
        self._row = np.zeros(len(names))
        ends = np.cumsum([0, *[len(info.joints)] * 3, len(info.other_signals)])
        self._parts = [slice(*pair) for pair in pairwise(ends)]
        self._last = slice(len(measured), len(measured) + self._map.width)
        self._given = slice(self._last.stop, len(names))
        self._bounded = [names.index(b.signal) for b in self._map.bounds]
        given = (*self._map.commands, *contract.resting)
        self._resting = np.array(list(contract.resting.values()))
        self._order = [given.index(name) for name in info.commands]
        self._feeds_raw = contract.conventions.action_feedback == "raw"
        self.reset()

    def reset(self) -> None:
        """Starts again: no history, no last action, the inputs as they are."""
        self.policy.reset()
        self._observer.reset()
        self.observation = np.zeros(self._observer.width)
        self.action = np.zeros(self._map.width)
        self.used = np.zeros(self._map.width)
        self.set_inputs({})

    def set_inputs(self, values: Mapping[str, float]) -> None:
        """What the policy is told from now on, such as `goal.x`; within its range."""
        ranges = self.policy.contract.inputs
        for name, value in values.items():
            if name not in ranges:
                raise UnknownName("input", name, tuple(ranges), owner="the policy")
            if not ranges[name].lower <= value <= ranges[name].upper:
                raise RealworthyError(
                    f"{name} = {value:g} is outside {ranges[name].lower:g} …"
                    f" {ranges[name].upper:g}, on which the policy was trained."
                )
        self.inputs |= values
        self._row[self._given] = tuple(self.inputs.values())

    def act(self, state: State) -> Floats:
        """(commands,) in the robot's order, for what it measured."""
        values = (state.position, state.velocity, state.torque, state.others)
        for part, value in zip(self._parts, values, strict=True):
            self._row[part] = value
        self._row[self._last] = self.action if self._feeds_raw else self.used
        self.observation = self._observer.observe(self._row)
        self.action = self.policy.act(self.observation).astype(np.float64)
        self.used = self._map.smooth(self.action, self.used)
        moved = self._map.compute(self.used, self._row[self._bounded])
        return np.concatenate((moved, self._resting))[self._order]
