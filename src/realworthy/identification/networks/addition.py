"""A learned force on top of a calibration, judged beside physics alone.

What e can explain is in the twin by then; the residual learns what is left, from the
recordings that were fitted, and is kept only if it does better on those held out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from realworthy.errors import BadRecording
from realworthy.identification.calibration.result import Calibration
from realworthy.identification.networks.residual import (
    ResidualComparison,
    compare_residual,
    fit_residual,
    residual_dynamics,
)
from realworthy.identification.validation.held_out import divide_recordings
from realworthy.recordings import Recording, cut_at_gaps
from realworthy.residuals import Residual

_MIN_RECORDINGS = 2
"""Recordings to fit, beside those held out: some are left out in turn to choose."""


@dataclass(frozen=True, kw_only=True)
class ResidualAddition:
    """A residual for a calibrated twin, and whether it earns its place."""

    residual: Residual = field(repr=False)
    comparison: ResidualComparison
    """On held-out recordings, after running freely for 0.5 s."""

    @property
    def is_kept(self) -> bool:
        """Whether it predicts held-out recordings better than physics alone."""
        compared = self.comparison
        is_used = self.residual.description.gain > 0
        return is_used and compared.with_residual < compared.without

    def to_words(self) -> str:
        """Both figures, and what follows from them."""
        compared = self.comparison
        told = (
            f"half a second ahead, held-out recordings are off by "
            f"{compared.without:.3g} rad with physics alone, by "
            f"{compared.with_residual:.3g} rad with the learned force"
        )
        if self.is_kept:
            return f"{told}: it belongs to the twin."
        if not self.residual.description.gain:
            told = (
                f"the learned force took no twentieth off the error of fitted "
                f"recordings left out in turn (physics alone: {compared.without:.3g} "
                "rad half a second ahead, held out; with the learned force: "
                f"{compared.with_residual:.3g} rad)"
            )
        return f"{told}: it was not kept."


def check_enough(
    recordings: Sequence[Recording], heldout: Sequence[Recording] | None
) -> None:
    """Raises, before the work begins, where a residual could not be fitted."""
    listed, _ = cut_at_gaps(recordings)
    count = len(divide_recordings(listed, heldout).fitted)
    if count < _MIN_RECORDINGS:
        raise BadRecording(
            f"A residual needs {_MIN_RECORDINGS} recordings to fit beside those held "
            f"out; there {'is' if count == 1 else 'are'} {count}.",
            hint="Record another motion, or leave out --residual.",
        )


def add_residual(found: Calibration) -> ResidualAddition:
    """What the calibrated twin lacks as a learned force, judged on held-out recordings.

    Every recorded joint sees all of them move; motions that touch nothing only.
    """
    twin, described = found.twin, residual_dynamics(found.joints)
    residual = fit_residual(twin, found.fitted_recordings, described)
    return ResidualAddition(
        residual=residual,
        comparison=compare_residual(twin, found.held_out, residual),
    )
