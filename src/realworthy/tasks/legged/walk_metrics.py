"""How well a robot walks: errors, slip and foot travel, added up as tensors."""

from dataclasses import dataclass

import torch
from torch import Tensor

from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.legged.locomotion import BaseState, Feet

_NAMES = ("steps", "error", "square", "turn", "slip", "stance", "travel", "path")


@dataclass(frozen=True, kw_only=True, slots=True)
class WalkMetrics:
    """Walking of one world in one episode, or of all; tensors of one shape."""

    seconds: Tensor
    """[s] walked."""
    mean_error: Tensor
    """[m/s] mean distance of the horizontal velocity from the one asked."""
    velocity_error: Tensor
    """[m/s] RMS of the same."""
    yaw_error: Tensor
    """[rad/s] RMS."""
    slip: Tensor
    """[m/s] mean speed over the ground of feet that stand."""
    foot_travel: Tensor
    """Path of one foot per path of the base, both over the ground; about 1 in an even
    walk, far more in one that trembles. Not meaningful where the base stood."""
    falls: Tensor
    """Episodes that ended in a fall."""


class WalkTally:
    """Adds up every step: of the running episodes, the last ones, and of all."""

    def __init__(self, scene: Scene) -> None:
        self._period = scene.period
        self.running = scene.zeros(len(_NAMES))
        """(worlds, sums) of the episode that runs."""
        self.ended = scene.zeros(len(_NAMES))
        """(worlds, sums) of the last episode of each world that ended."""
        self.total = torch.zeros(len(_NAMES), dtype=torch.float64, device=scene.device)
        """(sums,) of all steps of all worlds since `restart`."""
        self.fallen = scene.zeros()
        """(worlds,) falls since `restart`."""
        self._fell = scene.zeros()
        """(worlds,) whether the last episode that ended ended in a fall."""
        self._falls_now = scene.zeros()

    def begin(self, worlds: Tensor) -> None:
        """The episodes of the worlds of a mask have ended."""
        mask = worlds[:, None]
        self.ended = torch.where(mask, self.running, self.ended)
        self._fell = torch.where(worlds, self._falls_now, self._fell)
        self.running = torch.where(mask, 0.0, self.running)

    def advance(
        self, base: BaseState, feet: Feet, command: Tensor, falls: Tensor
    ) -> None:
        """Adds the step that was just made; `falls` (worlds,) bool: it ended in one."""
        square = (base.velocity[:, :2] - command[:, :2]).square().sum(1)
        turn = (base.turning[:, 2] - command[:, 2]).square()
        moved = feet.moved[..., :2].norm(dim=-1)
        path = base.velocity[:, :2].norm(dim=1) * self._period
        sums = torch.stack(
            [
                torch.ones_like(turn),
                square.sqrt(),
                square,
                turn,
                (moved * feet.stands).sum(1) / self._period,
                feet.stands.sum(1).to(turn.dtype),
                moved.mean(1),
                path,
            ],
            dim=1,
        )
        self.running = self.running + sums
        sound = sums.isfinite().all(1, keepdim=True)  # worlds that diverged are not
        self.total = self.total + torch.where(sound, sums, 0.0).sum(0)
        self._falls_now = falls.to(sums.dtype)
        self.fallen = self.fallen + self._falls_now

    def restart(self) -> None:
        """Begins `total` and `fallen` anew."""
        self.total = torch.zeros_like(self.total)
        self.fallen = torch.zeros_like(self.fallen)

    def measure(self) -> WalkMetrics:
        """Of everything since `restart`; () each."""
        return self._describe(self.total, self.fallen.sum())

    def measure_running(self) -> WalkMetrics:
        """(worlds,) of the episodes that run."""
        return self._describe(self.running, self._falls_now)

    def measure_ended(self) -> WalkMetrics:
        """(worlds,) of the last episode of each world that ended."""
        return self._describe(self.ended, self._fell)

    def memory(self) -> dict[str, Tensor]:
        return {k: v for k, v in vars(self).items() if isinstance(v, Tensor)}

    def _describe(self, sums: Tensor, falls: Tensor) -> WalkMetrics:
        parts = dict(zip(_NAMES, sums.unbind(-1), strict=True))
        steps = parts["steps"].clamp(min=1)
        return WalkMetrics(
            seconds=parts["steps"] * self._period,
            mean_error=parts["error"] / steps,
            velocity_error=(parts["square"] / steps).sqrt(),
            yaw_error=(parts["turn"] / steps).sqrt(),
            slip=parts["slip"] / parts["stance"].clamp(min=1),
            foot_travel=parts["travel"] / parts["path"].clamp(min=1e-6),
            falls=falls,
        )
