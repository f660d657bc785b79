"""Tables and headline figures of a page, read as a program without our code would."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


@dataclass
class Cell:
    text: str = ""
    values: list[float] = field(default_factory=list)
    """Exact ones, of `<data>`."""

    @property
    def value(self) -> float:
        (value,) = self.values
        return value


@dataclass
class Table:
    caption: str = ""
    columns: list[str] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)

    def find(self, row: str, column: str) -> Cell:
        (found,) = (cells for cells in self.rows if cells[0].text == row)
        return found[self.columns.index(column)]

    def column(self, name: str) -> list[float]:
        place = self.columns.index(name)
        return [cells[place].value for cells in self.rows]


@dataclass
class Numbers(HTMLParser):
    """Every number of a page, and where it stands."""

    tables: list[Table] = field(default_factory=list)
    tiles: dict[str, Cell] = field(default_factory=dict)
    shown: list[tuple[str, float]] = field(default_factory=list)
    """What is read, and the exact value behind it."""
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._cell: Cell | None = None
        self._in = ""
        self._label = self._told = ""
        self._row: list[Cell] = []
        self._is_head = self._is_hidden = False
        self._exact: float | None = None
        self._is_span = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag in ("script", "style"):
            self._is_hidden = True
        elif tag == "table":
            self.tables.append(Table())
        elif tag == "caption":
            self._in = "caption"
        elif tag in ("thead", "tbody"):
            self._is_head = tag == "thead"
        elif tag == "tr":
            self._row = []
        elif tag in ("th", "td"):
            self._cell = Cell()
        elif tag == "dt":
            self._in, self._label = "dt", ""
        elif tag == "dd" and known.get("class") == "figure":
            self._cell = self.tiles[" ".join(self._label.split())] = Cell()
        elif tag == "data":
            self._exact, self._told = float(known["value"] or "nan"), ""

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._is_hidden = False
        elif tag in ("caption", "dt"):
            self._in = ""
        elif tag in ("th", "td") and self._cell is not None:
            self._cell.text = " ".join(self._cell.text.split())
            self._row.append(self._cell)
            self._cell = None
        elif tag == "tr":
            if self._is_head:
                self.tables[-1].columns = [cell.text for cell in self._row]
            else:
                self.tables[-1].rows.append(self._row)
        elif tag == "dd":
            self._cell = None
        elif tag == "data" and self._exact is not None:
            if self._cell is not None:
                self._cell.values.append(self._exact)
            self.shown.append((self._told, self._exact))
            if self._is_span and "%" in self._told:  # `5 … 20 %`: both ends
                text, exact = self.shown[-2]
                self.shown[-2] = (f"{text}%", exact)
            self._exact, self._is_span = None, False

    def handle_data(self, data: str) -> None:
        if self._is_hidden:
            return
        self.text += data
        if self._cell is not None:
            self._cell.text += data
        if self._in == "caption":
            self.tables[-1].caption += data
        elif self._in == "dt":
            self._label += data
        if self._exact is not None:
            self._told += data
        elif data.strip():
            self._is_span = data.strip() == "…"

    def table(self, caption: str) -> Table:
        (found,) = (t for t in self.tables if t.caption.strip().startswith(caption))
        return found


def read_numbers(path: Path) -> Numbers:
    numbers = Numbers()
    numbers.feed(path.read_text("utf-8"))
    numbers.close()
    return numbers


def parse_shown(text: str) -> float:
    """`4.1 × 10⁻⁶ rad`, `1,230` or `−3 %` as a person reads it."""
    plain = text.replace("\u00a0", " ").replace("−", "-").replace(",", "").strip()
    found = re.match(r"([-+]?[\d.]+)(?: × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?(.*)", plain)
    assert found is not None, text
    power = int(found[2].translate(_SUPERSCRIPTS)) if found[2] else 0
    percent = found[3].strip().startswith("%")
    return float(found[1]) * 10.0**power * (0.01 if percent else 1.0)
