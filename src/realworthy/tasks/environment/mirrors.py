"""A task seen in a mirror: which value takes which one's place, and with what sign.

What is mirrored is the robot, about whose encoders all that is known is their mean
offset: b for a joint that is at 0. Seen in the mirror it is still this robot, so where
its partner's encoder reads m, its own reads b + sign · (m − partner's b), and so do the
position commands that a servo compares with its encoder.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.parameters import ParameterSpace
from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Goal, Gravity, Linear, SineCosine, Term

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


class _Image(NamedTuple):
    """One number in the mirror: factor · x[place] + share · x[other] + shift."""

    place: int
    factor: float
    shift: float = 0.0
    other: int = 0
    share: float = 0.0


Images = list[_Image]


class Mirrors:
    """Observations and actions of a task, reflected.

    `zeros` are what signals read, and what actions are, where the robot is at zero and
    does nothing; 0 where it is not said.
    """

    def __init__(
        self,
        reflection: Reflection | None,
        *,
        terms: Sequence[Term],
        action: ActionMap,
        space: ParameterSpace,
        device: torch.device,
        zeros: Mapping[str, float] | None = None,
    ) -> None:
        self.count = 1 if reflection is None else 2
        if reflection is None:
            return
        measured = zeros or {}
        known = {name: measured.get(name, 0.0) for name in action.names}
        swaps = _list_swaps(reflection, action)
        seen = [_repeat(_reflect(t, swaps, measured), t.history) for t in terms]
        true = [_reflect(t, swaps, known) for t in terms]
        rest = [_Image(0, 1.0)]  # the time that is left
        e = _reflect_e(reflection, space)
        privileged = [_Image(*pair) for pair in reflection.privileged]
        names = action.names
        moved = [_reflect_signal(name, names, swaps, known) for name in names]
        self._maps = {
            "policy": _Map(_join(seen), device),
            "truth": _Map(_join([*true, rest]), device),
            "e": _Map(e, device),
            "privileged": _Map(privileged, device),
            "action": _Map(moved, device),
        }

    def mirror(self, group: str, x: Tensor) -> Tensor:
        """(…, width) of `action` or a group of observations, seen in the mirror."""
        if self.count == 1:
            raise RealworthyError("This task has no symmetry.")
        return self._maps[group](x)


class _Map:
    """Every number of a group."""

    def __init__(self, images: Images, device: torch.device) -> None:
        columns = zip(*images, strict=True) if images else ((),) * 5
        place, factor, shift, other, share = (
            torch.tensor(column, device=device) for column in columns
        )
        self._place, self._factor = place.long(), factor
        self._shift = shift if bool(shift.any()) else None
        self._other = (other.long(), share) if bool(share.any()) else None

    def __call__(self, x: Tensor) -> Tensor:
        y = x[..., self._place] * self._factor
        if self._other is not None:
            other, share = self._other
            y = y + x[..., other] * share
        return y if self._shift is None else y + self._shift


def _list_swaps(reflection: Reflection, action: ActionMap) -> dict[str, Swap]:
    swaps = dict(reflection.signals)
    for joint, (partner, factor) in reflection.joints.items():
        for kind in ("position", "velocity", "torque", "command", "command.action"):
            swaps[f"{joint}.{kind}"] = (f"{partner}.{kind}", factor)
    for name in action.names:
        swaps.setdefault(name, (name, 1.0))
    return swaps


def _reflect(
    term: Term, swaps: Mapping[str, Swap], zeros: Mapping[str, float]
) -> Images:
    if isinstance(term, Gravity):
        return [_Image(i, sign) for i, sign in enumerate((1.0, -1.0, 1.0))]
    if isinstance(term, Goal):
        signs = (1.0, -1.0, -1.0, 1.0)[: term.width]
        return [_Image(i, sign) for i, sign in enumerate(signs)]
    images = []
    for i, name in enumerate(term.signals):
        if swaps.get(name, (name, 1.0))[0] not in term.signals:
            raise RealworthyError(
                f"Term '{term.name}' has '{name}' but not its mirror "
                f"'{swaps[name][0]}'."
            )
        image = _reflect_signal(name, term.signals, swaps, zeros)
        if isinstance(term, Linear):
            if not _is_even(term, i, image.place, image.factor):
                raise RealworthyError(
                    f"Term '{term.name}': offset or scale of '{name}' and "
                    f"'{term.signals[image.place]}' are no mirror images."
                )
            image = image._replace(shift=image.shift * _list_scales(term)[i])
        images.append(image)
    return _turn(images) if isinstance(term, SineCosine) else images


def _reflect_signal(
    name: str,
    names: Sequence[str],
    swaps: Mapping[str, Swap],
    zeros: Mapping[str, float],
) -> _Image:
    """What takes the place of a signal, among `names`."""
    partner, factor = swaps.get(name, (name, 1.0))
    shift = zeros.get(name, 0.0) - factor * zeros.get(partner, 0.0)
    return _Image(names.index(partner), factor, shift)


def _turn(images: Images) -> Images:
    """Sines, then cosines, of angles: those of factor · angle + shift."""
    width = len(images)
    sines, cosines = [], []
    for place, factor, shift, *_ in images:
        sine, cosine = math.sin(shift), math.cos(shift)
        sines.append(_Image(place, factor * cosine, 0.0, width + place, sine))
        cosines.append(_Image(width + place, cosine, 0.0, place, -factor * sine))
    return [*sines, *cosines]


def _is_even(term: Linear, i: int, place: int, factor: float) -> bool:
    offset = term.offset or (0.0,) * term.width
    scale = _list_scales(term)
    is_placed = abs(offset[i] - factor * offset[place]) < 1e-9
    return is_placed and abs(scale[i] - scale[place]) < 1e-9


def _list_scales(term: Linear) -> tuple[float, ...]:
    """One for each signal."""
    if len(term.scale) == term.width:
        return term.scale
    return (term.scale or (1.0,)) * term.width


def _reflect_e(reflection: Reflection, space: ParameterSpace) -> Images:
    partners = dict(reflection.bodies)
    partners |= {joint: partner for joint, (partner, _) in reflection.joints.items()}
    images = []
    for i, name in enumerate(space.names):
        element, _, rest = name.partition(".")
        other = f"{partners.get(element, element)}.{rest}"
        place = space.names.index(other) if other in space.names else i
        factor = -1.0 if rest in reflection.sideways else 1.0
        if rest in _SIGNED and element in reflection.joints:
            factor = reflection.joints[element][1]
        images.append(_Image(place, factor))
    return images


def _repeat(images: Images, count: int) -> Images:
    return _join([images] * count)


def _join(parts: Sequence[Images]) -> Images:
    joined: Images = []
    for images in parts:
        first = len(joined)
        joined += [
            image._replace(place=first + image.place, other=first + image.other)
            for image in images
        ]
    return joined
