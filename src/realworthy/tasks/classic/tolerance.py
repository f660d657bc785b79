"""How nearly a number is where it should be, from 0 to 1."""

from torch import Tensor


def compute_tolerance(
    x: Tensor, *, margin: float, lower: float = 0.0, upper: float = 0.0
) -> Tensor:
    """1 within [lower, upper]; a bell beyond, which has fallen to 0.1 at `margin`."""
    outside = (lower - x).clamp(min=0) + (x - upper).clamp(min=0)
    return 0.1 ** (outside / margin).square()
