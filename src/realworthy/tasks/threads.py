"""How many threads the tensors of some worlds are worth."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

FEW_WORLDS = 2048
"""Up to so many, waking a second thread for each small operation costs more than it
gives; it also keeps a core from the physics while it waits for the next one."""


@contextmanager
def spare_threads(world_count: int) -> Iterator[None]:
    """PyTorch works on one thread here where worlds are few; physics on all it has."""
    before = torch.get_num_threads()
    if world_count <= FEW_WORLDS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
