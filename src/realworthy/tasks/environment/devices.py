"""Where tensors of worlds live, and how many threads work on them."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from realworthy.errors import RealworthyError

FEW_WORLDS = 2048
"""Up to so many, waking a second thread for each small operation costs more than it
gives; it also keeps a core from the physics while it waits for the next one."""


def find_device(name: str | torch.device) -> torch.device:
    """`cpu`, `cuda` or `cuda:1` as torch knows it; raises where there is none."""
    there = list_devices()
    if str(name) not in there:
        hint = f"There are: {', '.join(there)}."
        if len(there) == 1:
            hint = (
                "There is: cpu. For cuda, a GPU and a PyTorch that sees it are needed."
            )
        raise RealworthyError(f"There is no device '{name}'.", hint=hint)
    return torch.device(name)


def list_devices() -> tuple[str, ...]:
    """All that worlds can be stepped on here."""
    count = torch.cuda.device_count()
    numbered = tuple(f"cuda:{i}" for i in range(count))
    return ("cpu", *(("cuda", *numbered) if count else ()))


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
