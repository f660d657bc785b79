"""From an address to a robot, for the commands that move one."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from realworthy.robots import Robot
    from realworthy.robots.clock import Clock
    from realworthy.twins import Twin


@dataclass(frozen=True, slots=True)
class Opened:
    """A robot, the clock to wait by and, of one in this process, its twin."""

    robot: "Robot"
    clock: "Clock"
    twin: "Twin | None"

    @property
    def is_stand_in(self) -> bool:
        """Whether it is in this process, where nothing can be broken."""
        return self.twin is not None

    def find_twin(self, name: str) -> "Twin":
        """The twin asked for; where none is, the one whose name the robot says."""
        from realworthy.twins import load_twin

        if name:
            return load_twin(name)
        return self.twin or load_twin(self.robot.info.name)


def open_robot(address: str, *, key: Path | None, reset_stop: bool) -> Opened:
    """The robot at an address; one on the wire must answer."""
    from realworthy.errors import RealworthyError
    from realworthy.robots.address import load_key, parse_address, reach
    from realworthy.robots.clock import MonotonicClock, SteppedClock

    place = parse_address(address)
    if place.scheme == "sim":
        if key is not None:
            raise RealworthyError(
                f"{address} is a stand-in in this process, which has no key.",
                hint="Leave out --key; robots on the wire have one.",
            )
        from realworthy.realities import StandIn, load_reality

        reality = load_reality(place.name)
        robot = StandIn(reality)
        return Opened(robot, SteppedClock(robot), reality.twin)
    robot = reach(place, key=load_key(key), reset_stop=reset_stop)
    return Opened(robot, MonotonicClock(), None)
