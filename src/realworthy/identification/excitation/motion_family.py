"""Motions as Fourier series, each as large as its joint's limits allow.

    y(t) = w(t) [c + Σ_k (a_k sin kωt − b_k cos kωt) / k],   q(t) = home + A y(t)

w fades in and out, so that a motion begins and ends at rest in the home pose. A is the
largest amplitude within the limits of position, speed and acceleration, times a size of
at most one. Whatever the genes are, these limits hold.

Motions of a family as genes and amplitudes, mixed and held back.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.excitation.rehearsal import Rehearsal
from realworthy.recordings.motion import Reference
from realworthy.robots.limits import Limits

Floats = NDArray[np.float64]
_MIN_SIZE = 0.1
"""Least share of the largest amplitude."""
_FIRST_SIZE = 2.0
"""Gene of the size to begin with: 0.9 of the largest."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MotionFamily:
    """Motions of some joints around a home pose."""

    limits: Limits
    """Of the joints that move, in their order."""
    home: Floats
    """(joints,) pose of the beginning and the end."""
    period: float
    """[s] after which a series repeats itself."""
    harmonics: NDArray[np.intp]
    """(K,) multiples of 1/period."""
    fade: float
    """[s] at the beginning and at the end."""

    @property
    def gene_count(self) -> int:
        """Genes of a joint: a, b, centre and size."""
        return 2 * len(self.harmonics) + 2

    def draw(self, rng: np.random.Generator) -> Floats:
        """(joints, genes) of a random motion."""
        genes = rng.standard_normal((len(self.home), self.gene_count))
        genes[:, -2] *= 0.5
        genes[:, -1] += _FIRST_SIZE
        return genes

    def build(
        self, genes: Floats, scale: Floats, *, seconds: float, rate: float
    ) -> Reference:
        """The motion of (joints, genes), its amplitudes times (joints,) `scale`."""
        time = np.arange(round(seconds * rate) + 1) / rate
        shapes = self._shape(genes, time)
        amplitude = scale * self._fit(shapes) * _to_size(genes[:, -1])
        position, velocity, acceleration = (amplitude * shape for shape in shapes)
        return Reference(
            time, self.limits.joints, self.home + position, velocity, acceleration
        )

    def _shape(self, genes: Floats, time: Floats) -> tuple[Floats, Floats, Floats]:
        """(rows, joints) y and its first two derivatives."""
        k = self.harmonics
        a, b = genes[:, : len(k)].T, genes[:, len(k) : 2 * len(k)].T
        omega = 2 * np.pi / self.period
        phase = omega * time[:, None] * k
        sine, cosine = np.sin(phase), np.cos(phase)
        x = sine @ (a / k[:, None]) - cosine @ (b / k[:, None])
        dx = omega * (cosine @ a + sine @ b)
        ddx = omega**2 * (cosine @ (b * k[:, None]) - sine @ (a * k[:, None]))
        x = x + np.tanh(genes[:, -2]) * 0.5 * np.ptp(x, axis=0)
        w, dw, ddw = (value[:, None] for value in self._fading(time))
        return w * x, dw * x + w * dx, ddw * x + 2 * dw * dx + w * ddx

    def _fading(self, time: Floats) -> tuple[Floats, Floats, Floats]:
        """(rows,) from 0 to 1 and back, with two derivatives that end at zero."""
        fade = min(self.fade, 0.5 * time[-1])
        rising = time < 0.5 * time[-1]
        left = np.where(rising, time, time[-1] - time)
        s = np.minimum(left / fade, 1.0)
        sign = np.where(rising, 1.0, -1.0)
        w = s**3 * (10 - 15 * s + 6 * s**2)
        dw = 30 * s**2 * (1 - s) ** 2 / fade
        ddw = 60 * s * (1 - s) * (1 - 2 * s) / fade**2
        return w, sign * dw, ddw

    def _fit(self, shapes: tuple[Floats, Floats, Floats]) -> Floats:
        """(joints,) largest amplitude within the limits."""
        position, velocity, acceleration = shapes
        limits = self.limits
        tiny = 1e-12
        room = [
            (limits.upper - self.home) / np.maximum(position.max(0), tiny),
            (self.home - limits.lower) / np.maximum(-position.min(0), tiny),
            limits.speed / np.maximum(np.abs(velocity).max(0), tiny),
            limits.acceleration / np.maximum(np.abs(acceleration).max(0), tiny),
        ]
        return np.min(room, axis=0)


def choose_harmonics(period: float, highest: float, count: int) -> NDArray[np.intp]:
    """At most `count` multiples of 1/period up to `highest` [Hz], spread by ratio."""
    last = max(1, int(np.floor(highest * period + 1e-9)))
    spread = np.round(np.geomspace(1, last, count)).astype(np.intp)
    for i in range(1, len(spread)):  # neighbours that fell together move up
        spread[i] = max(spread[i], spread[i - 1] + 1)
    return np.unique(np.minimum(spread, last))


def _to_size(gene: Floats) -> Floats:
    return _MIN_SIZE + (1 - _MIN_SIZE) / (1 + np.exp(-gene))


_ROOM = 0.97
"""Share of a limit to which a motion that exceeds it is brought."""


@dataclass(frozen=True, slots=True)
class MotionShape:
    """A motion of a family."""

    genes: Floats
    """(joints, genes)"""
    scale: Floats
    """(joints,) of the amplitudes, at most one."""


def mix_shapes(shapes: Sequence[MotionShape], chosen: NDArray[np.intp]) -> MotionShape:
    """Each joint's motion from the shape that was chosen for it."""
    return MotionShape(
        np.stack([shapes[c].genes[j] for j, c in enumerate(chosen)]),
        np.array([shapes[c].scale[j] for j, c in enumerate(chosen)]),
    )


def find_excess(played: Rehearsal, limits: Limits, home: Floats) -> Floats:
    """(worlds, joints) by what factor each is furthest beyond a limit; ≤ 1 within."""
    peaks = played.peaks
    shares = [
        (peaks.highest - home) / np.maximum(limits.upper - home, 1e-9),
        (home - peaks.lowest) / np.maximum(home - limits.lower, 1e-9),
        peaks.speed / limits.speed,
        peaks.acceleration / limits.acceleration,
        peaks.torque / limits.torque,
    ]
    worst = np.max(shares, axis=0)
    return np.where(played.sound[:, None], worst, np.maximum(worst, 2.0))


def shrink(shape: MotionShape, excess: Floats) -> MotionShape:
    """The same motion with joints that go too far, by (joints,) factors, held back."""
    return MotionShape(shape.genes, shape.scale * hold_back(excess))


def hold_back(excess: Floats) -> Floats:
    """(joints,) factors that bring joints back within their limits."""
    return np.where(excess > 1, _ROOM / excess, 1.0)
