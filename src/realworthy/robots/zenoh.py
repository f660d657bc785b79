"""Packets over Zenoh: publish and subscribe, through routers, beside ROS 2.

A robot NAME listens on `realworthy/NAME/to_robot/*` and answers each commander on
`realworthy/NAME/to_commander/<id>`; the packets are those of UDP, keys and all. Sending
is best effort and drops what is late. Needs the extra `zenoh`.
"""

import os
import queue
from collections.abc import Hashable
from typing import Any

from realworthy.errors import MissingExtra, RealworthyError
from realworthy.robots.link import PacketLink

_ROOT = "realworthy"
_KEPT = 256
"""Packets that may wait; beyond, the oldest go."""


class ZenohLink(PacketLink):
    """A session of Zenoh, at a robot (`listen`) or beside its commander (`reach`).

    Settings come from the file that `ZENOH_CONFIG` names, as in every Zenoh program;
    without one, peers find each other on the local network.
    """

    def __init__(self, name: str, own: str, listens_to: str) -> None:
        zenoh = _load()
        self._name, self._own = name, own
        self._coming: queue.Queue[tuple[bytes, Hashable]] = queue.Queue(_KEPT)
        path = os.environ.get("ZENOH_CONFIG")
        config = zenoh.Config.from_file(path) if path else zenoh.Config()
        try:
            self._session = zenoh.open(config)
            self._subscriber = self._session.declare_subscriber(listens_to, self._take)
        except zenoh.ZError as error:
            raise RealworthyError(f"Zenoh cannot be used: {error}.") from None
        self._drop = zenoh.CongestionControl.DROP
        self._high = zenoh.Priority.REAL_TIME
        self._publishers: dict[str, Any] = {}
        self.failures = 0
        """Packets that could not be sent."""

    @classmethod
    def listen(cls, name: str) -> "ZenohLink":
        return cls(name, "", f"{_ROOT}/{name}/to_robot/*")

    @classmethod
    def reach(cls, name: str) -> "ZenohLink":
        own = os.urandom(8).hex()
        return cls(name, own, f"{_ROOT}/{name}/to_commander/{own}")

    @property
    def address(self) -> str:
        return f"zenoh:{self._name}"

    def send(self, data: bytes, peer: Hashable) -> None:
        zenoh = _load()
        place = f"to_robot/{self._own}" if self._own else f"to_commander/{peer}"
        key = f"{_ROOT}/{self._name}/{place}"
        try:
            publisher = self._publishers.get(key)
            if publisher is None:
                if len(self._publishers) >= _KEPT:
                    self._publishers.clear()
                publisher = self._publishers[key] = self._session.declare_publisher(
                    key,
                    congestion_control=self._drop,
                    priority=self._high,
                    express=True,
                    reliability=zenoh.Reliability.BEST_EFFORT,
                )
            publisher.put(data)
        except zenoh.ZError:
            self.failures += 1

    def receive(self, timeout: float = 0.0) -> tuple[bytes, Hashable] | None:
        try:
            if timeout > 0:
                return self._coming.get(timeout=timeout)
            return self._coming.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        self._session.close()

    def _take(self, sample: Any) -> None:
        peer = str(sample.key_expr).rpartition("/")[2]
        found = sample.payload.to_bytes(), peer
        while True:
            try:
                self._coming.put_nowait(found)
                return
            except queue.Full:  # the oldest is worth least
                try:
                    self._coming.get_nowait()
                except queue.Empty:
                    continue


def _load() -> Any:
    try:
        import zenoh
    except ImportError:
        raise MissingExtra("eclipse-zenoh", "zenoh", need="A zenoh: address") from None
    return zenoh
