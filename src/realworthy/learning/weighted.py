"""Means over samples of which some count less, or nothing."""

from torch import Tensor


def compute_mean(x: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean over everything; `x` may have more axes in front."""
    repeats = x.numel() / weight.numel()
    return (x * weight).sum() / (weight.sum() * repeats).clamp(min=1.0)


def compute_variance(x: Tensor, weight: Tensor) -> Tensor:
    """About that mean; never zero, so that it can be divided by."""
    return compute_mean((x - compute_mean(x, weight)).square(), weight).clamp(min=1e-12)
