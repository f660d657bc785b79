"""What can be read off a representation: R² of each number of e, on worlds held out."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_RIDGE = 1e-3
"""Of the squared weights, beside the mean square of standardised states: only so large
that states which never vary do no harm."""
_HELD_OUT = 0.3
"""Share of the worlds that judge."""


def probe(
    states: Floats, e: Floats, names: tuple[str, ...], *, seed: int = 0
) -> dict[str, float]:
    """Name → R² of a linear map from (worlds, k) states to (worlds, d) e.

    1 is exact, 0 no better than the mean; NaN where e does not differ. Below 0 the map
    found only chance.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(states))
    cut = int(len(order) * _HELD_OUT)
    test, train = order[:cut], order[cut:]
    mean, sd = states[train].mean(0), states[train].std(0)
    x = np.hstack([(states - mean) / np.where(sd > 0, sd, 1.0), np.ones((len(e), 1))])
    gram = x[train].T @ x[train] + _RIDGE * len(train) * np.eye(x.shape[1])
    weights = np.linalg.solve(gram, x[train].T @ e[train])
    off = ((x[test] @ weights - e[test]) ** 2).mean(0)
    spread = e[test].var(0)
    share = np.where(spread > 0, 1 - off / np.where(spread > 0, spread, 1.0), np.nan)
    return dict(zip(names, share.tolist(), strict=True))


def describe_probe(found: Mapping[str, float], *, clearly: float) -> str:
    """A sentence: which numbers a representation holds, and which it does not."""
    held = [f"{k} ({v:.2f})" for k, v in found.items() if v >= clearly]
    lacks = [f"{k} ({v:.2f})" for k, v in found.items() if not v >= clearly]
    parts = [f"held: {', '.join(held)}"] if held else []
    parts += [f"not held: {', '.join(lacks)}"] if lacks else []
    return f"R² of e from what the policy infers: {'; '.join(parts)}."
