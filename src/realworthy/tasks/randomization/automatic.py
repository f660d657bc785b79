"""Automatic randomization: a box of e that grows while the policy copes with it.

Each number has two ends that begin at its nominal. Some episodes are drawn on an end;
once enough of them are over, good ones move that end outwards and bad ones inwards
(OpenAI et al., Solving Rubik's Cube with a Robot Hand, 2019). A box cannot say that two
numbers are bearable only together, and nothing ties it to a real robot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import BadBelief, RealworthyError
from realworthy.parameters import (
    Belief,
    IndependentBelief,
    Marginal,
    ParameterSpace,
    Uniform,
)

Floats = NDArray[np.float64]


@dataclass(kw_only=True, slots=True)
class AutomaticSettings:
    """How a box grows and shrinks."""

    boundary_share: float = 0.5
    """Share of episodes that are drawn on an end; the others train."""
    episode_count: int = 240
    """Episodes on an end before it is judged."""
    grow_at: float = 0.8
    """Mean performance from which an end moves outwards."""
    shrink_at: float = 0.5
    """Mean performance up to which an end moves inwards, never past the nominal."""

    def __post_init__(self) -> None:
        if not self.shrink_at < self.grow_at:
            raise RealworthyError(
                f"shrink_at ({self.shrink_at:g}) is not below grow_at"
                f" ({self.grow_at:g})."
            )
        if not 0 < self.boundary_share <= 1 or self.episode_count < 1:
            raise RealworthyError(
                "boundary_share is above 0 and at most 1, episode_count at least 1."
            )


class BoxBelief(Belief):
    """Uniform in a box, but for a share of draws that lie on one of its sides.

    Density, moments and so on are those of the box alone.
    """

    def __init__(self, box: IndependentBelief, boundary_share: float) -> None:
        self.box, self.space, self.boundary_share = box, box.space, boundary_share
        marginals = [_check_uniform(name, m) for name, m in box.marginals.items()]
        self.ends = np.array([[m.lower, m.upper] for m in marginals])
        """(d, 2) lower and upper."""

    @property
    def width(self) -> int:
        return len(self.space) + 2

    def quantile(self, u: Floats) -> Floats:
        d = len(self.space)
        e = self.box.quantile(u[:, :d])
        rows = np.flatnonzero(u[:, d] < self.boundary_share)
        sides = np.minimum((u[rows, d + 1] * 2 * d).astype(np.intp), 2 * d - 1)
        e[rows, sides // 2] = self.ends.ravel()[sides]
        return e

    def find_sides(self, e: ArrayLike) -> NDArray[np.intp]:
        """(n,) side on which each of (n, d) samples lies; −1: none of this box.

        Side 2i is the lower end of parameter i, 2i + 1 the upper one.
        """
        e = np.atleast_2d(np.asarray(e, dtype=np.float64))
        is_on = (e[:, :, None] == self.ends[None]).reshape(len(e), self.ends.size)
        inside = (e >= self.ends[:, 0]).all(1) & (e <= self.ends[:, 1]).all(1)
        return np.where(is_on.any(1) & inside, is_on.argmax(1), -1)

    def log_density(self, e: ArrayLike) -> Floats:
        return self.box.log_density(e)

    def marginal(self, names: Sequence[str]) -> "BoxBelief":
        return BoxBelief(self.box.marginal(names), self.boundary_share)

    def condition(self, known: Mapping[str, float]) -> "BoxBelief":
        return BoxBelief(self.box.condition(known), self.boundary_share)

    @property
    def mean(self) -> dict[str, float]:
        return self.box.mean

    @property
    def sd(self) -> dict[str, float]:
        return self.box.sd

    def correlation(self) -> Floats:
        return self.box.correlation()


class AutomaticRandomization:
    """Owns a box around a space's nominals, and moves its sides.

    Take `belief` for the worlds, tell `record` how episodes ended, and give the worlds
    the new `belief` when it says that the box has changed.
    """

    def __init__(
        self,
        space: ParameterSpace,
        steps: Mapping[str, tuple[float, float]],
        *,
        limits: Mapping[str, tuple[float, float]] | None = None,
        settings: AutomaticSettings | None = None,
    ) -> None:
        """`steps`: by how much the lower and the upper end move [unit of the
        parameter], zero for an end that stays; a box begins half of that away from the
        nominals. `limits`: how far ends may go, the parameters' bounds unless told.
        """
        self.space = space.select(list(steps))
        self.settings = settings or AutomaticSettings()
        self._step = np.array([steps[name] for name in self.space.names])
        if not ((self._step >= 0).all() and (self._step > 0).any(axis=1).all()):
            raise RealworthyError(
                "Ends of a box move by steps above zero; one of two may stay."
            )
        told = limits or {}
        for name in told:
            self.space.index(name)
        ends = {p.name: (p.lower, p.upper) for p in self.space} | dict(told)
        self._limits = np.array([ends[name] for name in self.space.names])
        nominal = self.space.nominal
        if not (
            (self._limits[:, 0] <= nominal) & (nominal <= self._limits[:, 1])
        ).all():
            raise RealworthyError("Limits of a box lie on both sides of the nominals.")
        self._least = self._cut(nominal[:, None] + self._step * [-0.5, 0.5])
        """Ends that a box never shrinks past; a width of zero has no entropy."""
        self.belief = self._build(self._least)
        self._buffers: list[list[float]] = [[] for _ in range(2 * len(self.space))]

    @property
    def ends(self) -> dict[str, tuple[float, float]]:
        """Name → the box's lower and upper end."""
        rows = self.belief.ends.tolist()
        return {
            n: (row[0], row[1]) for n, row in zip(self.space.names, rows, strict=True)
        }

    @property
    def entropy(self) -> float:
        """[nat per parameter] mean of the logarithms of the box's widths."""
        return float(np.log(np.diff(self.belief.ends, axis=1)).mean())

    def record(self, e: ArrayLike, performance: ArrayLike) -> bool:
        """Takes note of episodes that ended; whether the box has changed.

        `e` (n, d) is what those worlds had, `performance` (n,) how well they did, such
        as 1 for success and 0 for failure. Episodes inside, or on a side that has moved
        since, are not counted.
        """
        sides = self.belief.find_sides(e)
        for side, value in zip(sides, np.atleast_1d(performance), strict=True):
            if side >= 0:
                self._buffers[side].append(float(value))
        ends, settings = self.belief.ends.copy(), self.settings
        for side, buffer in enumerate(self._buffers):
            if len(buffer) < settings.episode_count:
                continue
            mean = float(np.mean(buffer))
            buffer.clear()
            place = side // 2, side % 2
            outwards = self._step[place] * (1.0 if side % 2 else -1.0)
            if mean >= settings.grow_at:
                ends[place] += outwards
            elif mean <= settings.shrink_at:
                ends[place] -= outwards
        ends = self._cut(ends)
        ends[:, 0] = np.minimum(ends[:, 0], self._least[:, 0])
        ends[:, 1] = np.maximum(ends[:, 1], self._least[:, 1])
        moved = (ends != self.belief.ends).ravel()
        if not moved.any():
            return False
        for side in np.flatnonzero(moved):
            self._buffers[side].clear()
        self.belief = self._build(ends)
        return True

    def state_dict(self) -> dict[str, object]:
        """Where its sides are and what was noted of them, as plain data."""
        kept = [list(buffer) for buffer in self._buffers]
        return {"ends": self.belief.ends.tolist(), "buffers": kept}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Goes on from `state_dict`."""
        self.belief = self._build(np.array(state["ends"]))
        self._buffers = [[float(x) for x in kept] for kept in state["buffers"]]  # pyright: ignore

    def _cut(self, ends: Floats) -> Floats:
        return np.clip(ends, self._limits[:, :1], self._limits[:, 1:])

    def _build(self, ends: Floats) -> BoxBelief:
        pairs = zip(self.space.names, ends.tolist(), strict=True)
        box = IndependentBelief(self.space, {n: Uniform(*pair) for n, pair in pairs})
        return BoxBelief(box, self.settings.boundary_share)


def _check_uniform(name: str, marginal: Marginal) -> Uniform:
    if not isinstance(marginal, Uniform):
        raise BadBelief(f"'{name}': a box has uniform marginals, not {marginal}.")
    return marginal
