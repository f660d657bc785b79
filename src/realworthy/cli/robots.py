"""From an address to a robot, for the commands that move one."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from realworthy.robots import Robot
    from realworthy.twins import Twin


@dataclass(frozen=True, slots=True)
class Opened:
    """A robot and, of one in this process, its twin."""

    robot: "Robot"
    twin: "Twin | None"

    @property
    def is_stand_in(self) -> bool:
        """Whether it is in this process, where nothing can be broken."""
        return self.twin is not None

    def find_twin(self, name: str) -> "Twin":
        """The twin asked for; where none is, the built-in one that the robot names.

        A name from the network is never taken for a path.
        """
        from realworthy.errors import RealworthyError
        from realworthy.twins import load_twin
        from realworthy.twins.sources import builtin_names

        if name:
            return load_twin(name)
        if self.twin is not None:
            return self.twin
        said = self.robot.info.name
        if said in builtin_names():
            return load_twin(said)
        raise RealworthyError(
            f"The robot calls itself '{said}', and no built-in twin has that name.",
            hint="Say which twin it has: --twin my_robot.twin.yaml, or any TWIN.",
        )


def open_robot(address: str, *, key: Path | None, reset_stop: bool) -> Opened:
    """The robot at an address; one on the wire must answer."""
    from realworthy.errors import RealworthyError
    from realworthy.robots.address import load_key, parse_address, reach

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
        return Opened(robot, reality.twin)
    robot = reach(place, key=load_key(key), reset_stop=reset_stop)
    return Opened(robot, None)
