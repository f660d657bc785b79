"""Ensembles of ridge regressions on random features; numpy alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realworthy.residuals import Ensemble
from realworthy.residuals.envelope import Envelope, surround

Floats = NDArray[np.float64]
_SEEN = 0.995
"""Quantile of what training rows show that counts as seen; the rest are outliers."""
_FLOOR = 0.25
"""Share of the labels' rms below which disagreement never counts: a force known to a
quarter leaves far less error than none."""
_ROOM = 1.5
"""How many times as large as what was seen an envelope becomes at most."""
_MARGIN = 1.2
"""How far a force may exceed the largest seen: a fifth, for loads between motions."""


@dataclass(kw_only=True, slots=True)
class RidgeSettings:
    """How the members of an ensemble are fitted."""

    member_count: int = 5
    feature_count: int = 150
    """Random features per member."""
    penalties: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    """Candidates per row; recordings left out in turn choose."""
    block_count: int = 40
    """Pieces of the data that each member draws anew, with replacement."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """One recording: (rows, inputs) and (rows, outputs)."""

    inputs: Floats
    force: Floats


def fit_ensemble(
    recordings: Sequence[Rows], settings: RidgeSettings | None = None
) -> Ensemble:
    """Members on bootstrapped pieces of the recordings, with their envelope."""
    settings = settings or RidgeSettings()
    random = np.random.default_rng(settings.seed)
    x = np.concatenate([rows.inputs for rows in recordings])
    force = np.concatenate([rows.force for rows in recordings])
    envelope = _enclose(recordings)
    bare = _draw(x, force.shape[1], settings, random, envelope)
    penalty = _choose_penalty(bare, recordings, settings)
    heads = []
    for member in range(settings.member_count):
        chosen = _draw_rows(len(x), settings.block_count, random)
        features = bare.features(x[chosen], member)
        heads.append(_solve(features, force[chosen], penalty))
    fitted = replace(bare, heads=np.stack(heads))
    _, spread = fitted.predict(x)
    rms = np.sqrt(np.mean(force**2, axis=0))
    seen = np.quantile(spread, _SEEN, axis=0)
    limit = np.quantile(np.abs(force), _SEEN, axis=0)
    return replace(
        fitted,
        spread_limit=np.maximum(np.maximum(seen, _FLOOR * rms), 1e-9),
        force_limit=np.maximum(_MARGIN * limit, 1e-9),
    )


def _draw(
    x: Floats,
    output_count: int,
    settings: RidgeSettings,
    random: np.random.Generator,
    envelope: Envelope,
) -> Ensemble:
    """An ensemble with random features and heads of zero."""
    members, features, inputs = (
        settings.member_count,
        settings.feature_count,
        x.shape[1],
    )
    scale = x.std(0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    normalised = (x - x.mean(0)) / scale
    steepness = np.exp(random.uniform(np.log(0.3), np.log(30.0), (members, features)))
    directions = random.normal(size=(members, features, inputs))
    # few inputs matter to each feature, so that steep ones stay readable in many
    keep = random.random(directions.shape) < min(1.0, 3.0 / inputs)
    keep |= np.arange(inputs) == random.integers(inputs, size=(members, features, 1))
    directions *= keep
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    projection = steepness[..., None] * directions
    # each feature bends where data are
    anchors = normalised[random.integers(len(x), size=(members, features))]
    offset = -np.sum(projection * anchors, axis=-1)
    return Ensemble(
        centre=x.mean(0),
        scale=scale,
        projection=projection,
        offset=offset,
        heads=np.zeros((members, 1 + inputs + features, output_count)),
        spread_limit=np.ones(output_count),
        force_limit=np.ones(output_count),
        envelope=envelope,
    )


def _enclose(recordings: Sequence[Rows]) -> Envelope:
    """Around all rows, with room for a motion that goes as far as the boldest did.

    Each recording is held against the envelope of the others: motions of one kind leave
    each other's edges by a little, and a gate that closes there lets a world drift
    further out. A recording that is alone gives no room.
    """
    inputs = [rows.inputs for rows in recordings]
    room = 1.0
    for i in range(len(inputs) if len(inputs) > 1 else 0):
        others = surround(np.concatenate(inputs[:i] + inputs[i + 1 :]))
        room = max(room, float(others.distance(inputs[i]).max()))
    return surround(np.concatenate(inputs)).widen(min(room, _ROOM))


def _choose_penalty(
    bare: Ensemble, recordings: Sequence[Rows], settings: RidgeSettings
) -> float:
    """The penalty that predicts recordings best which it has not seen.

    A recording that is alone is cut into four.
    """
    if len(recordings) == 1:
        inputs = np.array_split(recordings[0].inputs, 4)
        forces = np.array_split(recordings[0].force, 4)
        pairs = zip(inputs, forces, strict=True)
        recordings = [Rows(inputs=x, force=force) for x, force in pairs]
    fold_count = min(5, len(recordings))
    features = [bare.features(rows.inputs, 0) for rows in recordings]
    grams = [phi.T @ phi for phi in features]
    moments = [
        phi.T @ rows.force for phi, rows in zip(features, recordings, strict=True)
    ]
    counts = [len(phi) for phi in features]
    errors = np.zeros(len(settings.penalties))
    for fold in range(fold_count):
        inside = [i for i in range(len(recordings)) if i % fold_count != fold]
        outside = [i for i in range(len(recordings)) if i % fold_count == fold]
        gram = np.sum([grams[i] for i in inside], axis=0)
        moment = np.sum([moments[i] for i in inside], axis=0)
        count = sum(counts[i] for i in inside)
        for k, penalty in enumerate(settings.penalties):
            head = _solve_normal(gram, moment, penalty * count)
            for i in outside:
                error = features[i] @ head - recordings[i].force
                errors[k] += float(np.sum(error**2))
    return settings.penalties[int(np.argmin(errors))]


def _draw_rows(
    count: int, block_count: int, random: np.random.Generator
) -> NDArray[np.intp]:
    """Rows of pieces drawn with replacement; neighbouring rows go together."""
    blocks = np.array_split(np.arange(count), min(block_count, count))
    return np.concatenate(
        [blocks[i] for i in random.integers(len(blocks), size=len(blocks))]
    )


def _solve(features: Floats, force: Floats, penalty: float) -> Floats:
    gram, moment = features.T @ features, features.T @ force
    return _solve_normal(gram, moment, penalty * len(features))


def _solve_normal(gram: Floats, moment: Floats, penalty: float) -> Floats:
    weight = np.full(len(gram), penalty)
    weight[0] = 0.0  # a constant force is not punished
    solved = np.linalg.solve(gram + np.diag(weight + 1e-9 * len(gram)), moment)
    return np.asarray(solved, dtype=np.float64)
