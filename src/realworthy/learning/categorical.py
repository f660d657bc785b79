"""Values as distributions over fixed atoms (Bellemare et al. 2017, "C51").

A critic gives a probability to each of K atoms z₁ … z_K between two ends. What it
learns from is another such distribution, shifted and shrunk by a reward and a discount,
and put back onto the atoms.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from realworthy.learning.learner import BadSettings

_MAX_SATURATED = 0.05
"""Share of the targets' mass at the ends of the support, over a run: what lies beyond
them counts as the end. 5 % is what learn-and-deploy.md §1.6 (f) alarms at."""
_FIRST_UPDATES = 20
"""Of which the alarm takes no note: critics know nothing yet."""


@dataclass(frozen=True, slots=True)
class Support:
    """Equally spaced values; the ends are among them."""

    lower: float
    upper: float
    atom_count: int

    def check(self) -> None:
        """Raises where it holds nothing."""
        if not self.lower < self.upper or self.atom_count < 2:
            raise BadSettings(
                f"A support of {self.atom_count} atoms from {self.lower:g} to "
                f"{self.upper:g} holds no values.",
                hint="Give the lower end first, such as --support -10 10, and two "
                "atoms or more.",
            )

    @property
    def spacing(self) -> float:
        return (self.upper - self.lower) / (self.atom_count - 1)

    def build_atoms(self, device: torch.device) -> Tensor:
        """(K,) z."""
        ends = (self.lower, self.upper, self.atom_count)
        return torch.linspace(*ends, device=device)

    def expect(self, probabilities: Tensor) -> Tensor:
        """(…, K) → (…) Σ p z."""
        return probabilities @ self.build_atoms(probabilities.device)

    def project(
        self, probabilities: Tensor, reward: Tensor, discount: Tensor
    ) -> Tensor:
        """(samples, K) distribution of reward + discount · z, back on the atoms.

        Each atom's mass is shared by the two neighbours of where it lands, in
        proportion to how near they are, so that the mean is kept; beyond the ends it
        counts as the end (eq. 7 of the paper).
        """
        z = reward[:, None] + discount[:, None] * self.build_atoms(reward.device)
        place = (z.clamp(self.lower, self.upper) - self.lower) / self.spacing  # b
        below = place.floor().clamp(max=self.atom_count - 2)
        share = place - below  # of the upper neighbour: b − ⌊b⌋
        index = below.to(torch.int64)
        found = torch.zeros_like(probabilities)
        found.scatter_add_(1, index, probabilities * (1 - share))
        return found.scatter_add_(1, index + 1, probabilities * share)

    @staticmethod
    def measure_ends(probabilities: Tensor) -> Tensor:
        """(…, K) → (…) mass on the first and the last atom."""
        return probabilities[..., 0] + probabilities[..., -1]


def compute_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """(…, K) → (…) −Σ p̂ log p, whose gradient is that of the KL divergence."""
    return -(target * logits.log_softmax(-1)).sum(-1)


class SupportWatch:
    """How much of what critics aim at lies at the ends of the support, over a run."""

    def __init__(self, support: Support) -> None:
        self._support = support
        self._sum, self._count = 0.0, 0

    def note(self, saturated: float) -> None:
        """Mean share of an update."""
        self._count += 1
        if self._count > _FIRST_UPDATES:
            self._sum += saturated

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know in the end."""
        share = self._sum / max(1, self._count - _FIRST_UPDATES)
        if share <= _MAX_SATURATED:
            return ()
        ends = f"{self._support.lower:g} … {self._support.upper:g}"
        return (
            f"{share:.0%} of what the critics aimed at lay at the ends of their "
            f"support, {ends}: discounted returns go beyond it and count as its ends. "
            "Give a wider --support.",
        )
