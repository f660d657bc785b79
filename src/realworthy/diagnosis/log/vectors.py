"""Two streams of 3-D vectors of one motion: scale and rotation between their frames."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Floats = NDArray[np.float64]

PIECES = 8
"""Parts of a log that are asked one by one, for an interval."""
PULL = 0.003
"""Share of the evidence with which no rotation is assumed where nothing turns."""


@dataclass(frozen=True, slots=True)
class Match:
    """`second` = scale · matrix · `first`, as well as it can be said."""

    plain: float
    """Cosine between the two without a rotation; 1: the same but for a scale."""
    turned: float
    """With the best rotation."""
    scale: float
    matrix: Floats
    angle: float
    """[rad] of the rotation."""
    interval: tuple[float, float]
    """90 %, over pieces of the log."""
    gain: float
    """Share of what is unexplained that a rotation found in one half of the pieces
    explains in the other half; below 0 where it makes it worse."""


def match(first: Floats, second: Floats) -> Match | None:
    """The best rotation between (rows, 3) vectors (Kabsch, Wahba); None at rest."""
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    if size < 1e-12:
        return None
    matrix = _turn(first, second)
    pieces = list(
        zip(np.array_split(first, PIECES), np.array_split(second, PIECES), strict=True)
    )
    whole = Rotation.from_matrix(matrix)
    angle = float(whole.magnitude())
    off = [
        float((Rotation.from_matrix(_turn(a, b)) * whole.inv()).magnitude())
        for a, b in pieces
    ]
    margin = 1.645 * float(np.sqrt(np.mean(np.square(off)) / PIECES))
    return Match(
        plain=float(np.sum(first * second)) / size,
        turned=float(np.sum((first @ matrix.T) * second)) / size,
        scale=float(np.linalg.norm(second) / np.linalg.norm(first)),
        matrix=matrix,
        angle=angle,
        interval=(max(angle - margin, 0.0), angle + margin),
        gain=_gain(pieces),
    )


def _turn(first: Floats, second: Floats) -> Floats:
    """The rotation R that brings R · first closest to `second`."""
    table = second.T @ first
    table = table + PULL * np.linalg.norm(table) * np.eye(3)
    left, _, right = np.linalg.svd(table)
    sign = np.sign(np.linalg.det(left @ right))
    return left @ np.diag([1.0, 1.0, sign]) @ right


def _gain(pieces: list[tuple[Floats, Floats]]) -> float:
    halves = [pieces[0::2], pieces[1::2]]
    before, after = 0.0, 0.0
    for learn, judge in (halves, halves[::-1]):
        a, b = (np.concatenate(part) for part in zip(*learn, strict=True))
        c, d = (np.concatenate(part) for part in zip(*judge, strict=True))
        turned = c @ _turn(a, b).T
        before += _unexplained(c, d)
        after += _unexplained(turned, d)
    return 1 - after / before if before > 0 else 0.0


def _unexplained(first: Floats, second: Floats) -> float:
    """Squared rest of `second` after the best multiple of `first`."""
    energy = float(np.sum(first * first))
    slope = float(np.sum(first * second)) / energy if energy > 0 else 0.0
    return float(np.sum((second - slope * first) ** 2))
