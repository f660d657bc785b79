"""Which numbers of a twin can be dragged, and how far."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from realworthy.parameters import Parameter, ParameterSpace
from realworthy.twins import Twin
from realworthy.twins.space import ALL

SHOWN_COUNT = 12
"""Numbers that get a slider of their own; of more, one is chosen at a time."""
_ENDS = (0.001, 0.999)
"""Quantiles of the belief at which a slider ends."""
_DRAWS = 4096
_BEYOND = 4.0
"""Factor by which a slider is longer than the belief when it may go beyond."""
_OVERALL = (
    *("coulomb_friction", "damping", "mass", "kp", "kd", "torque_limit"),
    "armature",
)
"""Kinds that one factor can move on the whole robot, the most asked for first."""
_ORDER = ("coulomb_friction", "damping", "delay", "contact_friction", "mass")
"""Kinds whose sliders come first."""


@dataclass(frozen=True, slots=True)
class SliderRange:
    """One number of e with the range that its slider covers."""

    parameter: Parameter
    lower: float
    upper: float

    @property
    def name(self) -> str:
        return self.parameter.name

    @property
    def nominal(self) -> float:
        return self.parameter.nominal

    @property
    def step(self) -> float:
        """Between two places of its slider; a round number."""
        return 10.0 ** math.floor(math.log10((self.upper - self.lower) / 99))

    @property
    def label(self) -> str:
        """What it is, without the element that it is of."""
        words = self.parameter.kind.replace("_", " ")
        return f"{words} {self.parameter.component}".strip()

    def widened(self) -> "SliderRange":
        """The same beyond the belief, as far as its physics allows."""
        low, high = self.lower, self.upper
        if self.parameter.lower >= 0:
            low, high = low / _BEYOND, high * _BEYOND
        else:
            more = (_BEYOND - 1) / 2 * (high - low)
            low, high = low - more, high + more
        return _make(self.parameter, low, high)


@dataclass(frozen=True)
class SliderRanges:
    """Every number that can be dragged; e of the worlds is over `space`."""

    shown: tuple[SliderRange, ...]
    """Those with a slider of their own."""
    hidden: tuple[SliderRange, ...]
    """Those that share one slider."""

    @cached_property
    def space(self) -> ParameterSpace:
        return ParameterSpace(knob.parameter for knob in (*self.shown, *self.hidden))

    def __getitem__(self, name: str) -> SliderRange:
        return {knob.name: knob for knob in (*self.shown, *self.hidden)}[name]


def choose_slider_ranges(twin: Twin) -> SliderRanges:
    """The numbers of the twin's belief, and the delay of its commands.

    Where they are many, factors for the whole robot come first: all masses, all
    frictions. A slider covers 99.8 % of the belief; a delay goes as far as the twin
    can carry one.
    """
    belief = twin.belief
    draws = belief.sample(_DRAWS, seed=0)
    lows, highs = np.quantile(draws, _ENDS, axis=0)
    single = [
        _make(parameter, float(low), float(high))
        for parameter, low, high in zip(belief.space, lows, highs, strict=True)
    ]
    delay = f"{ALL}.delay"
    has_delay = any(knob.parameter.kind == "delay" for knob in single)
    if delay in twin.space and not has_delay:
        single.append(_make(twin.space[delay], 0.0, 0.0))
    single.sort(key=_rank)
    if len(single) <= SHOWN_COUNT:
        return SliderRanges(tuple(single), ())
    overall = [_overall(twin, kind, single) for kind in _OVERALL]
    of_all = [knob for knob in single if knob.parameter.element == ALL]
    factors = [knob for knob in overall if knob is not None]
    kinds = [knob.parameter.kind for knob in single]
    lone = [k for k in single if kinds.count(k.parameter.kind) == 1 and k not in of_all]
    shown = [*factors, *of_all, *lone][:SHOWN_COUNT]
    return SliderRanges(tuple(shown), tuple(k for k in single if k not in shown))


def _rank(knob: SliderRange) -> int:
    kind = knob.parameter.kind
    if kind == "centre_of_mass":
        return len(_ORDER) + 1
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def _make(parameter: Parameter, low: float, high: float) -> SliderRange:
    """A knob that holds the nominal, has some length and stays within the bounds."""
    if parameter.kind == "delay" and math.isfinite(parameter.upper):
        low, high = parameter.lower, parameter.upper
    low, high = min(low, parameter.nominal), max(high, parameter.nominal)
    if math.isclose(low, high, abs_tol=1e-12):
        some = 0.5 * abs(low) or 0.1
        low, high = low - some, high + some
    low, high = _round_out(low, high)
    return SliderRange(parameter, max(low, parameter.lower), min(high, parameter.upper))


def _round_out(low: float, high: float) -> tuple[float, float]:
    """A little wider, with few digits: for people."""
    unit = 10.0 ** math.floor(math.log10((high - low) / 20))
    digits = max(0, round(-math.log10(unit)))
    ends = math.floor(low / unit + 1e-9) * unit, math.ceil(high / unit - 1e-9) * unit
    return round(ends[0], digits), round(ends[1], digits)


def _overall(twin: Twin, kind: str, single: list[SliderRange]) -> SliderRange | None:
    """A factor on the whole robot, as wide as the widest belief of one element."""
    name = f"{ALL}.{kind}"
    of_kind = [
        knob for knob in single if knob.parameter.kind == kind and knob.nominal > 0
    ]
    if name not in twin.space or len(of_kind) < 2:
        return None
    low = min(knob.lower / knob.nominal for knob in of_kind)
    high = max(knob.upper / knob.nominal for knob in of_kind)
    factor = twin.space[name]
    return _make(factor, low * factor.nominal, high * factor.nominal)
