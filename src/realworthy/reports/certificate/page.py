"""The page of `certify`: whether a policy passed, within which limits, what breaks it.

Unlike other pages it begins with the verdict and its reasons; warnings follow.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.results import CellResult, MarginResult
from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.certification.contract.finding import ContractFinding, Mark
from realworthy.reports.certificate.cells import (
    CellTile,
    group_cells,
    tabulate_budgets,
    tabulate_cells,
)
from realworthy.reports.certificate.charts import Chart, draw_margin
from realworthy.reports.certificate.failures import (
    DrawnFailure,
    FailureRow,
    draw_first_replay,
    list_failures,
)
from realworthy.reports.certificate.limits import WorstRow, list_worst, tabulate_limits
from realworthy.reports.certificate.wording import (
    Line,
    list_judged,
    say_bounds,
    say_margin,
    say_reasons,
    say_uncovered,
    say_verdict,
    say_worst,
    tabulate_regression,
)
from realworthy.reports.elements.numbers import (
    SPACE,
    Amount,
    PageTable,
    Percent,
    SuccessShare,
)
from realworthy.reports.elements.page import Page, Tone, build_page, write_page

_MARKS = {Mark.OK: "✓ ok", Mark.WARNING: "! warning", Mark.FAILED: "✕ failed"}


@dataclass(frozen=True)
class CertificateView:
    """What the page of a certificate shows."""

    certificate: Certificate
    folder: Path | None = None
    """Where its replays are."""
    beside: Path | None = None
    """Where the page will be; none: in that folder."""
    twin: str = ""
    """As `load_twin` takes it; empty: the task's own."""

    @property
    def is_open(self) -> bool:
        """Whether it did not pass, so that reasons come before all else."""
        return self.certificate.verdict is not CertificateVerdict.PASS

    @property
    def bounds(self) -> str:
        return say_bounds(self.certificate)

    @property
    def bar(self) -> SuccessShare:
        return SuccessShare(self.certificate.bar)

    @property
    def bar_place(self) -> float:
        """Per cent of the way along the colours."""
        return round(100 * self.certificate.bar, 2)

    @property
    def colours(self) -> str:
        """What the colours of the map mean, for those who do not see them."""
        return (
            f"Colours: orange below {self.bar}, green above it; the deeper, the "
            "farther from it."
        )

    @property
    def has_own_bars(self) -> bool:
        """Whether some conditions were judged by bars of their own."""
        bar = self.certificate.bar
        return any(cell.bar not in (None, bar) for cell in self.certificate.cells)

    @property
    def tiles(self) -> tuple[tuple[str, SuccessShare, str], ...]:
        """Label, figure and note."""
        success, validity = self.certificate.success, self.certificate.validity
        lower = f"95{SPACE}% confidence"
        if validity is not None:
            lower = (
                f"on {Percent(validity.content)} of robots, "
                f"{Percent(validity.confidence)} confidence"
            )
        tiles = [
            ("at least", SuccessShare(success.lower), lower),
            ("on average", SuccessShare(success.mean), "of all episodes"),
        ]
        if validity is not None:
            note = f"of {validity.reality_count} sampled"
            tiles.append(("on the worst robot", SuccessShare(validity.worst), note))
            tail = SuccessShare(validity.worst_tenth)
            tiles.append(("on the worst tenth", tail, "of robots, on average"))
        return (*tiles, ("required", self.bar, "the bar"))

    @cached_property
    def regression(self) -> PageTable | None:
        regression = self.certificate.regression
        return None if regression is None else tabulate_regression(regression)

    @property
    def is_within_bar(self) -> bool:
        """Whether the limits are ones within which the policy works."""
        coverage = self.certificate.coverage
        return coverage is None or coverage.verdict is CertificateVerdict.PASS

    @cached_property
    def limits(self) -> tuple[PageTable, ...]:
        validity = self.certificate.validity
        return () if validity is None else tabulate_limits(validity)

    @property
    def rate(self) -> Amount:
        """Of control."""
        validity = self.certificate.validity
        return Amount(None if validity is None else validity.rate, "Hz")

    @property
    def tried(self) -> tuple[tuple[Percent, SuccessShare], ...]:
        """Share of the believed ranges and lower bound of each attempt."""
        coverage = self.certificate.coverage
        pairs = coverage.tried if coverage is not None else ()
        return tuple((Percent(scale), SuccessShare(low)) for scale, low in pairs)

    @cached_property
    def uncovered(self) -> tuple[str, ...]:
        return tuple(say_uncovered(self.certificate))

    @cached_property
    def groups(self) -> tuple[tuple[str, list[CellTile]], ...]:
        return group_cells(self.certificate)

    @property
    def skipped(self) -> tuple[CellResult, ...]:
        return tuple(cell for cell in self.certificate.cells if cell.share is None)

    @cached_property
    def cell_table(self) -> PageTable:
        return tabulate_cells(self.certificate)

    @cached_property
    def budget_table(self) -> PageTable | None:
        return tabulate_budgets(self.certificate)

    @property
    def engines(self) -> tuple[tuple[CellResult, str], ...]:
        """Cells of other engines, and whether they agree with MuJoCo, in words."""
        engines = []
        for cell in self.certificate.cells:
            if cell.group == "engine":
                word = (
                    "✓ agrees"
                    if cell.verdict is CertificateVerdict.PASS
                    else "✕ contradicts"
                )
                engines.append((cell, "– not run" if cell.share is None else word))
        return tuple(engines)

    @cached_property
    def divergences(self) -> PageTable | None:
        rows = [
            (
                cell.name,
                first.signal,
                Amount(first.seconds, "s"),
                Amount(first.ours),
                Amount(first.theirs),
            )
            for cell in self.certificate.cells
            if (first := cell.divergence) is not None
        ]
        if not rows:
            return None
        return PageTable(
            caption="The first signal to diverge, in the median of worlds, and its "
            "values in one of them",
            columns=("engine", "signal", "after", "MuJoCo", "there"),
            rows=tuple(rows),
        )

    @cached_property
    def margins(self) -> tuple[tuple[MarginResult, str, Chart | None], ...]:
        bar = self.certificate.bar
        return tuple(
            (one, say_margin(one, bar), draw_margin(one, bar) if one.levels else None)
            for one in self.certificate.margins
        )

    @cached_property
    def margin_table(self) -> PageTable:
        rows = [
            (
                one.name,
                Amount(level.value, one.unit),
                Amount(level.share.successes),
                Amount(level.share.count),
            )
            for one in self.certificate.margins
            for level in one.levels
        ]
        return PageTable(
            caption="Successes at each value tested",
            columns=("disturbance", "value", "successes", "episodes"),
            rows=tuple(rows),
        )

    @cached_property
    def worst(self) -> tuple[str, ...]:
        worst = self.certificate.worst
        return () if worst is None else tuple(say_worst(worst))

    @cached_property
    def worst_rows(self) -> tuple[WorstRow, ...]:
        worst = self.certificate.worst
        return () if worst is None else list_worst(worst, self.certificate.validity)

    @cached_property
    def failures(self) -> tuple[FailureRow, ...]:
        return list_failures(self.certificate, self.folder, self.beside)

    @cached_property
    def replay(self) -> DrawnFailure | None:
        return draw_first_replay(self.certificate, self.folder, self.twin)

    @cached_property
    def faults(self) -> tuple[tuple[ContractFinding, str], ...]:
        """Findings of the contract that are not in order, the gravest first."""
        faults = [one for one in self.certificate.interface if one.mark is not Mark.OK]
        faults.sort(key=lambda one: one.mark is not Mark.FAILED)
        return tuple((one, _MARKS[one.mark]) for one in faults)

    @cached_property
    def sound(self) -> tuple[tuple[ContractFinding, str], ...]:
        findings = self.certificate.interface
        return tuple((one, _MARKS[one.mark]) for one in findings if one.mark is Mark.OK)

    @cached_property
    def judged(self) -> tuple[Line, ...]:
        return tuple(list_judged(self.certificate))


