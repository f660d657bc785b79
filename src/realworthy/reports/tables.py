"""Tables and headline figures of a page."""

from dataclasses import dataclass

from realworthy.reports.numbers import Count, Number, Percent, Span, SuccessShare

Cell = str | Count | Number | Percent | Span | SuccessShare
_WORD = 48
"""Letters of a cell up to which it stays on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
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
