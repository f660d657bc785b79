"""Serving: ports, tunnels, and nothing that goes on when nobody looks."""

import socket
import time

import pytest

pytest.importorskip("viser", reason="viser is not installed: pip install -e '.[view]'")

from viser import _viser

from realworthy.errors import RealworthyError
from realworthy.reports.view import DEFAULT_PORT, Viewer, build_session
from realworthy.reports.view.show import find_port
from realworthy.twins import load_twin


def test_the_next_free_port_is_taken_unless_one_was_asked_for():
    with socket.socket() as taken:
        try:
            taken.bind(("127.0.0.1", DEFAULT_PORT))
        except OSError:
            pass  # somebody else has it
        else:
            taken.listen()
        assert find_port("127.0.0.1", None) > DEFAULT_PORT
        with pytest.raises(RealworthyError, match=r"Address already in use\."):
            find_port("127.0.0.1", DEFAULT_PORT)


def test_nothing_moves_while_nobody_looks():
    viewer = Viewer(build_session(load_twin("pendulum")), port=0)
    spent, began = time.process_time(), time.monotonic()
    viewer.run(1.0)
    assert time.monotonic() - began >= 1.0
    assert time.process_time() - spent < 0.2
    assert (viewer.session.clock, viewer.frame_count) == (0.0, 0)
    viewer.close()


def test_nobody_opens_a_tunnel_to_the_outside(monkeypatch: pytest.MonkeyPatch):
    opened = []
    monkeypatch.setattr(
        _viser, "ViserTunnel", lambda *given, **named: opened.append(given)
    )
    viewer = Viewer(build_session(load_twin("pendulum")), port=0)
    assert viewer._server.request_share_url() is None
    viewer.close()
    assert not opened
