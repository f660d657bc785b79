"""Which parameters do recordings identify, and which only in combination?

Asked before any fit: derivatives of the residuals at one e, how well each number would
be known if noise were the only error, and directions in which nothing changes.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.identifiability.verdicts import (
    Identifiability,
    ParameterFinding,
    ParameterVerdict,
    WeakDirection,
)
from realworthy.identification.problem.problem import Problem
from realworthy.identification.problem.residuals import Point, evaluate_at
from realworthy.identification.solver.covariance import eliminate_starts
from realworthy.identification.solver.jacobian import (
    Colouring,
    Jacobian,
    colour_columns,
    differentiate,
)
from realworthy.identification.solver.least_squares import to_prior
from realworthy.identification.solver.linearisation import Prior, linearise
from realworthy.parameters import Belief

Floats = NDArray[np.float64]
_STEP_SIZES = (1e-2, 1e-3)
"""Steps of differences, in scales of z: residuals are smooth in what both agree on."""
_MAX_STEP_DISAGREEMENT = 0.2
"""Share by which derivatives of the two steps may differ."""
_COLLINEARITY_INDEX = 10.0
"""Collinearity index from which a set of parameters is named."""
_MAX_FOR_TRIPLES = 12
"""Parameters up to which triples are looked at."""
_COLOURING_PIECES = 4
"""Pieces that tell which joint a number moves."""
_MIN_PART_SHARE = 0.3
"""Share of the largest part from which a parameter belongs to a direction."""


def check_identifiability(
    problem: Problem,
    e: Mapping[str, float] | None = None,
    *,
    prior: Belief | None = None,
    tolerance: float = 0.1,
    tolerances: Mapping[str, float] | None = None,
    noise_factor: float = 1.0,
) -> Identifiability:
    """Looks around `e` (nominal where not given); local, and valid for noise alone.

    A number counts as known with an sd of `tolerance` of its size, or of what
    `tolerances` says in its unit. `noise_factor` is how much larger residuals will be
    than the noise, since no twin is perfect.
    """
    space, bounds = problem.space, problem.coordinates
    z = bounds.to_z(space.vector(e or {}))
    point = evaluate_at(problem, z)
    colouring = _colour(problem, z)
    coarse, fine = (
        differentiate(problem, z, point.starts, step=step, colouring=colouring)
        for step in _STEP_SIZES
    )
    believed = to_prior(problem, prior, z)
    response = eliminate_starts(coarse.by_z, coarse.by_start, problem.runs)
    response = response / noise_factor
    information = response.T @ response + believed.precision
    slope = bounds.slope(z)
    known = bounds.tolerance(z, tolerance)
    for name, wanted in (tolerances or {}).items():
        known[space.index(name)] = wanted
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    sd = slope * np.sqrt(np.diag(covariance))
    sd_alone = slope / np.sqrt(np.diag(information))
    directions = _find_directions(space.names, information, known / slope)
    pushed = _find_pushed(problem, point, coarse, believed)
    lengths = np.linalg.norm(response, axis=0) * bounds.scale
    smooth = _compare(coarse.by_z, fine.by_z)
    findings = []
    for i, parameter in enumerate(space):
        partners: tuple[str, ...] = ()
        if pushed[i]:
            verdict = ParameterVerdict.AT_BOUND
        elif sd_alone[i] > known[i]:
            verdict = ParameterVerdict.NOT_EXCITED
        elif sd[i] > known[i]:
            verdict = ParameterVerdict.ONLY_IN_COMBINATION
            partners = _find_partners(i, space.names, directions, covariance)
        else:
            verdict = ParameterVerdict.IDENTIFIED
        findings.append(
            ParameterFinding(
                name=parameter.name,
                verdict=verdict,
                value=float(bounds.from_z(z)[i]),
                unit=parameter.unit,
                sd=float(sd[i]),
                sd_alone=float(sd_alone[i]),
                tolerance=float(known[i]),
                response=float(lengths[i]),
                is_smooth=bool(smooth[i]),
                partners=partners,
            )
        )
    condition, collinear = _find_collinear(space.names, response)
    return Identifiability(
        findings=tuple(findings),
        directions=directions,
        condition_number=condition,
        collinear=collinear,
        information=information,
    )


def _colour(problem: Problem, z: Floats) -> Colouring | None:
    """Which columns can be moved together, by a few pieces; None for one joint."""
    if not problem.labels.any():
        return None
    few = problem.thinned(max(1, len(problem.pieces) // _COLOURING_PIECES))
    colouring = colour_columns(few, differentiate(few, z, evaluate_at(few, z).starts))
    problem.take_counts(few)
    return colouring


def _find_directions(
    names: tuple[str, ...], information: Floats, tolerance_z: Floats
) -> tuple[WeakDirection, ...]:
    values, vectors = np.linalg.eigh(information * np.outer(tolerance_z, tolerance_z))
    directions = []
    for value, vector in zip(values, vectors.T, strict=True):
        if value >= 1:
            continue
        order = np.argsort(-np.abs(vector))
        upwards = vector * np.sign(vector[order[0]])
        parts = [
            (names[i], float(upwards[i]))
            for i in order
            if abs(vector[i]) >= _MIN_PART_SHARE * abs(vector[order[0]])
        ]
        directions.append(
            WeakDirection(tuple(parts), float(1 / np.sqrt(max(value, 1e-300))))
        )
    return tuple(directions)


def _find_partners(
    i: int,
    names: tuple[str, ...],
    directions: tuple[WeakDirection, ...],
    covariance: Floats,
) -> tuple[str, ...]:
    """The others of its directions, or those with which its errors go together."""
    own = [d for d in directions if names[i] in dict(d.parts)]
    others = [other for d in own for other, _ in d.parts if other != names[i]]
    if not others:
        sd = np.sqrt(np.diag(covariance))
        together = np.abs(covariance[i] / (sd[i] * sd))
        together[i] = 0.0
        others = [n for n, share in zip(names, together, strict=True) if share > 0.5]
    return tuple(dict.fromkeys(others))


def _find_pushed(
    problem: Problem, point: Point, jacobian: Jacobian, prior: Prior
) -> NDArray[np.bool_]:
    """(d,) whether a parameter lies on a bound that a full step would cross."""
    bounds, z = problem.coordinates, point.z
    at = linearise(problem, point, jacobian, prior, outlier=3.0)
    wide = np.full(len(z), np.inf)
    wanted, _ = at.equations.step(0.0, -wide, wide)
    slack = 1e-6 * bounds.scale
    low = (z <= bounds.lower + slack) & (wanted < 0)
    high = (z >= bounds.upper - slack) & (wanted > 0)
    return low | high


def _compare(coarse: Floats, fine: Floats) -> NDArray[np.bool_]:
    """(d,) whether derivatives by two step sizes agree."""
    apart = np.linalg.norm(coarse - fine, axis=0)
    return apart <= _MAX_STEP_DISAGREEMENT * np.linalg.norm(fine, axis=0) + 1e-6


def _find_collinear(
    names: tuple[str, ...], response: Floats
) -> tuple[float, tuple[tuple[tuple[str, ...], float], ...]]:
    """Condition number, and pairs and triples with γ = 1/√λ_min above ten."""
    lengths = np.linalg.norm(response, axis=0)
    moving = [i for i in range(len(names)) if lengths[i] > 1e-9 * lengths.max()]
    if not moving:
        return np.inf, ()
    gram = (response / np.where(lengths > 0, lengths, 1.0)).T @ (
        response / np.where(lengths > 0, lengths, 1.0)
    )
    values = np.linalg.eigvalsh(gram[np.ix_(moving, moving)])
    condition = float(np.sqrt(values[-1] / max(values[0], 1e-30)))
    groups: list[tuple[tuple[int, ...], float]] = []
    for size in (2, 3) if len(moving) <= _MAX_FOR_TRIPLES else (2,):
        for chosen in combinations(moving, size):
            if any(set(smaller) <= set(chosen) for smaller, _ in groups):
                continue
            least = float(np.linalg.eigvalsh(gram[np.ix_(chosen, chosen)])[0])
            index = 1 / np.sqrt(max(least, 1e-12))
            if index > _COLLINEARITY_INDEX:
                groups.append((chosen, float(index)))
    groups.sort(key=lambda item: -item[1])
    named = tuple((tuple(names[i] for i in chosen), index) for chosen, index in groups)
    return condition, named
