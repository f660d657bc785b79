"""How good a motion is, by the information that it gives about e."""

import enum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_NOTHING = 1e-12


class Criterion(enum.StrEnum):
    """What an excitation makes large; all in units of the wanted sd."""

    D = "d"
    """log det F: all numbers alike, by ratio."""
    A = "a"
    """−log tr F⁻¹: the sum of variances, so the worst-known numbers most."""
    E = "e"
    """log λ_min: the worst-known direction alone."""


def compute_score(information: Floats, criterion: Criterion) -> float:
    """Of a (d, d) information in units of the wanted sd; larger is better.

    Half of it, negated, is the log of a typical sd: D by geometric mean, A by root mean
    square, E by the worst direction.
    """
    values = np.maximum(np.linalg.eigvalsh(information), _NOTHING)
    if criterion is Criterion.D:
        return float(np.mean(np.log(values)))
    if criterion is Criterion.A:
        return -float(np.log(np.mean(1 / values)))
    return float(np.log(values[0]))


def choose_mix(parts: Floats, known: Floats, criterion: Criterion) -> NDArray[np.intp]:
    """(joints,) from which candidate each joint should take its motion.

    `parts` is (samples, candidates, joints, d, d): the information in each joint's own
    rows; `known` (d, d) is added to their sum. Joints are chosen in turn until nothing
    improves, from candidate 0.
    """
    candidate_count, joint_count = parts.shape[1:3]
    chosen = np.zeros(joint_count, dtype=np.intp)
    total = known + parts[:, 0].sum(axis=1)

    def score(information: Floats) -> float:
        scores = [compute_score(one, criterion) for one in information]
        return float(np.mean(scores))

    best, improved = score(total), True
    while improved:
        improved = False
        for j in range(joint_count):
            for c in range(candidate_count):
                if c == chosen[j]:
                    continue
                tried = total - parts[:, chosen[j], j] + parts[:, c, j]
                value = score(tried)
                if value > best + 1e-9:
                    best, total, improved = value, tried, True
                    chosen[j] = c
    return chosen
