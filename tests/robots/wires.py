"""A robot and a link in memory, and a server in a thread beside a real socket."""

import contextlib
import threading
from collections import deque
from collections.abc import Hashable, Iterator

import numpy as np

from realworthy.robots import Command, Mode, Robot, RobotInfo, State
from realworthy.robots.link import PacketLink
from realworthy.robots.server import RobotServer, ServerSettings
from realworthy.robots.udp import UdpLink

INFO = RobotInfo(
    name="leg",
    joints=("hip", "knee"),
    commands=("hip.command", "knee.command"),
    command_kind="position",
    rate=100.0,
    command_lower=np.array([-1.0, -np.inf]),
    command_upper=np.array([1.0, np.inf]),
    other_signals=("base.gyro.x",),
)


class Obedient(Robot):
    """Goes where it is told at once; keeps what was asked of it."""

    def __init__(self, info: RobotInfo = INFO) -> None:
        self._info = info
        self.calls: list[str] = []
        self.mode = Mode.DAMP
        self.values = np.zeros(len(info.commands))
        self.time, self.count = 0.0, 0

    @property
    def info(self) -> RobotInfo:
        return self._info

    @property
    def steps_time(self) -> bool:
        return True

    def connect(self) -> None:
        self.calls.append("connect")
        self.mode = Mode.DAMP

    def read(self) -> State:
        count = len(self._info.joints)
        return State(
            time=self.time,
            sequence=self.count,
            position=np.array(self.values[:count]),
            velocity=np.zeros(count),
            torque=np.zeros(count),
            others=np.full(len(self._info.other_signals), 0.5),
            mode=self.mode,
        )

    def write(self, command: Command) -> None:
        self.calls.append("write")
        if self.mode is not Mode.STOPPED and np.isfinite(command.values).all():
            self.mode, self.values = Mode.RUN, np.array(command.values)

    def wait(self, seconds: float) -> None:
        self.time += seconds
        self.count += 1

    def damp(self) -> None:
        self.calls.append("damp")
        self.mode = Mode.DAMP if self.mode is not Mode.STOPPED else self.mode

    def stop(self) -> None:
        self.calls.append("stop")
        self.mode = Mode.STOPPED


class Scripted(Robot):
    """A robot that counts: its first joint's position is the time in periods.

    `lost` are ticks whose sample never comes; at tick `breaks` it raises.
    """

    def __init__(self, *, lost: tuple[int, ...] = (), breaks: int = -1) -> None:
        self._lost, self._breaks = lost, breaks
        self.calls: list[str] = []
        self.waited: list[float] = []
        self.sent: list[np.ndarray] = []
        self.mode = Mode.STOPPED

    @property
    def info(self) -> RobotInfo:
        return RobotInfo(
            name="counter",
            joints=("a", "b"),
            commands=("a.command", "b.command"),
            command_kind="torque",
            rate=100.0,
            command_lower=np.full(2, -1.0),
            command_upper=np.full(2, 1.0),
            other_signals=("base.gyro.x",),
        )

    @property
    def steps_time(self) -> bool:
        return True

    def connect(self) -> None:
        self.calls.append("connect")
        self.mode, self._tick = Mode.DAMP, 0
        self._newest = self._sample(0)

    def read(self) -> State:
        return self._newest

    def write(self, command: Command) -> None:
        assert command.sequence == len(self.sent) + 1
        self.mode = Mode.RUN
        self.sent.append(command.values)

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self._tick += 1
        if self._tick == self._breaks:
            raise KeyboardInterrupt
        if self._tick not in self._lost:
            self._newest = self._sample(self._tick)

    def damp(self) -> None:
        self.calls.append("damp")
        self.mode = Mode.DAMP

    def stop(self) -> None:
        self.mode = Mode.STOPPED

    def _sample(self, tick: int) -> State:
        return State(
            time=0.01 * tick,
            sequence=tick,
            position=np.array([tick, -tick], dtype=np.float64),
            velocity=np.array([100.0, -100.0]),
            torque=np.array([0.5, 0.25]),
            others=np.array([3.0]),
            mode=self.mode,
        )


class Memory(PacketLink):
    """Keeps what is sent; gives what a test puts in."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes, Hashable]] = []
        self.coming: deque[tuple[bytes, Hashable]] = deque()

    @property
    def address(self) -> str:
        return "memory:"

    def send(self, data: bytes, peer: Hashable) -> None:
        self.sent.append((data, peer))

    def receive(self, timeout: float = 0.0) -> tuple[bytes, Hashable] | None:
        return self.coming.popleft() if self.coming else None

    def close(self) -> None:
        pass


@contextlib.contextmanager
def serving(
    robot: Robot, settings: ServerSettings | None = None
) -> Iterator[tuple[RobotServer, int]]:
    """A server in a thread, and its port."""
    link = UdpLink.listen("127.0.0.1", 0)
    server = RobotServer(robot, link, settings)
    goes_on = threading.Event()
    goes_on.set()
    thread = threading.Thread(target=server.serve, args=(goes_on.is_set,), daemon=True)
    thread.start()
    try:
        yield server, int(link.address.rpartition(":")[2])
    finally:
        goes_on.clear()
        thread.join(5)
        link.close()
