"""How good a motion is, by the information that it gives about e.

Information is split by motion and by joint.

With Gaussian noise the information is Fisher's, F = Σ_t J_tᵀ Σ⁻¹ J_t, and F⁻¹ bounds
the covariance of any unbiased estimate (Cramér and Rao). Criteria make F large: D its
determinant, A the trace of its inverse small, E its least eigenvalue (Pukelsheim 2006,
chapter 6; for robots Swevers et al. 1997). F of several motions is the sum of theirs.

It is computed by the very residuals that a fit makes small: rehearsed motions are taken
for recordings, and a `Problem` of them is differentiated.
"""

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.problem import Problem
from realworthy.identification.problem.residuals import evaluate_at
from realworthy.identification.solver.covariance import eliminate_starts
from realworthy.identification.solver.jacobian import Colouring, Jacobian, differentiate
from realworthy.identification.solver.least_squares import to_prior

Floats = NDArray[np.float64]
_NO_INFORMATION = 1e-12
"""Least eigenvalue of scaled information, so that its logarithm exists."""


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
    values = np.maximum(np.linalg.eigvalsh(information), _NO_INFORMATION)
    if criterion is Criterion.D:
        return float(np.mean(np.log(values)))  # (1/d) log det F
    if criterion is Criterion.A:
        return -float(np.log(np.mean(1 / values)))  # −log((1/d) tr F⁻¹)
    return float(np.log(values[0]))  # log λ_min


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
                # F is a sum over joints, so that one joint's part can be exchanged
                tried = total - parts[:, chosen[j], j] + parts[:, c, j]
                value = score(tried)
                if value > best + 1e-9:
                    best, total, improved = value, tried, True
                    chosen[j] = c
    return chosen


_OWN_SHARE = 0.4
"""Share of a column's length on a joint from which it counts as moving that joint."""


def colour_roughly(problem: Problem, jacobian: Jacobian) -> Colouring:
    """Columns that may be moved together, each told by the joints it moves most.

    Coarser than a fit's colouring: what a number does to other joints by the way is
    left out, which a design can bear and a fit could not.
    """
    columns = np.hstack([jacobian.by_z, jacobian.by_start])
    count = int(problem.labels.max()) + 1
    parts = [columns[problem.labels == label] for label in range(count)]
    power = np.stack([np.sum(part**2, axis=0) for part in parts], axis=1)
    touched = power > _OWN_SHARE**2 * np.maximum(power.max(1, keepdims=True), 1e-12)
    colours = np.zeros(len(touched), dtype=np.intp)
    taken: list[NDArray[np.bool_]] = []
    for i, own in enumerate(touched):
        free = [c for c, theirs in enumerate(taken) if not (own & theirs).any()]
        if not free:
            free = [len(taken)]
            taken.append(np.zeros_like(own))
        colours[i] = free[0]
        taken[free[0]] = taken[free[0]] | own
    return Colouring(colours, touched)


def split_information(
    problem: Problem, z: Floats, colouring: Colouring | None
) -> Floats:
    """(recordings, joints, d, d) information about z in each joint's own rows."""
    response, recording, label = _respond(problem, z, colouring)
    shape = (len(problem.tracks), int(problem.labels.max()) + 1)
    d = response.shape[1]
    out = np.zeros((*shape, d, d))
    for place in np.ndindex(shape):
        rows = response[(recording == place[0]) & (label == place[1])]
        out[place] = rows.T @ rows  # Jᵀ J: residuals are in units of their noise
    return out


