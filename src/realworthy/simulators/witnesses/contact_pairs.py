"""Which shapes MuJoCo lets touch, with which friction, and how others can say so."""

from dataclasses import replace

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.simulators.witnesses.mechanism import (
    WORLD,
    Floats,
    Mechanism,
    Touching,
)

_LEVELS = 8
"""Frictions that are kept apart; each has shapes of its own."""


def find_touching(
    model: mujoco.MjModel, links: NDArray[np.intp], parents: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Floats]:
    """(n, 2) geoms that MuJoCo lets touch, and the sliding friction of each pair.

    `links` and `parents` say for each geom on which link it sits and which link carries
    that one. Friction is 0 for contacts that MuJoCo treats as frictionless.
    """
    found: dict[tuple[int, int], float] = {}
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        return np.empty((0, 2), dtype=np.intp), np.empty(0)
    excluded = {_bodies(int(s)) for s in model.exclude_signature}
    keeps_parents = bool(
        model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    )
    for i in range(model.ngeom):
        for j in range(i + 1, model.ngeom):
            if (
                _masks_meet(model, i, j)
                and links[i] != links[j]
                and (keeps_parents or not _is_next(links, parents, i, j))
                and _key(model, i, j) not in excluded
            ):
                found[i, j] = _friction(model, i, j)
    for k in range(model.npair):
        pair = sorted((int(model.pair_geom1[k]), int(model.pair_geom2[k])))
        rub = float(model.pair_friction[k, 0]) if model.pair_dim[k] > 1 else 0.0
        found[pair[0], pair[1]] = rub
    pairs = np.array(list(found), dtype=np.intp).reshape(-1, 2)
    return pairs, np.array(list(found.values()), dtype=np.float64)


def layer_shapes(mechanism: Mechanism) -> tuple[Mechanism, Floats, tuple[str, ...]]:
    """The mechanism with a copy of each shape for every friction that it takes part in.

    MuJoCo takes the larger friction of two shapes, or that of the more important one;
    other engines take a mean. Where both shapes of a pair have the pair's own friction,
    all agree. Also returns the (shapes,) frictions, and a sentence where there were too
    many to keep apart.
    """
    touching = mechanism.touching
    levels = _find_levels(touching.friction)
    numbers: dict[tuple[int, float], int] = {}
    pairs = np.array(
        [
            [numbers.setdefault((shape, level), len(numbers)) for shape in pair]
            for pair, level in zip(
                touching.pairs.tolist(), levels.tolist(), strict=True
            )
        ],
        dtype=np.intp,
    ).reshape(-1, 2)
    layered = replace(
        mechanism,
        shapes=tuple(mechanism.shapes[shape] for shape, _ in numbers),
        touching=Touching(pairs, levels),
    )
    friction = np.array([level for _, level in numbers])
    return layered, friction, _describe_levels(touching.friction, levels)


def group_shapes(
    mechanism: Mechanism, indifferent: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """A group for each shape, and (groups, groups) which groups may touch.

    `indifferent` marks pairs that never meet anyway. As few groups as a simple search
    finds: a shape joins the first group that it agrees with.
    """
    count = len(mechanism.shapes)
    allowed = np.zeros((count, count), dtype=bool)
    for i, j in mechanism.touching.pairs:
        allowed[i, j] = allowed[j, i] = True
    known = ~indifferent
    groups: list[list[int]] = []
    own = np.zeros(count, dtype=np.intp)
    for shape in range(count):
        fitting = (
            number
            for number, members in enumerate(groups)
            if _agrees(shape, members, groups, allowed, known)
        )
        own[shape] = next(fitting, len(groups))
        if own[shape] == len(groups):
            groups.append([])
        groups[own[shape]].append(shape)
    meet = np.zeros((len(groups), len(groups)), dtype=bool)
    for a, first in enumerate(groups):
        for b, second in enumerate(groups):
            both = np.ix_(first, second)
            meet[a, b] = bool((allowed[both] & known[both]).any())
    return own, meet


def _agrees(
    shape: int,
    members: list[int],
    groups: list[list[int]],
    allowed: NDArray[np.bool_],
    known: NDArray[np.bool_],
) -> bool:
    """Whether a group with one more shape says one thing to every shape and group."""
    for member in members:
        both_known = known[shape] & known[member]
        if (allowed[shape] != allowed[member])[both_known].any():
            return False
    together = [*members, shape]
    for group in groups:
        others = together if group is members else group
        both = np.ix_(together, others)
        answers = allowed[both][known[both]]
        if answers.any() and not answers.all():
            return False
    return True


def _find_levels(friction: Floats) -> Floats:
    """(n,) each friction, or where there are too many of them one near it."""
    levels = np.unique(friction)
    while len(levels) > _LEVELS:
        k = int(np.diff(levels).argmin())
        levels = np.insert(np.delete(levels, [k, k + 1]), k, levels[k : k + 2].mean())
    if not len(levels):
        return friction
    return levels[np.abs(friction[:, None] - levels).argmin(1)]


def _describe_levels(wanted: Floats, got: Floats) -> tuple[str, ...]:
    off = float(np.abs(got - wanted).max(initial=0.0))
    if off == 0:
        return ()
    return (
        f"There are {len(np.unique(wanted))} contact frictions; {_LEVELS} are kept "
        f"apart, so that some are off by up to {off:.2g}.",
    )


def _bodies(signature: int) -> tuple[int, int]:
    first, second = signature >> 16, signature & 0xFFFF
    return (first, second) if first < second else (second, first)


def _key(model: mujoco.MjModel, i: int, j: int) -> tuple[int, int]:
    first, second = sorted((int(model.geom_bodyid[i]), int(model.geom_bodyid[j])))
    return first, second


def _masks_meet(model: mujoco.MjModel, i: int, j: int) -> bool:
    kind, affinity = model.geom_contype, model.geom_conaffinity
    return bool(kind[i] & affinity[j] or kind[j] & affinity[i])


def _is_next(
    links: NDArray[np.intp], parents: NDArray[np.intp], i: int, j: int
) -> bool:
    if WORLD in (links[i], links[j]):
        return False
    return bool(parents[i] == links[j] or parents[j] == links[i])


def _friction(model: mujoco.MjModel, i: int, j: int) -> float:
    rank = int(model.geom_priority[i]) - int(model.geom_priority[j])
    chosen = [i, j] if rank == 0 else [i] if rank > 0 else [j]
    if model.geom_condim[chosen].max() == 1:
        return 0.0
    return float(model.geom_friction[chosen, 0].max())
