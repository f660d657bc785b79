"""Signals with as few points as an eye can tell from all of them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def thin(values: ArrayLike, point_count: int) -> NDArray[np.intp]:
    """Rows to draw: the lowest and the highest of each of `point_count` / 2 stretches.

    So that no peak is lost and no fast motion looks slow. The first and the last row
    are always among them; a stretch without a finite value keeps a gap. At least four
    points.
    """
    rows = np.asarray(values, np.float64)
    if len(rows) <= max(point_count, 4):
        return np.arange(len(rows))
    stretch_count = max(point_count // 2 - 1, 1)
    edges = np.linspace(0, len(rows), stretch_count + 1).astype(np.intp)
    width = int(np.diff(edges).max())
    places = edges[:-1, None] + np.arange(width)
    places = np.minimum(places, edges[1:, None] - 1)
    is_known = np.isfinite(rows[places])
    each = np.arange(stretch_count)
    lowest = np.where(is_known, rows[places], np.inf).argmin(axis=1)
    highest = np.where(is_known, rows[places], -np.inf).argmax(axis=1)
    kept = [places[each, lowest], places[each, highest], [0, len(rows) - 1]]
    return np.unique(np.concatenate(kept))