def _respond(
    problem: Problem, z: Floats, colouring: Colouring | None
) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Derivatives with starts eliminated, and the recording and joint of each row."""
    many = len(problem.pieces) > len(problem.tracks)
    starts = np.zeros((len(problem.pieces), problem.start_count))
    jacobian = differentiate(problem, z, starts, by_start=many, colouring=colouring)
    owner = np.concatenate(
        [
            np.full(run.stop - run.start, piece.recording)
            for run, piece in zip(problem.runs, problem.pieces, strict=True)
        ]
    )
    if not many:
        return jacobian.by_z, owner, problem.labels
    response = eliminate_starts(jacobian.by_z, jacobian.by_start, problem.runs)
    joints = problem.tracks[0].joints
    order = [sorted(joints).index(joint) for joint in joints]
    owner_of_starts = np.repeat(
        [piece.recording for piece in problem.pieces], problem.start_count
    )
    label_of_starts = np.tile(order, 2 * len(problem.pieces))
    return (
        response,
        np.concatenate([owner, owner_of_starts]),
        np.concatenate([problem.labels, label_of_starts]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Expected precision of one parameter; sd are in its unit."""

    name: str
    unit: str
    value: float
    """Where it was looked at."""
    sd: float
    """All others unknown too; by Cramér and Rao, for noise alone."""
    sd_alone: float
    """All others known."""
    wanted: float
    """sd that was asked for."""
    response: float
    """Noise sd, summed in squares, by which positions move with a scale of z."""
    partners: tuple[str, ...]
    """With which others its errors go together (correlation above 0.9)."""

    @property
    def is_met(self) -> bool:
        return self.sd <= self.wanted

    def to_reason(self) -> str:
        """Why it would stay unknown."""
        if self.response < _MIN_RESPONSE:
            return "nothing that these motions do depends on it"
        if self.sd_alone > self.wanted:
            more = (self.sd_alone / self.wanted) ** 2
            return (
                f"it moves the robot too little: even alone it would take {more:.2g} "
                "times the data"
            )
        if self.partners:
            return f"it can be exchanged with {', '.join(self.partners)}"
        more = (self.sd / self.wanted) ** 2
        return f"it would take {more:.2g} times the data"


_MIN_RESPONSE = 1e-2
"""Noise sd that positions move in all; less is nothing."""
_PARTNER_CORRELATION = 0.9
"""Correlation of two estimates from which they are named together: each alone is then
known more than twice (1/√(1 − 0.9²) = 2.3) less well."""


def forecast(
    problem: Problem, z: Floats, wanted: Floats, *, known: Floats | None = None
) -> tuple[tuple[Forecast, ...], Floats]:
    """Expected precision of each parameter by a fit around (d,) z.

    And the (d, d) information itself. `wanted` is (d,) in units; `known` is information
    from elsewhere. As a fit without a belief has, a wide prior keeps it finite.
    """
    bounds, space = problem.coordinates, problem.space
    starts = evaluate_at(problem, z).starts
    many = len(problem.pieces) > len(problem.tracks)
    jacobian = differentiate(problem, z, starts, by_start=many)
    response = eliminate_starts(jacobian.by_z, jacobian.by_start, problem.runs)
    data = response.T @ response
    if known is not None:
        data = data + known
    information = data + to_prior(problem, None, z).precision
    covariance = np.linalg.inv(information)  # Cramér and Rao: Cov ≥ F⁻¹
    slope = bounds.slope(z)
    sd_z = np.sqrt(np.diag(covariance))
    together = np.abs(covariance) / np.outer(sd_z, sd_z)
    np.fill_diagonal(together, 0.0)
    size = np.sqrt(np.diag(data)) * bounds.scale
    e = bounds.from_z(z)
    found = tuple(
        Forecast(
            name=parameter.name,
            unit=parameter.unit,
            value=float(e[i]),
            sd=float(slope[i] * sd_z[i]),
            sd_alone=float(slope[i] / np.sqrt(information[i, i])),  # F_ii^−½
            wanted=float(wanted[i]),
            response=float(size[i]),
            partners=tuple(
                space.names[j]
                for j in np.flatnonzero(together[i] > _PARTNER_CORRELATION)
            ),
        )
        for i, parameter in enumerate(space)
    )
    return found, data
