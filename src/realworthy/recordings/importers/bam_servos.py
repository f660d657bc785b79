"""Servo bench of Better Actuator Models: a JSON log of one arm with a weight.

Angle 0 hangs down, counter-clockwise is positive. The gain of the firmware, the supply
and the temperature differ from log to log: they are `parameters` of the sidecar. The
supply is the mean of its log, since single readings catch the ripple of the motor's own
pulses (6.2 to 8.4 V while the arm holds still). The servo reports the temperature of
its board, not of its winding.
"""

from pathlib import Path

import msgspec
import numpy as np

from realworthy.artefacts import check_readable, read_bytes, reading
from realworthy.recordings.importers.importer import (
    Imported,
    Importer,
    column,
    drop_bad_rows,
    find_files,
    select,
)
from realworthy.recordings.sidecar import Sidecar
from realworthy.recordings.signals import Values

FULL_DUTY = {"xl330": 885}
"""Present-PWM register at full duty, for the motors whose `load` is that register."""

DUTY_GAIN = {"xl330": 4096 / (2 * np.pi) / (256 * 885)}
"""Duty per radian of error and unit of the firmware's gain, where the data say it."""

_COST = 16
"""Bytes of memory for a byte of JSON: `0,` becomes a number of 32."""

COLUMNS = {
    "time": column("timestamp"),
    "arm.position": column("position"),
    "arm.velocity": column("speed"),
    "arm.command": column("goal_position"),
    "arm.duty": column("duty"),
    "arm.torque_enable": column("torque_enable"),
    "arm.temperature": column("temp"),
    "supply.voltage": column("input_volts"),
}


class BamLog(msgspec.Struct):
    """The file; `entries` are rows of numbers and booleans."""

    mass: float
    length: float
    kp: float
    vin: float
    motor: str
    trajectory: str
    entries: list[dict[str, float | bool]]


def find(path: Path) -> list[Path]:
    """Logs, told from files of parameters by their entries."""
    return [f for f in find_files(path, ("*.json",)) if b'"entries"' in _head(f)]


def read(path: Path, given: Sidecar) -> list[Imported]:
    """One log. The duty is left out for motors that do not report it."""
    with reading(path, "a bench log"):
        log = msgspec.json.decode(read_bytes(path, cost=_COST), type=BamLog)
        keys = log.entries[0].keys()
        raw = {key: np.array([float(e[key]) for e in log.entries]) for key in keys}
    notes: dict[str, object] = {
        "motor": log.motor,
        "trajectory": log.trajectory,
        "mass": log.mass,
        "length": log.length,
        "kp": log.kp,
        "vin": log.vin,
        "units": "mass kg, length m, kp in the servo's own unit, vin V, duty -1..1",
    }
    told: dict[str, float] = {}
    if log.motor in DUTY_GAIN:
        told = {
            "arm.duty_gain": log.kp * DUTY_GAIN[log.motor],
            "arm.supply_voltage": float(np.mean(raw["input_volts"])),
            "arm.ambient_temperature": float(np.mean(raw["temp"])),
        }
    if full := FULL_DUTY.get(log.motor):
        raw["duty"] = to_signed(raw["load"]) / full
    else:
        notes["duty"] = (
            f"not recorded: the load register of {log.motor} is not its duty"
        )
    table = select(raw, COLUMNS, path=path, optional=frozenset({"arm.duty"}))
    table, dropped = drop_bad_rows(table)
    sidecar = Sidecar(
        twin="servo_bench",
        command_kind="position",
        parameters=told,
        notes={**notes, **dropped},
    )
    return [Imported(table=table, sidecar=sidecar, source=path)]


def to_signed(register: Values) -> Values:
    """16-bit two's complement, as the servo stores it, to a signed number."""
    return np.where(register > 32767, register - 65536, register)


def _head(path: Path) -> bytes:
    check_readable(path)
    with reading(path, "a file that can be read"), path.open("rb") as file:
        return file.read(4096)


IMPORTER = Importer(
    summary="servo pendulum bench of Better Actuator Models, goal positions",
    layout="a .json log with entries, or a folder of them",
    find=find,
    read=read,
)
