"""What differs between worlds: e from a belief, noise, pushes, things that change."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from realworthy.parameters import Belief
from realworthy.parameters.processes import Process


@dataclass(frozen=True, kw_only=True, slots=True)
class Pushes:
    """Now and then the base, or a joint, is given another speed within one step."""

    speed: float
    """[m/s] largest change of each horizontal component; [rad/s] for a joint."""
    every: tuple[float, float]
    """[s] shortest and longest time between two."""
    start: float = 0.0
    """[s] before which there is none in an episode."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Randomization:
    """How worlds differ. Nothing by default: the twin as it is, measured exactly."""

    belief: Belief | None = None
    """e of every episode is drawn from it."""
    noise: float = 0.0
    """Factor of the task's own measurement noise; 1: as the task states it."""
    pushes: Pushes | None = None
    processes: Sequence[Process] = field(default_factory=tuple)
    """Numbers of e that move within an episode, such as a payload; of the belief."""
    latency: tuple[int, int] = (0, 0)
    """Whole control steps by which measurements are late: least and most, drawn for
    every episode. Delay of commands is a number of e, `all.delay`."""

    @property
    def is_none(self) -> bool:
        """Whether all worlds are the twin itself."""
        return (
            self.belief is None
            and not self.noise
            and self.pushes is None
            and self.latency == (0, 0)
        )
