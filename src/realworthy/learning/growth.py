"""How worlds that are practised in come to differ as much as they should."""

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.learning.presets import Grow
from realworthy.learning.training import TrainSettings
from realworthy.parameters import Belief
from realworthy.tasks.randomization.automatic import (
    AutomaticRandomization,
    AutomaticSettings,
)
from realworthy.tasks.randomization.curriculum import (
    Curriculum,
    CurriculumSettings,
    ease,
    ramp,
)
from realworthy.tasks.randomization.randomization import Randomization

Floats = NDArray[np.float64]
_STEPS = 5
"""Of a side of a box from the twin's number to where 5 % of the worlds lie beyond."""
_BEYOND = 3.0
"""Times as far as that a side may go."""
_MIN_EPISODES_PER_SIDE = 10
"""Episodes by which an end of a range is judged: with ten, a success of one half is
known to ±0.16 (one standard error)."""
_LEAP = 0.15
"""Of all that is asked for, by which worlds grow at once."""


class WorldGrowth(ABC):
    """Worlds differ as `now` says; kept in checkpoints as plain data."""

    now: Randomization

    def record(self, e: Floats, success: NDArray[np.bool_]) -> None:  # noqa: B027
        """Takes note of episodes that ended: (n, d) their e, (n,) how."""

    @abstractmethod
    def advance(self, step_count: int) -> bool:
        """After an update; whether `now` has changed."""

    @property
    def words(self) -> str:
        """How far it has come, in a sentence; empty where all was there at once."""
        return ""

    @property
    def stage(self) -> dict[str, object]:
        """What `now` is, as plain data: how different practice is, not what is next."""
        return {}

    def go_back(self, stage: dict[str, object]) -> None:
        """`now` is again what it was at a stage."""
        self.load_state_dict({**self.state_dict(), **stage})

    def state_dict(self) -> dict[str, object]:
        return {}

    def load_state_dict(self, state: dict[str, object]) -> None:  # noqa: B027
        """Goes on from `state_dict`."""


class AtOnce(WorldGrowth):
    """As different as asked, from the start."""

    def __init__(self, wanted: Randomization) -> None:
        self.now = wanted

    def advance(self, step_count: int) -> bool:
        return False


class ByTime(WorldGrowth):
    """From a tenth as different on, all of it after so many steps."""

    def __init__(self, wanted: Randomization, steps: int) -> None:
        self._wanted, self._steps = wanted, steps
        self._factor = 0.0
        self.advance(0)

    def advance(self, step_count: int) -> bool:
        factor = round(ramp(step_count / self._steps, end=1.0), 1)
        if factor == self._factor:
            return False
        self._factor = factor
        self.now = ease(self._wanted, factor)
        return True

    @property
    def words(self) -> str:
        return _describe_factor(self._factor)

    @property
    def stage(self) -> dict[str, object]:
        return {"factor": self._factor}

    def go_back(self, stage: dict[str, object]) -> None:
        self._factor = float(stage["factor"])  # pyright: ignore
        self.now = ease(self._wanted, self._factor)


class ByEpisodes(WorldGrowth):
    """As something that is told of episodes has it, from the next update on."""

    _judge: Curriculum | AutomaticRandomization
    _has_changed = False

    @abstractmethod
    def _begin(self) -> None:
        """Practice as the judge has it now."""

    def advance(self, step_count: int) -> bool:
        has_changed, self._has_changed = self._has_changed, False
        if has_changed:
            self._begin()
        return has_changed

    def state_dict(self) -> dict[str, object]:
        return {**self._judge.state_dict(), "has_changed": self._has_changed}

    def load_state_dict(self, state: dict[str, object]) -> None:
        self._has_changed = bool(state["has_changed"])
        self._judge.load_state_dict(state)
        self._begin()


