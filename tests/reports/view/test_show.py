"""Serving: ports, tunnels, and nothing that goes on when nobody looks."""

import socket
import time

import pytest

pytest.importorskip("viser", reason="viser is not installed: pip install -e '.[view]'")

import viser
from viser import _viser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from realworthy.errors import RealworthyError
from realworthy.recordings import Recording
from realworthy.reports.view import DEFAULT_PORT, Viewer, build_session
from realworthy.reports.view.show import find_port, is_foreign
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


def test_what_is_asked_for_is_done_though_nobody_looks():
    """And asking does not keep a processor busy until somebody comes."""
    session = build_session(load_twin("pendulum"))
    viewer = Viewer(session, port=0)
    session.ask(lambda: session.set_value("joint.damping", 0.3))
    spent = time.process_time()
    viewer.run(1.0)
    assert time.process_time() - spent < 0.2
    field = session.play.world.simulator.field("dof_damping")
    assert field[0, 0] == pytest.approx(0.3)
    assert (session.clock, viewer.frame_count) == (0.0, 0)
    viewer.close()


def test_another_play_can_be_chosen_and_comes_with_its_own_scene(swing: Recording):
    session = build_session(load_twin("pendulum"), recordings=[swing])
    viewer = Viewer(session, port=0)
    for name, has_ghost in (("by hand", False), ("recording", True)):
        viewer._panel._choose(name)
        for _ in range(20):
            session.step()
        viewer._show(with_plots=True, rate=1.0)
        assert session.play.name == name
        nodes = viewer._server.scene._handle_from_node_name
        assert ("/twin/ghost" in nodes) is has_ghost
        assert "/twin/robot" in nodes
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


def test_a_page_from_elsewhere_is_refused():
    """As any page that is open in the same browser could try."""
    viewer = Viewer(build_session(load_twin("pendulum")), port=0)
    address = viewer.url.replace("http:", "ws:")
    protocol = [f"viser-v{viser.__version__}"]
    try:
        with pytest.raises(InvalidStatus, match="403"):
            connect(address, origin="https://elsewhere.example", subprotocols=protocol)
        with connect(address, origin=viewer.url, subprotocols=protocol) as own:
            assert own.recv(timeout=30)  # the scene
    finally:
        viewer.close()


@pytest.mark.parametrize(
    ("origin", "asked", "is_local", "answer"),
    [
        (None, "127.0.0.1:8080", True, False),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", True, False),
        ("http://localhost:8080", "localhost:8080", True, False),
        ("http://[::1]:8080", "[::1]:8080", True, False),
        ("http://localhost:9999", "localhost:8080", True, True),
        ("https://elsewhere.example", "127.0.0.1:8080", True, True),
        ("http://elsewhere.example:8080", "elsewhere.example:8080", True, True),
        ("http://lab.example:8080", "lab.example:8080", False, False),
        ("http://elsewhere.example:8080", "lab.example:8080", False, True),
        ("null", "127.0.0.1:8080", True, True),
    ],
)
def test_own_pages_come_from_where_they_are_served(
    origin: str | None, asked: str, is_local: bool, answer: bool
):
    assert is_foreign(origin, asked, is_local=is_local) is answer
