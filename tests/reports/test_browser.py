"""Every page in a real browser: light and dark, wide and on a phone, for everybody."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip(
    "axe_playwright_python", reason="axe-playwright-python is not installed"
)

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from .published import COMMANDS, Publish

WIDTHS = {"wide": 1280, "phone": 390}
PATIENCE = 60_000
"""[ms] for a page on a busy machine."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


class Opened:
    """A page with everything unfolded, what it complained about and asked for."""

    def __init__(self, browser: Browser, path: Path, scheme: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page: Page = browser.new_page(color_scheme=scheme)
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.evaluate(
            "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
        )
        plots = self.page.locator(".plot").count()
        self.page.wait_for_function(
            "n => document.querySelectorAll('.plot .main-svg').length >= n", arg=plots
        )

    def widen(self, width: int) -> None:
        """Another window, and until every plot has followed it."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.wait_for_function(
            """() => [...document.querySelectorAll(".plot")].every((plot) => {
              const drawn = plot.querySelector(".main-svg").getBoundingClientRect();
              return drawn.width <= plot.getBoundingClientRect().width + 1;
            })"""
        )

    def find_overflow(self) -> list[str]:
        """What reaches beyond the right end, where the page can be scrolled there."""
        return self.page.evaluate(
            """() => {
              const end = document.documentElement.clientWidth;
              if (document.documentElement.scrollWidth <= end) return [];
              return [...document.querySelectorAll("body *")]
                .filter((one) => one.getBoundingClientRect().right > end + 1)
                .map((one) => one.tagName + "." + one.className);
            }"""
        )

    def find_barriers(self) -> list[str]:
        """Violations that axe finds, each with the first element that it concerns."""
        options = {"runOnly": {"type": "tag", "values": RULES}}
        context = {"exclude": [".plot > *"]}  # a picture, whose numbers are in tables
        found = Axe().run(self.page, context, options).response["violations"]
        return [
            f"{one['id']}: {one['help']} {one['nodes'][0]['html'][:200]} "
            f"{one['nodes'][0]['failureSummary']}"
            for one in found
        ]

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)


@pytest.fixture(
    scope="module",
    params=[(command, scheme) for command in COMMANDS for scheme in ("light", "dark")],
    ids="-".join,
)
def opened(
    request: pytest.FixtureRequest, browser: Browser, published: Publish
) -> Iterator[Opened]:
    command, scheme = request.param
    found = Opened(browser, published(command).page, scheme)
    yield found
    found.page.close()


def test_a_page_opens_in_peace_and_asks_for_nothing(opened: Opened):
    assert opened.complaints == []
    assert opened.requests == [opened.page.url]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_fits_and_has_no_barriers(opened: Opened, width: str):
    opened.widen(WIDTHS[width])
    assert opened.find_overflow() == []
    assert opened.find_barriers() == []
    assert opened.complaints == []


def test_barriers_are_found(browser: Browser, tmp_path: Path):
    """The checks above can fail."""
    path = tmp_path / "bad.html"
    path.write_text(
        "<!DOCTYPE html><html><head><title>Bad</title></head><body><main><h1>Bad</h1>"
        "<p style='color: #bbb; background: #fff; width: 3000px'>Hardly seen.</p>"
        "<button></button><img src='https://elsewhere.example/x.png'>"
        "</main></body></html>"
    )
    opened = Opened(browser, path, "light")
    opened.widen(390)
    found = {words.partition(":")[0] for words in opened.find_barriers()}
    assert {"color-contrast", "button-name", "html-has-lang", "image-alt"} <= found
    assert opened.find_overflow() != []
    assert len(opened.requests) == 2
    assert opened.complaints != []
    opened.page.close()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_is_small(command: str, published: Publish):
    assert published(command).page.stat().st_size < 6e6
