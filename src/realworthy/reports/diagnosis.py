"""The page of `diagnose`: why a twin and a robot differ, and what to do."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from realworthy.diagnosis.diagnosis import Cause, Diagnosis, Verdict
from realworthy.reports.elements.numbers import (
    Amount,
    PageTable,
    Percent,
    Span,
    Tile,
)
from realworthy.reports.elements.page import Page, Tone, write_page
from realworthy.reports.elements.wording import (
    describe_alternative,
    describe_cause,
    describe_change,
    describe_kind,
    describe_verdict,
)
from realworthy.reports.measure.page import describe_recordings, gather_warnings
from realworthy.reports.measure.view import GapView, compute_noise

_TONES: dict[Verdict, Tone] = {
    Verdict.HEALTHY: "good",
    Verdict.EXPLAINED: "attention",
    Verdict.MISSING_EFFECT: "attention",
    Verdict.CANNOT_TELL: "open",
}
_PARTIAL = "Interrupted: these are partial results."


def write_diagnosis(
    diagnosis: Diagnosis, path: Path | str, *, overwrite: bool = False
) -> None:
    """Writes the page of a diagnosis: causes, what to do, plots before and after.

    One HTML file without links to others, written whole or not at all.
    """
    view = DiagnosisView(diagnosis)
    partial = (_PARTIAL,) if diagnosis.is_partial else ()
    page = Page(
        command="diagnose",
        title=diagnosis.twin,
        subtitle=describe_recordings(diagnosis.gap),
        warnings=(*partial, *diagnosis.warnings, *gather_warnings(diagnosis.gap)),
        tone=_TONES[diagnosis.verdict],
        verdict=describe_verdict(diagnosis.verdict),
        summary=diagnosis.summary,
        tiles=view.tiles,
    )
    write_page("diagnosis.html", page, view, path, overwrite=overwrite)


@dataclass(frozen=True)
class CauseCard:
    """A cause as its card shows it."""

    cause: Cause

    @property
    def title(self) -> str:
        return describe_cause(self.cause.name)

    @property
    def kind(self) -> str:
        return describe_kind(self.cause.kind)

    @property
    def share(self) -> "ShareBar":
        return ShareBar(self.cause.share, self.cause.interval)

    @property
    def alternatives(self) -> tuple[str, ...]:
        return tuple(map(describe_alternative, self.cause.alternatives))

    @property
    def estimates(self) -> PageTable:
        return PageTable(
            caption="Numbers behind it",
            columns=("quantity", "twin", "recordings", "90 % interval"),
            rows=tuple(
                (
                    estimate.name,
                    Amount(estimate.nominal, estimate.unit),
                    Amount(estimate.value, estimate.unit),
                    Span(*estimate.interval, estimate.unit),
                )
                for estimate in self.cause.estimates
            ),
        )

    @property
    def task_loss(self) -> tuple[str, Amount | Percent, Span] | None:
        """Of which measure, how much, and between which ends (95 %)."""
        loss = self.cause.task_loss
        if loss is None:
            return None
        if loss.measure == "success":
            return loss.measure, Percent(loss.mean), Span(*loss.interval, "%")
        return loss.measure, Amount(loss.mean), Span(*loss.interval)


@dataclass(frozen=True)
class ShareBar:
    """A share of the gap, and its interval, as places on a bar from 0 to 100."""

    share: float
    interval: tuple[float, float]

    @property
    def value(self) -> Percent:
        return Percent(self.share)

    @property
    def span(self) -> Span:
        return Span(*self.interval, "%")

    @property
    def label(self) -> str:
        """The bar in words, for those who do not see it."""
        return f"{self.value} of the gap, between {self.span}"

    @property
    def width(self) -> float:
        return _to_place(self.share)

    @property
    def low(self) -> float:
        return _to_place(self.interval[0])

    @property
    def high(self) -> float:
        return _to_place(self.interval[1])


@dataclass(frozen=True)
class DiagnosisView:
    """Cards, bars and tables of a diagnosis."""

    diagnosis: Diagnosis

    @cached_property
    def gap(self) -> GapView:
        return GapView(self.diagnosis.gap, self.diagnosis.after)

    @cached_property
    def cards(self) -> tuple[CauseCard, ...]:
        return tuple(map(CauseCard, self.diagnosis.causes))

    @cached_property
    def shares(self) -> tuple[tuple[str, str, Percent, float], ...]:
        """Class of colour, words, share and width in per cent, in a fixed order."""
        shares = self.diagnosis.shares
        parts = (
            ("interface", "between robot and log", shares.interface),
            ("parametric", "wrong numbers in the twin", shares.parametric),
            ("missing", "missing in the twin", shares.missing),
            ("unexplained", "unexplained", shares.unexplained),
        )
        return tuple((k, text, Percent(v), _to_place(v)) for k, text, v in parts)

    @cached_property
    def changes(self) -> tuple[tuple[str, Percent], ...]:
        """Titles of changes, and how often an unchanged machine would look so."""
        return tuple(
            (describe_change(change), Percent(change.false_alarm_rate))
            for change in self.diagnosis.changes
        )

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        told, unit = self.diagnosis, self.gap.unit
        before, *_ = self.gap.tiles
        explained = 1.0 - told.shares.unexplained
        tiles = [before]
        if told.after is not None:
            tiles.append(
                Tile(
                    label="with causes corrected",
                    value=Amount(told.after.replay.position_rmse, unit),
                    note="replay error, same recordings",
                )
            )
        tiles.append(
            Tile(
                label="sensor noise",
                value=Amount(compute_noise(told.gap), unit),
                note="root mean square over joints",
            )
        )
        if told.causes:
            tiles.append(
                Tile(
                    label="explained",
                    value=Percent(explained),
                    note="of the gap above noise",
                )
            )
        return tuple(tiles)


def _to_place(share: float) -> float:
    """Per cent of a bar's length; shares beyond its ends stop there."""
    return round(100 * min(max(share, 0.0), 1.0), 2) if share == share else 0.0