class BySuccess(ByEpisodes):
    """From a tenth as different on, more as episodes succeed, less as they fail.

    Judged by as many episodes as there are worlds, so that most were begun as it is.
    """

    def __init__(self, wanted: Randomization, world_count: int) -> None:
        if wanted.is_none:
            raise _wonder()
        settings = CurriculumSettings(step=_LEAP, episode_count=world_count)
        self._wanted = wanted
        self._curriculum = self._judge = Curriculum(settings)
        self._begin()

    def _begin(self) -> None:
        self._factor = self._curriculum.factor
        self.now = ease(self._wanted, self._factor)

    def record(self, e: Floats, success: NDArray[np.bool_]) -> None:
        self._has_changed |= self._curriculum.record(success)

    @property
    def words(self) -> str:
        return _describe_factor(self._factor)

    @property
    def stage(self) -> dict[str, object]:
        return {"factor": self._factor}


class Automatic(ByEpisodes):
    """From the twin itself on, each number as far as the policy copes with its ends.

    Noise and pushes are as asked from the start. What is wanted of e says which numbers
    differ and what a step is; ends may go further. An end is judged by as many episodes
    as it gets while every world ends one.
    """

    def __init__(self, wanted: Randomization, world_count: int) -> None:
        steps, limits = ({}, {}) if wanted.belief is None else _size(wanted.belief)
        if wanted.belief is None or not steps:
            raise _wonder()
        self._wanted = wanted
        settings = AutomaticSettings()
        each = settings.boundary_share * world_count / (2 * len(steps))
        settings.episode_count = max(_MIN_EPISODES_PER_SIDE, round(each))
        self.box = self._judge = AutomaticRandomization(
            wanted.belief.space, steps, limits=limits, settings=settings
        )
        self._steps = np.array([steps[name] for name in self.box.space.names])
        self._begin()

    def _begin(self) -> None:
        self._practised = self.box.belief
        self.now = replace(self._wanted, belief=self._practised)

    def record(self, e: Floats, success: NDArray[np.bool_]) -> None:
        self._has_changed |= self.box.record(e, success.astype(np.float64))

    @property
    def words(self) -> str:
        away = np.abs(self._practised.ends - self.box.space.nominal[:, None])
        moves = self._steps > 0
        shares = np.where(moves, away / np.where(moves, self._steps, 1.0) / _STEPS, 0)
        least = int(shares.max(axis=1).argmin())
        return (
            f"Practice grew to {np.median(shares[moves]):.0%} of the ranges asked for, "
            f"by the median of {moves.sum()} ends; least with "
            f"'{self.box.space.names[least]}', {shares[least].max():.0%}."
        )

    @property
    def stage(self) -> dict[str, object]:
        return {"ends": self._practised.ends.tolist()}


def choose_growth(settings: TrainSettings, wanted: Randomization) -> WorldGrowth:
    """As the settings of a run ask."""
    if settings.grow is Grow.SUCCESS:
        return BySuccess(wanted, settings.world_count)
    if settings.grow is Grow.AUTOMATIC:
        return Automatic(wanted, settings.world_count)
    if settings.ease_steps and settings.device == "cpu":
        return ByTime(wanted, settings.ease_steps)
    return AtOnce(wanted)


def _wonder() -> RealworthyError:
    return RealworthyError(
        "Worlds were asked to grow different, but nothing of e differs.",
        hint="Leave --grow out, or randomize by the preset or a belief.",
    )


def _describe_factor(factor: float) -> str:
    return f"Practice grew to worlds {factor:.0%} as different as asked for."


def _size(
    belief: Belief,
) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[float, float]]]:
    """By how much either end of a box moves, and how far it may go."""
    low, high = np.quantile(belief.sample(4096, seed=0), (0.05, 0.95), axis=0)
    steps, limits = {}, {}
    for i, p in enumerate(belief.space):
        down, up = max(p.nominal - low[i], 0.0), max(high[i] - p.nominal, 0.0)
        if down == up == 0:
            continue
        steps[p.name] = (float(down / _STEPS), float(up / _STEPS))
        least = p.nominal - _BEYOND * down
        if 0 < low[i] <= p.nominal:  # what is never zero does not become it
            least = p.nominal * (low[i] / p.nominal) ** _BEYOND
        most = p.nominal + _BEYOND * up
        limits[p.name] = (float(max(p.lower, least)), float(min(p.upper, most)))
    return steps, limits
