"""Numbers as people read them: three digits, a unit, an interval; exact for programs.

Each prints itself as text and, in a page, as `<data value="…">`, whose value is exact.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
from markupsafe import Markup, escape

from realworthy.gap import Gap, RecordingGap

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SPACE = "\u00a0"
"""Between a number and its unit, so that no line ends there."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A value with its unit; a dash where there is none.

    Beside a standard deviation it has digits down to it.
    """

    value: float | None
    unit: str = ""
    sd: float | None = None

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        digits = count_digits(self.value, self.sd)
        return to_digits(self.value, digits) + (SPACE + self.unit if self.unit else "")

    def __html__(self) -> str:
        return _to_html(str(self), self.value)


@dataclass(frozen=True, slots=True)
class Count:
    """How many: every digit of a whole number."""

    value: int

    def __str__(self) -> str:
        return f"{self.value:,}".replace("-", "−")

    def __html__(self) -> str:
        return _to_html(str(self), self.value)


@dataclass(frozen=True, slots=True)
class Percent:
    """A share, 0 … 1, in per cent."""

    value: float

    def __str__(self) -> str:
        return f"{_to_percent(self.value)}{SPACE}%"

    def __html__(self) -> str:
        return _to_html(str(self), self.value)


@dataclass(frozen=True, slots=True)
class SuccessShare:
    """A share of successes in per cent; 100 % is all of them and 0 % is none."""

    value: float

    def __str__(self) -> str:
        tenths = round(1000 * self.value)
        if 0 < self.value < 1:
            tenths = min(max(tenths, 1), 999)
        return f"{tenths / 10:g}{SPACE}%"

    def __html__(self) -> str:
        return _to_html(str(self), self.value)


@dataclass(frozen=True, slots=True)
class Span:
    """From low to high, both in one unit; `%` takes shares."""

    low: float
    high: float
    unit: str = ""

    def __str__(self) -> str:
        show = _to_percent if self.unit == "%" else to_digits
        ends = f"{show(self.low)}{SPACE}…{SPACE}{show(self.high)}"
        return ends + (SPACE + self.unit if self.unit else "")

    def __html__(self) -> str:
        low, _, high = str(self).partition("…")
        return _to_html(low, self.low) + Markup("…") + _to_html(high, self.high)


def count_digits(value: float, sd: float | None, least: int = 3) -> int:
    """Digits of a value down to the first of its standard deviation; 9 at most."""
    if not value or not sd or not math.isfinite(value) or not math.isfinite(sd):
        return least
    places = math.floor(math.log10(abs(value))) - math.floor(math.log10(abs(sd)))
    return min(max(places + 1, least), 9)


def to_digits(value: float, digits: int = 3) -> str:
    """`0.0292`, `1,230`, `4.1 × 10⁻⁶`, `∞`; `not a number` for NaN."""
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size != 0 and not 1e-4 <= size < 1e6:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        exponent = str(int(power)).translate(_SUPERSCRIPTS)
        text = f"{mantissa}{SPACE}×{SPACE}10{exponent}"
    elif size >= 1000:
        decimals = max(0, digits - 1 - math.floor(math.log10(size)))
        text = f"{float(f'{value:.{digits}g}'):,.{decimals}f}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "−")


def _to_percent(share: float) -> str:
    if not math.isfinite(share):
        return to_digits(share)
    decimals = 1 if 0 < abs(share) < 0.0095 else 0
    text = f"{100 * share:.{decimals}f}"
    return (text.removeprefix("-") if float(text) == 0 else text).replace("-", "−")


def _to_html(text: str, value: float | None) -> Markup:
    if value is None or not math.isfinite(value):
        return escape(text)
    return Markup('<data value="{}">{}</data>').format(repr(float(value)), text)


Cell = str | Count | Amount | Percent | Span | SuccessShare
_WORD = 48
"""Letters of a cell up to which it stays on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTable:
    """Rows under headings; the first cell of a row names it."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def is_number(self) -> tuple[bool, ...]:
        """Whether each column holds numbers, which stand right."""
        columns = zip(*self.rows, strict=True)
        return tuple(not any(isinstance(c, str) for c in column) for column in columns)

    def is_prose(self, cell: Cell) -> bool:
        """Whether a cell is a sentence, which may take several lines."""
        return isinstance(cell, str) and len(cell) > _WORD


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A headline figure."""

    label: str
    value: Cell
    note: str | Span = ""
    """Its interval, its count, or what it means."""


_JOINT, _SLIDE = mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtJoint.mjJNT_SLIDE
_OF_TORQUE = {"rad": "N·m", "m": "N"}


def find_units(gap: Gap | RecordingGap) -> dict[str, str]:
    """Joint → `rad`, or `m` for a slide."""
    units: dict[str, str] = {}
    for one in gap.recordings if isinstance(gap, Gap) else (gap,):
        bound = one.track.bound
        for joint in one.track.joints:
            kind = bound.model.jnt_type[bound.compiled.id(_JOINT, joint)]
            units[joint] = "m" if kind == _SLIDE else "rad"
    return units


def join_units(units: Iterable[str]) -> str:
    """The unit of a figure over several joints: `rad`, `m`, or `rad or m`."""
    found = set(units)
    return " or ".join(unit for unit in _OF_TORQUE if unit in found)


def to_torque_unit(unit: str) -> str:
    """Of a joint whose position has this unit."""
    return _OF_TORQUE[unit]
