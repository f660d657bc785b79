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

        (H + μ D) Δ = −g with D = diag H (Marquardt). Coordinates that would leave the
        box are put on its border, and the others are solved for again.
        """
        hessian, gradient, gain, shift = self._eliminate(damping)
        dz, free = np.zeros(len(gradient)), np.ones(len(gradient), dtype=bool)
        for _ in range(len(gradient) + 1):
            if free.any():
                right = -gradient[free] - hessian[np.ix_(free, ~free)] @ dz[~free]
                dz[free] = np.linalg.solve(hessian[np.ix_(free, free)], right)
            out = free & ((dz < lowest) | (dz > highest))
            if not out.any():
                break
            dz[out] = np.clip(dz, lowest, highest)[out]
            free &= ~out
        return dz, shift - np.einsum("pki,i->pk", gain, dz)

    def predict(self, dz: Floats, ds: Floats) -> float:
        """By how much the linearised cost falls with a step."""
        fall = 2 * (self.gradient_z @ dz + np.sum(self.gradient_s * ds))
        fall += dz @ self.zz @ dz + 2 * np.einsum("i,pik,pk->", dz, self.zs, ds)
        fall += np.einsum("pj,pjk,pk->", ds, self.ss, ds)
        return -float(fall)

    def information(self) -> Floats:
        """(d, d) information about z once every start is estimated with it."""
        hessian, _, _, _ = self._eliminate(0.0)
        return hessian

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
