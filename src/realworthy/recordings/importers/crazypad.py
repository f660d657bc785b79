"""CrazyPAD: Crazyflie flights, logged on board at 100 Hz.

`motor_*` and `controller_*` files are different flights. The firmware counts pitch
nose-up; here every pitch turns about the body's y axis by the right hand, nose down.
Positions are the on-board estimate, which may diverge: it is loaded as it is.
"""

from pathlib import Path

from realworthy.recordings.formats.csv import read_table
from realworthy.recordings.importers.importer import (
    Imported,
    Importer,
    column,
    degrees,
    drop_bad_rows,
    find_files,
    select,
)
from realworthy.recordings.sidecar import Sidecar, SignalSource

GRAVITY = 9.80665
"""One g [m/s²]."""
FULL = 1 / 65535
"""16-bit commands to 0..1."""

TIME = {"time": column("time_s")}
POSITION = {f"base.position.{a}": column(f"stateEstimate.{a}") for a in "xyz"}
MOTOR: dict[str, SignalSource] = {
    **TIME,
    **POSITION,
    **{f"base.velocity.{a}": column(f"stateEstimate.v{a}") for a in "xyz"},
    **{f"base.acceleration.{a}": column(f"stateEstimate.a{a}", GRAVITY) for a in "xyz"},
    "base.roll": degrees("stateEstimate.roll"),
    "base.yaw": degrees("stateEstimate.yaw"),
    **{f"m{i}.command": column(f"motor.m{i}", FULL) for i in range(1, 5)},
    **{f"m{i}.duty": column(f"pwm.m{i}_pwm", FULL) for i in range(1, 5)},
    "battery.voltage": column("pm.vbatMV", 1e-3),
}
CONTROLLER: dict[str, SignalSource] = {
    **TIME,
    **POSITION,
    "base.gyro.x": column("controller.r_roll"),
    "base.gyro.y": column("controller.r_pitch", -1.0),
    "base.gyro.z": column("controller.r_yaw"),
    "accelerometer.z": column("controller.accelz", GRAVITY),
    "mixer.command.thrust": column("controller.cmd_thrust", FULL),
    "mixer.command.roll": column("controller.cmd_roll", FULL),
    "mixer.command.pitch": column("controller.cmd_pitch", -FULL),
    "mixer.command.yaw": column("controller.cmd_yaw", FULL),
    "attitude.command.thrust": column("controller.actuatorThrust", FULL),
    "attitude.command.roll": degrees("controller.roll"),
    "attitude.command.pitch": degrees("controller.pitch", -1),
    "attitude.command.yaw": degrees("controller.yaw"),
    "rate.command.roll": degrees("controller.rollRate"),
    "rate.command.pitch": degrees("controller.pitchRate", -1),
    "rate.command.yaw": degrees("controller.yawRate"),
}  # controller.ctr_yaw repeats controller.cmd_yaw
NOTES: dict[str, object] = {
    "position": "on-board estimate",
    "acceleration": "on-board estimate in the world, without gravity",
    "commands": "m*.command, m*.duty and mixer.command are shares of 16 bits, not N",
}


def find(path: Path) -> list[Path]:
    """Flights."""
    return find_files(path, ("motor_*.csv*", "controller_*.csv*"))


def read(path: Path, given: Sidecar) -> list[Imported]:
    """One flight; flights of one vehicle in one condition repeat each other."""
    kind, _, rest = path.name.partition("_")
    vehicle, condition = rest.partition("_")[0], path.parent.name
    columns = MOTOR if kind == "motor" else CONTROLLER
    table = select(
        read_table(path), columns, path=path, optional=frozenset({"base.yaw"})
    )
    table, dropped = drop_bad_rows(table)
    sidecar = Sidecar(
        twin="menagerie:bitcraze_crazyflie_2",
        rate=100.0,
        repeat_group=f"{condition}/{vehicle}/{kind}",
        notes={"condition": condition, "vehicle": vehicle, **NOTES, **dropped},
    )
    return [Imported(table=table, sidecar=sidecar, source=path)]


IMPORTER = Importer(
    summary="Crazyflie flights of CrazyPAD, normal and degraded",
    layout="motor_*.csv[.gz] or controller_*.csv[.gz], or a folder of them",
    find=find,
    read=read,
)
