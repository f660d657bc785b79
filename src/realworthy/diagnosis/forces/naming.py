"""Causes for people, from what the balances of forces chose."""

from collections.abc import Sequence
from dataclasses import replace

from realworthy.diagnosis.causes import Named
from realworthy.diagnosis.diagnosis import Alternative, Cause, Estimate
from realworthy.diagnosis.forces.choice import Picked
from realworthy.diagnosis.forces.columns import TONE_STEP, Term
from realworthy.diagnosis.forces.explanation import Explained
from realworthy.diagnosis.forces.suspicion import find_suspect
from realworthy.diagnosis.shares import Attribution
from realworthy.diagnosis.suspects import Suspect
from realworthy.diagnosis.words import next_step

_REACH = 1.645
"""Standard deviations to either side that hold 90 %."""


def share_by_force(
    attribution: Attribution, suspects: Sequence[Suspect], forces: Explained
) -> Attribution:
    """Shares by what each cause gains in the balances of forces.

    Disturbance adds up over a replay and not in a balance.
    """
    shares, intervals = [0.0] * len(suspects), [(0.0, 0.0)] * len(suspects)
    for share, interval, picked in zip(
        forces.shares, forces.intervals, forces.picked, strict=True
    ):
        suspect = find_suspect(picked.term, suspects)
        if suspect is not None:
            i = suspects.index(suspect)
            shares[i], intervals[i] = share, interval
    return replace(
        attribution,
        shares=tuple(shares),
        intervals=tuple(intervals),
        unexplained=0.0,
    )


def add_by_force(named: Sequence[Named], forces: Explained) -> list[Named]:
    """All causes, those that no replay can hold too, largest share first."""
    found: list[Named] = []
    left = list(named)
    for i, picked in enumerate(forces.picked):
        term = picked.term
        same = next((n for n in left if _is_same(n.cause, term)), None)
        if same is None:
            found.append(Named(_make_cause(i, forces), None))
            continue
        left.remove(same)
        others = [Alternative(name=n, joints=j) for n, j in forces.rivals(picked)]
        known = same.cause.alternatives
        cause = replace(
            same.cause,
            evidence=f"{_say(picked)} {same.cause.evidence}",
            alternatives=tuple(dict.fromkeys((*known, *others))),
        )
        found.append(replace(same, cause=cause))
    return sorted((*found, *left), key=lambda n: -n.cause.share)


def _is_same(cause: Cause, term: Term) -> bool:
    return cause.name == term.name and set(cause.joints) == set(term.joints)


def _make_cause(i: int, forces: Explained) -> Cause:
    picked = forces.picked[i]
    term = picked.term
    others = [Alternative(name=n, joints=j) for n, j in forces.rivals(picked)]
    return Cause(
        name=term.name,
        kind=term.kind,
        joints=term.joints,
        share=forces.shares[i],
        interval=forces.intervals[i],
        evidence=_say(picked),
        next_step=next_step(term.name),
        estimates=_estimate(picked, forces),
        alternatives=tuple(dict.fromkeys(others)),
    )


def _estimate(picked: Picked, forces: Explained) -> tuple[Estimate, ...]:
    term = picked.term
    numbers, errors = forces.chosen.now.of(term)
    owner = term.owner or ", ".join(term.joints)
    found = [
        Estimate(
            name=f"{owner}.{term.name}",
            value=float(numbers[0]),
            nominal=0.0,
            interval=(
                float(numbers[0] - _REACH * errors[0]),
                float(numbers[0] + _REACH * errors[0]),
            ),
            unit="1",
        )
    ]
    if term.name == "slosh":
        tone = term.shape[0]
        found.append(
            Estimate(
                name=f"{owner}.slosh.frequency",
                value=tone,
                nominal=0.0,
                interval=(tone / TONE_STEP, tone * TONE_STEP),  # the tones beside it
                unit="Hz",
            )
        )
    return tuple(found)


def _say(picked: Picked) -> str:
    """How much of the torque that is off a cause explains, against the next best."""
    text = (
        f"It explains {100 * picked.share:.0f} % of the torque that the twin lacks "
        "where it acts"
    )
    others = [(t, g) for t, g in picked.rivals if t.place != picked.term.place]
    if others:
        term, gain = others[0]
        where = term.owner or ", ".join(term.joints[:2])
        part = 100 * max(gain, 0.0) / picked.gain
        text += f"; the next best, {term.name} ({where}), {part:.0f} % as well"
    return text + "."
