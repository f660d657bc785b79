"""The same packets over Zenoh, two sessions on this machine."""

import json
import socket
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import MissingExtra
from realworthy.robots import Command, Mode
from realworthy.robots.remote import RemoteRobot
from realworthy.robots.server import RobotServer, ServerSettings
from realworthy.robots.zenoh import ZenohLink

from .wires import Obedient

KEY = b"sixteen bytes at least"


def test_without_zenoh_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "zenoh", None)
    with pytest.raises(MissingExtra, match="eclipse-zenoh") as raised:
        ZenohLink.reach("leg")
    assert "realworthy[zenoh]" in raised.value.hint


def configure(path: Path, role: str, port: int) -> str:
    """A peer without scouting: one listens on loopback, the other connects to it."""
    place = f"tcp/127.0.0.1:{port}"
    tree = {
        "mode": "peer",
        "scouting": {"multicast": {"enabled": False}},
        role: {"endpoints": [place]},
    }
    if role == "connect":
        tree["listen"] = {"endpoints": []}
    path.write_text(json.dumps(tree))
    return str(path)


def test_a_robot_is_commanded_over_zenoh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("zenoh")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("ZENOH_CONFIG", configure(tmp_path / "a.json", "listen", port))
    robot = Obedient()
    listening = ZenohLink.listen("leg")
    monkeypatch.setenv("ZENOH_CONFIG", configure(tmp_path / "b.json", "connect", port))
    reaching = ZenohLink.reach("leg")
    server = RobotServer(robot, listening, ServerSettings(key=KEY))
    goes_on = threading.Event()
    goes_on.set()
    thread = threading.Thread(target=server.serve, args=(goes_on.is_set,), daemon=True)
    thread.start()
    try:
        remote = RemoteRobot(reaching, key=KEY, timeout=5.0)
        assert remote.info.name == "leg"
        with remote:
            for k in range(50):
                remote.write(Command(sequence=k, values=np.array([0.2, 0.4])))
                remote.wait(0.01)
            state = remote.read()
            assert state.mode is Mode.RUN
            assert state.position == pytest.approx([0.2, 0.4])
            time.sleep(0.3)
            assert remote.read().mode is Mode.DAMP  # the deadline, over there
        assert server.used.total() > 40
        assert not server.flaws
    finally:
        goes_on.clear()
        thread.join(5)
        reaching.close()
        listening.close()
