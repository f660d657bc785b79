"""Signs in PPO's own numbers that something is set wrong."""

import math

from realworthy.errors import RealworthyError
from realworthy.learning.ppo import PpoMetrics, PpoSettings

_WIDE = 3.0
"""Times its start that the standard deviation of actions may grow to."""
_LONG = 100
"""Updates for which the step size may stay at an end of its range."""


class Watch:
    """Looks at every update; ends a run whose weights are lost."""

    def __init__(self, settings: PpoSettings) -> None:
        self._settings = settings
        self._pinned, self._longest, self._widest = 0, 0, 0.0

    def check(self, metrics: PpoMetrics, update: int) -> None:
        """Raises where learning has broken down, before anything of it is kept."""
        numbers = (metrics.actor_loss, metrics.value_loss, metrics.kl, metrics.std)
        if not all(map(math.isfinite, numbers)):
            raise RealworthyError(
                f"Learning broke down in update {update}: its losses are not finite. "
                "What was kept before it is whole.",
                hint="Look for rewards or observations that can be infinite; or learn "
                "in smaller steps: a smaller kl_target, and clip_value=False where "
                "returns are large.",
            )
        low, high = self._settings.learning_rate_range
        rate = metrics.learning_rate
        is_pinned = self._settings.kl_target is not None and not low < rate < high
        self._pinned = self._pinned + 1 if is_pinned else 0
        self._longest = max(self._longest, self._pinned)
        self._widest = max(self._widest, metrics.std)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know in the end."""
        found = []
        if self._longest > _LONG:
            found.append(
                f"The step size stayed at an end of its range for {self._longest} "
                "updates: kl_target does not fit, or nothing is left to learn."
            )
        start = self._settings.std
        if self._widest > _WIDE * start:
            found.append(
                f"The standard deviation of actions grew from {start:g} to "
                f"{self._widest:.3g}, beyond what has an effect: a smaller "
                "entropy_weight keeps it down."
            )
        return tuple(found)
