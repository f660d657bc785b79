"""`view`: serves the page, keeps time, ends cleanly."""

import contextlib
import errno
import http
import io
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from realworthy.artefacts import plain
from realworthy.errors import MissingExtra, RealworthyError
from realworthy.policies import Policy
from realworthy.recordings import load_recordings
from realworthy.recordings.load import Recordings
from realworthy.reports.view.session import Session, build_session
from realworthy.twins import Twin, load_twin

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

    from realworthy.tasks.catalogue import TaskLike

    Answer = Callable[[ServerConnection, Request], Response | None]


LOOPBACK = "127.0.0.1"
HERE = (LOOPBACK, "localhost", "::1")
"""Hosts that only this machine reaches."""


def is_foreign(origin: str | None, asked: str, *, is_local: bool) -> bool:
    """Whether the page that opens a connection came from elsewhere.

    origin: as a browser tells it; None: no browser asks. asked: host and port that it
    believes to speak to. Served to this machine alone, only names of this machine are
    its own: a stranger's name can be made to lead here.
    """
    if origin is None:
        return False
    page = urlsplit(origin)
    return page.netloc != asked or (is_local and page.hostname not in HERE)


@contextlib.contextmanager
def guarding(host: str) -> Iterator[None]:
    """Servers that are started meanwhile refuse pages from elsewhere.

    viser takes whatever any page in the same browser sends, and has no setting for it,
    so the function with which it starts its server is replaced for that moment.
    """
    from websockets.asyncio import server

    original = server.serve

    def serve(*given, process_request: "Answer", **named) -> server.serve:
        def answer(
            connection: "ServerConnection", request: "Request"
        ) -> "Response | None":
            origin, asked = (request.headers.get(key) for key in ("Origin", "Host"))
            if is_foreign(origin, asked or "", is_local=host in HERE):
                return connection.respond(http.HTTPStatus.FORBIDDEN, "Not from there.")
            return process_request(connection, request)

        return original(*given, process_request=answer, **named)

    server.serve = serve  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        server.serve = original


DEFAULT_PORT = 8080
_FRAME = 1 / 30
"""[s] between two pictures."""
_PLOT = 1 / 8
"""[s] between two drawings of the plots."""
_IDLE = 0.5
"""[s] between two looks while nothing moves."""
_RATE_WINDOW = 1.0
"""[s] over which it is judged whether real time is held."""


class Viewer:
    """A served page of a session. `run` shows it; `close` frees the port."""

    def __init__(
        self, session: Session, *, host: str = LOOPBACK, port: int | None = None
    ) -> None:
        """`port` None: 8080, or the next free one; 0: any free one."""
        try:
            import mjviser  # noqa: F401
            import viser
        except ImportError:
            raise MissingExtra("viser", "view", need="The live view") from None
        from realworthy.reports.view.panel import Panel
        from realworthy.reports.view.plots import Plots
        from realworthy.reports.view.stage import RobotScene

        self.session = session
        with _silence(), guarding(host):
            self._server = viser.ViserServer(
                host, find_port(host, port), label=session.twin.name, verbose=False
            )
        # a page of elsewhere that is open in the same browser could ask for it
        self._server.request_share_url = _refuse_to_share
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self._server.get_port()}"
        gui = self._server.gui
        gui.configure_theme(
            control_width="large",
            show_logo=False,
            show_share_button=False,
            brand_color=(232, 113, 10),
        )
        self._stage = RobotScene(self._server)
        self._stage.set(session.play.world, has_ghost=session.play.has_ghost)
        self._panel = Panel(self._server, session, self._stage, self._choose)
        side = gui.add_panel()
        with side.add_tab("Plots"):
            self._plots = Plots(self._server, session.play)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(340)
        side.dock_left()
        side.set_width(320)
        self.frame_count = 0
        """Pictures sent."""

    @property
    def viewer_count(self) -> int:
        return len(self._server.get_clients())

    def run(self, seconds: float | None = None) -> None:
        """Simulates in real time while somebody looks, for so many seconds or for ever.

        Nothing moves while nobody looks, and while it is paused; what is asked for is
        done all the same.
        """
        began = before = time.monotonic()
        rate = _Rate()
        plot_due = 0.0
        while seconds is None or before - began < seconds:
            session = self.session
            is_watched = self.viewer_count > 0
            now = time.monotonic()
            elapsed, before = now - before, now
            is_still = not session.is_playing or session.lingers
            done = session.advance(elapsed if is_watched else 0.0)
            if is_watched:
                rate.note(now, 0.0 if is_still else elapsed * session.speed, done)
                self._show(with_plots=now >= plot_due, rate=rate.value)
                plot_due = now + _PLOT if now >= plot_due else plot_due
            is_idle = not is_watched or not session.is_playing
            left = (now + _FRAME) - time.monotonic()
            if is_idle:
                session.changed.wait(_IDLE)
                before = time.monotonic()  # no time passes while nothing moves
            elif left > 0:
                time.sleep(left)

    def close(self) -> None:
        """Sends everybody away and frees the port."""
        with _silence():
            self._server.stop()

    def _show(self, *, with_plots: bool, rate: float) -> None:
        play = self.session.play
        if not self.session.lingers:
            self._stage.show(play.world.poses(), play.find_ghost(), play.find_goal())
            self.frame_count += 1
        if with_plots:
            self._panel.say(rate)
            self._plots.show(tuple(self.session.history), self.session.clock)

    def _choose(self) -> None:
        """Another play was chosen."""
        play = self.session.play
        self._stage.set(play.world, has_ghost=play.has_ghost)
        self._plots.set(play)


