"""Who may speak to the page: browsers that have it open, and no other page in them."""

import contextlib
import http
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

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
