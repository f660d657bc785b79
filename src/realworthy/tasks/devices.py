"""Where tensors of worlds live: the processor, or a GPU that is there."""

import torch

from realworthy.errors import RealworthyError


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
