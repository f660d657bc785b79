"""SimOpt (Chebotar et al. 2019): moves p(e) until simulated trials look like real ones.

A policy's real trials are compared with its trials in worlds of draws ξ ~ p_φ, closed
loop in both, and p_φ is moved towards draws that look alike:

    min_φ' E_{ξ~p_φ'}[c(ξ)]  such that  KL(p_φ' ‖ p_φ) ≤ ε

by relative entropy policy search: weights w_j ∝ exp(−c_j / η), with η from the dual
ηε + η log mean exp(−c/η), then a weighted maximum likelihood. That bounds the weights
and not the Gaussian, whose KL can come out twice as large: the step is shortened until
the divergence of the Gaussian itself is within ε.

What looks alike need not be alike. Directions of e along which trials do not change
keep the spread that they had, and the result says so: a behavioural match is no
identification.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import GaussianBelief, ParameterSpace
from realworthy.progress import Progress, ignore

Floats = NDArray[np.float64]
SimulateTrials = Callable[[Floats], Floats]
"""(n, d) draws of e → (n, rows, signals) of the trials."""
_SMOOTHING = 5.0
"""[rows] sd of the Gaussian that signals are smoothed by, cut at 4 sd (Chebotar et al.
2019, appendix)."""
_KEPT = 0.2
"""Share of the old covariance in a new one: of 64 draws some ten count, too few for a
covariance of five numbers by themselves."""
_FLOOR = 1e-2
"""Of the prior's standard deviations, which no direction falls below."""
_COLLINEAR = 0.05
"""Effect of a direction of e, as a share of the largest, below which trials do not tell
it: noise of 5 % on signals is as large. Chosen 2026-11-19."""
_PATIENCE = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class SimOptSettings:
    """How far p(e) moves, and by how many worlds."""

    draws: int = 64
    updates: int = 15
    kl: float = 1.0
    """[nat] ε, largest divergence of an update."""
    absolute: float = 1.0
    square: float = 1.0
    """Weights of the sum of absolute values and of the norm in the discrepancy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimOptResult:
    """Where p(e) came to rest."""

    belief: GaussianBelief
    discrepancies: Floats
    """(updates + 1,) at the mean, before the first update and after each."""
    divergences: Floats
    """(updates,) [nat] realised KL of each Gaussian from the one before."""
    unidentified: tuple[str, ...]
    """Combinations of parameters that the trials do not tell, in words."""

    @property
    def reduction(self) -> float:
        """Share of the first discrepancy that is gone."""
        return float(1 - self.discrepancies[-1] / self.discrepancies[0])


def fit_simopt(
    space: ParameterSpace,
    simulate: SimulateTrials,
    real: Floats,
    *,
    mean_z: Floats,
    covariance_z: Floats,
    settings: SimOptSettings | None = None,
    seed: int = 0,
    progress: Progress = ignore,
) -> SimOptResult:
    """From a Gaussian prior of z = T(e); `real` is (rows, signals)."""
    s = settings or SimOptSettings()
    scale = np.maximum(real.std(0), 1e-9)
    wanted = smooth_rows(real / scale)
    floor = _FLOOR**2 * covariance_z
    mean, covariance = mean_z.copy(), covariance_z.copy()

    def judge(e: Floats) -> Floats:
        return compute_discrepancy(smooth_rows(simulate(e) / scale), wanted, s)

    at_mean = [float(judge(space.from_z(mean)[None])[0])]
    divergences: list[float] = []
    best, since = (at_mean[0], mean, covariance), 0
    for update in range(s.updates):
        belief = GaussianBelief(space, mean, covariance)
        e = belief.sample(s.draws, seed=seed * 1000 + update)
        weights = weigh_draws(judge(e), s.kl)
        z = space.to_z(e)
        new_mean = weights @ z
        off = z - new_mean
        spread = off.T @ (weights[:, None] * off)
        new = (1 - _KEPT) * spread + _KEPT * covariance + floor
        mean, covariance, divergence = shorten_step(
            (mean, covariance), (new_mean, new), s.kl
        )
        divergences.append(divergence)
        at_mean.append(float(judge(space.from_z(mean)[None])[0]))
        since = 0 if at_mean[-1] < 0.99 * best[0] else since + 1
        if at_mean[-1] < best[0]:
            best = at_mean[-1], mean, covariance
        progress((update + 1) / s.updates, "moving p(e)")
        if since >= _PATIENCE:
            break
    belief = GaussianBelief(space, best[1], best[2])
    return SimOptResult(
        belief=belief,
        discrepancies=np.array([*at_mean, best[0]]),
        divergences=np.array(divergences),
        unidentified=find_unidentified(space, simulate, scale, best[1], covariance_z),
    )


def compute_discrepancy(found: Floats, wanted: Floats, s: SimOptSettings) -> Floats:
    """(n,) w₁ Σ|o − o_real| + w₂ Σ‖o − o_real‖², per row."""
    off = found - wanted
    absolute, square = np.abs(off).sum((1, 2)), np.square(off).sum((1, 2))
    cost = (s.absolute * absolute + s.square * square) / len(wanted)
    return np.where(np.isfinite(cost), cost, 1e9)


def smooth_rows(rows: Floats) -> Floats:
    """(…, rows, signals) by a Gaussian over time."""
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(rows, _SMOOTHING, axis=-2, truncate=4.0, mode="nearest")


def weigh_draws(cost: Floats, kl: float) -> Floats:
    """(n,) exp(−c/η), with η that minimises the dual; costs rescaled to 0 … 1."""
    from scipy.optimize import minimize_scalar

    spread = np.ptp(cost)
    if spread == 0:
        return np.full(len(cost), 1 / len(cost))
    c = (cost - cost.min()) / spread

    def dual(log_eta: float) -> float:
        eta = np.exp(log_eta)
        return float(eta * kl + eta * np.log(np.mean(np.exp(-c / eta))))

    ends = (np.log(1e-3), np.log(1e3))
    eta = np.exp(minimize_scalar(dual, bounds=ends, method="bounded").x)  # pyright: ignore
    weights = np.exp(-c / eta)
    return weights / weights.sum()


def compute_divergence(new: tuple[Floats, Floats], old: tuple[Floats, Floats]) -> float:
    """[nat] KL(N_new ‖ N_old)."""
    (m, a), (n, b) = new, old
    inverse = np.linalg.inv(b)
    away = n - m
    logs = np.linalg.slogdet(b)[1] - np.linalg.slogdet(a)[1]
    return float(0.5 * (np.trace(inverse @ a) + away @ inverse @ away - len(m) + logs))


def shorten_step(
    old: tuple[Floats, Floats], new: tuple[Floats, Floats], kl: float
) -> tuple[Floats, Floats, float]:
    """As much of the way from old to new as the divergence allows, and that one."""
    share = 1.0
    while True:
        mean, covariance = (a + share * (b - a) for a, b in zip(old, new, strict=True))
        found = compute_divergence((mean, covariance), old)
        if found <= kl or share < 1e-6:
            return mean, covariance, found
        share *= 0.9


def find_unidentified(
    space: ParameterSpace,
    simulate: SimulateTrials,
    scale: Floats,
    mean_z: Floats,
    covariance_z: Floats,
) -> tuple[str, ...]:
    """Directions of z, in sd of the prior, that hardly move the trials."""
    sd = np.sqrt(np.diag(covariance_z))
    step = 0.1 * np.diag(sd)
    e = space.from_z(np.vstack([mean_z + step, mean_z - step]))
    rows = smooth_rows(simulate(np.clip(e, space.lower, space.upper)) / scale)
    count = len(mean_z)
    slopes = (rows[:count] - rows[count:]).reshape(count, -1)
    _, sizes, directions = np.linalg.svd(slopes.T, full_matrices=False)
    return tuple(
        _name(space, direction)
        for size, direction in zip(sizes, directions, strict=True)
        if size < _COLLINEAR * sizes[0]
    )


def _name(space: ParameterSpace, direction: Floats) -> str:
    parts = [
        f"{weight:+.2g}·{name}"
        for name, weight in zip(space.names, direction, strict=True)
        if abs(weight) > 0.2
    ]
    return " ".join(parts)
