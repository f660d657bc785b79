"""Cells of a certificate as a map: colour and number of each, by group."""

from dataclasses import dataclass

from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.results import CellResult
from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.reports.certificate.wording import GROUPS
from realworthy.reports.elements.numbers import (
    Amount,
    PageTable,
    Span,
    SuccessShare,
)
from realworthy.reports.elements.wording import describe_failure

VERDICTS = {
    CertificateVerdict.PASS: "✓ passed",
    CertificateVerdict.FAIL: "✕ failed",
    CertificateVerdict.INSUFFICIENT: "? undecided",
}
_BUDGETS = {
    "action_rate": ("change of actions", "1/s"),
    "mean_power": ("mean power", "W"),
    "peak_power": ("peak power", "W"),
    "heat": ("heat, share of torque limit", ""),
}


@dataclass(frozen=True)
class CellTile:
    """One cell as the map shows it."""

    cell: CellResult
    common: float
    """Bar of conditions that have none of their own."""

    @property
    def bar(self) -> float:
        return self.common if self.cell.bar is None else self.cell.bar

    @property
    def share(self) -> SuccessShare | None:
        return None if self.cell.share is None else SuccessShare(self.cell.share.mean)

    @property
    def classes(self) -> str:
        """How it is painted: by side of the bar, and whether it was required."""
        if self.cell.share is None:
            return "skipped"
        side = "above" if self.cell.share.mean >= self.bar else "below"
        return f"{side} required" if self.cell.required else side

    @property
    def depth(self) -> float:
        """Per cent of the way from the bar to the end of its side."""
        if self.cell.share is None:
            return 0.0
        mean, bar = self.cell.share.mean, self.bar
        away = (mean - bar) / (1 - bar) if mean >= bar else (bar - mean) / bar
        return round(100 * away, 1)

    @property
    def count(self) -> str:
        share = self.cell.share
        if share is None:
            return "not run"
        words = f"{share.successes} of {share.count}"
        differs = self.bar != self.common
        return f"{words}, required {SuccessShare(self.bar)}" if differs else words

    @property
    def verdict(self) -> str:
        return "– skipped" if self.cell.share is None else VERDICTS[self.cell.verdict]

    @property
    def duty(self) -> str:
        if self.cell.share is None:
            return ""
        return "required" if self.cell.required else "not required"


def group_cells(certificate: Certificate) -> tuple[tuple[str, list[CellTile]], ...]:
    """Title of each group that has cells, and its tiles in the suite's order."""
    tiles: dict[str, list[CellTile]] = {title: [] for title in GROUPS.values()}
    for cell in certificate.cells:
        tiles[GROUPS[cell.group]].append(CellTile(cell, certificate.bar))
    return tuple((title, found) for title, found in tiles.items() if found)


def tabulate_cells(certificate: Certificate) -> PageTable:
    """Every cell in numbers; a skipped one has dashes."""
    rows = []
    for cell in certificate.cells:
        tile, share = CellTile(cell, certificate.bar), cell.share
        rows.append(
            (
                cell.name,
                tile.duty or "–",
                tile.verdict,
                Amount(None if share is None else share.successes),
                Amount(None if share is None else share.count),
                Amount(None) if cell.bar is None else SuccessShare(cell.bar),
                Amount(None) if share is None else Span(share.lower, share.upper, "%"),
                Amount(cell.invalid),
                _list_codes(cell),
            )
        )
    return PageTable(
        caption="Every condition in numbers; intervals are 95 %",
        columns=(
            "condition",
            "duty",
            "verdict",
            "successes",
            "episodes",
            "bar",
            "share of successes",
            "physics diverged",
            "causes of failure",
        ),
        rows=tuple(rows),
    )


def tabulate_budgets(certificate: Certificate) -> PageTable | None:
    """What play costs, where it was measured."""
    spent = [cell for cell in certificate.cells if cell.budgets or cell.seen]
    if not spent:
        return None
    rows = tuple(
        (
            cell.name,
            *(Amount(cell.budgets.get(name), _BUDGETS[name][1]) for name in _BUDGETS),
            "; ".join(
                f"{describe_failure(name)}: {count}"
                for name, count in cell.seen.items()
            )
            or "–",
        )
        for cell in spent
    )
    return PageTable(
        caption="Effort: 95th percentile over episodes; and conditions detected in "
        "episodes, whether or not they failed",
        columns=("condition", *(words for words, _ in _BUDGETS.values()), "seen"),
        rows=rows,
    )


def _list_codes(cell: CellResult) -> str:
    counts = (
        f"{describe_failure(name)}: {count}" for name, count in cell.codes.items()
    )
    return "; ".join(counts) or "–"
