"""Limits of a certificate, and where its worst case lies among them."""

from dataclasses import dataclass

from realworthy.certification.certificate.results import (
    Validity,
    ValidityRange,
    WorstResult,
)
from realworthy.reports.elements.numbers import Amount, PageTable


@dataclass(frozen=True, slots=True)
class RangeTrack:
    """Where numbers lie within what is believed of one parameter."""

    name: str
    limits: ValidityRange
    """Those covered."""
    scale: float
    """Share of the believed range that they are."""
    worst: float

    @property
    def believed(self) -> tuple[float, float]:
        """The whole range; limits were drawn in about the nominal value inside it."""
        low, high = self.limits.lower, self.limits.upper
        inside = min(max(self.limits.nominal, low), high)
        return inside + (low - inside) / self.scale, inside + (
            high - inside
        ) / self.scale

    def place(self, value: float) -> float:
        """Per cent of the range from its lower end; values outside stand at an end."""
        low, high = self.believed
        share = (value - low) / (high - low) if high > low else 0.5
        return round(100 * min(max(share, 0.0), 1.0), 2)

    @property
    def label(self) -> str:
        """The bar in words."""
        nominal, worst = self.place(self.limits.nominal), self.place(self.worst)
        return (
            f"{self.name}: nominal at {nominal:.0f} %, worst at {worst:.0f} % of the "
            "belief's range"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstRow:
    """One parameter of the worst case."""

    name: str
    value: Amount
    nominal: Amount
    track: RangeTrack | None
    """None where nothing is said of what is believed."""
    effect: Amount


def list_worst(worst: WorstResult, validity: Validity | None) -> tuple[WorstRow, ...]:
    """Parameters of the worst case, the most telling first where that is known."""
    effects = {turn.name: turn.effect for turn in worst.turns}
    ranges = {} if validity is None else validity.parameters
    rows = []
    for name in sorted(worst.e, key=lambda name: -effects.get(name, 0.0)):
        limits, track = ranges.get(name), None
        if limits is not None and validity is not None:
            track = RangeTrack(name, limits, validity.scale, worst.e[name])
        unit = "" if limits is None else to_unit(limits)
        rows.append(
            WorstRow(
                name=name,
                value=Amount(worst.e[name], unit),
                nominal=Amount(None if limits is None else limits.nominal, unit),
                track=track,
                effect=Amount(effects.get(name)),
            )
        )
    return tuple(rows)


def to_unit(limits: ValidityRange) -> str:
    """As it stands behind a number; nothing behind a plain one."""
    return "" if limits.unit == "1" else limits.unit


def tabulate_limits(validity: Validity) -> tuple[PageTable, ...]:
    """Of parameters, noise and inputs, where there are any."""
    tables = []
    if validity.parameters:
        caption = "Ranges of the parameters"
        tables.append(_tabulate_ranges(caption, "parameter", validity.parameters))
    if validity.noise:
        rows = tuple((name, Amount(sd)) for name, sd in validity.noise.items())
        tables.append(
            PageTable(
                caption="Largest measurement noise",
                columns=("signals ending in", "standard deviation, SI units"),
                rows=rows,
            )
        )
    if validity.inputs:
        caption = "Commanded inputs"
        tables.append(_tabulate_ranges(caption, "input", validity.inputs))
    return tuple(tables)


def _tabulate_ranges(
    caption: str, noun: str, ranges: dict[str, ValidityRange]
) -> PageTable:
    return PageTable(
        caption=caption,
        columns=(noun, "from", "to", "nominal", "unit"),
        rows=tuple(
            (
                name,
                Amount(r.lower),
                Amount(r.upper),
                Amount(r.nominal),
                to_unit(r) or "–",
            )
            for name, r in ranges.items()
        ),
    )
