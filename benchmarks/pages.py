"""Tables and plots of the pages in docs, made from benchmarks/results and from --help.

    python benchmarks/pages.py           # writes them into the pages
    python benchmarks/pages.py --check   # exit status 1 where they differ

A page names a table of a file between two comments; what stands between them is made:

    <!-- result: training.json quadruped_speed -->
    <!-- end -->

The options of a command are made from its help in the same way:

    <!-- options: measure -->
    <!-- end -->

A file of results has `tables`: name → date, machine, commit (null where it was not
recorded), seeds, command, columns and rows. A cell is a number, a few words, one number
per seed, or a value with its interval. A table may have a plot of two of its columns,
which is drawn to docs/plots.
"""

import argparse
import contextlib
import io
import math
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

ROOT = Path(__file__).parents[1]
DOCS, RESULTS = ROOT / "docs", ROOT / "benchmarks" / "results"
BLOCK = re.compile(
    r"(<!-- result: (\S+\.json) (\w+) -->\n).*?(<!-- end -->)", re.DOTALL
)
OPTIONS = re.compile(r"(<!-- options: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
SHARED_OPTIONS = {
    *("--base", "--importer", "--json", "--key", "--overwrite", "--report"),
    *("--reset-stop", "--sidecar"),
}
"""Options that mean the same in every command; a page explains them once."""
MAX_WORDS = 12
"""Words in a cell: a cell is no paragraph."""
_COLOURS = ("#3b6ea5", "#c8553d", "#5b8c5a", "#8d6a9f")
_WIDTH, _LABELS, _BAR, _HEIGHT = 640, 250, 26, 260


class Between(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value with its interval."""

    value: float
    lower: float
    upper: float


Cell: TypeAlias = int | float | str | list[float] | Between | None


class Plot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Columns of a table as a picture: bars by row, or lines over a first column."""

    kind: Literal["bars", "lines"]
    columns: list[str]
    """The first gives labels or x, the others are drawn."""
    log: bool = False
    limit: float | None = None
    """A bar to reach, drawn as a dashed line."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one measurement found, with where it comes from."""

    date: str
    machine: str
    columns: list[str]
    rows: list[list[Cell]]
    commit: str | None = None
    seeds: str | None = None
    command: str | None = None
    plot: Plot | None = None


class ResultFile(msgspec.Struct, frozen=True):
    """A file of results; further keys belong to the benchmark that wrote it."""

    tables: dict[str, Table]


def load_table(file: str, name: str) -> Table:
    tables = msgspec.json.decode((RESULTS / file).read_bytes(), type=ResultFile).tables
    if name not in tables:
        raise SystemExit(f"{file} has no table '{name}', but: {', '.join(tables)}")
    return tables[name]


def fill_page(text: str, name: str) -> str:
    """The page with tables as their data say; `name` is the page's file, for errors."""
    if text.count("<!-- result:") != len(BLOCK.findall(text)):
        raise SystemExit(
            f"{name}: a '<!-- result: FILE TABLE -->' has no '<!-- end -->'"
        )
    text = OPTIONS.sub(lambda m: f"{m[1]}\n{to_options_table(m[2])}\n\n{m[3]}", text)

    def fill(match: re.Match[str]) -> str:
        file, table = match[2], load_table(match[2], match[3])
        picture = ""
        if table.plot is not None:
            alt = ", ".join(table.plot.columns)
            picture = f"![{alt}](plots/{name_plot(file, match[3])})\n\n"
        body = f"\n{picture}{to_markdown(table)}\n\n{to_source(table, file)}\n\n"
        return match[1] + body + match[4]

    return BLOCK.sub(fill, text)


def to_options_table(command: str) -> str:
    """Options of a command and what each does, as `--help` lists them."""
    rows, shared = [("option", "what"), ("---", "---")], []
    for option, about in list_options(command):
        if option.split()[0] in SHARED_OPTIONS:
            shared.append(f"`{option.split()[0]}`")
        else:
            rows.append((f"`{option}`", escape(about, quote=False)))
    rows += [(", ".join(shared), "[for many commands](#commands)")] if shared else []
    cells = ((cell.replace("|", "\\|") for cell in row) for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def list_options(command: str) -> list[tuple[str, str]]:
    """`--option VALUE` and its description, but for --help."""
    from realworthy.cli import main

    printed = io.TextIOWrapper(io.BytesIO(), "utf-8")  # so that its boxes are drawn
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([command, "--help"])
    printed.seek(0)
    box = printed.read().partition(" options ─")[2].splitlines()[1:]
    found: list[list[str]] = []
    for row in (row for row in box if row.startswith("│")):
        line = row.strip("│ ")
        if row.startswith("│ -"):
            option, _, about = line.partition("  ")
            found.append([option, about.strip()])
        else:
            found[-1][1] += f" {line}"
    return [
        (option, about.strip()) for option, about in found if option != "-h, --help"
    ]


def name_plot(file: str, table: str) -> str:
    return f"{Path(file).stem}_{table}.svg"


def to_markdown(table: Table) -> str:
    rows = [table.columns, ["---"] * len(table.columns)]
    rows += [[to_words(cell) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def to_source(table: Table, file: str) -> str:
    """Date, machine, seeds, commit and command in one line."""
    parts = [table.date, table.machine, table.seeds and f"seeds {table.seeds}"]
    parts.append(f"commit {table.commit}" if table.commit else "commit not recorded")
    parts.append(table.command and f"`{table.command}`")
    parts.append(f"data: `benchmarks/results/{file}`")
    return f"<small>{' · '.join(part for part in parts if part)}</small>"


def to_words(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case str():
            return cell
        case list():
            return ", ".join(_align(*cell))
        case Between(value, lower, upper):
            middle, low, high = _align(value, lower, upper)
            return f"{middle} ({low} … {high})"
        case int() if abs(cell) >= 1_000:
            return f"{cell:,}"
        case _:
            return f"{cell}"


def _align(*values: float) -> list[str]:
    """With as many decimals as the one that has most: trailing zeros count."""
    written = [str(value) for value in values]
    decimals = max(len(number.partition(".")[2]) for number in written)
    return [f"{value:.{decimals}f}" for value in values]


def draw(table: Table) -> str:
    """The plot of a table as SVG."""
    assert table.plot is not None
    indices = [table.columns.index(name) for name in table.plot.columns]
    columns = [[row[i] for row in table.rows] for i in indices]
    numbers = [[_to_number(cell) for cell in column] for column in columns[1:]]
    if table.plot.kind == "bars":
        labels = [to_words(cell) for cell in columns[0]]
        return _draw_bars(labels, numbers[0], table.plot)
    x = [_to_number(cell) or 0.0 for cell in columns[0]]
    return _draw_lines(x, numbers, table.plot)


def _to_number(cell: Cell) -> float | None:
    match cell:
        case Between():
            return cell.value
        case list():
            return sum(cell) / len(cell)
        case int() | float():
            return float(cell)
        case _:
            return None


def _draw_bars(labels: list[str], values: list[float | None], plot: Plot) -> str:
    shown = [(n, v) for n, v in zip(labels, values, strict=True) if v is not None]
    low = min(v for _, v in shown)
    floor = 10.0 ** math.floor(math.log10(low)) if plot.log else 0.0
    top = max(v for _, v in shown)

    def scale(value: float) -> float:
        room = _WIDTH - _LABELS - 90
        if plot.log:
            return room * math.log(value / floor) / math.log(top / floor)
        return room * value / top

    parts = [_text(_LABELS, 16, plot.columns[1] + (" (log scale)" if plot.log else ""))]
    for i, (label, value) in enumerate(shown):
        y = 26 + i * _BAR
        parts.append(_text(_LABELS - 8, y + 15, label, anchor="end"))
        parts.append(
            f'<rect x="{_LABELS}" y="{y}" width="{max(scale(value), 1):.1f}"'
            f' height="{_BAR - 6}" fill="{_COLOURS[0]}"/>'
        )
        shown_value = to_words(int(value) if value == int(value) else value)
        parts.append(_text(_LABELS + scale(value) + 6, y + 15, shown_value))
    return _frame(parts, 34 + len(shown) * _BAR)


def _draw_lines(x: list[float], curves: list[list[float | None]], plot: Plot) -> str:
    left, right, top, bottom = 60, _WIDTH - 150, 20, _HEIGHT - 40
    values = [v for curve in curves for v in curve if v is not None]
    most = max([*values, plot.limit or 0.0]) * 1.05

    def place(a: float, b: float) -> tuple[float, float]:
        width = max(x) - min(x) or 1.0
        across = left + (right - left) * (a - min(x)) / width
        return across, bottom - (bottom - top) * b / most

    parts = [
        f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#555"/>',
        _text((left + right) / 2, _HEIGHT - 8, plot.columns[0], anchor="middle"),
        _text(left - 6, bottom, "0", anchor="end"),
        _text(left - 6, top + 8, f"{most:.2g}", anchor="end"),
        _text(left, bottom + 16, f"{min(x):g}", anchor="middle"),
        _text(right, bottom + 16, f"{max(x):g}", anchor="middle"),
    ]
    if plot.limit is not None:
        _, y = place(min(x), plot.limit)
        parts.append(
            f'<path d="M{left} {y:.1f}H{right}" stroke="#555" stroke-dasharray="4 4"/>'
        )
        parts.append(_text(right + 6, y + 4, f"bar {plot.limit:g}"))
    for curve, name, colour in zip(curves, plot.columns[1:], _COLOURS, strict=False):
        points = [place(a, b) for a, b in zip(x, curve, strict=True) if b is not None]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}"'
            ' stroke-width="2"/>'
        )
        parts.append(_text(points[-1][0] + 6, points[-1][1] - 6, name, colour=colour))
    return _frame(parts, _HEIGHT)


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", colour: str = "#222"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">'
        f"{escape(words)}</text>"
    )


def _frame(parts: list[str], height: int) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
        ' font-family="sans-serif" font-size="12">'
        '<rect width="100%" height="100%" fill="white"/>'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def build_files() -> Iterator[tuple[Path, str]]:
    """Every page that shows results and every plot, with what it should hold."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text("utf-8")
        if "<!-- result:" not in text and "<!-- options:" not in text:
            continue
        yield page, fill_page(text, page.name)
        for _, file, name, _ in BLOCK.findall(text):
            table = load_table(file, name)
            if table.plot is not None:
                yield DOCS / "plots" / name_plot(file, name), draw(table)


def find_stale() -> list[tuple[Path, str]]:
    """Files that differ from their data, with what they should hold."""
    return [
        (path, text)
        for path, text in build_files()
        if not path.exists() or path.read_text("utf-8") != text
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    stale = find_stale()
    if parser.parse_args().check:
        for path, _ in stale:
            print(f"{path.relative_to(ROOT)} differs: python benchmarks/pages.py")
        return int(bool(stale))
    for path, text in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
