"""Shifts beyond chance, said in words."""

from collections.abc import Sequence

import numpy as np

from realworthy.diagnosis.changes.estimates import MISFIT, Estimates
from realworthy.diagnosis.changes.families import ALL
from realworthy.diagnosis.changes.scatter import Family, Shift
from realworthy.diagnosis.changes.signs import OF_THE_LOG, SignKind
from realworthy.diagnosis.diagnosis import Change
from realworthy.parameters import Parameter
from realworthy.twins import Twin

_STRENGTH = ("torque_constant", "kp", "gear", "torque_limit")
_NEXT = {
    "mass": "Weigh what this body carries, or take it off and record again.",
    "damping": "Turn the joint by hand without power; look at bearing and grease.",
    "coulomb_friction": "Turn the joint by hand without power; look for what rubs.",
    "encoder_offset": "Move the joint to its mark, note what it reads, and zero it "
    "anew; or put the offset into the sidecar's mapping.",
    "delay": "Time the loop: bus, driver and control rate, before and now.",
    "rate": "Look at the logger's settings and the load of its computer.",
    "dropped_samples": "Look at the bus and the logger's disk; record again.",
    "stale_samples": "Look at the sensor's own rate and its driver; record again.",
}
_CHECK_MOTOR = "Look at this motor, its gears and its supply; measure its torque."
_SHAKES, _STILL = 2.0, 1.0
"""Sd by which vibration is up when a part is out of balance, and when none is."""


def say_parameter(
    shift: Shift, estimates: Estimates, twin: Twin, looked_at: int
) -> Change:
    """A number of the twin that moved."""
    name = shift.pattern.name
    if name == MISFIT:
        return _say_misfit(shift)
    parameter = estimates.space[name]
    old, new, low, high = estimates.in_units(name, shift.size, shift.interval)
    unit = "" if parameter.unit in ("1", "of the signal") else f" {parameter.unit}"
    what = "parts of recordings" if estimates.parts else "recordings"
    counts = len(shift.family.before), len(shift.family.now)
    said = (
        f"{name} fits as {old:.4g}{unit} in {counts[0]} {what} before and as "
        f"{new:.4g}{unit} in {counts[1]} now: {abs(shift.t):.1f} times what unchanged "
        f"ones scatter; {looked_at} numbers were looked at."
    )
    if shift.as_well:
        said += f" As well explained by {' or '.join(shift.as_well)}."
    if estimates.parts:
        said += " Scatter from day to day is unknown: record three times or more."
    cause = "encoder_offset" if parameter.kind == "sensor_bias" else parameter.kind
    weak = _CHECK_MOTOR if parameter.kind in _STRENGTH else ""
    return Change(
        name=cause,
        joints=_find_joints(twin, parameter),
        size=f"{_title(parameter, new > old)}: {new - old:+.3g}{unit} "
        f"({low - old:.3g} … {high - old:.3g})" + _percent(old, new),
        evidence=said,
        next_step=_NEXT.get(cause, weak),
        false_alarm_rate=shift.rate,
    )


def _title(parameter: Parameter, is_more: bool) -> str:
    if parameter.kind == "mass":
        return "payload" if is_more else "lighter"
    if parameter.kind in _STRENGTH:
        return "stronger motor" if is_more else "weak motor"
    if parameter.kind in ("damping", "coulomb_friction"):
        return "more friction, as wear or damage makes it" if is_more else "runs freer"
    if parameter.kind == "sensor_bias":
        return "new encoder zero"
    return "slower loop" if is_more else "faster loop"


def _percent(old: float, new: float) -> str:
    return f", {100 * (new / old - 1):+.0f} %" if abs(old) > 1e-6 else ""


