"""What every page promises: one file, nothing from elsewhere, whole or not at all."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from realworthy.diagnosis.diagnosis import Diagnosis
from realworthy.errors import Unwritable
from realworthy.gap import Gap
from realworthy.reports import write_diagnosis, write_gap
from realworthy.reports.elements import page as pages

from .conftest import Parsed, read_page


@pytest.fixture(scope="module")
def page(diagnosis: Diagnosis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "page.html"
    write_diagnosis(diagnosis, path)
    return path


@pytest.fixture(scope="module")
def parsed(page: Path) -> Parsed:
    return read_page(page)


def test_nothing_is_loaded_from_elsewhere(parsed: Parsed):
    for tag, attributes in parsed.tags:
        assert "src" not in attributes
        assert tag not in {"link", "iframe", "object", "embed", "base", "img"}
        if tag == "a":
            assert (attributes["href"] or "").startswith("#")
    for style in parsed.styles:
        assert "url(" not in style
        assert "@import" not in style


def test_the_browser_is_told_to_load_nothing(parsed: Parsed):
    metas = [known for tag, known in parsed.tags if tag == "meta"]
    (policy,) = (m["content"] for m in metas if "http-equiv" in m)
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy


def test_it_is_small(page: Path):
    assert page.stat().st_size < 6e6


def test_it_is_read_by_people_who_do_not_see(parsed: Parsed):
    (root,) = (known for tag, known in parsed.tags if tag == "html")
    assert root["lang"] == "en"
    for _, known in parsed.tags:
        if known.get("role") in {"img", "region"}:
            assert known["aria-label"]
    ids = [known["id"] for _, known in parsed.tags if "id" in known]
    assert len(ids) == len(set(ids))
    labels = [k["aria-labelledby"] for _, k in parsed.tags if "aria-labelledby" in k]
    assert set(labels) <= set(ids)
    levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_every_colour_has_contrast():
    """At least 4.5 : 1 for text, 3 : 1 for lines and bars (WCAG 2.2, 1.4.3, 1.4.11)."""
    css = (Path(pages.__file__).parent / "templates" / "look.css").read_text("utf-8")
    light, dark = re.findall(r"--paper: (?:.|\n)*?color-scheme", css)[:2]
    for theme in (light, dark):
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", theme))
        for name in ("ink", "quiet", "good", "attention", "bad", "open", "right"):
            for ground in ("paper", "card"):
                assert contrast(colours[name], colours[ground]) >= 4.5, name
        assert contrast(colours["ink"], colours["warning-paper"]) >= 4.5
        for name in ("real", "twin", "mended", "noise", "interface", "missing"):
            assert contrast(colours[name], colours["paper"]) >= 3, name


def contrast(first: str, second: str) -> float:
    one, two = sorted(map(luminance, (first, second)))
    return (two + 0.05) / (one + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_file_is_not_replaced_unasked(gap: Gap, tmp_path: Path):
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(Unwritable, match="exists already"):
        write_gap(gap, path)
    assert path.read_text() == "mine"
    write_gap(gap, path, overwrite=True)
    assert path.read_text().startswith("<!DOCTYPE html>")


def test_a_page_that_fails_leaves_nothing(
    gap: Gap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail() -> None:
        raise ValueError("templates are gone")

    monkeypatch.setattr(pages, "_load_templates", fail)
    with pytest.raises(ValueError, match="templates are gone"):
        write_gap(gap, tmp_path / "made" / "page.html")
    assert list(tmp_path.iterdir()) == []
