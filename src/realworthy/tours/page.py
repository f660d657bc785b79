"""The page of a tour: how three policies fared, and what was hidden."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from realworthy.gap import measure
from realworthy.recordings import load_recording
from realworthy.reports.elements.numbers import (
    Amount,
    PageTable,
    Percent,
    Span,
    Tile,
)
from realworthy.reports.elements.page import Page, Tone, write_page
from realworthy.reports.elements.plots import NOMINAL_LABELS
from realworthy.reports.elements.wording import describe_cause
from realworthy.reports.measure.view import GapView
from realworthy.tours.tour import PolicyResult, Tour, TourVerdict
from realworthy.tours.training import Way
from realworthy.twins import load_twin

_WORDS = {
    Way.NOMINAL: "the nominal model",
    Way.WIDE: "wide domain randomization",
    Way.CALIBRATED: "the calibrated belief",
}
_TONES: dict[TourVerdict, Tone] = {
    TourVerdict.HELPED: "good",
    TourVerdict.HARMED: "bad",
    TourVerdict.UNSURE: "open",
    TourVerdict.UNJUDGED: "open",
}


def write_tour(tour: Tour, path: Path | str, *, overwrite: bool = False) -> None:
    """One HTML file without links to others, written whole or not at all."""
    view = TourView(tour)
    page = Page(
        command="tour",
        title=tour.robot.name,
        subtitle=f"{tour.robot.about} Seed {tour.seed}.",
        warnings=(tour.note,) if tour.note else (),
        tone=_TONES[tour.verdict],
        verdict=f"Calibration {tour.verdict}",
        summary=view.summary,
        tiles=view.tiles,
    )
    write_page("tour.html", page, view, path, overwrite=overwrite)


@dataclass(frozen=True)
class TourView:
    """Tables and plots of a tour."""

    tour: Tour

    @property
    def summary(self) -> str:
        parts = [
            f"{_WORDS[each.way]} {100 * each.real.mean:.0f} %"
            for each in self.tour.fared
        ]
        count = self.tour.fared[0].real.count
        return (
            f"{self.tour.verdict.sentence} {self.short_gap} "
            f"Success on the robot of policies that were trained on {'; '.join(parts)} "
            f"({count} episodes each, faster than real time)."
        )

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        tiles = [
            Tile(
                label=f"Trained on {_WORDS[each.way]}",
                value=Percent(each.real.mean),
                note=Span(each.real.lower, each.real.upper, "%"),
            )
            for each in self.tour.fared
        ]
        return tuple(tiles)

    @cached_property
    def policies(self) -> PageTable:
        return PageTable(
            caption="Three policies with equal training, on the same hidden robot",
            columns=(
                "trained on",
                "simulated",
                "real",
                "95 %",
                "gap, points",
                "certificate",
                "certified at least",
                "over the network",
            ),
            rows=tuple(self._make_row(each) for each in self.tour.fared),
        )

    def _make_row(
        self, each: PolicyResult
    ) -> tuple[str | Amount | Percent | Span, ...]:
        trials = "not tried" if each.trials is None else each.trials.summary
        return (
            _WORDS[each.way],
            Percent(each.simulated),
            Percent(each.real.mean),
            Span(each.real.lower, each.real.upper, "%"),
            Amount(100 * each.gap),
            str(each.certificate.verdict),
            Percent(each.certificate.success.lower),
            trials,
        )

    @cached_property
    def hidden(self) -> PageTable:
        return PageTable(
            caption="Hidden parameters of the robot, and their estimates",
            columns=("", "nominal", "calibrated", "sd", "truth", "unit"),
            rows=tuple(
                (
                    one.name,
                    Amount(one.nominal),
                    Amount(one.mean, sd=one.sd),
                    Amount(one.sd),
                    Amount(one.truth, sd=one.sd),
                    one.unit or "1",
                )
                for one in self.tour.estimates
            ),
        )

    @cached_property
    def causes(self) -> tuple[str, ...]:
        diagnosis = self.tour.diagnosis
        if diagnosis is None:
            return ()
        return tuple(
            f"{describe_cause(name)}: {100 * share:.0f} % of the gap"
            for name, share in diagnosis.causes[:4]
        )

    @property
    def short_gap(self) -> str:
        tour = self.tour
        return (
            "On held-out motions the nominal model was off by "
            f"{Amount(tour.gap_before, tour.unit)}, the "
            f"calibrated twin by {Amount(tour.gap_after, tour.unit)}."
        )

    @property
    def gap_words(self) -> str:
        tour, names = self.tour, " and ".join(p.stem for p in self.tour.list_unseen())
        text = f"{self.short_gap} These motions are {names}."
        if tour.gap_again is None:
            return text
        off = Amount(tour.gap_again, tour.unit)
        return (
            f"{text} In trials of its own policy the calibrated twin's predictions "
            f"0.5 s ahead are off by {off}."
        )

    @cached_property
    def gap(self) -> GapView:
        """Held-out recordings, replayed by the twin before and after."""
        tour = self.tour
        drawn = [load_recording(path) for path in tour.list_unseen()]
        published = load_twin(tour.robot.model)
        calibrated = load_twin(str(tour.folder / "calibrated.twin.yaml"))
        before, after = measure(published, drawn), measure(calibrated, drawn)
        return GapView(before, after, NOMINAL_LABELS)

    @cached_property
    def steps(self) -> PageTable:
        return PageTable(
            caption="Time at which each step ended; some steps ran in parallel",
            columns=("step", "after", "processor time"),
            rows=tuple(
                (
                    name,
                    Amount(seconds, "s"),
                    Amount(self.tour.processor[name], "s"),
                )
                for name, seconds in self.tour.seconds.items()
            ),
        )
