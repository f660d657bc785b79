"""How worlds differ, in numbers that can be printed."""

from dataclasses import dataclass

from realworthy.tasks.contract import describe_envelope
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Pushes


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """One number of e, as worlds have it."""

    name: str
    unit: str
    nominal: float
    """Of the twin."""
    lower: float
    """5 % of the worlds have less."""
    middle: float
    """The median."""
    upper: float
    """5 % of the worlds have more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Variety:
    """What differs between worlds, and how much."""

    ranges: tuple[Range, ...]
    """In the order of the belief; none: all have the twin's own numbers."""
    moving: tuple[str, ...]
    """Numbers of e that move within an episode."""
    noise: dict[str, float]
    """Ending of a signal's name → sd of its noise [its unit]."""
    pushes: Pushes | None
    latency: tuple[float, float]
    """[s] by which measurements are late, least and most."""

    @property
    def is_none(self) -> bool:
        """Whether all worlds are the twin itself, measured exactly."""
        has_more = self.noise or self.moving or self.pushes or any(self.latency)
        return not (self.ranges or has_more)


def describe_variety(worlds: TaskWorlds) -> Variety:
    """Of worlds as they are drawn: quantiles of e by 4,096 samples."""
    how, space = worlds.randomization, worlds.bound.space
    ranges = []
    for name, spread in describe_envelope(worlds).items():
        assert spread.quantiles is not None
        lower, middle, upper = spread.quantiles
        number = space[name]
        ranges.append(
            Range(
                name=name,
                unit=number.unit,
                nominal=number.nominal,
                lower=lower,
                middle=middle,
                upper=upper,
            )
        )
    least, most = how.latency
    return Variety(
        ranges=tuple(ranges),
        moving=tuple(process.name for process in how.processes),
        noise={
            end: how.noise * sd for end, sd in worlds.task.noise.items() if how.noise
        },
        pushes=how.pushes,
        latency=(least * worlds.period, most * worlds.period),
    )