def _say_misfit(shift: Shift) -> Change:
    factor, (low, high) = np.exp(shift.size), np.exp(shift.interval)
    return Change(
        name="unknown",
        joints=(),
        size=f"residuals × {factor:.2g} ({low:.2g} … {high:.2g})",
        evidence="The twin fits what is there now less well than what was there "
        "before, whatever numbers it is given: something is new that it lacks.",
        next_step="Run diagnose on the recordings from now alone.",
        false_alarm_rate=shift.rate,
    )


def _find_joints(twin: Twin, parameter: Parameter) -> tuple[str, ...]:
    """The joint that a number belongs to; for a body, the joints that carry it."""
    if parameter.element == "all":
        return ()
    element = parameter.element.removesuffix(".position")
    if parameter.kind != "mass":
        return (element,)
    model = twin.compiled.model
    body = model.body(element)
    first, count = int(body.jntadr[0]), int(body.jntnum[0])
    names = tuple(model.joint(first + i).name for i in range(count))
    return names or (element,)


def say_signs(shifts: Sequence[Shift], families: Sequence[Family]) -> list[Change]:
    """What moved without a model: one load, what shakes or sways, and the log."""
    kinds = {id(shift): _kind_of(shift) for shift in shifts}
    load = [s for s in shifts if kinds[id(s)] in (SignKind.EFFORT, SignKind.TRIM)]
    motion = [s for s in shifts if kinds[id(s)] in (SignKind.VIBRATION, SignKind.SWAY)]
    changes = [_say_load(load, motion, families)] if load else []
    if motion and not load:
        changes.append(_say_motion(motion))
    single = (*OF_THE_LOG, SignKind.BIAS, SignKind.DELAY)
    changes += [_say_log(s, kinds[id(s)]) for s in shifts if kinds[id(s)] in single]
    return changes


def _kind_of(shift: Shift) -> SignKind:
    return SignKind(shift.family.names[0].partition(":")[0])


def _element(name: str) -> str:
    return name.partition(":")[2]


def _say_load(
    load: Sequence[Shift], motion: Sequence[Shift], families: Sequence[Family]
) -> Change:
    efforts = [s for s in load if _kind_of(s) is SignKind.EFFORT]
    up = [s for s in efforts if s.size > 0 and s.pattern.name != ALL]
    named = up or [s for s in efforts if s.pattern.name != ALL]
    elements = [_element(shift.pattern.name) for shift in named]
    actuators = tuple(
        dict.fromkeys(
            name.removesuffix(".command")
            for name in elements
            if name.endswith(".command")  # an input such as thrust is no place
        )
    )
    shaking = find_shaking(families)
    damaged = shaking is not None and shaking[1] >= _SHAKES
    where = f" at {' and '.join(actuators)}" if actuators else ""
    near = f" near {' and '.join(actuators)}" if actuators else ""
    less = bool(efforts) and not up and all(s.size < 0 for s in efforts)
    if less:
        title = f"load taken off{near}"
    elif damaged:
        title = f"damaged part or weak motor{where}"
    else:
        title = f"payload{near}"
    sizes = [_say_size(shift) for shift in (named or load)]
    return Change(
        name=_name_load(damaged, bool(efforts)),
        joints=actuators,
        size=f"{title}: {', '.join(sizes)}",
        evidence=_say_evidence(load, motion, shaking),
        next_step=(
            "Look at this part for cuts, cracks and things stuck to it; swap it with "
            "another and record again: damage moves with it, a payload does not."
        ),
        false_alarm_rate=min(s.rate for s in (*load, *motion)),
    )


def _name_load(damaged: bool, has_effort: bool) -> str:
    if damaged:
        return "torque_constant"
    return "mass" if has_effort else "centre_of_mass"


def _say_size(shift: Shift) -> str:
    name, (low, high) = shift.pattern.name, shift.interval
    if _kind_of(shift) is SignKind.TRIM:
        return f"{_element(name)} {shift.size:+.3f} of thrust ({low:.3f} … {high:.3f})"
    who = "every actuator" if name == ALL else _element(name)
    size = shift.size
    if name != ALL:  # what a reader would find: this effort alone, not the pattern
        size, (low, high) = shift.plain(name)
    ends = [100 * np.expm1(x) for x in (size, low, high)]
    return f"{who} {ends[0]:+.1f} % ({ends[1]:.1f} … {ends[2]:.1f})"


