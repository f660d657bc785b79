"""Random numbers of a task: each world's own, by seed, stream and episode.

On the CPU a draw depends on nothing else (`parameters.draws`). On a GPU the numbers
come from PyTorch's generator there: a run repeats itself on the same device, and is
another run on another one.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.parameters.draws import Draws


class Chance:
    """Draws for the beginnings of episodes, and noise for every step."""

    def __init__(
        self,
        seed: int,
        world_count: int,
        device: torch.device,
        *,
        numbers: NDArray[np.intp] | None = None,
    ) -> None:
        """`numbers` (worlds,) are those that worlds draw by; worlds of equal number
        begin alike on the CPU. Their own by default."""
        self.seed, self.device, self.world_count = seed, device, world_count
        self._numbers = np.arange(world_count) if numbers is None else numbers
        self.generator = torch.Generator(device=device)
        self.generator.manual_seed(seed)
        self.episode = torch.zeros(world_count, dtype=torch.int64, device=device)
        """(worlds,) which episode a world is in."""

    def reseed(self, seed: int) -> None:
        """Starts again, as if built with another seed."""
        self.seed = seed
        self.generator.manual_seed(seed)
        self.episode.zero_()

    def begin(self, ended: Tensor) -> None:
        """Worlds of the mask go on to their next episode."""
        self.episode += ended

    def uniform(
        self, stream: str, width: int, worlds: Tensor, *, step: Tensor | None = None
    ) -> Tensor:
        """(worlds, width) numbers in (0, 1), meant for worlds of the mask.

        Rows of others are zero on the CPU and anything on a GPU. With `step` (worlds,)
        draws differ within an episode as well.
        """
        if self.device.type != "cpu":
            shape = (self.world_count, width)
            return torch.rand(shape, generator=self.generator, device=self.device)
        numbers = torch.zeros((self.world_count, width))
        ids = worlds.nonzero()[:, 0]
        if len(ids):
            episode = self.episode[ids]
            if step is not None:
                episode = episode * 1_000_003 + step[ids]
            draws = Draws(self.seed, stream)
            by = self._numbers[ids.numpy()]
            found = draws.uniform(by, width, episode=episode.numpy())
            numbers[ids] = torch.from_numpy(found).to(torch.float32)
        return numbers

    def normal(self, *shape: int) -> Tensor:
        """Standard normal noise, fresh at every call."""
        return torch.randn(shape, generator=self.generator, device=self.device)

    def state_dict(self) -> dict[str, Tensor]:
        return {
            "generator": self.generator.get_state(),
            "episode": self.episode.clone(),
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.generator.set_state(state["generator"].cpu())
        self.episode.copy_(state["episode"])
