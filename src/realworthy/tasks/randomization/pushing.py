"""Pushes: another speed within one step, now and then."""

import torch
from torch import Tensor

from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.randomization.randomization import Pushes


class Pushing:
    """Gives worlds their pushes, each at times of its own."""

    def __init__(self, places: Tensor, scene: Scene, pushes: Pushes | None) -> None:
        self._places, self._scene, self._pushes = places, scene, pushes
        self.due = scene.zeros()
        """(worlds,) [s] into the episode at which the next push comes."""
        self.last = scene.zeros(len(places))
        """(worlds, places) the change of speed in this step; critics may see it."""

    def change(self, pushes: Pushes | None) -> None:
        """Other pushes; where there were none, from the next episodes on."""
        if pushes == self._pushes:
            return
        if self._pushes is None:
            self.due = torch.full_like(self.due, torch.inf)
        self._pushes = pushes
        self.last = torch.zeros_like(self.last)

    def begin(self, worlds: Tensor, chance: Chance) -> None:
        """Draws when the worlds of a mask are pushed first."""
        if self._pushes is None:
            return
        u = chance.uniform("first push", 1, worlds)[:, 0]
        low, high = self._pushes.every
        first = self._pushes.start + low + u * (high - low)
        self.due = torch.where(worlds, first, self.due)
        self.last = torch.where(worlds[:, None], 0.0, self.last)

    def push(self, chance: Chance) -> None:
        """Pushes the worlds whose time has come."""
        if self._pushes is None:
            return
        scene = self._scene
        now = scene.time >= self.due
        width = len(self._places) + 1
        u = chance.uniform("push", width, now, step=scene.step_count)
        low, high = self._pushes.every
        self.due = torch.where(now, scene.time + low + u[:, 0] * (high - low), self.due)
        kick = self._pushes.speed * (2 * u[:, 1:] - 1)
        self.last = torch.where(now[:, None], kick, 0.0)
        qvel = torch.as_tensor(scene.simulator.array("qvel"))
        qvel[:, self._places] += self.last.to(qvel.dtype)

    def memory(self) -> dict[str, Tensor]:
        return {"due": self.due, "last": self.last}
