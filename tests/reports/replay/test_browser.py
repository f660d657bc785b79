"""A replay in a real browser: it is seen, it moves, it listens, light and dark."""

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from PIL import Image
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from realworthy.gap import Gap
from realworthy.reports import write_gap

FLAGS = (
    "--no-sandbox",
    "--use-angle=swiftshader",  # draws without a graphics card
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
)
PATIENCE = 60_000
"""[ms] for a page on a busy machine without a graphics card."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def url(gap: Gap, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("replay") / "page.html"
    write_gap(gap, path)
    return path.as_uri()


class Watched:
    """A page with a replay in it, and what it complained about."""

    def __init__(
        self,
        browser: Browser,
        url: str,
        *,
        scheme: Literal["light", "dark"] = "light",
        motion: Literal["reduce", "no-preference"] = "reduce",
        without_webgl: bool = False,
    ) -> None:
        self.page: Page = browser.new_page(
            viewport={"width": 360, "height": 640},
            color_scheme=scheme,
            reduced_motion=motion,
        )
        self.page.set_default_timeout(PATIENCE)
        self.complaints: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if without_webgl:
            self.page.add_init_script(
                "HTMLCanvasElement.prototype.getContext = () => null"
            )
        self.page.goto(url)
        self.page.locator(".replay").scroll_into_view_if_needed()

    def picture(self) -> np.ndarray:
        """(rows, columns, 3) of the canvas, once it is drawn."""
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame("
            "() => requestAnimationFrame(done)))"
        )
        shot = self.page.locator(".replay canvas").screenshot()
        return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name).click()

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)


def count_near(picture: np.ndarray, hue: tuple[int, int, int]) -> int:
    """Pixels of a colour in some light: the same direction of red, green and blue."""
    size = np.linalg.norm(picture, axis=2) * np.linalg.norm(hue)
    likeness = (picture @ np.array(hue)) / np.maximum(size, 1)
    return int(((likeness > 0.985) & (np.ptp(picture, axis=2) > 40)).sum())


def test_it_is_seen_moved_and_turned(browser: Browser, url: str):
    watched = Watched(browser, url)
    page = watched.page
    slider = page.get_by_role("slider", name="Time")
    assert page.get_by_role("button", name="Play").is_visible()  # motion is unwelcome
    first = watched.picture()
    assert count_near(first, (0xC2, 0x41, 0x0C)) > 100  # the twin is orange

    # another time, another picture; and the slider says it
    slider.focus()
    slider.press("End")
    last = watched.picture()
    assert (np.abs(last - first).max(axis=2) > 30).sum() > 100
    assert slider.get_attribute("aria-valuetext") == page.locator(
        ".replay output"
    ).inner_text().replace("\u00a0", " ")
    slider.press("Home")
    assert np.abs(watched.picture() - first).max() < 10

    # the robot can be hidden, and so can the twin
    watched.press("Largest distance")
    both = watched.picture()
    page.get_by_label("robot", exact=True).uncheck()
    alone = watched.picture()
    assert (np.abs(alone - both).max(axis=2) > 20).sum() > 50
    page.get_by_label("twin", exact=True).uncheck()
    assert count_near(watched.picture(), (0xC2, 0x41, 0x0C)) == 0
    page.get_by_label("twin", exact=True).check()

    # it turns by keys and by dragging, and back
    canvas = page.locator(".replay canvas")
    canvas.focus()
    canvas.press("ArrowRight")
    turned = watched.picture()
    assert (np.abs(turned - alone).max(axis=2) > 20).sum() > 150
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 100)
    page.mouse.up()
    assert (np.abs(watched.picture() - turned).max(axis=2) > 20).sum() > 150
    watched.press("Reset the view")
    page.mouse.click(5, 5)
    canvas.blur()
    assert np.abs(watched.picture() - alone).max() < 10
    assert watched.complaints == []
    page.close()


def test_it_plays_in_the_dark_unless_motion_is_unwelcome(browser: Browser, url: str):
    watched = Watched(browser, url, scheme="dark", motion="no-preference")
    page = watched.page
    output = page.locator(".replay output")
    begun = output.inner_text()
    page.wait_for_function(
        "(before) => document.querySelector('.replay output').innerText !== before",
        arg=begun,
    )
    watched.press("Pause")
    shown = watched.picture()
    assert count_near(shown, (0xFF, 0x9A, 0x62)) > 100
    assert np.median(shown) < 60  # the background is dark
    assert watched.complaints == []
    page.close()


def test_without_webgl_it_says_so(browser: Browser, url: str):
    watched = Watched(browser, url, without_webgl=True)
    assert watched.page.get_by_text("draws no three dimensions").is_visible()
    assert not watched.page.get_by_role("slider", name="Time").is_visible()
    assert watched.page.get_by_text("is farthest from the robot at").is_visible()
    watched.page.close()