def _refuse_to_share(verbose: bool = True) -> None:
    """viser can open a tunnel that the whole internet reaches. Not here."""


def _silence() -> contextlib.AbstractContextManager[object]:
    """For viser's own greeting and farewell."""
    return contextlib.redirect_stdout(io.StringIO())


class _Rate:
    """Simulated over wished-for time, of the last second."""

    def __init__(self) -> None:
        self.value = 1.0
        self._since = self._wished = self._done = 0.0

    def note(self, now: float, wished: float, done: float) -> None:
        self._wished += wished
        self._done += done
        if now - self._since > _RATE_WINDOW:
            self.value = self._done / self._wished if self._wished > 0.2 else 1.0
            self._since, self._wished, self._done = now, 0.0, 0.0


def view(
    twin: Twin | Path | str,
    recordings: Recordings = (),
    *,
    policy: Policy | Path | str | None = None,
    task: "TaskLike | None" = None,
    host: str = LOOPBACK,
    port: int | None = None,
    seconds: float | None = None,
) -> None:
    """Shows a twin on a local web page until Ctrl-C, or for so many seconds.

    With a `policy` or a `task` it acts, with `recordings` it is replayed beside what
    was measured. Whoever reaches `host` can watch and drag; by default that is this
    machine alone.
    """
    twin = load_twin(twin)
    is_none = isinstance(recordings, Sequence) and not recordings
    loaded = [] if is_none else load_recordings(recordings)
    session = build_session(twin, policy=policy, recordings=loaded, task=task)
    if host not in HERE:
        warnings.warn(
            f"anybody who reaches {host} can watch and drag this simulation.",
            stacklevel=2,
        )
    viewer = Viewer(session, host=host, port=port)
    print(f"{viewer.url}  {plain(twin.name)}  (Ctrl-C ends it)", flush=True)
    try:
        viewer.run(seconds)
    except KeyboardInterrupt:
        print("Ended.", flush=True)
    finally:
        viewer.close()


def find_port(host: str, port: int | None) -> int:
    """A port that is free now; raises where the one asked for is not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tried = range(DEFAULT_PORT, DEFAULT_PORT + 50) if port is None else (port,)
    reason, hint = "", "Try: --port 0, which takes a free one."
    for number in tried:
        with socket.socket(family, socket.SOCK_STREAM) as test:
            test.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                test.bind((host, number))
                return int(test.getsockname()[1])
            except OSError as error:
                reason = error.strerror
                if (
                    isinstance(error, socket.gaierror)
                    or error.errno == errno.EADDRNOTAVAIL
                ):
                    hint = "Try: --host 127.0.0.1, or 0.0.0.0 for all networks."
                    break
            except OverflowError:
                reason = "there is no such port"
    address = f"{host}:{port}" if port is not None else host
    raise RealworthyError(f"Cannot serve on {address}: {reason}.", hint=hint)
