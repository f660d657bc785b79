"""Settings of an experiment that suit a joint: within its limits, where it stands."""

from realworthy.identification.experiments.delay import DelaySettings
from realworthy.identification.experiments.friction_curve import FrictionCurveSettings
from realworthy.identification.experiments.inertia import InertiaSettings
from realworthy.robots import Limits
from realworthy.simulators.inverse_dynamics import find_joint_inertia
from realworthy.twins import Twin

_ROOM = 0.9
"""Share of a joint's range that an experiment may use, around its middle; the guards
brake at the ends, and a step overshoots."""
_SPEED_SHARE = 0.8
"""Of the largest speed, for the fastest ramp."""
_MAX_SPEED = 1.0
"""[rad/s] that a pulse may make of a joint at most: it then swings by 0.08 rad."""
_PULSE_SPEED_SHARE = 0.25
"""Of the largest speed, that a pulse may make of a joint."""
_TORQUE_SHARE = 0.5
"""Of the largest torque, for the strongest pulse."""


def propose_friction(
    limits: Limits,
    joint: str,
    at: float,
    *,
    centre: float | None = None,
    span: float | None = None,
    speeds: tuple[float, ...] = (),
) -> FrictionCurveSettings:
    """Ramps around where the joint stands, as far as they fit; arguments win."""
    settings, own = FrictionCurveSettings(), limits.select([joint])
    low, high = _find_room(own)
    settings.span = min(settings.span, high - low) if span is None else span
    settings.centre = _place(at, low, high, settings.span / 2, centre)
    most = _SPEED_SHARE * float(own.speed[0])
    settings.speeds = speeds or tuple(v for v in settings.speeds if v <= most)
    return settings


def propose_delay(
    limits: Limits,
    joint: str,
    at: float,
    *,
    centre: float | None = None,
    sizes: tuple[float, ...] = (),
    repeats: int | None = None,
) -> DelaySettings:
    """Steps around where the joint stands, as large as they fit; arguments win."""
    settings = DelaySettings()
    low, high = _find_room(limits.select([joint]))
    share = min(1.0, (high - low) / 2 / max(settings.sizes))
    settings.sizes = sizes or tuple(share * size for size in settings.sizes)
    settings.repeats = settings.repeats if repeats is None else repeats
    settings.centre = _place(at, low, high, max(settings.sizes), centre)
    return settings


def propose_position(
    limits: Limits, joint: str, at: float, reach: float, centre: float | None = None
) -> float:
    """Where a joint is held [rad], `reach` away from its ends at least."""
    low, high = _find_room(limits.select([joint]))
    return _place(at, low, high, reach, centre)


def propose_inertia(
    twin: Twin,
    limits: Limits,
    joint: str,
    *,
    torques: tuple[float, ...] = (),
    hold: float | None = None,
    repeats: int | None = None,
) -> InertiaSettings:
    """Pulses that make the twin's joint fast enough to be seen, and no faster.

    τ = I v / pulse + friction, for v of 1 rad/s, or a quarter of the largest speed.
    """
    settings, own = InertiaSettings(), limits.select([joint])
    name = f"{joint}.coulomb_friction"
    friction = twin.space[name].nominal if name in twin.space else 0.0
    speed = min(_MAX_SPEED, _PULSE_SPEED_SHARE * float(own.speed[0]))
    inertia = find_joint_inertia(twin, joint)
    torque = inertia * speed / settings.pulse + friction
    torque = min(torque, _TORQUE_SHARE * float(own.torque[0]))
    settings.torques = torques or (0.6 * torque, torque)
    settings.hold = settings.hold if hold is None else hold
    settings.repeats = settings.repeats if repeats is None else repeats
    return settings


def _find_room(own: Limits) -> tuple[float, float]:
    """The part of the range of one joint that an experiment uses."""
    low, high = float(own.lower[0]), float(own.upper[0])
    cut = (1 - _ROOM) / 2 * (high - low)
    return low + cut, high - cut


def _place(
    at: float, low: float, high: float, reach: float, centre: float | None
) -> float:
    """The centre that was asked for, or where the joint stands, moved to fit."""
    if centre is not None:
        return centre
    return min(max(at, low + reach), max(high - reach, low + reach))
