"""What one batch of episodes recorded, and what it cost: power, heat, action rate.

Plain arrays: no simulator, no task, no policy. Steps run along the second axis; a world
that ended early keeps what stands behind its `length`, and nobody looks at it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """One episode of each world. Joint signals in rad or m, N·m or N, per second.

    A limit is (joints,), the same everywhere, or (worlds, joints); infinite where a
    joint has none.
    """

    period_s: float
    """Of control: one step."""
    length: Ints
    """(worlds,) Steps that count; what follows them is ignored."""
    action: Floats
    """(worlds, steps, actions) As used, after every clip and filter; −1 … 1."""
    position: Floats
    """(worlds, steps, joints) [rad or m]."""
    velocity: Floats
    """(worlds, steps, joints) [rad/s or m/s]."""
    torque: Floats
    """(worlds, steps, joints) At the joint [N·m or N]."""
    lower: Floats
    """Least position of each joint [rad or m]."""
    upper: Floats
    """Greatest position of each joint [rad or m]."""
    velocity_limit: Floats
    """Greatest speed of each joint [rad/s or m/s]."""
    torque_limit: Floats
    """Greatest torque of each joint [N·m or N]."""
    failure: Ints
    """(worlds,) The task's own `Failure` code; zero where it saw none."""
    failure_step: Ints
    """(worlds,) When it saw it; −1 where it saw none."""
    success: Bools
    """(worlds,) Whether the task counts the episode as done."""
    margin: Floats | None = None
    """(worlds, steps) How far the task is from being lost, in a unit of its own:
    positive is fine, zero and less is lost."""
    tilt: Floats | None = None
    """(worlds, steps) Angle of the base's up axis from the vertical [rad]."""
    is_guarded: Bools | None = None
    """(worlds, steps) Where the command filter or a watchdog changed what was asked."""

    def __post_init__(self) -> None:
        worlds, steps = self._count()
        joints = self.position.shape[-1]
        expected = {
            "action": (worlds, steps, self.action.shape[-1]),
            "position": (worlds, steps, joints),
            "velocity": (worlds, steps, joints),
            "torque": (worlds, steps, joints),
            "failure": (worlds,),
            "failure_step": (worlds,),
            "success": (worlds,),
            "margin": (worlds, steps),
            "tilt": (worlds, steps),
            "is_guarded": (worlds, steps),
        }
        for name, shape in expected.items():
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise RealworthyError(
                    f"A trace's {name} has shape {array.shape}; expected {shape}."
                )
        for name in ("lower", "upper", "velocity_limit", "torque_limit"):
            shape = getattr(self, name).shape
            if shape not in ((joints,), (worlds, joints)):
                raise RealworthyError(
                    f"A trace's {name} has shape {shape}; expected {(joints,)} or "
                    f"{(worlds, joints)}."
                )

    @property
    def world_count(self) -> int:
        return len(self.length)

    @property
    def step_count(self) -> int:
        """Of the longest episode that there is room for."""
        return self.action.shape[1]

    @property
    def is_valid(self) -> Bools:
        """(worlds, steps) Whether a step counts."""
        return np.arange(self.step_count) < self.length[:, None]

    def _count(self) -> tuple[int, int]:
        if self.action.ndim != 3 or self.period_s <= 0:
            raise RealworthyError(
                f"A trace needs actions (worlds, steps, actions) and a period above "
                f"zero; got {self.action.shape} and {self.period_s:g} s."
            )
        worlds, steps = self.action.shape[:2]
        lengths = np.asarray(self.length)
        is_whole = lengths.shape == (worlds,)
        if not is_whole or np.any(lengths < 0) or np.any(lengths > steps):
            raise RealworthyError(
                f"A trace's length must be one of 0 … {steps} for each of {worlds} "
                "worlds."
            )
        return worlds, steps


def spread_limit(limit: Floats) -> Floats:
    """(1 or worlds, 1, joints) of a limit, to stand beside joint signals."""
    return np.atleast_2d(limit)[:, None, :]


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
