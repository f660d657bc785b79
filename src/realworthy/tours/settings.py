"""How much of everything a tour has."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class TourSettings:
    """How much of everything."""

    seed: int = 0
    """Of the hidden truth, and of everything else that is random."""
    with_wire: bool = True
    """Whether there are trials in real time."""
    training_share: float = 1.0
    """Of the robot's own training steps."""
    episodes: int = 200
    """Of each policy, in worlds like those it had, and on the hidden reality."""
    realities: int = 40
    """That a certificate tries within the belief; 0: none, and it tells no limits."""
    trials: int = 3
    """Of each policy over the wire, in real time."""
    trial_share: float = 1.0
    """Of the robot's own seconds of a trial."""

    @property
    def note(self) -> str:
        """What keeps its numbers from being those of a whole tour."""
        if self.training_share >= 1:
            return ""
        return (
            f"A quick tour: policies had {100 * self.training_share:.0f} % of their "
            f"training and {self.episodes} episodes; their success rates mean nothing."
        )


def quick_tour(seed: int = 0) -> TourSettings:
    """Every step, with policies that learn next to nothing."""
    return TourSettings(
        seed=seed,
        training_share=0.03,
        episodes=32,
        realities=0,
        trials=1,
        trial_share=0.3,
    )
