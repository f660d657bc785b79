"""What the balances of forces say about a robot: causes, disturbance, or too little."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.forces.balance import Balance, balance_forces
from realworthy.diagnosis.forces.choice import Chosen, Picked, choose
from realworthy.diagnosis.forces.columns import list_terms, list_usual
from realworthy.gap.measure import Gap
from realworthy.recordings import Recording
from realworthy.twins import Twin

Floats = NDArray[np.float64]

LEAST_GAIN = 40.0
"""Fall of -log likelihood that a cause must bring beyond what its numbers cost. On 13
logs of healthy robots of seven twins the first cause gained 27 at most (2026-11-19)."""
CONSTANT_GAIN = 20.0
"""The same of a cause that explains more than half of what is off: constants hide in a
disturbance that comes slowly."""
SECOND_GAIN = 30.0
"""The same of a cause beside another."""
OF_HOLED = 3.0
"""How much more is asked of logs whose lost or stale rows leave jumps in speeds."""
LEAST_SHARE, LARGE_SHARE = 0.05, 0.5
"""Of the mean square that is off on some balance: what matters, and what is most."""
LEAST_OF_FIRST = 0.08
"""Of the first cause's gain: beside a large cause small ones make up for its shape."""
AS_GOOD = 0.9
"""Of a cause's gain, from which another one explains the recordings as well."""
MAX_CAUSES = 5
RESAMPLED, ENDS = 400, (0.05, 0.95)
"""Draws of a bootstrap, and the ends of what it says."""
MOVES = 6.0
"""Times its encoder's noise that a joint must move to say anything."""


@dataclass(frozen=True)
class Explained:
    """Causes by force, and what is left."""

    balance: Balance
    chosen: Chosen
    picked: tuple[Picked, ...]
    disturbance: dict[str, float]
    """Joint → rms torque [N·m or N] that no cause explains, behind the kernel."""
    resting: tuple[str, ...]
    """Driven joints that hardly move."""

    @property
    def shares(self) -> list[float]:
        """Of each cause in what all of them gain, adding up to one."""
        gains = np.array([p.gain for p in self.picked])
        return (gains / gains.sum()).tolist() if len(gains) else []

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """90 % of each share: stretches of the recordings drawn anew (bootstrap)."""
        rng = np.random.default_rng(0)
        sums = np.array(
            [
                rng.choice(p.falls, (RESAMPLED, len(p.falls))).sum(1).clip(0.0)
                for p in self.picked
            ]
        )
        drawn = sums / np.maximum(sums.sum(0), 1e-12)
        return [
            (float(min(low, share)), float(max(high, share)))
            for (low, high), share in zip(
                np.quantile(drawn, ENDS, axis=1).T, self.shares, strict=True
            )
        ]

    def rivals(self, picked: Picked) -> list[tuple[str, tuple[str, ...]]]:
        """Causes that would explain nearly as much in its place."""
        return [
            (term.name, term.joints)
            for term, gain in picked.rivals
            if gain > AS_GOOD * picked.gain and term.place != picked.term.place
        ]


def explain_forces(
    twin: Twin, recordings: Sequence[Recording], gap: Gap, *, is_holed: bool = False
) -> Explained | None:
    """Causes by force; None where the twin has drives whose law is not known here.

    Logs with rows that are lost or stale (`is_holed`) leave jumps in speeds.
    """
    paths = [part.simulated for part in gap.recordings]
    kept = [part.track.recording for part in gap.recordings]
    mine = [i for i, r in enumerate(kept) if any(r is x for x in recordings)]
    if not mine:
        return None
    balance = balance_forces(twin, [kept[i] for i in mine], [paths[i] for i in mine])
    if balance is None:
        return None
    chosen = choose(
        balance,
        list_terms(balance),
        usual=list_usual(balance),
        most=MAX_CAUSES,
        least=CONSTANT_GAIN * (OF_HOLED if is_holed else 1.0),
        matters=LEAST_SHARE,
    )
    return Explained(
        balance=balance,
        chosen=chosen,
        picked=_keep(chosen.picked),
        disturbance=_measure_left(balance, chosen),
        resting=_find_resting(gap, balance),
    )


def _keep(picked: Sequence[Picked]) -> tuple[Picked, ...]:
    """Causes in their order, up to the first that is not enough."""
    kept: list[Picked] = []
    for one in picked:
        if kept:
            is_enough = one.gain > max(SECOND_GAIN, LEAST_OF_FIRST * kept[0].gain)
        else:
            is_large = one.share > LARGE_SHARE
            is_enough = one.gain > (CONSTANT_GAIN if is_large else LEAST_GAIN)
        if not is_enough or one.share <= LEAST_SHARE:
            break
        kept.append(one)
    return tuple(kept)


def _measure_left(balance: Balance, chosen: Chosen) -> dict[str, float]:
    found = {}
    for joint in balance.joints:
        parts = chosen.now.left.get(("mechanics", joint))
        if parts:
            found[joint] = float(np.sqrt(np.mean(np.concatenate(parts) ** 2)))
    return found


def _find_resting(gap: Gap, balance: Balance) -> tuple[str, ...]:
    """Joints whose motion does not stand out of the noise in any recording."""
    moves: dict[str, float] = {}
    for part in gap.recordings:
        for i, joint in enumerate(part.track.joints):
            noise = max(part.noise.position[joint], 1e-9)
            ratio = float(part.track.position[:, i].std()) / noise
            moves[joint] = max(moves.get(joint, 0.0), ratio)
    return tuple(j for j in balance.drives if moves.get(j, np.inf) < MOVES)
