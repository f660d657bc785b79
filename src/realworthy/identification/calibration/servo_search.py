"""Numbers of servos from afar: evolution on replays of each joint by itself.

An arm that sticks ends at one pose or another by a hair, so that the cost of a servo's
numbers has many minima, and least squares ends in the next one. Evolution looks over
them; thousands of candidates are affordable where a joint is replayed alone
(`DrivesAlone`). Errors count by their mean over recordings, not by squares: a recording
that ended at another pose by chance does not lead.
"""

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.calibration.priors import OFFSET_SD
from realworthy.identification.problem.drives_alone import DrivesAlone
from realworthy.identification.problem.problem import Problem

Floats = NDArray[np.float64]
_SPREAD = 0.4
"""First sd of candidates, in sd of what is believed: a factor of 1.5."""
_POPULATION = 48
"""Candidates of a generation: rows of one call, which costs about as much for 24."""
_GENERATIONS = 60
"""Of one evolution at most."""
_AGREEMENT = 0.01
"""Spread of a generation's costs, as a share of the error, at which it ends."""
_BELIEF_WEIGHT = 0.004
"""Share of the error that a number one sd from its start must be worth."""
_AGREEING_RATIO = 1.3
"""Times the error of the best evolution up to which their mean is taken."""


def search_servo_numbers(alone: DrivesAlone, z: Floats, *, searches: int = 3) -> Floats:
    """(d,) mean of where evolutions around `z` end; the best where that is worse.

    Each ends in a minimum that owes something to chance: which arm stuck where. What
    they have in common is the servo's. On the servo bench, gains that nobody fitted
    were off by 0.021, 0.020 and 0.030 rad with the mean of three, and by 0.024, 0.020
    and 0.038 rad with the best of them (2026-11-19).
    """
    found = [_evolve(alone, z, seed) for seed in range(searches)]
    best = min(found, key=lambda pair: pair[0])[1]
    middle = np.mean([place for _, place in found], axis=0)
    errors = alone.errors(np.array([middle, best])).mean(axis=1)
    return middle if errors[0] <= _AGREEING_RATIO * errors[1] else best


def measure_mean_error(problem: Problem, z: Floats) -> float:
    """Mean over recordings of mean absolute errors [rad or m] in the whole twin."""
    own = problem.mean_absolute_errors(problem.residuals(z[None]).values[0])
    return float(np.mean([np.mean(list(joints.values())) for joints in own.values()]))


def _evolve(alone: DrivesAlone, z: Floats, seed: int) -> tuple[float, Floats]:
    """The lowest cost, and (d,) where it was found.

    cost = log(mean error) + w Σ ((z − z₀) / sd)²
    """
    from cmaes import CMA

    bounds = alone.coordinates
    sd = np.where(
        [p.kind == "sensor_bias" for p in alone.space], OFFSET_SD, bounds.scale
    )
    low, high = (bounds.lower - z) / sd, (bounds.upper - z) / sd
    evolution = CMA(
        mean=np.zeros(len(z)), sigma=_SPREAD, seed=seed, population_size=_POPULATION
    )
    best, lowest = z, np.inf
    for _ in range(_GENERATIONS):
        asked = np.array([evolution.ask() for _ in range(_POPULATION)])
        places = z + sd * np.clip(asked, low, high)
        errors = alone.errors(places).mean(axis=1)
        costs = np.log(errors) + _BELIEF_WEIGHT * np.sum(asked**2, axis=1)
        evolution.tell(list(zip(asked, costs.tolist(), strict=True)))
        if costs.min() < lowest:
            best, lowest = places[np.argmin(costs)], float(costs.min())
        if np.ptp(costs) < _AGREEMENT or evolution.should_stop():
            break
    return lowest, best
