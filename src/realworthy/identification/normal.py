"""Normal equations of a linearised problem, the starts of pieces eliminated.

Residuals r + A Δz + B_p Δs_p of piece p know its own start s_p alone, so the matrix is
an arrow: a (d, d) block for z, one (k, k) block for every piece, and nothing between
pieces. Each piece's start is solved for in its own block (Schur complement).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.differences import Jacobian

Floats = NDArray[np.float64]
_TINY = 1e-12


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
        self.zz = a.T @ a + prior.precision
        self.gradient_z = a.T @ r + prior.precision @ (z - prior.mean)
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
        fall = 2 * (self.gradient_z @ dz + np.sum(self.gradient_s * ds))
        fall += dz @ self.zz @ dz + 2 * np.einsum("i,pik,pk->", dz, self.zs, ds)
        fall += np.einsum("pj,pjk,pk->", ds, self.ss, ds)
        return -float(fall)

    def _eliminate(self, damping: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Hessian and gradient of z alone; Δs = shift − gain Δz."""
        diagonal = np.diag(self.zz)
        floor = _TINY * max(float(diagonal.max()), _TINY)
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
    factor = np.linalg.cholesky(scaled + _TINY * np.eye(len(size)))
    target = -np.linalg.solve(factor, gradient * size)
    low, high = lowest / size, highest / size
    pinned = high <= low
    low = np.where(pinned, low - _TINY, low)  # an empty box is refused
    high = np.where(pinned, high + _TINY, high)
    found = lsq_linear(factor.T, target, (low, high), method="bvls")
    return np.clip(found.x * size, lowest, highest)
