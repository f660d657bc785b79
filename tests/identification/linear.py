"""Residuals that are linear in z and in the starts, whose answer is known."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.problem.residuals import Residuals, SumOfSquares
from realworthy.parameters import Binding, Parameter, ParameterSpace

Floats = NDArray[np.float64]


def make_space(count: int, **ends: float) -> ParameterSpace:
    return ParameterSpace(
        Parameter(
            name=f"body{i}.mass",
            kind="mass",
            unit="kg",
            nominal=1.0,
            binding=Binding((f"body{i}",)),
            **ends,
        )
        for i in range(count)
    )


class Linear(SumOfSquares):
    """r_p = A_p z + B_p s_p − y_p for pieces p."""

    def __init__(self, a: Floats, b: Floats, y: Floats, **ends: float) -> None:
        """(pieces, rows, d), (pieces, rows, k), (pieces, rows)."""
        self.a, self.b, self.y = a, b, y
        pieces, rows, d = a.shape
        self.coordinates = FitCoordinates(make_space(d, **ends))
        self.start_count = b.shape[2]
        self.runs = [slice(p * rows, (p + 1) * rows) for p in range(pieces)]
        self.series = self.runs
        self.labels = np.zeros(pieces * rows, dtype=np.intp)

    def residuals(self, z: ArrayLike, starts: Floats | None = None) -> Residuals:
        z = np.atleast_2d(np.asarray(z, dtype=np.float64))
        r = np.einsum("pti,ni->npt", self.a, z) - self.y
        if starts is not None:
            r = r + np.einsum("ptk,npk->npt", self.b, starts)
        return Residuals(r.reshape(len(z), -1), np.zeros(len(z), dtype=bool))


def make_linear(
    seed: int,
    *,
    pieces: int = 3,
    rows: int = 200,
    d: int = 4,
    k: int = 2,
    **ends: float,
) -> Linear:
    """Random derivatives, unit noise, and starts that follow their prior."""
    draw = np.random.default_rng(seed)
    a, b = draw.normal(size=(pieces, rows, d)), draw.normal(size=(pieces, rows, k))
    z, starts = draw.normal(1, 1, d), draw.normal(size=(pieces, k))
    y = a @ z + np.einsum("ptk,pk->pt", b, starts)
    return Linear(a, b, y + draw.normal(size=y.shape), **ends)


def solve_linear(problem: Linear) -> tuple[Floats, Floats, Floats]:
    """z, starts and their joint covariance at unit noise, by dense algebra."""
    pieces, rows, d = problem.a.shape
    k = problem.start_count
    design = np.zeros((pieces * rows, d + pieces * k))
    for p in range(pieces):
        design[p * rows : (p + 1) * rows, :d] = problem.a[p]
        design[p * rows : (p + 1) * rows, d + p * k : d + (p + 1) * k] = problem.b[p]
    precision = np.diag([0.0] * d + [1.0] * (pieces * k))
    covariance = np.linalg.inv(design.T @ design + precision)
    answer = covariance @ design.T @ problem.y.ravel()
    return answer[:d], answer[d:].reshape(pieces, k), covariance
