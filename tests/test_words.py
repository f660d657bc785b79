"""Messages, pages and docs speak the field's language, not one of their own."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import realworthy

ROOT = Path(__file__).parents[1]
PHRASES = {
    r"worst[- ]e\b": "worst-case parameters, worst case",
    r"realities show at least": "of sampled robots succeed at least … of the time",
    r"twin as published": "nominal model",
    r"\bwide (published )?table\b": "wide domain randomization",
    r"\bone row ahead\b": "normalised one-step error",
    r"what changes in a row\b": "predicting no change",
    r"missing torque\b": "torque residual",
    r"\bits floor\b": "noise floor",
    r"\btold (only )?together\b": "correlated; identifiable only in combination",
    r"\b(are|is) told only\b": "identifiable only in combination",
    r"\bnot told at all\b": "not identifiable",
    r"\bfound in order\b": "checks passed",
    r"\brate was promised\b": "no nominal rate is given",
    r"\bmore alike\b": "the same for … more recordings",
    r"commands arrive at another time": "command latency",
    r"(?<!if )\bnot (played|heard)\b(?! from)": "not run",
    r"how much it bears": "robustness margins",
    r"\bheld steps\b": "action repeat",
    r"\bis so at once\b": "while every parameter is within these ranges",
    r"\bIt repeats itself:|not repeat itself": "passes or fails when retested",
    r"\blooks? at (the|its|a) policy": "evaluation of the policy",
    r"[\d}] alike\)": "correlation …)",
    r"\bis kinder\b": "optimistic",
    r"late by [^\n]{0,40}\(half\)": "p50",
    r"\b(put|puts|putting) right\b": "corrected; calibrated",
    r"\btold apart\b|\b(cannot|can) tell (them )?apart\b": "distinguish, identify",
    r"what is other than it was": "what changed",
    r"narrow around z": "Gaussian prior centred at z",
    r"must be heard": "must take part",
    r"as sure as asked": "as precise as asked",
    r"[Mm]end (the|its|them|it)\b": "correct",
    r"steps do not keep that": "no step achieves it",
}
"""Private English, and what a robotics engineer would read instead."""
SUFFIXES = {".py", ".html", ".js", ".md", ".yaml", ".toml"}


def list_texts() -> Iterator[Path]:
    yield ROOT / "README.md"
    for folder in ("src", "docs", "recipes", "benchmarks", "examples"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


@cache
def read(path: Path) -> str:
    return join_lines(path.read_text("utf-8"))


def join_lines(text: str) -> str:
    """One space for every break, whether of prose, of a comment or of a string."""
    text = re.sub(r'"\s*\n\s*f?"', "", text)  # "two parts " "of one string"
    return re.sub(r"\s*\n\s*(#\s*)?", " ", text)


def find_phrases(text: str) -> list[str]:
    joined = join_lines(text)
    return [p for p in PHRASES if re.search(p, joined, re.IGNORECASE)]


@pytest.mark.parametrize("phrase", PHRASES)
def test_private_phrases_are_gone(phrase: str):
    places = [
        f"{path.relative_to(ROOT)}: write '{PHRASES[phrase]}'"
        for path in list_texts()
        if re.search(phrase, read(path), re.IGNORECASE)
    ]
    assert not places


@pytest.mark.parametrize(
    "text",
    [
        "The worst e is near.",
        '    f"Told only "\n        f"together: {names}."',
        "the twin put\nright",
        "# commands are not\n# played twice",
        "It is late by 3 µs (half).",
        "joint answers (0.67 alike)",
    ],
)
def test_a_private_phrase_would_be_seen(text: str):
    assert find_phrases(text)


@pytest.mark.parametrize(
    "text", ["the worst error", "played once", "Turn it right.", "as published"]
)
def test_plain_words_pass(text: str):
    assert not find_phrases(text)


GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")


def list_entries() -> list[str]:
    rows = re.findall(r"^\| (.+?) \|", GLOSSARY, re.MULTILINE)
    return [row for row in rows if row != "word"]


@pytest.mark.parametrize(
    "name", sorted(n for n in realworthy.__all__ if n[0].isupper())
)
def test_the_glossary_has_every_public_noun(name: str):
    assert f"`{name}`" in list_entries()


def test_the_glossary_is_alphabetical_and_links_to_pages():
    entries = [entry.strip("`").lower() for entry in list_entries()]
    assert entries == sorted(entries)
    rows = [row for row in GLOSSARY.splitlines() if row.startswith("| ")][1:]
    assert all(re.search(r"\]\(\w+\.md", row) for row in rows)


def test_links_of_the_glossary_lead_to_headings():
    for page, heading in re.findall(r"\((\w+\.md)#([\w-]+)\)", GLOSSARY):
        text = (ROOT / "docs" / page).read_text("utf-8")
        titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        slugs = {
            re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles
        }
        assert heading in slugs, f"{page}#{heading}"


MAX_WORDS = 32
"""Words in a cell of a guide: what needs more is a sentence below the table."""


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs").glob("*.md")), ids=lambda p: p.stem
)
def test_a_cell_of_a_page_is_no_paragraph(page: Path):
    text = re.sub(r"<!-- options.*?<!-- end", "", page.read_text("utf-8"), flags=re.S)
    rows = re.findall(r"^\| (.+) \|$", text, re.MULTILINE)
    cells = [cell for row in rows for cell in row.split(" | ")]
    long = [c for c in cells if len(re.sub(r"\(.*?\)", "", c).split()) > MAX_WORDS]
    assert not long