_TONES: dict[CertificateVerdict, Tone] = {
    CertificateVerdict.PASS: "good",
    CertificateVerdict.FAIL: "bad",
    CertificateVerdict.INSUFFICIENT: "open",
}

_TEMPLATE = "certificate.html"


def write_certificate(
    certificate: Certificate,
    path: Path | str,
    *,
    folder: Path | None = None,
    twin: str = "",
    overwrite: bool = False,
) -> None:
    """Writes the page of a certificate, whole or not at all.

    `folder` is where its replays are: the first is drawn, and all are linked. `twin`,
    as `load_twin` takes it, lends its shapes to the drawing; without it the task's own
    does where it has the certificate's name.
    """
    view = CertificateView(certificate, folder, Path(path).parent, twin)
    write_page(_TEMPLATE, _head(certificate), view, path, overwrite=overwrite)


def build_certificate_page(
    certificate: Certificate, *, folder: Path | None = None, twin: str = ""
) -> str:
    """The page as text: one HTML file that loads nothing from elsewhere.

    Its links lead from `folder`, so that is where it belongs.
    """
    view = CertificateView(certificate, folder, twin=twin)
    return build_page(_TEMPLATE, _head(certificate), view)


def _head(certificate: Certificate) -> Page:
    return Page(
        command="certify",
        title=certificate.task,
        subtitle=f"{Path(certificate.policy).name} on twin {certificate.twin}, suite "
        f"{certificate.suite}, {certificate.created[:10]}",
        warnings=(),
        tone=_TONES[certificate.verdict],
        verdict=say_verdict(certificate),
        summary=say_reasons(certificate),
        tiles=(),
    )
