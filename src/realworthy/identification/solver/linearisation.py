"""Normal equations of a linearised problem, the starts of pieces eliminated.

Residuals r + A Δz + B_p Δs_p of piece p know its own start s_p alone, so the matrix is
an arrow: a (d, d) block for z, one (k, k) block for every piece, and nothing between
pieces. Each piece's start is solved for in its own block (Schur complement).

A problem around one point: weights, normal equations, what a step promises.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.residuals import Point, SumOfSquares
from realworthy.identification.solver.covariance import estimate_autocorrelation
from realworthy.identification.solver.jacobian import Jacobian

Floats = NDArray[np.float64]
_SMALLEST_PIVOT = 1e-12
"""Share of the largest diagonal that is added to all: four digits above rounding."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed of z before the data: a Gaussian, flat where precision is 0."""

    mean: Floats
    precision: Floats
    """(d, d) inverse covariance."""

    def cost(self, z: Floats) -> Floats:
        """(…,) (z − mean)ᵀ Λ (z − mean) of (…, d) coordinates."""
        off = z - self.mean
        return np.einsum("...i,ij,...j->...", off, self.precision, off)


class NormalEquations:
    """½ the Hessian and gradient of Σ w r² + ‖s‖² + the prior's cost."""

    def __init__(
        self,
        jacobian: Jacobian,
        residuals: Floats,
        weights: Floats,
        runs: Sequence[slice],
        starts: Floats,
        prior: Prior,
        z: Floats,
    ) -> None:
        root = np.sqrt(weights)
        a = jacobian.by_z * root[:, None]
        b = jacobian.by_start * root[:, None]
        r = residuals * root
        self.believed = prior.precision
        self.zz = a.T @ a + prior.precision  # H_zz = Aᵀ W A + Λ
        # g_z = Aᵀ W r + Λ (z − z̄)
        self.gradient_z = a.T @ r + prior.precision @ (z - prior.mean)
        # H_zs = A_pᵀ W B_p, H_ss = B_pᵀ W B_p + 1, g_s = B_pᵀ W r_p + s_p of piece p
        self.zs = np.array([a[run].T @ b[run] for run in runs])
        eye = np.eye(b.shape[1])
        self.ss = np.array([b[run].T @ b[run] + eye for run in runs])
        self.gradient_s = np.array([b[run].T @ r[run] for run in runs]) + starts

    def step(
        self, damping: float, lowest: Floats, highest: Floats
    ) -> tuple[Floats, Floats]:
        """Δz (d,) within [lowest, highest] and Δs (pieces, k).

        (H + μ D) Δ = −g with D = diag H (Marquardt); where that leaves the box, the
        point of the box at which the linearised cost is least.
        """
        hessian, gradient, gain, shift = self._eliminate(damping)
        dz = np.asarray(np.linalg.solve(hessian, -gradient), dtype=np.float64)
        if (dz < lowest).any() or (dz > highest).any():
            dz = _solve_in_box(hessian, gradient, lowest, highest)
        return dz, shift - np.einsum("pki,i->pk", gain, dz)

    def predict(self, dz: Floats, ds: Floats) -> float:
        """By how much the linearised cost falls with a step."""
        # −(2 gᵀΔ + Δᵀ H Δ), as the cost is Σ w r² without ½
        fall = 2 * (self.gradient_z @ dz + np.sum(self.gradient_s * ds))
        fall += dz @ self.zz @ dz + 2 * np.einsum("i,pik,pk->", dz, self.zs, ds)
        fall += np.einsum("pj,pjk,pk->", ds, self.ss, ds)
        return -float(fall)

    def _eliminate(self, damping: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Hessian and gradient of z alone; Δs = shift − gain Δz."""
        diagonal = np.diag(self.zz)
        floor = _SMALLEST_PIVOT * max(float(diagonal.max()), _SMALLEST_PIVOT)
        zz = self.zz + np.diag(damping * diagonal + floor)
        if self.ss.shape[1] == 0:
            empty = np.zeros(self.gradient_s.shape)
            return zz, self.gradient_z, np.zeros((*empty.shape, len(diagonal))), empty
        places = np.arange(self.ss.shape[1])
        ss = self.ss.copy()
        ss[:, places, places] *= 1 + damping
        right = np.concatenate(
            [self.zs.transpose(0, 2, 1), self.gradient_s[..., None]], axis=2
        )
        solved = np.linalg.solve(ss, right)
        gain = np.asarray(solved[..., :-1], dtype=np.float64)
        shift = np.asarray(-solved[..., -1], dtype=np.float64)
        # Schur complement: H_zz − Σ_p H_zs H_ss⁻¹ H_sz, and g_z − Σ_p H_zs H_ss⁻¹ g_s
        hessian = zz - np.einsum("pik,pkj->ij", self.zs, gain)
        gradient = self.gradient_z + np.einsum("pik,pk->i", self.zs, shift)
        return hessian, gradient, gain, shift


def _solve_in_box(
    hessian: Floats, gradient: Floats, lowest: Floats, highest: Floats
) -> Floats:
    """(d,) where ½ ΔᵀHΔ + gᵀΔ is least within the box: ‖Rᵀ Δ + R⁻¹ g‖ with H = R Rᵀ.

    Numbers that hardly matter would otherwise drag those that do out of their minimum
    when they are stopped at a border.
    """
    from scipy.optimize import lsq_linear

    size = 1 / np.sqrt(np.diag(hessian))
    scaled = hessian * np.outer(size, size)
    factor = np.linalg.cholesky(scaled + _SMALLEST_PIVOT * np.eye(len(size)))
    target = -np.linalg.solve(factor, gradient * size)
    low, high = lowest / size, highest / size
    pinned = high <= low
    low = np.where(pinned, low - _SMALLEST_PIVOT, low)  # an empty box is refused
    high = np.where(pinned, high + _SMALLEST_PIVOT, high)
    found = lsq_linear(factor.T, target, (low, high), method="bvls")
    return np.clip(found.x * size, lowest, highest)


@dataclass(frozen=True, slots=True)
class Linearised:
    """Everything linear about a point, and what a full step from it promises."""

    point: Point
    jacobian: Jacobian
    limit: float
    """Residual beyond which the loss is linear."""
    weights: Floats
    """(N,) 1, and less for outliers."""
    equations: NormalEquations
    cost: float
    promised: float
    variance: float
    """s²: weighted squares per degree of freedom."""
    rho: Floats
    """ρ_1 … ρ_K: how residuals last."""

    @property
    def inflation(self) -> float:
        """1 + 2 Σ |ρ_k|: how many residuals in a row say the same thing, at most."""
        return float(1 + 2 * np.abs(self.rho).sum())


def linearise(
    problem: SumOfSquares,
    point: Point,
    jacobian: Jacobian,
    prior: Prior,
    outlier: float,
    most: float = np.inf,
) -> Linearised:
    """The problem around a point; residuals beyond `most`, or less, are outliers."""
    residuals, bounds = point.residuals, problem.coordinates
    limit = min(most, _find_limit(residuals, outlier))
    # w = min(1, c/|r|): Huber 1964, by reweighted least squares
    weights = np.minimum(1.0, limit / np.maximum(np.abs(residuals), 1e-12))
    equations = NormalEquations(
        jacobian, residuals, weights, problem.runs, point.starts, prior, point.z
    )
    step = equations.step(0.0, bounds.lower - point.z, bounds.upper - point.z)
    freedom = max(1, len(residuals) - len(point.z))
    held = np.sqrt(weights) * residuals
    return Linearised(
        point=point,
        jacobian=jacobian,
        limit=limit,
        weights=weights,
        equations=equations,
        cost=float(compute_costs(point.z, point.starts, residuals, prior, limit)),
        promised=equations.predict(*step),
        variance=float(held @ held) / freedom,
        rho=estimate_autocorrelation(held, problem.series),
    )


def weigh_residuals(
    problem: SumOfSquares, point: Point, prior: Prior, outlier: float
) -> Linearised:
    """What a point is worth; it takes no derivatives, and promises no step."""
    rows = len(point.residuals)
    flat = Jacobian(
        np.zeros((rows, len(point.z))), np.zeros((rows, problem.start_count)), ()
    )
    return linearise(problem, point, flat, prior, outlier)


def _find_limit(residuals: Floats, outlier: float) -> float:
    spread = float(np.median(np.abs(residuals))) / 0.6745  # sd of a normal by its MAD
    return outlier * max(1.0, spread)


def compute_costs(
    z: Floats, starts: Floats, residuals: Floats, prior: Prior, limit: float
) -> Floats:
    """(…,) Huber's loss, r² and 2 c |r| − c² beyond c, with what priors add."""
    size = np.abs(residuals)
    inner = np.minimum(size, limit)
    loss = np.sum(inner * (2 * size - inner), axis=-1)
    return loss + np.sum(starts**2, axis=(-2, -1)) + prior.cost(z)
