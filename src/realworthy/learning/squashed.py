"""The normal distribution, squashed by tanh into the actions that there are."""

import math
from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from realworthy.learning.gaussian import Gaussian


@dataclass(frozen=True, slots=True)
class SquashedGaussian:
    """a = limit · tanh(u), u normal; each component on its own."""

    before: Gaussian
    """Of u."""
    limit: float
    """Ends of the actions."""

    def draw(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """(…, width) actions from standard normal `noise`; (…) their log density.

        log p(a) = log N(u) − Σ log |da/du|, da/du = limit · (1 − tanh² u) (Haarnoja et
        al. 2018, eq. 21); 1 − tanh² u = 4 / (eᵘ + e⁻ᵘ)², whose logarithm is
        2 · (log 2 − u − log(1 + e⁻²ᵘ)), exact also where tanh rounds to one.
        """
        u = self.before.draw(noise)
        slope = 2 * (math.log(2) - u - functional.softplus(-2 * u))
        density = self.before.log_prob(u) - (slope + math.log(self.limit)).sum(-1)
        return self.limit * u.tanh(), density

    @property
    def middle(self) -> Tensor:
        """(…, width) actions without chance."""
        return self.limit * self.before.mean.tanh()
