"""From actions to what drives are told: noise, and encoders that they take for true."""

import torch
from torch import Tensor

from realworthy.simulators.replay.inputs import Encoders
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.measurements import Measurements, may_differ
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.task import Task

_NOISE = "own.action_noise"
"""Field of the sd of noise on commands."""


class Actuation:
    """What actions move → all inputs; those that none moves stay at home."""

    def __init__(
        self, task: Task, scene: Scene, measuring: Measurements | None, chance: Chance
    ) -> None:
        """Without `measuring` the simulator gets commands as they are."""
        self._scene, self._chance = scene, chance
        bound = scene.simulator.bound
        self._has_noise = measuring is not None and may_differ(bound, _NOISE, 0.0)
        self._noise = torch.empty(0)
        self.renew()
        names = scene.simulator.commands
        places = [names.index(name) for name in task.action.commands]
        self._places = torch.tensor(places, device=scene.device)
        self._home = scene.initial_command.repeat(scene.world_count, 1)
        self._measuring, encoders = measuring, Encoders(scene.simulator, ())
        if encoders.are_true or not encoders.inputs:
            self._measuring = None
            return
        columns, signals = zip(*encoders.inputs, strict=True)
        self._columns = torch.tensor(columns, device=scene.device)
        self._signals = torch.tensor(signals, device=scene.device)

    def renew(self) -> None:
        """Takes up (worlds, inputs) sd of noise on commands, because e has changed."""
        if self._has_noise:
            sd = torch.tensor(self._scene.simulator.field(_NOISE))
            sd = sd.to(self._scene.device, torch.float32)
            if self._noise.shape == sd.shape:
                self._noise.copy_(sd)
            else:
                self._noise = sd

    def __call__(self, moved: Tensor) -> Tensor:
        """(worlds, inputs) in the true coordinates of servos with false encoders."""
        command = self._home.clone()
        command[:, self._places] = moved
        if self._has_noise:
            command += self._noise * self._chance.normal(*command.shape)
        if self._measuring is not None:
            bias = self._measuring.bias.index_select(1, self._signals)
            scale = self._measuring.scale.index_select(1, self._signals)
            asked = command.index_select(1, self._columns)
            command[:, self._columns] = (asked - bias) / scale
        return command
