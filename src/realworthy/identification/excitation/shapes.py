"""Motions of a family as genes and amplitudes, mixed and held back."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.excitation.rehearsal import Rehearsal
from realworthy.robots.limits import Limits

Floats = NDArray[np.float64]
_ROOM = 0.97
"""Share of a limit to which a motion that exceeds it is brought."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A motion of a family."""

    genes: Floats
    """(joints, genes)"""
    scale: Floats
    """(joints,) of the amplitudes, at most one."""


def mix(shapes: Sequence[Shape], chosen: NDArray[np.intp]) -> Shape:
    """Each joint's motion from the shape that was chosen for it."""
    return Shape(
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


def shrink(shape: Shape, excess: Floats) -> Shape:
    """The same motion with joints that go too far, by (joints,) factors, held back."""
    return Shape(shape.genes, shape.scale * hold_back(excess))


def hold_back(excess: Floats) -> Floats:
    """(joints,) factors that bring joints back within their limits."""
    return np.where(excess > 1, _ROOM / excess, 1.0)
