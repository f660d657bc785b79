"""Where a robot is: `sim:REALITY`, `udp://host:port`, `zenoh:NAME`."""

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from realworthy.errors import BadFile, MissingFile, RealworthyError
from realworthy.robots.remote import RemoteRobot
from realworthy.robots.robot import Robot

Scheme = Literal["sim", "udp", "zenoh"]
_UDP = re.compile(r"udp://(\[[0-9a-fA-F:.]+\]|[^/:\[\]]+):(\d+)/?")
_SHORTEST_KEY = 16
_STAND_INS = "realworthy.realities.stand_in"
"""What opens `sim:` addresses, by name: a robot's computer does not have it."""
_HINT = (
    "Try sim:REALITY, such as sim:pendulum_1_easy (realworthy show realities), or "
    "udp://HOST:PORT or zenoh:NAME of a robot on the wire (realworthy robot)."
)


@dataclass(frozen=True, slots=True)
class Address:
    """An address, taken apart."""

    scheme: Scheme
    name: str
    """Of the reality, the host or the robot."""
    port: int = 0


def parse_address(text: str) -> Address:
    """Raises where it is none."""
    if found := _UDP.fullmatch(text):
        host, port = found[1].strip("[]"), int(found[2])
        if port < 65536:
            return Address("udp", host, port)
    scheme, sign, name = text.partition(":")
    if sign and name and scheme in ("sim", "zenoh") and not name.startswith("/"):
        return Address(scheme, name)  # pyright: ignore
    if sign and scheme == "sim" and name:
        return Address("sim", name)
    raise RealworthyError(f"'{text}' is not an address of a robot.", hint=_HINT)


def open_robot(
    robot: Robot | str, *, key: Path | str | None = None, reset_stop: bool = False
) -> Robot:
    """The robot at an address, which must answer; a `Robot` is handed back.

    `key` is the file of the key that a robot on the wire shares. `reset_stop` lets one
    in emergency stop move again.
    """
    if isinstance(robot, Robot):
        return robot
    place = parse_address(robot)
    if place.scheme != "sim":
        shared = load_key(None if key is None else Path(key))
        return reach(place, key=shared, reset_stop=reset_stop)
    if key is not None:
        raise RealworthyError(
            f"{robot} is a stand-in in this process, which has no key.",
            hint="Leave out --key; robots on the wire have one.",
        )
    try:
        stand_ins = importlib.import_module(_STAND_INS)
    except ModuleNotFoundError:  # realworthy-robot has no simulators
        raise RealworthyError(
            f"{robot} is a stand-in, and stand-ins need the whole of Realworthy.",
            hint="Try: pip install realworthy, in place of realworthy-robot.",
        ) from None
    return stand_ins.open_stand_in(place.name)


def reach(
    address: Address, *, key: bytes | None = None, reset_stop: bool = False
) -> RemoteRobot:
    """The robot at an address on the wire."""
    if address.scheme == "udp":
        from realworthy.robots.udp import UdpLink

        link = UdpLink.reach(address.name, address.port)
        return RemoteRobot(link, key=key, reset_stop=reset_stop)
    if address.scheme == "zenoh":
        from realworthy.robots.zenoh import ZenohLink

        link = ZenohLink.reach(address.name)
        return RemoteRobot(link, key=key, reset_stop=reset_stop)
    raise RealworthyError("A reality is not on the wire.", hint=_HINT)


def load_key(path: Path | None) -> bytes | None:
    """The shared key in a file, of at least 16 bytes; spaces around it do not count."""
    if path is None:
        return None
    try:
        key = path.read_bytes().strip()
    except FileNotFoundError:
        raise MissingFile(path) from None
    except OSError as error:
        raise BadFile(path, f"{error.strerror}.") from None
    if len(key) < _SHORTEST_KEY:
        raise BadFile(
            path,
            f"a key of {len(key)} bytes is easy to guess.",
            hint="Try: openssl rand -hex 32 > robot.key",
        )
    return key
