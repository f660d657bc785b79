"""Published ranges, or a calibrated belief, as the randomization of a twin."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.parameters import (
    Belief,
    Categorical,
    Fixed,
    GaussianBelief,
    IndependentBelief,
    LogUniform,
    Marginal,
    Operation,
    Parameter,
    SampleBelief,
    Transform,
    TruncatedNormal,
    Uniform,
)
from realworthy.parameters.published_tables import PublishedTable, Row, Whose
from realworthy.tasks.randomization.randomization import Pushes, Randomization
from realworthy.twins import Twin
from realworthy.twins.space import ALL
from realworthy.twins.writers.joints import single_joints

Floats = NDArray[np.float64]
_LOG_UNIFORM_RATIO = 2.0
"""Ratio of its ends beyond which a factor is drawn log-uniformly."""
_FROM_ZERO = 2.0
"""Standard deviations from zero up to which a number may as well be zero."""


@dataclass(frozen=True, slots=True)
class Tabled:
    """A table on one twin."""

    randomization: Randomization
    left_out: tuple[str, ...]
    """A sentence for every row, or part of one, that the twin could not take."""


def apply_table(table: PublishedTable, twin: Twin, *, period: float = 0.02) -> Tabled:
    """Draws the twin's numbers from a published table's ranges.

    Factors that span more than 2× are log-uniform, so that 1/4 and 4 are equally
    likely; everything else is uniform. `period` [s] is the control step of rows that
    count in steps. Ranges are cut where a twin's parameter ends.
    """
    marginals: dict[str, Marginal] = {}
    left_out: list[str] = []
    parts = _Parts(twin)
    for row in table.rows:
        found = [p for p in twin.space.of_kind(row.kind) if parts.has(row, p.element)]
        if not found:
            why = f"twin '{twin.name}' has no {row.kind} {row.whose.value}."
            left_out.append(f"{row.text}: {why}")
        for parameter in found:
            marginal, problem = _spread(row, parameter, period)
            if rival := _find_rival(parameter, [twin.space[n] for n in marginals]):
                marginal, problem = None, f"is already moved by '{rival.name}'"
            if marginal is not None:
                marginals[parameter.name] = marginal
            if problem:
                left_out.append(f"{row.text}: '{parameter.name}' {problem}.")
    space = twin.space.select(list(marginals))
    pushes = None
    if table.push_speed:
        pushes = Pushes(speed=table.push_speed, every=table.push_every)
    belief = IndependentBelief(space, marginals) if marginals else None
    randomization = Randomization(belief=belief, pushes=pushes)
    return Tabled(randomization, tuple(left_out))


def from_belief(
    twin: Twin, *, inflate: float = 2.5, floor: float = 0.02, ceiling: float = 0.5
) -> Randomization:
    """Draws from what a calibration left, made wider: it knows only what it saw.

    Standard deviations are multiplied by `inflate` and are `floor` of the middle value
    at least and `ceiling` of it at most: what recordings cannot tell stays as wide as
    published tables are, not wider. Correlations stay as far as these allow. A delay
    or an offset that may as well be zero has no size to be a share of: it has neither.
    """
    if twin.belief_text is None:
        raise RealworthyError(
            f"Twin '{twin.name}' was not calibrated: its belief is a guess, and a wider"
            " guess is no better.",
            hint="Calibrate it, or use apply_table, or Randomization(belief=twin.belief"
            ").",
        )
    wider = widen(twin.belief, inflate=inflate, floor=floor, ceiling=ceiling)
    return Randomization(belief=wider)


def widen(
    belief: Belief, *, inflate: float, floor: float, ceiling: float = math.inf
) -> Belief:
    """A belief with standard deviations `inflate` times as large, at least `floor`.

    `ceiling` holds for Gaussian beliefs: the others are as wide as somebody said.
    """
    if isinstance(belief, SampleBelief):
        belief = belief.to_gaussian()
    if isinstance(belief, GaussianBelief):
        return _widen_gaussian(belief, inflate, floor, ceiling)
    if isinstance(belief, IndependentBelief):
        wider = {
            name: _widen_marginal(marginal, belief.space[name], inflate, floor)
            for name, marginal in belief.marginals.items()
        }
        return IndependentBelief(belief.space, wider)
    raise RealworthyError(f"A {type(belief).__name__} cannot be made wider.")


class _Parts:
    """Which elements of a twin are its base, its joints, or no part of the robot."""

    def __init__(self, twin: Twin) -> None:
        self.base = None if twin.base is None else twin.base.body
        self.objects = twin.objects
        self.joints = single_joints(twin.compiled)

    def has(self, row: Row, element: str) -> bool:
        """Whether a row is about an element."""
        match row.whose:
            case Whose.ALL:
                return element == ALL
            case Whose.BASE:
                return element == self.base
            case Whose.OBJECTS:
                return element in self.objects
            case Whose.JOINTS:
                return element in {f"{joint}{row.sensor}" for joint in self.joints}
            case Whose.EACH:
                is_own = element not in {ALL, *self.objects}
                return is_own and element.endswith(row.sensor)


def _find_rival(parameter: Parameter, taken: Sequence[Parameter]) -> Parameter | None:
    """A parameter that sets the same number as another one."""
    for other in taken:
        if (
            (other.kind, other.component) == (parameter.kind, parameter.component)
            and {*other.binding.elements} & {*parameter.binding.elements}
            and other.binding.operation is parameter.binding.operation
        ):
            return other
    return None


def _spread(
    row: Row, parameter: Parameter, period: float
) -> tuple[Marginal | None, str]:
    """What a row says of one parameter, and what of it could not be taken."""
    ends, nominal = (row.lower, row.upper), parameter.nominal
    is_factor = parameter.binding.operation is Operation.SCALE
    if is_factor and row.operation is not Operation.SCALE:
        return None, "is a factor, the row is of values"
    if row.operation is Operation.SCALE:
        if nominal == 0:
            return None, "is zero, and so is every multiple of it"
        ends = tuple(sorted((nominal * row.lower, nominal * row.upper)))
    elif row.operation is Operation.ADD:
        ends = (nominal + row.lower, nominal + row.upper)
    elif row.in_steps:
        return _spread_steps(row, parameter, period)
    lower, upper = max(ends[0], parameter.lower), min(ends[1], parameter.upper)
    if lower > upper:
        return None, f"lies within [{parameter.lower:g}, {parameter.upper:g}]"
    problem = ""
    if (lower, upper) != ends:
        problem = f"is cut to [{lower:g}, {upper:g}]"
    if lower == upper:
        return Fixed(lower), problem
    is_wide = (
        row.operation is Operation.SCALE
        and lower > 0
        and upper > _LOG_UNIFORM_RATIO * lower
    )
    return (LogUniform if is_wide else Uniform)(lower, upper), problem


def _spread_steps(
    row: Row, parameter: Parameter, period: float
) -> tuple[Marginal | None, str]:
    steps = range(round(row.lower), round(row.upper) + 1)
    values = [step * period for step in steps]
    kept = tuple(v for v in values if parameter.lower <= v <= parameter.upper)
    problem = "" if len(kept) == len(values) else f"ends at {parameter.upper:g} s"
    return (Categorical(kept) if kept else None), problem


def _widen_gaussian(
    belief: GaussianBelief, inflate: float, floor: float, ceiling: float
) -> GaussianBelief:
    covariance = inflate**2 * belief.covariance_z
    centre = belief.space.from_z(belief.mean_z)
    slope = np.exp(
        [float(p.log_slope(e)) for p, e in zip(belief.space, centre, strict=True)]
    )
    size = (np.abs(centre) * slope) ** 2
    has_zero = np.array([p.transform is Transform.IDENTITY for p in belief.space])
    size[has_zero & (size < _FROM_ZERO**2 * np.diag(belief.covariance_z))] = 0.0
    short = np.maximum(floor**2 * size - np.diag(covariance), 0.0)
    covariance = covariance + np.diag(short)
    if np.isfinite(ceiling):
        covariance = _hold_in(covariance, ceiling**2 * size)
    return GaussianBelief(belief.space, belief.mean_z, covariance)


def _hold_in(covariance: Floats, most: Floats) -> Floats:
    """No variance above `most` (0: any); what is known of sums and ratios stays.

    Each wide direction is met by an independent guess of that width, as a product of
    two Gaussians; widths well below are hardly changed.
    """
    if not (np.diag(covariance) > most)[most > 0].any():
        return covariance
    precise = np.where(most > 0, 1 / np.where(most > 0, most, 1.0), 0.0)
    # (C⁻¹ + D)⁻¹ = L (I + Lᵀ D L)⁻¹ Lᵀ with C = L Lᵀ, which may be nearly singular
    root = np.linalg.cholesky(covariance)
    inner = np.eye(len(root)) + root.T @ (precise[:, None] * root)
    half = np.linalg.solve(np.linalg.cholesky(inner), root.T)
    return half.T @ half


def _widen_marginal(
    marginal: Marginal, parameter: Parameter, inflate: float, floor: float
) -> Marginal:
    if isinstance(marginal, Categorical):
        return marginal
    if isinstance(marginal, Uniform):
        centre = (marginal.lower + marginal.upper) / 2
        half = inflate * (marginal.upper - marginal.lower) / 2
        half = max(half, math.sqrt(3) * floor * abs(centre))
        return Uniform(
            max(centre - half, parameter.lower), min(centre + half, parameter.upper)
        )
    if isinstance(marginal, LogUniform):
        centre = math.sqrt(marginal.lower * marginal.upper)
        ratio = max((marginal.upper / centre) ** inflate, 1 + math.sqrt(3) * floor)
        return LogUniform(
            max(centre / ratio, parameter.lower), min(centre * ratio, parameter.upper)
        )
    if isinstance(marginal, Fixed):
        mean, sd = marginal.value, floor * abs(marginal.value)
    else:
        mean, sd = marginal.mean, max(inflate * marginal.sd, floor * abs(marginal.mean))
    if sd == 0:
        return marginal
    return TruncatedNormal(mean, sd, parameter.lower, parameter.upper)
