"""Causes that only show together: an effect that wrong numbers have learnt to hide.

A twin that was fitted without an effect has numbers that make up for it as well as
they can. Neither the effect alone nor any number alone explains what is left then; the
effect beside all numbers of the joint does.
"""

import numpy as np

from realworthy.diagnosis.diagnosis import CauseKind
from realworthy.diagnosis.fitting import Tried, fit
from realworthy.diagnosis.judge import Judge
from realworthy.diagnosis.search import Found, SearchSettings, is_gain, look
from realworthy.diagnosis.suspects import Suspect

BASIC = ("armature", "damping", "coulomb_friction", "kp", "gear", "delay")
"""Numbers of a joint that a fit would have moved."""
_ITERATIONS = 6


def search_together(
    judge: Judge,
    suspects: list[Suspect],
    found: Found,
    settings: SearchSettings,
    until: float,
) -> None:
    """Lets all numbers of the loudest joint give way, alone and to each effect."""
    loudest = int(np.argmax(found.now.square.mean(0)))
    if found.now.square.mean(0)[loudest] < settings.quiet:
        return
    joint = judge.bench.joints[loudest]
    numbers = _numbers_of(joint, suspects, found.now)
    if not numbers:
        return
    judge.settle(found.now.case)
    refitted = _refit(judge, found.now, numbers, until)
    effects = [s for s in suspects if s.kind is CauseKind.MISSING and joint in s.joints]
    tried = _try_effects(judge, refitted, effects, settings, until)
    best = tried[0] if tried and is_gain(refitted, tried[0], settings) else None
    if best is not None:
        found.rivals += [[] for _ in numbers] + [tried[1:]]
        found.now = best
    elif is_gain(found.now, refitted, settings):
        found.rivals += [[] for _ in numbers]
        found.now = refitted


def _numbers_of(joint: str, suspects: list[Suspect], now: Tried) -> list[Suspect]:
    taken = {(s.name, s.joints) for s in now.suspects}
    return [
        s
        for s in suspects
        if s.kind is CauseKind.PARAMETRIC
        and s.name in BASIC
        and s.joints == (joint,)
        and not s.owner
        and (s.name, s.joints) not in taken
    ]


def _refit(judge: Judge, now: Tried, numbers: list[Suspect], until: float) -> Tried:
    """All numbers at once, from where they are."""
    start = tuple((0.0,) * len(s.numbers) for s in numbers)
    sets = [((*now.suspects, *numbers), (*now.xs, *start))]
    return fit(judge, sets, iterations=_ITERATIONS, until=until)[0]


def _try_effects(
    judge: Judge,
    now: Tried,
    effects: list[Suspect],
    settings: SearchSettings,
    until: float,
) -> list[Tried]:
    """Effects beside all numbers, best first."""
    leaders = look(judge, now, effects, settings) if effects else []
    if not leaders:
        return []
    sets = [((*now.suspects, s), (*now.xs, x)) for s, x in leaders]
    tried = fit(judge, sets, iterations=_ITERATIONS, until=until)
    return sorted(tried, key=lambda t: t.total)
