"""Which shapes MuJoCo lets touch, with which friction, and how others can say so."""

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from realworthy.simulators.witnesses.mechanism import WORLD, Floats, Mechanism

_SMOOTH = 1e-4
"""Friction that stands for none where an engine divides by it."""
_ALIKE = 0.01
"""Difference of friction that is worth a sentence."""
_SELF = 1e-3
"""Weight of contacts of a robot with itself against those with the world."""


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


def spread_friction(mechanism: Mechanism, *, harmonic: bool) -> tuple[Floats, Floats]:
    """(shapes,) friction of each shape, and (pairs,) what the engine makes of them.

    MuJoCo takes the larger friction of two shapes, or that of the more important one;
    other engines take a mean, harmonic or plain. The numbers returned come as near to
    MuJoCo's pairs as numbers per shape can; contacts with the world count most.
    """
    touching, count = mechanism.touching, len(mechanism.shapes)
    if not len(touching.pairs):
        return np.zeros(count), np.zeros(0)
    wanted = np.maximum(touching.friction, _SMOOTH)
    first, second = touching.pairs.T
    goal = 1 / wanted if harmonic else wanted
    at_world = np.array([shape.link == WORLD for shape in mechanism.shapes])
    weight = np.where(at_world[first] | at_world[second], 1.0, _SELF)
    weight = weight / (goal if harmonic else np.maximum(goal, 0.1))
    rows = np.zeros((len(goal), count))
    rows[np.arange(len(goal)), first] += 0.5 * weight
    rows[np.arange(len(goal)), second] += 0.5 * weight
    own, _ = nnls(rows, weight * goal)
    mean = (own[first] + own[second]) / 2
    if not harmonic:
        return own, mean
    return 1 / np.maximum(own, 1e-6), 1 / np.maximum(mean, 1e-6)


def describe_friction(mechanism: Mechanism, got: Floats) -> tuple[str, ...]:
    """A sentence on the pair whose friction is furthest from MuJoCo's, if any is."""
    touching = mechanism.touching
    if not len(touching.pairs):
        return ()
    off = np.abs(got - touching.friction)
    worst, count = int(off.argmax()), int((off > _ALIKE).sum())
    if not count:
        return ()
    first, second = (mechanism.shapes[i].name for i in touching.pairs[worst])
    return (
        f"Contact friction differs in {count} of {len(off)} pairs, which numbers per "
        f"shape cannot express: most between '{first}' and '{second}', "
        f"{got[worst]:.2f} instead of {touching.friction[worst]:.2f}.",
    )


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
        for number, members in enumerate(groups):
            if _agrees(shape, members, groups, allowed, known):
                break
        else:
            number = len(groups)
            groups.append([])
        groups[number].append(shape)
        own[shape] = number
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
