"""A task seen in a mirror: which value takes which one's place, and with what sign."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.parameters import ParameterSpace
from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Goal, Gravity, Linear, Term, Turn

Swap = tuple[str, float]
"""Name of what takes a value's place, and the factor it is multiplied with."""
_SIDEWAYS = ("centre_of_mass.y", "gravity_tilt.x", "push.y")
_SIGNED = tuple(f"{kind}.sensor_bias" for kind in ("position", "velocity", "torque"))
"""Numbers of e that have the sign of their joint."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reflection:
    """Left and right of a robot exchanged; what is not named stays."""

    joints: Mapping[str, Swap]
    """Joint → its partner and the sign of angles; holds for commands as well."""
    signals: Mapping[str, Swap] = field(default_factory=dict)
    """Other signals and inputs, such as `base.gyro.x` → itself, −1."""
    bodies: Mapping[str, str] = field(default_factory=dict)
    """Body or shape → its partner, for numbers of e."""
    sideways: tuple[str, ...] = _SIDEWAYS
    """Components of e that change sign; those of y, where y is to the left."""
    privileged: tuple[tuple[int, float], ...] = ()
    """For each place of the privileged observation: place and factor."""


class Mirrors:
    """Observations and actions of a task, reflected; (index, factor) for each group."""

    def __init__(
        self,
        reflection: Reflection | None,
        *,
        terms: Sequence[Term],
        action: ActionMap,
        space: ParameterSpace,
        device: torch.device,
    ) -> None:
        self.count = 1 if reflection is None else 2
        if reflection is None:
            return
        swaps = _list_swaps(reflection, action)
        instant = [_reflect(term, swaps) for term in terms]
        stacked = [
            pairs
            for term, pairs in zip(terms, instant, strict=True)
            for pairs in [_repeat(pairs, term.history)]
        ]
        rest = [(0, 1.0)]  # the time that is left
        e = _reflect_e(reflection, space)
        critic = _join([*instant, rest, e, list(reflection.privileged)])
        names = action.names
        moved = [(names.index(swaps[n][0]), swaps[n][1]) for n in names]
        self._maps = {
            "actor": _place(_join(stacked), device),
            "critic": _place(critic, device),
            "action": _place(moved, device),
        }

    def mirror(self, group: str, x: Tensor) -> Tensor:
        """(…, width) of `actor`, `critic` or `action`, seen in the mirror."""
        if self.count == 1:
            raise RealworthyError("This task has no symmetry.")
        index, factor = self._maps[group]
        return x[..., index] * factor


Pairs = list[tuple[int, float]]


def _list_swaps(reflection: Reflection, action: ActionMap) -> dict[str, Swap]:
    swaps = dict(reflection.signals)
    for joint, (partner, factor) in reflection.joints.items():
        for kind in ("position", "velocity", "torque", "command", "command.action"):
            swaps[f"{joint}.{kind}"] = (f"{partner}.{kind}", factor)
    for name in action.names:
        swaps.setdefault(name, (name, 1.0))
    return swaps


def _reflect(term: Term, swaps: Mapping[str, Swap]) -> Pairs:
    if isinstance(term, Gravity):
        return [(0, 1.0), (1, -1.0), (2, 1.0)]
    if isinstance(term, Goal):
        return [(0, 1.0), (1, -1.0), (2, -1.0), (3, 1.0)][: term.width]
    pairs = []
    for i, name in enumerate(term.signals):
        partner, factor = swaps.get(name, (name, 1.0))
        if partner not in term.signals:
            raise RealworthyError(
                f"Term '{term.name}' has '{name}' but not its mirror '{partner}'."
            )
        place = term.signals.index(partner)
        if isinstance(term, Linear) and not _is_even(term, i, place, factor):
            raise RealworthyError(
                f"Term '{term.name}': offset or scale of '{name}' and '{partner}' are "
                "no mirror images."
            )
        pairs.append((place, factor))
    if isinstance(term, Turn):
        width = len(term.signals)
        return [*pairs, *((width + place, 1.0) for place, _ in pairs)]
    return pairs


def _is_even(term: Linear, i: int, place: int, factor: float) -> bool:
    offset = term.offset or (0.0,) * term.width
    scale = term.scale if len(term.scale) > 1 else (1.0,) * term.width
    is_placed = abs(offset[i] - factor * offset[place]) < 1e-9
    return is_placed and abs(scale[i] - scale[place]) < 1e-9


def _reflect_e(reflection: Reflection, space: ParameterSpace) -> Pairs:
    partners = dict(reflection.bodies)
    partners |= {joint: partner for joint, (partner, _) in reflection.joints.items()}
    pairs = []
    for i, name in enumerate(space.names):
        element, _, rest = name.partition(".")
        other = f"{partners.get(element, element)}.{rest}"
        place = space.names.index(other) if other in space.names else i
        factor = -1.0 if rest in reflection.sideways else 1.0
        if rest in _SIGNED and element in reflection.joints:
            factor = reflection.joints[element][1]
        pairs.append((place, factor))
    return pairs


def _repeat(pairs: Pairs, count: int) -> Pairs:
    return _join([pairs] * count)


def _join(parts: Sequence[Pairs]) -> Pairs:
    joined: Pairs = []
    for pairs in parts:
        first = len(joined)
        joined += [(first + place, factor) for place, factor in pairs]
    return joined


def _place(pairs: Pairs, device: torch.device) -> tuple[Tensor, Tensor]:
    index = torch.tensor([place for place, _ in pairs], device=device)
    factor = torch.tensor([factor for _, factor in pairs], device=device)
    return index, factor
