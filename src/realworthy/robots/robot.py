"""The interface of a robot: read, write, wait; and two ways to stop."""

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from realworthy.recordings.sidecar import CommandKind

Floats = NDArray[np.float64]


class Mode(enum.StrEnum):
    """What the robot does with its motors."""

    DAMP = "damp"
    """Brakes softly, follows nothing."""
    RUN = "run"
    """Follows commands."""
    STOPPED = "stopped"
    """Emergency stop: ignores commands until it is connected anew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RobotInfo:
    """What a robot says of itself; joints and commands are in the order it uses."""

    name: str
    joints: tuple[str, ...]
    commands: tuple[str, ...]
    """Signal names such as `knee.command`."""
    command_kind: CommandKind | None
    """`position`, `velocity`, `torque` or `voltage`; None where commands differ."""
    rate: float
    """[Hz] at which it likes to be commanded."""
    command_lower: Floats = field(repr=False)
    command_upper: Floats = field(repr=False)
    """(commands,) beyond which it clips; ±inf where it does not."""
    other_signals: tuple[str, ...] = ()
    """Measured beside the joints, such as `base.gyro.x`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """What was measured at `time` [s, robot's clock]; arrays follow the joints."""

    time: float
    sequence: int
    position: Floats
    velocity: Floats
    torque: Floats
    others: Floats
    """In the order of `RobotInfo.other_signals`."""
    mode: Mode = Mode.RUN
    brake_count: int = 0
    """Times that the robot has braked by itself, because commands did not come."""
    sent_after: float | None = None
    """[s, `time.monotonic` here] before which this state was not sent to us, where a
    wire can bound that; None: only the robot's own stamp tells how old it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """What to follow from now on; values are in the order of `RobotInfo.commands`."""

    sequence: int
    values: Floats


class Robot(ABC):
    """A robot behind a wire, or a stand-in that answers no more than a robot would."""

    @property
    @abstractmethod
    def info(self) -> RobotInfo:
        """The robot's description of itself."""

    @property
    def steps_time(self) -> bool:
        """Whether time passes for it in `wait` alone, as for a stand-in in this
        process; a robot's passes by itself."""
        return False

    @abstractmethod
    def connect(self) -> None:
        """Gets it ready to be read; it brakes until it is commanded."""

    @abstractmethod
    def read(self) -> State:
        """The newest measurement; never waits for one."""

    @abstractmethod
    def write(self, command: Command) -> None:
        """Sends a command, which holds until the next."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Lets time pass: sleeps beside a robot, steps the physics of a stand-in."""

    @abstractmethod
    def damp(self) -> None:
        """Stops following commands and brakes; the next command runs it again."""

    @abstractmethod
    def stop(self) -> None:
        """Emergency stop; holds until `connect`."""

    def close(self) -> None:
        """Lets go of the robot, braking."""
        self.damp()

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
