"""What a trial on a robot was worth, by the task's own reward of what was measured."""

import numpy as np
import torch
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.task import Task
from realworthy.twins import bind

Floats = NDArray[np.float64]


class TrialScore:
    """The task's return of recordings: measured poses stand in for true ones.

    Every row becomes a world with that pose and speed, and the reward of all is
    computed at once. That needs every joint to be measured and a task that is told
    nothing; encoders that are wrong make returns wrong alike in every trial.
    """

    def __init__(self, task: Task) -> None:
        bound = bind(task.twin)
        self._joints = [bound.model.joint(i).name for i in range(bound.model.njnt)]
        if bound.model.nq != bound.model.njnt or bound.model.nv != bound.model.njnt:
            raise RealworthyError(
                f"What a trial of task '{task.name}' is worth cannot be told from its"
                " recording: the robot does not measure where its base is.",
                hint="Give a score of your own in Python: adapt(…, score=…).",
            )
        if task.inputs:
            raise RealworthyError(
                f"Task '{task.name}' is told {task.inputs[0].name}, on which its return"
                " depends.",
                hint="Give a score of your own in Python: adapt(…, score=…).",
            )
        self.task, self._bound = task, bound

    def __call__(self, trial: Recording) -> Floats:
        """(rows,) reward of each control period of a trial, times the period."""
        time, period = trial.time, self.task.period
        count = max(1, round((time[-1] - time[0]) / period))
        rows = np.searchsorted(time, time[0] + period * np.arange(count + 1))
        rows = rows.clip(max=len(time) - 1)
        q, v = (
            np.stack([trial.signals[f"{x}.{kind}"][rows] for x in self._joints], 1)
            for kind in ("position", "velocity")
        )
        simulator = MujocoCpu(self._bound, len(rows), substeps=1)
        simulator.reset(np.arange(len(rows)), qpos=q, qvel=v)
        scene = Scene(simulator, torch.device("cpu"))
        self.task.prepare(scene)
        # what a beginning draws is of no use here; some tasks make room in it
        everywhere = torch.ones(len(rows), dtype=torch.bool)
        self.task.begin(scene, everywhere, Chance(0, len(rows), scene.device))
        action = self._read_actions(trial, rows)
        scene.action = torch.tensor(action, dtype=torch.float32)
        scene.last_action = scene.action.roll(1, 0)
        scene.last_action[0] = scene.action[0]
        scene.command = self.task.action.compute(scene.action, scene.zeros(0))
        terms = self.task.compute_rewards(scene)
        reward = sum(self.task.weights[name] * x for name, x in terms.items())
        assert isinstance(reward, torch.Tensor)
        return period * reward.double().numpy()[1:]

    def _read_actions(self, trial: Recording, rows: NDArray[np.intp]) -> Floats:
        """(rows, actions) as used, from what was sent."""
        action = self.task.action
        sent = np.stack([trial.signals[name][rows] for name in action.commands], 1)
        scale = np.array(action.scale)
        return (sent - np.array(action.offset)) / np.where(scale == 0, 1.0, scale)
