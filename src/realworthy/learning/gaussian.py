"""The normal distribution of actions, each component on its own."""

import math
from dataclasses import dataclass

from torch import Tensor

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Normal distributions over (…, width) with independent components."""

    mean: Tensor
    """(…, width)."""
    std: Tensor
    """(width,) or (…, width), above zero."""

    def draw(self, noise: Tensor) -> Tensor:
        """(…, width) samples, from standard normal `noise` of that shape."""
        return self.mean + self.std * noise

    def log_prob(self, x: Tensor) -> Tensor:
        """(…) log density at (…, width) points."""
        # Σ_i −½ ((x_i − μ_i)/σ_i)² − ln σ_i − ½ ln 2π
        whitened = (x - self.mean) / self.std
        return (-0.5 * whitened.square() - self.std.log() - _HALF_LOG_TAU).sum(-1)

    def entropy(self) -> Tensor:
        """() or (…) differential entropy [nat]."""
        return (self.std.log() + 0.5 + _HALF_LOG_TAU).sum(-1)  # Σ_i ln σ_i + ½ ln 2πe

    def kl_to(self, other: "Gaussian") -> Tensor:
        """(…) KL divergence [nat] from this one to `other`."""
        # Σ_i ln(σ'_i/σ_i) + (σ_i² + (μ_i − μ'_i)²) / (2 σ'_i²) − ½
        variance = other.std.square()
        moved = (self.mean - other.mean).square()
        gain = (other.std / self.std).log() - 0.5
        return (gain + (self.std.square() + moved) / (2 * variance)).sum(-1)
