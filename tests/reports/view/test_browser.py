"""The page in a real browser: it moves, it listens, and it goes away cleanly."""

import io
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: pip install -e '.[view]'")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from PIL import Image
from playwright.sync_api import Browser, Locator, Page

from realworthy.recordings import Recording
from realworthy.reports.view import Session, Viewer, build_session
from realworthy.twins import load_twin

PATIENCE = 60_000
"""[ms] for a page on a busy machine without a graphics card."""


class Watched:
    """A page, and what it complained about."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.page: Page = browser.new_page(
            viewport={"width": 1000, "height": 440},
            device_scale_factor=0.5,  # fewer pixels to draw without a graphics card
        )
        self.page.set_default_timeout(PATIENCE)
        self.complaints: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(url)

    def slider(self, label: str) -> Locator:
        named = self.page.locator("label", has_text=label).first
        return self.page.locator(f"[id='{named.get_attribute('for')}'] [role=slider]")

    def picture(self) -> np.ndarray:
        """(rows, columns, 3) of the robot between the panels."""
        image = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        return np.asarray(image)[90:, 165:325].astype(int)

    def _note(self, message) -> None:
        if message.type == "error":
            self.complaints.append(message.text)


def wait_for(is_so: Callable[[], bool], page: Page) -> bool:
    """Waits while the browser goes on; whether it came true."""
    end = time.monotonic() + PATIENCE / 1000
    while not is_so() and time.monotonic() < end:
        page.wait_for_timeout(100)
    return is_so()


def test_the_page_is_seen_dragged_shared_and_closed(browser: Browser, balancer: Path):
    session = build_session(load_twin("cartpole"), policy=balancer)
    viewer = build_viewer(session)
    port = int(viewer.url.rpartition(":")[2])
    stop = threading.Event()
    thread = threading.Thread(target=serve, args=(viewer, stop))
    thread.start()
    try:
        first = Watched(browser, viewer.url)
        first.page.get_by_text("Task 'cartpole_balance' by balancer.onnx").wait_for()

        # it is seen: a robot in the picture, which moves as the simulation does
        assert wait_for(lambda: count_colours(first.picture()) > 100, first.page)
        clock = session.clock
        assert wait_for(lambda: session.clock > clock, first.page)

        # two look at once
        second = Watched(browser, viewer.url)
        second.page.get_by_text("Task 'cartpole_balance'").wait_for()
        assert wait_for(lambda: viewer.viewer_count == 2, second.page)

        # it is dragged: the delay to its end, and the policy fails
        thumb = first.slider("delay")
        thumb.focus()
        thumb.press("End")
        assert wait_for(lambda: session.values == {"all.delay": 0.1}, first.page)
        simulator = session.play.world.simulator
        assert simulator.field("actuator_delay")[0] == pytest.approx(0.1)
        other = second.slider("delay")
        assert wait_for(
            lambda: other.get_attribute("aria-valuenow") == "0.1", second.page
        )
        session.speed = 4.0
        failed = "Ran into the end of a joint after"
        for watched in (first, second):
            watched.page.get_by_text(failed).wait_for()
        assert session.bad_count >= 1

        # it is paused: nothing moves
        first.page.get_by_role("button", name="Pause").click()
        assert wait_for(lambda: not session.is_playing, first.page)
        still = session.clock
        first.page.wait_for_timeout(500)
        assert session.clock == still

        # one leaves, the other may stay
        second.page.close()
        assert wait_for(lambda: viewer.viewer_count == 1, first.page)
        first.page.close()
        assert first.complaints + second.complaints == []
    finally:
        stop.set()
        session.changed.set()
        thread.join(timeout=10)
        viewer.close()
    assert not thread.is_alive()
    check_free(port)


def test_a_recording_has_a_ghost_that_can_be_hidden(browser: Browser, swing: Recording):
    session = build_session(load_twin("pendulum"), recordings=[swing])
    session.is_playing = False
    for _ in range(58):  # to where both hang, side by side
        session.step()
    viewer = build_viewer(session)
    stop = threading.Event()
    thread = threading.Thread(target=serve, args=(viewer, stop))
    thread.start()
    try:
        watched = Watched(browser, viewer.url)
        watched.page.get_by_text("transparent as measured").wait_for()
        assert wait_for(lambda: count_bluish(watched.picture()) > 30, watched.page)
        watched.page.get_by_label("Ghost").uncheck()
        assert wait_for(lambda: count_bluish(watched.picture()) < 5, watched.page)
        watched.page.close()
        assert watched.complaints == []
    finally:
        stop.set()
        session.changed.set()
        thread.join(timeout=10)
        viewer.close()


def build_viewer(session: Session) -> Viewer:
    """Without shadows, which take long to draw without a graphics card."""
    viewer = Viewer(session, port=0)
    viewer._server.scene.configure_default_lights(cast_shadow=False)
    return viewer


def serve(viewer: Viewer, stop: threading.Event) -> None:
    while not stop.is_set():
        viewer.run(0.2)


def count_colours(picture: np.ndarray) -> int:
    return len(np.unique(picture.reshape(-1, 3), axis=0))


def count_bluish(picture: np.ndarray) -> int:
    """Pixels of the ghost, which alone is blue."""
    red, green, blue = np.moveaxis(picture, -1, 0)
    return int(((blue > red + 40) & (blue > green + 15)).sum())


def check_free(port: int) -> None:
    """Nobody answers on a port, and it can be taken again."""
    with socket.socket() as asking, pytest.raises(ConnectionRefusedError):
        asking.connect(("127.0.0.1", port))
    with socket.socket() as taking:
        taking.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taking.bind(("127.0.0.1", port))
