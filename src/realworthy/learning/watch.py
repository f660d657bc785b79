"""Signs in a policy gradient's own numbers that something is set wrong."""

_MAX_STD_GROWTH = 3.0
"""Times its start that the standard deviation of actions may grow to."""
_MAX_UPDATES_AT_BOUND = 100
"""Updates for which the step size may stay at an end of its range."""


class Watch:
    """Follows the step size and the standard deviation of actions over all updates."""

    def __init__(self, *, std: float, rates: tuple[float, float] | None) -> None:
        """`std` at the start; `rates` within which the step size moves, if it does."""
        self._std, self._rates = std, rates
        self._pinned, self._longest, self._widest = 0, 0, 0.0

    def note(self, *, rate: float, std: float) -> None:
        """After an update."""
        low, high = self._rates or (float("-inf"), float("inf"))
        self._pinned = 0 if low < rate < high else self._pinned + 1
        self._longest = max(self._longest, self._pinned)
        self._widest = max(self._widest, std)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know in the end."""
        found = []
        if self._longest > _MAX_UPDATES_AT_BOUND:
            found.append(
                f"The step size stayed at an end of its range for {self._longest} "
                "updates: kl_target does not fit, or nothing is left to learn."
            )
        if self._widest > _MAX_STD_GROWTH * self._std:
            found.append(
                f"The standard deviation of actions grew from {self._std:g} to "
                f"{self._widest:.3g}, beyond what has an effect: a smaller "
                "entropy_weight keeps it down."
            )
        return tuple(found)
