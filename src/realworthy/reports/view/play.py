"""One thing to watch: what every kind of play can do."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.policies.contract import InputRange
from realworthy.reports.elements.wording import describe_end
from realworthy.reports.view.world import BodyPoses, World
from realworthy.simulators import Outcome

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EpisodeVerdict:
    """How an episode ended, in words such as `fell after 2.3 s`."""

    text: str
    is_good: bool | None
    """None: neither good nor bad, such as the end of a recording."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One moment, to plot; arrays follow the joints, NaN where there is nothing."""

    time: float
    """[s] since the play began."""
    position: Floats
    """[rad or m] as measured in the simulator."""
    torque: Floats
    """[N·m or N] of the actuators on each joint."""
    command: Floats
    """What was sent, in the unit of the command."""
    recorded: Floats
    """Position that a recording has at this moment [rad or m]."""


class Play(ABC):
    """A simulated robot that does something, one step at a time.

    Not for several threads: who owns it steps it.
    """

    name: str
    about: str
    """What is seen, in a sentence."""
    world: World
    period: float
    """[s] of one step."""
    time: float
    """[s] since it began."""
    inputs: Mapping[str, InputRange]
    """What somebody may tell it, by name."""
    has_ghost: bool

    @abstractmethod
    def step(self) -> EpisodeVerdict | None:
        """One control period; a verdict where an episode ended, which starts again."""

    @abstractmethod
    def restart(self) -> None:
        """Starts again."""

    @abstractmethod
    def write(self, values: Mapping[str, float]) -> None:
        """Gives the world these numbers of e, nominal ones elsewhere, at once."""

    @abstractmethod
    def tell(self, inputs: Mapping[str, float]) -> None:
        """What it is told from now on; what is left out is as it likes."""

    @abstractmethod
    def read(self) -> Reading:
        """The present moment."""

    def push(self, speed: float) -> None:
        """Another speed at once; see `World.push`."""
        self.world.push(speed)

    def end_if_diverged(self) -> EpisodeVerdict | None:
        """Starts again where the physics has lost itself."""
        if self.world.simulator.array("outcome")[0] != Outcome.DIVERGED:
            return None
        verdict = EpisodeVerdict(describe_end("numerical", self.time), is_good=False)
        self.restart()
        return verdict

    def find_ghost(self) -> BodyPoses | None:
        """Where the real robot was at this moment, if a recording tells."""
        return None

    def find_goal(self) -> Floats | None:
        """(3,) [m] the point that it is told to reach, if it is told one."""
        return None

    @property
    def note(self) -> str:
        """Something to say about it now, such as how far off it is."""
        return ""


def read_world(
    world: World, time: float, command: Floats, recorded: Floats | None = None
) -> Reading:
    """The present moment; `recorded` is NaN for every joint where it is left out."""
    state = world.state()
    nothing = np.full(len(world.joints), np.nan)
    return Reading(
        time=time,
        position=state.position,
        torque=state.torque,
        command=world.find_commands(command),
        recorded=nothing if recorded is None else recorded,
    )
