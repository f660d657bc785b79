"""Failures planted in a thousandth of the unit cube of six dimensions."""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

Score = Callable[[np.ndarray], np.ndarray]
VOLUME = 1e-3
SIDE = VOLUME ** (1 / 6)
RADIUS = (6 * VOLUME / math.pi**3) ** (1 / 6)
"""Of the ball of that volume in six dimensions: π³ r⁶ / 6."""


def plant_ball(rng: np.random.Generator) -> Score:
    centre = rng.uniform(RADIUS, 1 - RADIUS, 6)
    return lambda u: np.linalg.norm(u - centre, axis=1) - RADIUS


def plant_box(rng: np.random.Generator) -> Score:
    centre = rng.uniform(SIDE / 2, 1 - SIDE / 2, 6)
    return lambda u: np.abs(u - centre).max(axis=1) - SIDE / 2


def plant_corner(rng: np.random.Generator) -> Score:
    sign = rng.integers(0, 2, 6)
    return lambda u: (1 - SIDE - np.where(sign, u, 1 - u)).max(axis=1)


def plant_half_space(rng: np.random.Generator) -> Score:
    """Fails beyond a plane in coordinates where the prior is standard normal."""
    normal = rng.normal(size=6)
    normal /= np.linalg.norm(normal)
    return lambda u: -ndtri(VOLUME) - ndtri(np.clip(u, 1e-15, 1 - 1e-15)) @ normal
