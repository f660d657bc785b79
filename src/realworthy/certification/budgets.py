"""What an episode spends: power, heat, change of actions.

Pure functions of a `Trace`, over valid steps only.
"""

import numpy as np

from realworthy.certification.trace import Floats, Trace

_QUIET = np.errstate(over="ignore", invalid="ignore")
"""A world that diverged has budgets that are no numbers; the others' are right."""


@_QUIET
def compute_power(trace: Trace) -> tuple[Floats, Floats]:
    """(worlds,) Mean and peak of mechanical power Σ |torque · velocity| [W].

    Braking counts like driving: small drives return nothing to the battery.
    """
    power = np.abs(trace.torque * trace.velocity).sum(axis=-1)
    peak = np.where(trace.is_valid, power, 0.0).max(axis=1)
    return _average(trace, power), peak


@_QUIET
def compute_heat(trace: Trace, *, time_constant_s: float) -> Floats:
    """(worlds, joints) Torque whose steady heat equals the hottest moment [N·m or N].

    Winding heat goes with torque², warmth follows it with one thermal time constant;
    so the result may be compared with a motor's continuous torque. It begins cold: an
    episode much shorter than the time constant proves little.
    """
    from scipy.signal import lfilter

    kept = np.exp(-trace.period_s / time_constant_s)
    heating = np.where(trace.is_valid[..., None], trace.torque**2, 0.0)
    warmth = lfilter([1 - kept], [1, -kept], heating, axis=1)
    return np.sqrt(np.asarray(warmth).max(axis=1))


@_QUIET
def compute_action_rate(trace: Trace) -> Floats:
    """(worlds,) Root mean square of the actions' change [1/s]; 2/s is the whole range
    in one second. NaN of fewer than two steps."""
    change = np.diff(trace.action, axis=1) / trace.period_s
    return np.sqrt(_average(trace, (change**2).mean(axis=-1), skipped=1))


def _average(trace: Trace, values: Floats, *, skipped: int = 0) -> Floats:
    """Mean over valid steps of (worlds, steps − skipped, …); NaN of none."""
    is_valid = trace.is_valid[:, skipped:]
    is_valid = is_valid.reshape(*is_valid.shape, *[1] * (values.ndim - 2))
    count = is_valid.sum(axis=1)
    total = np.where(is_valid, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
