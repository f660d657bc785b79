"""How far estimates may be off, when noise is white and when it is not."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def follow_starts(by_start: Floats, columns: Floats) -> Floats:
    """(…, k, c) by how much the starts of pieces follow each of (…, M, c) columns.

    (BᵀB + 1)⁻¹ BᵀA: least squares of A + B s with the starts' prior, 0 with sd 1.
    """
    turned = np.swapaxes(by_start, -1, -2)
    gram = turned @ by_start + np.eye(by_start.shape[-1])
    return np.asarray(np.linalg.solve(gram, turned @ columns), dtype=np.float64)


def eliminate_starts(by_z: Floats, by_start: Floats, runs: Sequence[slice]) -> Floats:
    """(N + pieces · k, d) derivatives by z when every start follows as it best can.

    The last rows are those of the starts' own priors.
    """
    k = by_start.shape[1]
    if k == 0:
        return by_z
    kept, told = np.empty_like(by_z), []
    for run in runs:
        b, a = by_start[run], by_z[run]
        gain = follow_starts(b, a)
        kept[run] = a - b @ gain  # what is left of A once s follows z
        told.append(-gain)
    return np.concatenate([kept, *told])


def estimate_autocorrelation(residuals: Floats, series: Sequence[slice]) -> Floats:
    """ρ_1 … ρ_K of residuals over time, pooled over their series; none if white.

    Up to the last lag, within a quarter of the shortest series, whose correlation
    stands out of chance, they count in full; then they fade out over as many lags.
    The expected value of residuals is zero, so none is subtracted.
    """
    most = max(2, min(run.stop - run.start for run in series) // 4)
    sums = np.zeros(most + 1)
    for run in series:
        values = residuals[run]
        # Σ_t r_t r_{t+k}, padded with zeros so that ends do not meet (Wiener–Khinchin)
        size = 2 ** int(np.ceil(np.log2(len(values) + most)))
        power = np.abs(np.fft.rfft(values, size)) ** 2
        sums += np.fft.irfft(power, size)[: most + 1]
    if sums[0] <= 0:
        return np.zeros(0)
    rho = sums[1:] / sums[0]  # ρ_k = Σ r_t r_{t+k} / Σ r_t²
    last = _find_last(np.abs(rho), 1 / np.sqrt(len(residuals)))
    if last == 0:
        return np.zeros(0)
    fade = np.clip(2 - np.arange(1, most + 1) / last, 0, 1)
    return (rho * fade)[: 2 * last]


def _find_last(size: Floats, chance: float) -> int:
    """The last lag that stands out: by four sd anywhere, by two in a row from lag 1."""
    far = np.flatnonzero(size > max(0.05, 4 * chance))
    faint = np.flatnonzero(size <= 2 * chance)
    row = int(faint[0]) if len(faint) else len(size)
    return max(int(far[-1]) + 1 if len(far) else 0, row if row > 1 else 0)


def compute_covariance(
    information: Floats,
    sensitivity: Floats,
    rho: Floats,
    series: Sequence[slice],
    variance: float,
) -> tuple[Floats, float]:
    """(d, d) covariance of z: s² H⁻¹ for white residuals, more for lasting ones.

    And how much more on average.

    Noise that lasts gives Cov(Σ J_t r_t) = s² Σ_t Σ_k ρ_k J_t J_{t+k}ᵀ instead of s² H;
    for derivatives that change more slowly than the noise this is s² H (1 + 2 Σ ρ_k).
    No direction is called better known than white noise would leave it.

    The sandwich H⁻¹ (Σ_t Σ_k ρ_k J_t J_{t+k}ᵀ) H⁻¹ of least squares with residuals that
    last (as Newey and West 1987, with one ρ for all rows).
    """
    from scipy.signal import fftconvolve

    factor = np.linalg.cholesky(information)  # H = L Lᵀ
    white = np.linalg.solve(factor, sensitivity.T).T
    # L⁻¹ (Σ_t Σ_k ρ_k J_t J_{t+k}ᵀ) L⁻ᵀ: 1 from k = 0, the other lags by convolution
    spread = np.eye(len(information))
    others = np.concatenate([rho[::-1], [0.0], rho])[:, None]
    for run in series if len(rho) else ():
        spread += white[run].T @ fftconvolve(white[run], others, "same", axes=0)
    values, vectors = np.linalg.eigh(0.5 * (spread + spread.T))
    values = np.maximum(values, 1.0)
    root = np.linalg.solve(factor.T, vectors * np.sqrt(values))  # Cov z = s² root rootᵀ
    inflation = float(values.mean())
    # lasting residuals are fewer than they seem, and the fit has used some of them up
    used = len(values) * (inflation - 1) / len(sensitivity)
    return variance / max(0.5, 1 - used) * root @ root.T, inflation
