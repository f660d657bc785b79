"""How likely a policy fails under a belief, where failures are rare.

Points and scores are those of `search`: u in [0, 1]^m, equal volumes equally likely,
and a graded margin that is zero or less where the policy failed.
"""

import math
from dataclasses import dataclass

import numpy as np

from realworthy.certification.search import Score, evaluate
from realworthy.certification.trace import Floats

_DEGREES = 4
"""Of freedom of the Student distribution that covers failures."""
_LARGEST_LOG = 700.0
_LEAST_VARIANCE = 1e-4
_LEAST = 1e-12
"""Distance from the faces of the cube, where priors may be infinite."""


@dataclass(kw_only=True, slots=True)
class FailureSettings:
    """How the probability of failure is estimated."""

    batch: int = 256
    """Points scored at once."""
    evaluations: int = 6000
    """Points scored in all; half of them at most on the way to the failures."""
    fresh: int = 1024
    """Points weighed at least, once the way is found: fewer are done by luck."""
    elite: float = 0.2
    """Share of a batch towards which the next one moves."""
    prior_share: float = 0.1
    """Of points that are always drawn from the prior: no weight exceeds its inverse."""
    effective_floor: float = 50.0
    """Effective number of failures from which the estimate counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureProbability:
    """P(failure) under the belief, by importance sampling."""

    probability: float
    standard_error: float
    """From the weights seen; about a tenth too small in trials with a known truth."""
    effective: float
    """Failures that the weighted ones are worth."""
    is_settled: bool
    """Whether the effective number reached its floor; else take the probability for an
    order of magnitude, and zero for "none found"."""
    evaluations: int
    points: Floats
    """(k, m) Failures found while weighing, in [0, 1]."""


def estimate_failure(
    score: Score,
    dimension: int,
    settings: FailureSettings | None = None,
    *,
    seed: int = 0,
) -> FailureProbability:
    """Share of the belief's volume in which the policy fails.

    The cross-entropy method moves a Student distribution, in coordinates in which the
    prior is standard normal, level by level to the failures (Rubinstein and Kroese, The
    Cross-Entropy Method, 2004, §2). Fresh points of the last one, mixed with the prior,
    are then weighted by p/q. One such shape may cover only one of several far regions:
    the estimate is then too low, and `search_worst` may find the others.
    """
    from scipy.special import ndtr

    settings = settings or FailureSettings()
    rng = np.random.default_rng(seed)
    proposal, spent = _approach_failures(score, dimension, settings, rng)
    weights, failures, effective = np.empty(0), np.empty((0, dimension)), 0.0
    while not len(weights) or (
        (effective < settings.effective_floor or len(weights) < settings.fresh)
        and spent + settings.batch <= settings.evaluations
    ):
        z = proposal.sample(settings.batch, rng)
        u = np.clip(ndtr(z), _LEAST, 1 - _LEAST)
        failed = evaluate(score, u) <= 0
        weights = np.append(weights, failed / proposal.compare(z))
        failures = np.concatenate([failures, u[failed]])
        spent += len(z)
        effective = _count_effective(weights)
    return FailureProbability(
        probability=float(weights.mean()),
        standard_error=float(weights.std(ddof=1) / math.sqrt(len(weights))),
        effective=effective,
        is_settled=effective >= settings.effective_floor,
        evaluations=spent,
        points=failures,
    )


@dataclass(frozen=True, slots=True)
class _Proposal:
    """Where points are drawn: a Student distribution, in a share of cases the prior.

    Its tails are heavy: a shape fitted to few failures is too narrow, and what it never
    draws would be missing unseen.
    """

    mean: Floats
    scale: Floats
    """(m, m)"""
    prior_share: float

    def sample(self, count: int, rng: np.random.Generator) -> Floats:
        """(count, m)"""
        normal = rng.standard_normal((count, len(self.mean)))
        stretch = np.sqrt(_DEGREES / rng.chisquare(_DEGREES, (count, 1)))
        own = self.mean + stretch * normal @ np.linalg.cholesky(self.scale).T
        return np.where(rng.random((count, 1)) < self.prior_share, normal, own)

    def compare(self, z: Floats) -> Floats:
        """(k,) Density of this over the standard normal's: q/p."""
        n, m = _DEGREES, len(self.mean)
        root = np.linalg.cholesky(self.scale)
        apart = (np.linalg.solve(root, (z - self.mean).T) ** 2).sum(axis=0)
        constant = math.lgamma((n + m) / 2) - math.lgamma(n / 2)
        constant += 0.5 * m * math.log(2 / n) - float(np.log(np.diag(root)).sum())
        log_ratio = constant + 0.5 * (z**2).sum(axis=1)
        log_ratio -= 0.5 * (n + m) * np.log1p(apart / n)
        ratio = np.exp(np.minimum(log_ratio, _LARGEST_LOG))
        return self.prior_share + (1 - self.prior_share) * ratio


def _approach_failures(
    score: Score,
    dimension: int,
    settings: FailureSettings,
    rng: np.random.Generator,
) -> tuple[_Proposal, int]:
    """The proposal that covers failures, and the points scored on the way to it.

    Every point serves every later move, weighted by the mixture of all proposals so
    far: one batch alone holds too few failures to tell a covariance.
    """
    from scipy.special import ndtr

    proposals = [_Proposal(np.zeros(dimension), np.eye(dimension), 1.0)]
    points, margins = np.empty((0, dimension)), np.empty(0)
    while len(points) + settings.batch <= settings.evaluations / 2:
        z = proposals[-1].sample(settings.batch, rng)
        latest = evaluate(score, np.clip(ndtr(z), _LEAST, 1 - _LEAST))
        points, margins = np.concatenate([points, z]), np.append(margins, latest)
        level = max(float(np.quantile(latest, settings.elite)), 0.0)
        chosen = points[margins <= level]
        weights = 1 / np.mean([each.compare(chosen) for each in proposals], axis=0)
        proposals.append(_fit(chosen, weights, settings.prior_share))
        if level == 0 and _count_effective(weights) >= settings.effective_floor:
            break
    return proposals[-1], len(points)


def _fit(z: Floats, weights: Floats, prior_share: float) -> _Proposal:
    """Weighted mean and covariance; of few points mostly its diagonal."""
    shares = weights / weights.sum()
    mean = shares @ z
    apart = z - mean
    covariance = (shares * apart.T) @ apart
    effective = _count_effective(weights)
    trust = effective / (effective + 2 * len(mean))
    diagonal = np.diag(np.maximum(np.diag(covariance), _LEAST_VARIANCE))
    return _Proposal(mean, trust * covariance + (1 - trust) * diagonal, prior_share)


def _count_effective(weights: Floats) -> float:
    """Points of equal weight that these are worth; zero of none."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0
