"""A residual whose force is known: −0.5 v, from one linear head per member."""

import numpy as np

from realworthy.residuals import Ensemble, Envelope, Residual, ResidualFile


def damper(
    *, joints: tuple[str, ...] = ("a",), history: int = 1, disagree: float = 0.0
) -> Residual:
    """Two members with slopes −0.5 ± `disagree` on the newest velocity."""
    inputs = 2 * history
    heads = np.zeros((2, 1 + inputs + 1, 1))
    heads[:, 2, 0] = -0.5 - disagree, -0.5 + disagree
    ensemble = Ensemble(
        centre=np.zeros(inputs),
        scale=np.ones(inputs),
        projection=np.zeros((2, 1, inputs)),
        offset=np.zeros((2, 1)),
        heads=heads,
        spread_limit=np.array([0.1]),
        force_limit=np.array([0.8]),
        envelope=Envelope(
            lower=np.full(inputs, -4.0),
            upper=np.full(inputs, 4.0),
            mean=np.zeros(inputs),
            whitening=np.eye(inputs),
            reach=100.0,
        ),
    )
    description = ResidualFile(
        joints=joints,
        scope="joint",
        signals=("position", "velocity"),
        period=0.01,
        history=history,
    )
    return Residual(description=description, ensemble=ensemble)
