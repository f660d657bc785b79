"""A policy's real trials played again in worlds of many e, in closed loop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.parameters import ParameterSpace
from realworthy.policies import load_policy
from realworthy.policies.observer import Observer
from realworthy.policies.policy import Policy
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu
from realworthy.twins import Twin, bind

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a trial began, and how many control periods it had."""

    qpos: Floats
    qvel: Floats
    steps: int


class ClosedLoop:
    """Trials of one policy: what was measured in each, and what a twin makes of them.

    Every joint has to be measured. A policy answers what the simulated robot measures,
    so that a small error of the twin grows as it would on the robot.
    """

    def __init__(
        self,
        policy: Path,
        twin: Twin,
        space: ParameterSpace,
        trials: Sequence[Recording],
        *,
        inputs: Mapping[str, float] | None = None,
    ) -> None:
        self._path, self._policies = policy, dict[int, Policy]()
        contract = load_policy(policy).contract
        self._contract, self._bound = contract, bind(twin, space)
        model = self._bound.model
        if model.nq != model.njnt:
            raise RealworthyError(
                f"Trials of twin '{twin.name}' do not tell where its base was.",
                hint="Compare motions of its joints alone: realworthy calibrate.",
            )
        joints = [model.joint(i).name for i in range(model.njnt)]
        self._signals = [
            f"{x}.{kind}" for kind in ("position", "velocity") for x in joints
        ]
        self._substeps = round(contract.period / float(model.opt.timestep))
        given = {k: v.default for k, v in contract.inputs.items()} | dict(inputs or {})
        self._inputs = given
        self._starts, rows = [], []
        for trial in trials:
            count = max(2, round(trial.duration / contract.period))
            at = trial.time[0] + contract.period * np.arange(count + 1)
            places = np.searchsorted(trial.time, at - 0.25 * contract.period)
            places = places.clip(max=len(trial.time) - 1)
            seen = np.stack([trial.signals[name][places] for name in self._signals], 1)
            half = len(joints)
            self._starts.append(_Start(seen[0, :half], seen[0, half:], count))
            rows.append(seen[1:])
        self.measured: Floats = np.concatenate(rows)
        """(rows, signals) of all trials, one after the other."""

    def simulate(self, e: Floats) -> Floats:
        """(n, rows, signals) of (n, d) draws."""
        simulator = MujocoCpu(self._bound, len(e), substeps=self._substeps)
        simulator.write(e)
        policy = self._load(len(e))
        found = [self._play(simulator, policy, start) for start in self._starts]
        return np.concatenate(found, axis=1)

    def _play(self, simulator: MujocoCpu, policy: Policy, start: _Start) -> Floats:
        contract, count = self._contract, simulator.world_count
        action = contract.action
        names = (*simulator.signals, *action.names, *self._inputs)
        observer = Observer(contract.terms, action, names)
        told = np.tile([*self._inputs.values()], (count, 1))
        columns = [simulator.signals.index(name) for name in self._signals]
        places = [simulator.commands.index(name) for name in action.commands]
        command = np.zeros((count, len(simulator.commands)))
        for name, value in contract.resting.items():
            command[:, simulator.commands.index(name)] = value
        simulator.reset(qpos=start.qpos, qvel=start.qvel)
        policy.reset()
        used, rows = np.zeros((count, action.width)), []
        bounds = [simulator.signals.index(b.signal) for b in action.bounds]
        for _ in range(start.steps):
            signals = np.asarray(simulator.array("sensordata"))
            row = np.concatenate([signals, used, told], axis=1)
            raw = policy.act(observer.observe(row)).reshape(count, -1)
            used = action.smooth(raw.astype(np.float64), used)
            command[:, places] = action.compute(used, signals[:, bounds])
            simulator.step(command)
            rows.append(np.asarray(simulator.array("sensordata"))[:, columns].copy())
        return np.stack(rows, axis=1)

    def _load(self, worlds: int) -> Policy:
        if worlds not in self._policies:
            self._policies[worlds] = load_policy(self._path, worlds=worlds)
        return self._policies[worlds]
