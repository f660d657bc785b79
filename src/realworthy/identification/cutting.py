"""Recordings cut into pieces that can be fitted, by what holds a machine to its course.

Servos do: their pieces are long, and forget how they began. Others drift, or part from
a start that is a little wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from realworthy.identification.ahead import AHEAD
from realworthy.identification.informative import choose_pieces
from realworthy.identification.problem import Problem
from realworthy.identification.servos import find_servos
from realworthy.recordings import Recording
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands

_SWING = 1.0
"""[s] of the pieces of long recordings that no servo holds to its course."""
_PIECE = 5.0
"""[s] of the pieces of long recordings of servos."""
_SETTLED = 0.3
"""[s] after which a servo has forgotten how a piece began."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces to fit, from which problems over any space are made."""

    recordings: tuple[Recording, ...]
    joints: tuple[str, ...]
    horizon: float | None
    pieces: tuple[int, ...] | None
    is_servo: bool
    grows: bool = False
    """Whether errors of a start grow."""
    is_ahead: bool = False
    """Whether pieces are predictions from measured states."""

    def with_space(self, twin: Twin, names: Sequence[str]) -> Problem:
        cuts = self.pieces is not None and self.is_servo
        problem = Problem(
            twin,
            self.recordings,
            names,
            joints=self.joints,
            horizon=self.horizon,
            estimate_starts=not (cuts or self.is_ahead),
            skip=_SETTLED if cuts else 0.0,
        )
        if self.pieces is None:
            return problem
        return problem.of_pieces(self.pieces).levelled()


def cut_recordings(
    twin: Twin,
    fitted: tuple[Recording, ...],
    joints: tuple[str, ...],
    names: Sequence[str],
    *,
    seconds: float,
    ahead: bool,
) -> Pieces:
    """Pieces of at most `seconds` in all; `ahead`: predictions from measured states."""
    kinds = {line.joint: line.kind for line in describe_commands(bind(twin))}
    is_servo = all(kinds.get(joint) == "position" for joint in joints)
    whole = np.inf if find_servos(twin) and is_servo else None
    wide = Pieces(fitted, joints, whole, None, is_servo)
    horizon, is_short = _PIECE, True
    if ahead:
        wide = replace(wide, horizon=AHEAD, grows=True, is_ahead=True)
        horizon = AHEAD
    elif not is_servo:
        longest = max(fitted, key=lambda recording: recording.duration)
        found = Problem(twin, longest, names, joints=joints).horizon
        horizon = found.seconds if found.grows else _SWING
        is_short = found.grows or np.isinf(found.seconds)
    if sum(r.duration for r in fitted) <= seconds:
        if is_short:
            return wide
        return Pieces(fitted, joints, horizon, None, is_servo, grows=True)
    wide = replace(wide, horizon=horizon, grows=horizon != _PIECE)
    pieces = choose_pieces(wide.with_space(twin, names), seconds, joints)
    return replace(wide, pieces=tuple(pieces))
