"""Suspects for replays, beginning at the numbers that the balances of forces say."""

from collections.abc import Mapping, Sequence

import numpy as np

from realworthy.diagnosis.forces.balance import Balance
from realworthy.diagnosis.forces.choice import Fitted
from realworthy.diagnosis.forces.columns import Term
from realworthy.diagnosis.suspects import Number, Suspect

RELATIVE = ("kp", "kd", "gear", "torque_constant", "mass")
"""Kinds whose term is a share of the number itself."""


def find_suspect(term: Term, suspects: Sequence[Suspect]) -> Suspect | None:
    """The suspect of a replay that means the same; None where there is none."""
    for suspect in suspects:
        if suspect.name != term.name:
            continue
        if term.owner:
            if suspect.owner == term.owner:
                return suspect
        elif suspect.joints == term.joints and not suspect.owner:
            return suspect
    return None


def begin_at(
    term: Term, fitted: Fitted, suspect: Suspect, balance: Balance
) -> tuple[float, ...]:
    """x of a suspect at the numbers of a term."""
    numbers, _ = fitted.of(term)
    values = _read_values(term, numbers.tolist(), suspect, balance)
    return tuple(
        _invert(number, values[number.name]) if number.name in values else 0.0
        for number in suspect.numbers
    )


def _read_values(
    term: Term, numbers: Sequence[float], suspect: Suspect, balance: Balance
) -> Mapping[str, float]:
    """Name of a number → its value in SI units, as far as forces tell it."""
    names = [number.name for number in suspect.numbers]
    first = suspect.numbers[0]
    x = numbers[0]
    if term.name in RELATIVE:
        return {names[0]: first.nominal * (1 + x)}
    if term.name == "torque_limit":
        return {names[0]: term.shape[0]}
    if term.name == "delay":
        return {names[0]: first.nominal + term.shape[0] * x}
    if term.name == "centre_of_mass":
        found = zip(suspect.numbers, numbers, strict=False)
        return {number.name: number.nominal + value for number, value in found}
    if term.name == "gravity_tilt":
        return {}
    if term.name == "cable":
        return dict(zip(names, (x, numbers[1] / max(x, 1e-9)), strict=True))
    if term.name == "stribeck":
        return dict(zip(names, (x, term.shape[0]), strict=True))
    if term.name == "hysteresis":
        return dict(zip(names, (x, x / term.shape[0]), strict=True))
    if term.name == "thermal_fade":
        seconds = max(s.time[-1] - s.time[0] for s in balance.stretches)
        return {names[0]: min(x, 0.9), names[1]: term.shape[0] * seconds}
    if term.name == "backlash":
        return {names[0]: term.shape[0] * x}
    if term.name == "flexibility":
        return {names[0]: 1 / max(x, 1e-9)}
    return {names[0]: first.nominal + x}


def _invert(number: Number, value: float) -> float:
    value = float(np.clip(value, number.lower, number.upper))
    if number.is_log:
        ratio = max(value, 1e-12) / number.nominal
        return float(np.clip(np.log(ratio) / number.scale, -40, 40))
    return (value - number.nominal) / number.scale
