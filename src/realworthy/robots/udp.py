"""Packets over UDP."""

import select
import socket
from collections.abc import Hashable

from realworthy.errors import RealworthyError
from realworthy.robots.link import PacketLink
from realworthy.robots.packets import MAX_PACKET_BYTES

_UNSENDABLE = (OSError, TypeError)


class UdpLink(PacketLink):
    """A socket, at a robot (`listen`) or beside its commander (`reach`).

    Beside the commander the kernel drops what does not come from the robot's address.
    """

    def __init__(self, own: socket.socket, peer: tuple | None = None) -> None:
        self._socket, self.peer = own, peer
        self.failures = 0
        """Packets that could not be sent: nobody listens there, the network is down."""

    @classmethod
    def listen(cls, host: str, port: int) -> "UdpLink":
        """Binds; port 0 takes a free one."""
        family, address = _resolve(host, port)
        own = socket.socket(family, socket.SOCK_DGRAM)
        try:
            own.bind(address)
        except OSError as error:
            own.close()
            raise RealworthyError(
                f"Cannot listen on udp://{host}:{port}: {error.strerror}.",
                hint="Is another robot listening there? Port 0 takes a free one.",
            ) from None
        return cls(own)

    @classmethod
    def reach(cls, host: str, port: int) -> "UdpLink":
        """Towards one robot."""
        family, address = _resolve(host, port)
        own = socket.socket(family, socket.SOCK_DGRAM)
        try:
            own.connect(address)
        except OSError as error:
            own.close()
            raise RealworthyError(
                f"Cannot reach udp://{host}:{port}: {error.strerror}."
            ) from None
        return cls(own, address)

    @property
    def address(self) -> str:
        host, port = self._socket.getsockname()[:2]
        return f"udp://[{host}]:{port}" if ":" in host else f"udp://{host}:{port}"

    def send(self, data: bytes, peer: Hashable) -> None:
        try:
            if self.peer is None:
                self._socket.sendto(data, socket.MSG_DONTWAIT, peer)  # pyright: ignore
            else:
                self._socket.send(data, socket.MSG_DONTWAIT)
        except _UNSENDABLE:
            self.failures += 1

    def receive(self, timeout: float = 0.0) -> tuple[bytes, Hashable] | None:
        try:
            if timeout > 0 and not select.select([self._socket], [], [], timeout)[0]:
                return None
            return self._socket.recvfrom(MAX_PACKET_BYTES + 1, socket.MSG_DONTWAIT)
        except (OSError, ValueError):  # nothing there, refused by the peer, closed
            return None

    def close(self) -> None:
        self._socket.close()


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise RealworthyError(
            f"Nobody knows the host '{host}': {error.strerror}.",
            hint="Give its name or its number, such as udp://192.168.1.20:7000.",
        ) from None
    family, _, _, _, address = found[0]
    return family, address
