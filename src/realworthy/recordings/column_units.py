"""Units of foreign columns by name: `deg`, `rpm`, `ms`, `ticks/4096`, `mA`.

A unit is one of `UNITS`, or `ticks/N` for an encoder of N steps in a turn; `/s` after
an angle, a length or ticks makes it a speed. Currents become torques by a constant of
the motor: torque = constant · current.
"""

import math
import re

from realworthy.errors import BadRecording, UnknownName

_TURN = 2 * math.pi
UNITS: dict[str, tuple[str, float]] = {
    "rad": ("angle", 1.0),
    "mrad": ("angle", 1e-3),
    "deg": ("angle", _TURN / 360),
    "turn": ("angle", _TURN),
    "rpm": ("angle/s", _TURN / 60),
    "m": ("length", 1.0),
    "cm": ("length", 1e-2),
    "mm": ("length", 1e-3),
    "s": ("time", 1.0),
    "ms": ("time", 1e-3),
    "us": ("time", 1e-6),
    "ns": ("time", 1e-9),
    "A": ("current", 1.0),
    "mA": ("current", 1e-3),
    "Nm": ("torque", 1.0),
    "mNm": ("torque", 1e-3),
    "Ncm": ("torque", 1e-2),
    "kgcm": ("torque", 0.0980665),  # 9.80665 m/s² · 1 kg · 1 cm
    "N": ("force", 1.0),
    "V": ("voltage", 1.0),
    "mV": ("voltage", 1e-3),
    "%": ("share", 1e-2),
}
"""Name → what it measures, and its size in SI units."""
_TICKS = re.compile(r"ticks/(\d+(?:\.\d+)?)")
_FITTING = {
    "time": ("time",),
    "position": ("angle", "length"),
    "velocity": ("angle/s", "length/s"),
    "torque": ("torque", "force", "current"),
    "current": ("current",),
    "voltage": ("voltage",),
}
"""What the last part of a signal's name lets a unit measure."""


def compute_factor(signal: str, unit: str, constant: float | None) -> float:
    """Factor from a column in `unit` to the SI unit of `signal`.

    Raises for a unit that nothing here knows, or that measures something else.
    """
    measures, size = _find_unit(signal, unit)
    last = signal.rpartition(".")[2]
    fitting = _FITTING.get(last, (measures,))
    if measures not in fitting:
        raise BadRecording(
            f"The mapping of '{signal}' gives its column in '{unit}', which measures "
            f"{_name(measures)}, not {_name(fitting[0])}.",
            hint=f"Try: {', '.join(_list_units(fitting))}",
        )
    if constant is not None and measures != "current":
        raise BadRecording(
            f"The mapping of '{signal}' has a constant, and its unit '{unit}' is no "
            "current.",
            hint="Leave it out, or say unit: A or mA.",
        )
    if measures == "current" and last == "torque" and constant is None:
        raise BadRecording(
            f"The mapping of '{signal}' reads a torque from a current, and does not "
            "say how strong the motor is.",
            hint="Add its constant at the joint, in N·m per A, such as constant: 0.9; "
            f"or call the signal {signal.removesuffix('torque')}current.",
        )
    return size * (1.0 if constant is None else constant)


def _find_unit(signal: str, unit: str) -> tuple[str, float]:
    """What a unit measures, and its size in SI units."""
    if unit in UNITS:
        return UNITS[unit]
    base, _, rate = unit.rpartition("/")
    if rate == "s" and base:
        measures, size = _find_unit(signal, base)
        if measures in ("angle", "length"):
            return f"{measures}/s", size
    ticks = _TICKS.fullmatch(unit)
    if ticks and (count := float(ticks[1])) > 0:
        return "angle", _TURN / count
    raise UnknownName(
        "unit",
        unit,
        (*UNITS, "deg/s", "rad/s"),
        owner=f"The mapping of '{signal}'",
        hint=f"There are {', '.join(UNITS)}, ticks/4096 of an encoder with so many "
        "steps in a turn, and deg/s or ticks/4096/s for speeds. Else give a scale.",
    )


def _list_units(measured: tuple[str, ...]) -> list[str]:
    found = [name for name, (what, _) in UNITS.items() if what in measured]
    speeds = {"angle/s": ["rad/s", "deg/s"], "length/s": ["m/s", "mm/s"]}
    return found + [unit for what in measured for unit in speeds.get(what, [])]


def _name(measures: str) -> str:
    names = {"angle/s": "a speed", "length/s": "a speed", "angle": "an angle"}
    return names.get(measures, f"a {measures}")
