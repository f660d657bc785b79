"""How results look: one kind of table, numbers with four digits, counted nouns."""

import math
import os
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from realworthy.artefacts import plain

Cell = str | Text | int | float | None
WIDTH = 110
"""Columns where nobody says how many there are, as in a pipe."""
_PROSE = 24
"""Columns that folded prose gets at least."""


def emit(part: RenderableType) -> None:
    """Prints to stdout, in colour where it is a terminal.

    What cannot be folded into its width is printed wider, not cut.
    """
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH
    endless = console.options.update(max_width=10_000)
    needed = Measurement.get(console, endless, part).minimum
    console.width = max(console.width, needed)
    with console.capture() as captured:
        console.print(part)
    text = captured.get()
    if not console.is_terminal:  # no spaces up to the width of a table
        text = "".join(line.rstrip() + "\n" for line in text.splitlines())
    sys.stdout.write(text)


def say(text: str) -> None:
    """A line as it is, at once."""
    print(plain(text), flush=True)


def emit_heading(name: str, about: str = "") -> None:
    """A name in bold, and a line about it."""
    emit(Text.assemble((plain(name), "bold"), f"  {plain(about)}" if about else ""))


def emit_note(text: str, style: str = "dim") -> None:
    """A line beside the point."""
    emit(Text(plain(text), style=style))


def emit_block(title: str, text: str) -> None:
    """Text as it is, under a title."""
    emit(Text(plain(title), style="bold"))
    emit(Padding(Text(plain(text)), (0, 0, 0, 2)))


def emit_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]
) -> None:
    """A table and an empty line; empty columns, and tables without rows, are left out.

    Numbers stand right; only prose is folded. Units in [] stand under their heading.
    """
    cells = [[_to_text(cell) for cell in row] for row in rows]
    if not cells:
        return
    kept = [i for i in range(len(columns)) if any(row[i].plain for row in cells)]
    headings = [columns[i].replace(" [", "\n[") for i in kept]
    height = max(heading.count("\n") for heading in headings)
    table = Table(box=None, show_edge=False, show_header=any(headings), pad_edge=False)
    for heading, i in zip(headings, kept, strict=True):
        column = [row[i] for row in cells if row[i].plain]
        prose = any(_is_prose(cell) for cell in column)
        table.add_column(
            Text("\n" * (height - heading.count("\n")) + heading),
            justify="right" if column[0].justify == "right" else "left",
            header_style="dim",
            min_width=_PROSE if prose else max(cell.cell_len for cell in column),
            no_wrap=not prose,
            overflow="fold",
        )
    for row in cells:
        table.add_row(*(row[i] for i in kept))
    if title:
        emit(Text(plain(title), style="bold"))
    emit(Padding(table, (0, 0, 1, 2)))


def _is_prose(cell: Text) -> bool:
    return cell.justify != "right" and cell.plain.count(" ") > 2


def number(value: float | None, sd: float | None = None) -> Text:
    """Four digits, or down to its sd; ∞ without a bound; nothing for None."""
    from realworthy.reports.elements.numbers import count_digits

    if value is None:
        return _right("")
    return _right(_digits(value, count_digits(value, sd, least=4)))


def span(ends: tuple[float, float] | None) -> Text:
    """`±2.5`, `-1 … 2.5`, or nothing."""
    if ends is None:
        return Text("", justify="right")
    low, high = ends
    same = low == -high and high > 0
    text = f"±{_digits(high)}" if same else f"{_digits(low)} … {_digits(high)}"
    return Text(text, justify="right")


def aligned(vectors: Sequence[Sequence[float]]) -> list[Text]:
    """One text per vector, the numbers of all of them under each other."""
    texts = [[_digits(value) for value in vector] for vector in vectors]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return [
        _right("  ".join(f"{t:>{w}}" for t, w in zip(row, widths, strict=True)))
        for row in texts
    ]


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 recording`, `3 recordings`."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def _digits(value: float, count: int = 4) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.{count}g}"


def _to_text(cell: Cell) -> Text:
    if isinstance(cell, Text):
        return cell
    if isinstance(cell, int | float):
        return number(cell) if isinstance(cell, float) else _right(str(cell))
    return Text(plain(cell or ""))


def _right(text: str) -> Text:
    return Text(text, justify="right")
