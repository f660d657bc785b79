"""DFKI double pendulum (acrobot, pendubot): torque commands at both joints.

`tau_con` is what the controller sent, its friction compensation `tau_fric` included:
the measured torque follows `tau_con` with 1.0 and adds nothing of `tau_fric`. Torque
pulses of the perturbed runs, `tau_pert`, came on top.

In every run the measured torque follows the command two rows later, 4 ms at 500 Hz and
60 ms at 33 Hz. The drives answer a command with what they measured before it, so a row
holds positions as its own command finds them one row later, and a torque of one row
before. Here both are put where they acted: commands one row later, torques one row
earlier. The published model says so too: at 33 Hz its predictions over 0.1 s are off by
0.066 rad with commands as logged, by 0.020 rad one row later and by 0.043 rad two rows
later (acrobot; pendubot 0.045, 0.021 and 0.027 rad).
"""

from pathlib import Path

import numpy as np

from realworthy.recordings.formats.csv import read_heading, read_table
from realworthy.recordings.importers.importer import (
    Imported,
    Importer,
    column,
    drop_bad_rows,
    find_files,
    select,
)
from realworthy.recordings.sidecar import Sidecar, SignalSource

JOINTS = {"shoulder": 1, "elbow": 2}

QUANTITIES = {
    "position": "pos_meas",
    "velocity": "vel_meas",
    "torque": "tau_meas",
    "command": "tau_sent",
}
EXTRAS = {
    "position_filtered": "pos_filt",
    "velocity_filtered": "vel_filt",
    "friction_compensation": "tau_fric",
    "perturbation": "tau_pert",
    "position_reference": "pos_des",
    "velocity_reference": "vel_des",
    "torque_reference": "tau_des",
}
OPTIONAL = frozenset(f"{joint}.{extra}" for joint in JOINTS for extra in EXTRAS)
COLUMNS: dict[str, SignalSource] = {
    "time": column("time"),
    **{
        f"{joint}.{quantity}": column(f"{name}{number}")
        for joint, number in JOINTS.items()
        for quantity, name in (QUANTITIES | EXTRAS).items()
    },
}
NOTES: dict[str, object] = {
    "command": "tau_con (friction compensation included) plus tau_pert where logged, "
    "one row later, when it acted",
    "torque": "from the drive's current, one row earlier, when it acted",
}


def find(path: Path) -> list[Path]:
    """Tables whose heading has `pos_meas1`."""
    files = find_files(path, ("*.csv", "*.csv.gz"))
    return [file for file in files if "pos_meas1" in read_heading(file)]


def read(path: Path, given: Sidecar) -> list[Imported]:
    """One run; runs of one controller without perturbations repeat each other."""
    raw = read_table(path)
    for i in JOINTS.values():
        if f"tau_con{i}" in raw:
            sent = raw[f"tau_con{i}"] + raw.get(f"tau_pert{i}", 0.0)
            raw[f"tau_sent{i}"] = np.append(sent[:1], sent[:-1])
        if f"tau_meas{i}" in raw:
            felt = raw[f"tau_meas{i}"]
            raw[f"tau_meas{i}"] = np.append(felt[1:], felt[-1:])
    table = select(raw, COLUMNS, path=path, optional=OPTIONAL)
    table, dropped = drop_bad_rows(table)
    folder = path.parent.name
    is_sysid = folder.startswith("design_")
    design = (
        folder.removeprefix("design_").removesuffix("_sysid") if is_sysid else "C.1"
    )
    repeats = folder.startswith(("acrobot_", "pendubot_")) and "perturbed" not in folder
    sidecar = Sidecar(
        twin="double_pendulum",
        command_kind="torque",
        repeat_group=folder if repeats else None,
        notes={"design": design, "experiment": folder, **NOTES, **dropped},
    )
    return [Imported(table=table, sidecar=sidecar, source=path)]


IMPORTER = Importer(
    summary="DFKI double pendulum, torque commands at shoulder and elbow",
    layout="a .csv[.gz] with pos_meas1, vel_meas1, tau_con1, tau_meas1 and so on",
    find=find,
    read=read,
)
