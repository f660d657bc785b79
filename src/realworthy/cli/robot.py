"""`realworthy robot`: a stand-in robot in a process of its own, in real time."""

import contextlib
import math
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from realworthy.cli.arguments import KeyFile, Role, TwinToUse
from realworthy.cli.numbers import AnyNumber, AnySeconds, Seed

if TYPE_CHECKING:
    from realworthy.realities import Reality
    from realworthy.robots.link import PacketLink
    from realworthy.robots.server import RobotServer

_LARGEST_TICK = 0.005
"""[s]"""
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_HERE = ("localhost", "127.0.0.1", "::1")
"""Hosts that only this machine reaches."""


@dataclass(frozen=True, slots=True)
class RobotCommand:
    """A stand-in robot on the wire, in real time, with faults if you like.

    It brakes by itself when commands stop coming. Ctrl-C ends it.
    """

    twin: TwinToUse
    """A built-in twin, an .xml, .urdf or .twin.yaml file, or menagerie:<robot>."""
    listen: Annotated[str, tyro.conf.arg(metavar="ADDRESS", help_behavior_hint="")]
    """udp://HOST:PORT (port 0 takes a free one) or zenoh:NAME."""
    reality: Annotated[
        str | None,
        Role.READ,
        tyro.conf.arg(metavar="REALITY", help_behavior_hint=""),
    ] = None
    """A shipped reality or a .reality.yaml file; the twin itself by default."""
    key: KeyFile = None
    """File with a key that commanders must share."""
    deadline: float = 0.1
    """Seconds without a command after which it brakes."""
    loss: float = 0.0
    """Probability that a packet is lost, each way."""
    jitter: float = 0.0
    """Standard deviation [s] of how late a packet is, each way."""
    freeze_after: AnyNumber = None
    """Seconds after which measurements repeat themselves, with new stamps."""
    freeze_for: AnyNumber = None
    """Seconds for which they do; for good by default."""
    noise: float = 0.0
    """Standard deviation of noise on positions [rad]; ten times it on velocities."""
    heating: float = 0.0
    """How fast motors warm [°C/s at 1 N·m]; then temperatures are reported."""
    stick: Annotated[str, tyro.conf.arg(metavar="JOINT", help_behavior_hint="")] = ""
    """A joint whose drive stops following."""
    stick_after: float = 0.0
    """Seconds after which it does."""
    seconds: AnySeconds = None
    """How long to serve; until Ctrl-C by default."""
    seed: Seed = 0
    """Seed of the faults above."""

    def run(self) -> int:
        from realworthy.cli.printing import say
        from realworthy.realities import StandIn
        from realworthy.realities.faults import FaultyRobot, RobotFaults
        from realworthy.robots.address import load_key, parse_address
        from realworthy.robots.link import FaultyLink, LinkFaults
        from realworthy.robots.server import RobotServer, ServerSettings

        faults = RobotFaults(
            noise=self.noise,
            freeze_after=self.freeze_after,
            freeze_for=math.inf if self.freeze_for is None else self.freeze_for,
            stick=self.stick,
            stick_after=self.stick_after,
            heating=self.heating,
            seed=self.seed,
        )
        on_link = LinkFaults(loss=self.loss, jitter=self.jitter, seed=self.seed)
        key = load_key(self.key)
        address = parse_address(self.listen)
        robot = StandIn(find_reality(self.twin, self.reality))
        if faults != RobotFaults(seed=self.seed):
            robot = FaultyRobot(robot, faults)
        settings = ServerSettings(
            deadline=self.deadline,
            key=key,
            tick=min(_LARGEST_TICK, 0.5 / robot.info.rate),
        )
        link = open_link(address.scheme, address.name, address.port)
        if on_link != LinkFaults(seed=self.seed):
            link = FaultyLink(link, on_link)
        server = RobotServer(robot, link, settings)
        if key is None and address.name not in _HERE:
            warnings.warn(
                "without --key anybody on the network can command this robot.",
                stacklevel=1,
            )
        say(f"{link.address}  {robot.info.name}")
        end = math.inf if self.seconds is None else time.monotonic() + self.seconds
        with _noting_stops() as was_stopped:
            try:
                server.serve(lambda: not was_stopped() and time.monotonic() < end)
            finally:
                link.close()
                say(summarise(server))
            if was_stopped():
                raise KeyboardInterrupt
        return 0


@contextlib.contextmanager
def _noting_stops() -> Iterator[Callable[[], bool]]:
    """Whether somebody wants an end: looked at between two steps, so that the robot
    brakes from a whole state, and no library in between can swallow the wish."""
    wished: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    numbers = _ENDING if is_main else ()
    before = [
        signal.signal(number, lambda n, _: wished.append(n)) for number in numbers
    ]
    try:
        yield lambda: bool(wished)
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def find_reality(twin: str, reality: str | None) -> "Reality":
    """The reality asked for, or the twin as its own truth."""
    from realworthy.errors import RealworthyError
    from realworthy.realities import RealityFile, load_reality, make_reality
    from realworthy.twins import load_twin

    if reality is None:
        return make_reality(Path(twin).name, RealityFile(schema=1, twin=twin))
    found, named = load_reality(reality), load_twin(twin).name
    if found.twin.name != named:
        raise RealworthyError(
            f"Reality '{found.name}' is one of '{found.twin.name}', not of '{named}'.",
            hint="All: realworthy show realities",
        )
    return found


def open_link(scheme: str, name: str, port: int) -> "PacketLink":
    """Where a robot listens."""
    from realworthy.errors import RealworthyError

    if scheme == "udp":
        from realworthy.robots.udp import UdpLink

        return UdpLink.listen(name, port)
    if scheme == "zenoh":
        from realworthy.robots.zenoh import ZenohLink

        return ZenohLink.listen(name)
    raise RealworthyError(
        "A robot listens on the wire.", hint="Try: --listen udp://127.0.0.1:7000"
    )


def summarise(server: "RobotServer") -> str:
    """What came over the wire, in one line."""
    used = ", ".join(f"{n} {k.name.lower()}" for k, n in sorted(server.used.items()))
    flaws = ", ".join(f"{n} {flaw}" for flaw, n in sorted(server.flaws.items()))
    return (
        f"Used: {used or 'nothing'}. Refused: {flaws or 'nothing'}. Cut to its range: "
        f"{server.bounded}. Braked by itself {server.damped} times."
    )
