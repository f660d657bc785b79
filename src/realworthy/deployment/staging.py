"""First trials are slow, and a person agrees to each of them."""

from dataclasses import dataclass

from realworthy.errors import RealworthyError


@dataclass(kw_only=True, slots=True)
class StagingSettings:
    """κ of the rate limit, by clean trials so far; reach is never cut, only speed."""

    stages: tuple[tuple[int, float], ...] = ((3, 0.5), (3, 0.75))
    """(trials, κ), then 1."""
    clean_before: int = 0
    """Trials that this policy has already had on this robot without a fault."""
    confirmed: int = 3
    """First trials that a person must agree to, and those after a fault."""

    def __post_init__(self) -> None:
        if self.clean_before < 0:
            raise RealworthyError(
                f"{self.clean_before} clean trials before this one are none: say 0."
            )
        for count, share in self.stages:
            if count < 0 or not 0 < share <= 1:
                raise RealworthyError(
                    f"A stage of {count} trials at {share:g} of the speed is none."
                )


class Staging:
    """Which share of the speed the next trial may use."""

    def __init__(self, settings: StagingSettings) -> None:
        self._settings = settings
        self.clean = settings.clean_before
        """Trials without a fault, in a row."""

    @property
    def speed_share(self) -> float:
        left = self.clean
        for count, share in self._settings.stages:
            if left < count:
                return share
            left -= count
        return 1.0

    @property
    def needs_agreement(self) -> bool:
        return self.clean < self._settings.confirmed

    def count(self, *, is_clean: bool) -> None:
        """A fault leads back to the first stage."""
        self.clean = self.clean + 1 if is_clean else 0
