"""Result pages show what their data hold, in cells that are numbers or a few words."""

import re
from pathlib import Path

import msgspec
import pytest

from benchmarks import pages

FILES = sorted(
    path.name
    for path in pages.RESULTS.glob("*.json")
    if "tables" in msgspec.json.decode(path.read_bytes())
)
SHOWN = {
    (match[2], match[3])
    for page in pages.DOCS.glob("*.md")
    for match in pages.BLOCK.finditer(page.read_text("utf-8"))
}


def test_pages_and_plots_hold_what_their_data_hold():
    """python benchmarks/pages.py writes them anew."""
    assert [path.name for path, _ in pages.find_stale()] == []


@pytest.mark.parametrize("file", FILES)
def test_every_table_is_on_a_page_and_says_where_it_comes_from(file: str):
    tables = msgspec.json.decode(
        (pages.RESULTS / file).read_bytes(), type=pages.ResultFile
    ).tables
    for name, table in tables.items():
        assert (file, name) in SHOWN, f"no page shows {name}"
        assert re.search(r"20\d\d-\d\d-\d\d", table.date)
        assert table.machine
        assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.parametrize(("file", "name"), sorted(SHOWN))
def test_a_cell_is_no_paragraph(file: str, name: str):
    table = pages.load_table(file, name)
    for row in table.rows:
        for cell in row:
            assert len(pages.to_words(cell).split()) <= pages.MAX_WORDS


def test_no_plot_is_left_over():
    expected = {path for path, _ in pages.build_files() if path.suffix == ".svg"}
    assert set((pages.DOCS / "plots").glob("*.svg")) == expected


TABLE = pages.Table(
    date="2026-11-19",
    machine="a test",
    columns=["robot", "steps/s", "success"],
    rows=[["a", 12345, [0.5, 0.25]], ["b", None, pages.Between(0.9, 0.85, 0.95)]],
)


def test_cells_read_as_numbers_with_their_interval():
    body = pages.to_markdown(TABLE).splitlines()
    assert body[2:] == [
        "| a | 12,345 | 0.50, 0.25 |",
        "| b |  | 0.90 (0.85 … 0.95) |",
    ]
    assert "commit not recorded" in pages.to_source(TABLE, "x.json")


def test_a_changed_figure_changes_the_page(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    text = "before\n<!-- result: x.json speed -->\n<!-- end -->\nafter\n"
    for steps in (12345, 54321):
        table = msgspec.structs.replace(TABLE, rows=[["a", steps, None]])
        (tmp_path / "x.json").write_bytes(
            msgspec.json.encode(pages.ResultFile(tables={"speed": table}))
        )
        text = pages.fill_page(text, "page.md")
        assert f"{steps:,}" in text
    assert "12,345" not in text
    assert text.startswith("before\n")
    assert text.endswith("<!-- end -->\nafter\n")


def test_a_table_that_is_not_there_is_named():
    with pytest.raises(SystemExit, match="has no table 'nothing'"):
        pages.load_table(FILES[0], "nothing")


def test_an_open_block_is_named():
    with pytest.raises(SystemExit, match=r"page\.md: .* has no"):
        pages.fill_page("<!-- result: training.json biped -->\n", "page.md")


def test_bars_are_as_long_as_their_numbers():
    table = msgspec.structs.replace(
        TABLE,
        rows=[["a", 200, None], ["b", 50, None]],
        plot=pages.Plot(kind="bars", columns=["robot", "steps/s"]),
    )
    long, short = map(
        float, re.findall(r'width="([\d.]+)" height="20"', pages.draw(table))
    )
    assert long == pytest.approx(4 * short, rel=0.01)