def _say_evidence(
    load: Sequence[Shift],
    motion: Sequence[Shift],
    shaking: tuple[str, float, float] | None,
) -> str:
    family = load[0].family
    n, m = len(family.before), len(family.now)
    said = (
        f"{', '.join(_say_size(s) for s in load)} at comparable work, "
        f"{abs(load[0].t):.1f} times what {n} recordings before scatter ({m} now)."
    )
    said += "".join(
        f" {_element(s.pattern.name)} {_kind_of(s)} × {np.exp(s.size):.2g}."
        for s in motion
    )
    alike = " A payload and a weaker part look alike in commands;"
    if shaking is None:
        return f"{said}{alike} nothing recorded tells them apart."
    sensor, sd, factor = shaking
    told = f"{alike} vibration of {sensor} is × {factor:.2g} ({sd:+.1f} sd)"
    if sd >= _SHAKES:
        return f"{said}{told}, which speaks for a part out of balance."
    if sd <= _STILL:
        return (
            f"{said}{told}, which speaks for a payload; a motor that is weak but in "
            "balance remains possible."
        )
    return f"{said}{told}: both remain possible."


def find_shaking(families: Sequence[Family]) -> tuple[str, float, float] | None:
    """Sensor whose vibration rose most, by how many sd, and by what factor."""
    found = []
    for family in families:
        kind, _, sensor = family.names[0].partition(":")
        if kind == SignKind.VIBRATION:
            sd = float(np.sqrt(family.covariance()[0, 0]))
            rise = float(family.shift[0])
            found.append((sensor, rise / sd, float(np.exp(rise))))
    return max(found, key=lambda item: item[1], default=None)


def _say_motion(motion: Sequence[Shift]) -> Change:
    sizes = [
        f"{_element(s.pattern.name)} {_kind_of(s)} × {np.exp(s.size):.2g} "
        f"({np.exp(s.interval[0]):.2g} … {np.exp(s.interval[1]):.2g})"
        for s in motion
    ]
    shakes = any(_kind_of(s) is SignKind.VIBRATION for s in motion)
    return Change(
        name="unknown",
        joints=(),
        size=", ".join(sizes),
        evidence=f"{abs(motion[0].t):.1f} times what unchanged recordings scatter, "
        "with efforts as before.",
        next_step="Look for what is loose, bent or out of balance."
        if shakes
        else "Look for what hangs or slides, and for changed gains.",
        false_alarm_rate=min(s.rate for s in motion),
    )


def _say_log(shift: Shift, kind: SignKind) -> Change:
    old = float(shift.family.before.mean())
    new = old + shift.size
    low, high = (old + end for end in shift.interval)
    if kind is SignKind.RATE:
        old, new, low, high = (float(np.exp(x)) for x in (old, new, low, high))
        size = f"{old:.4g} Hz before, {new:.4g} Hz now ({low:.4g} … {high:.4g})"
    elif kind in OF_THE_LOG:
        size = f"{100 * old:.2g} % of rows before, {100 * new:.2g} % now"
    else:
        unit = "rad/s" if kind is SignKind.BIAS else "s"
        size = f"{shift.size:+.3g} {unit} ({low - old:.3g} … {high - old:.3g})"
    name = "sensor_bias" if kind is SignKind.BIAS else str(kind)
    element = _element(shift.pattern.name)
    return Change(
        name=name,
        joints=(element,) if element else (),
        size=size,
        evidence=f"{abs(shift.t):.1f} times what {len(shift.family.before)} recordings "
        "before scatter.",
        next_step=_NEXT.get(name, "Let it rest, note what it reads, and zero it."),
        false_alarm_rate=shift.rate,
    )
