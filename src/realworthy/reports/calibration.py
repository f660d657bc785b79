"""The page of `calibrate`: estimates, and errors on held-out recordings."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from realworthy.gap import Gap
from realworthy.gap.measure import measure_recording
from realworthy.identification.calibration.estimates import describe_correlations
from realworthy.identification.calibration.result import Calibration
from realworthy.identification.solver.methods import to_words
from realworthy.identification.validation.held_out import CalibrationOutcome
from realworthy.parameters import GaussianBelief
from realworthy.reports.elements.numbers import Amount, PageTable, Tile
from realworthy.reports.elements.page import Page, Tone, write_page
from realworthy.reports.elements.plots import CALIBRATED_LABELS
from realworthy.reports.measure.view import GapView

_DRAWN = 4
"""Held-out recordings that are drawn, the worst first."""
_TONES: dict[CalibrationOutcome, Tone] = {
    CalibrationOutcome.IMPROVED: "good",
    CalibrationOutcome.ALREADY_RIGHT: "good",
    CalibrationOutcome.NOT_BETTER: "bad",
    CalibrationOutcome.NOT_IDENTIFIED: "bad",
}
_VERDICTS = {
    CalibrationOutcome.IMPROVED: "Better on held-out recordings",
    CalibrationOutcome.ALREADY_RIGHT: "The nominal model was already accurate",
    CalibrationOutcome.NOT_BETTER: "No better: the twin was not written",
    CalibrationOutcome.NOT_IDENTIFIED: "Nothing identified: no twin was written",
}


def write_calibration(
    calibration: Calibration, path: Path | str, *, overwrite: bool = False
) -> None:
    """Writes the page of a calibration: verdicts, plots before and after, what next.

    One HTML file without links to others, written whole or not at all.
    """
    view = CalibrationView(calibration)
    fitted = len(calibration.fitted)
    page = Page(
        command="calibrate",
        title=calibration.original.name,
        subtitle=f"fitted to {Amount(calibration.fitted_seconds, 's')} of "
        f"{fitted} recording{'' if fitted == 1 else 's'} "
        f"by {to_words(calibration.method)}",
        warnings=calibration.warnings,
        tone=_TONES[calibration.outcome],
        verdict=_VERDICTS[calibration.outcome],
        summary=calibration.summary,
        tiles=view.tiles,
    )
    write_page("calibration.html", page, view, path, overwrite=overwrite)


@dataclass(frozen=True)
class CalibrationView:
    """Tables and plots of a calibration."""

    calibration: Calibration

    @cached_property
    def gap(self) -> GapView:
        """The worst held-out recordings, before and after."""
        calibration = self.calibration
        order = sorted(
            range(len(calibration.errors)), key=lambda i: -calibration.errors[i].after
        )
        drawn = [calibration.held_out[i] for i in order[:_DRAWN]]
        before, after = (
            Gap(
                twin=twin.name,
                recordings=tuple(measure_recording(twin, one) for one in drawn),
            )
            for twin in (calibration.original, calibration.twin)
        )
        return GapView(before, after, CALIBRATED_LABELS)

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        calibration, unit = self.calibration, self.gap.unit
        count = len(calibration.errors)
        note = f"{count} held-out recording{'' if count == 1 else 's'}"
        return (
            Tile(label="before", value=Amount(calibration.before, unit), note=note),
            Tile(label="after", value=Amount(calibration.after, unit), note=note),
            *self._fold_tiles,
            Tile(
                label="reduced χ²",
                value=Amount(calibration.reduced_chi2),
                note="1 where noise alone explains the residuals",
            ),
        )

    @property
    def _fold_tiles(self) -> tuple[Tile, ...]:
        calibration, unit = self.calibration, self.gap.unit
        if not calibration.folds:
            return ()
        note = f"{len(calibration.folds)} folds left out in turn"
        return (
            Tile(
                label="mean fold", value=Amount(calibration.folds_mean, unit), note=note
            ),
            Tile(
                label="worst fold",
                value=Amount(calibration.folds_worst, unit),
                note=note,
            ),
        )

    @cached_property
    def parameters(self) -> PageTable:
        rows = []
        for e in self.calibration.estimates:
            mean = Amount(e.mean, e.unit, e.sd)
            before, sd = Amount(e.before, e.unit), Amount(e.sd, e.unit)
            rows.append((e.name, before, mean, sd, e.to_words()))
        return PageTable(
            caption="Estimate of each parameter",
            columns=("parameter", "before", "mean", "sd", "verdict"),
            rows=tuple(rows),
        )

    @cached_property
    def correlations(self) -> tuple[str, ...]:
        """Correlated estimates, in words."""
        belief = self.calibration.belief
        return (
            describe_correlations(belief) if isinstance(belief, GaussianBelief) else ()
        )

    @cached_property
    def errors(self) -> PageTable:
        unit = self.gap.unit
        return PageTable(
            caption="Error 0.5 s ahead, of recordings that were not fitted"
            if self.calibration.is_ahead
            else "Replay error of recordings that were not fitted",
            columns=("recording", "before", "after"),
            rows=tuple(
                (
                    e.recording,
                    Amount(e.before, unit),
                    Amount(e.after, unit),
                )
                for e in self.calibration.errors
            ),
        )

    @cached_property
    def folds(self) -> PageTable:
        """Every fold, judged by the fit without it."""
        unit = self.gap.unit
        return PageTable(
            caption="Each left out of a fit of its own",
            columns=("left out", "before", "after"),
            rows=tuple(
                (
                    fold.held_out_words,
                    Amount(fold.before, unit),
                    Amount(fold.after, unit),
                )
                for fold in self.calibration.folds
            ),
        )
