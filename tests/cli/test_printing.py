"""Tables: numbers right, prose folded, nothing cut."""

import threading
import time

import pytest
from rich.text import Text

from realworthy.cli import progress
from realworthy.cli.printing import aligned, counted, emit_table, number, span


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (0.00048012345, "0.0004801"),
        (123456.0, "1.235e+05"),
        (float("inf"), "∞"),
        (-float("inf"), "-∞"),
        (None, ""),
    ],
)
def test_numbers_have_four_digits(value: float | None, text: str):
    assert number(value).plain == text


def test_numbers_have_digits_down_to_their_sd():
    assert number(0.583483, 3.42e-05).plain == "0.58348"
    assert number(0.583483, 0.1).plain == "0.5835"


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((-2.5, 2.5), "±2.5"),
        ((-1.0, 2.5), "-1 … 2.5"),
        ((0.0, 0.0), "0 … 0"),
        ((-float("inf"), float("inf")), "±∞"),
        (None, ""),
    ],
)
def test_ranges(ends: tuple[float, float] | None, text: str):
    assert span(ends).plain == text


def test_vectors_stand_under_each_other():
    texts = [text.plain for text in aligned([(1.0, -0.25), (10.5, 3.0)])]
    assert texts == ["   1  -0.25", "10.5      3"]


def test_counted_nouns():
    assert counted(1, "recording") == "1 recording"
    assert counted(0, "recording") == "0 recordings"
    assert counted(2, "reality", "realities") == "2 realities"


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")


@pytest.mark.usefixtures("narrow")
def test_only_prose_is_folded(capsys: pytest.CaptureFixture[str]):
    name = "a_name_of_thirty_and_more_letters"
    prose = "what is said of it in more than a few words"
    emit_table("Things", ("name", "size [m]", ""), [(name, 0.5, prose)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Things"
    assert lines[1].split() == ["size"]
    assert lines[2].split() == ["name", "[m]"]
    assert f"  {name}   0.5  what is said of it in" in lines[3]
    assert lines[4].strip() == "more than a few words"


def test_empty_columns_and_tables_are_left_out(capsys: pytest.CaptureFixture[str]):
    emit_table("Nothing", ("a", "b"), [])
    assert capsys.readouterr().out == ""
    emit_table("Some", ("a", "b", "c"), [("x", None, 1), ("y", "", 22)])
    assert capsys.readouterr().out == "Some\n  a   c\n  x   1\n  y  22\n\n"


def test_a_styled_cell_is_a_cell(capsys: pytest.CaptureFixture[str]):
    emit_table("", ("", ""), [(Text("[x]", style="red"), "[y]")])
    assert capsys.readouterr().out == "  [x]  [y]\n\n"


def test_without_a_terminal_there_is_no_bar(capsys: pytest.CaptureFixture[str]):
    assert list(progress.track([1, 2, 3], "Writing")) == [1, 2, 3]
    with progress.waiting("Reading"):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_bar_appears_on_long_work_and_goes_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    before = threading.active_count()
    for _ in progress.track([1, 2], "Writing"):
        time.sleep(0.15)
    assert "Writing" in capsys.readouterr().err
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_short_work_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert list(progress.track([1, 2], "Writing")) == [1, 2]
    assert "Writing" not in capsys.readouterr().err
