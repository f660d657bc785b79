"""Friction, restitution and softness of a contact from a finger: planted truths.

A finger of two position servos presses on a floor and slides over it; positions have
0.2 mrad (mm) of white noise. `calibrate` fits the three numbers, named, from where
MuJoCo has them by default. Where the finger only presses, no friction shows; where it
stays in the air, nothing does, and no twin must come out.

    python benchmarks/contacts.py --truths 5

Truths are read when the calibration is over; benchmarks/results/contacts.json has them.
"""

import argparse
import platform
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from results_file import ROOT, Table, read_commit

from realworthy.identification import calibrate
from realworthy.recordings import Recording, Sidecar
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin, bind, load_twin

Floats = NDArray[np.float64]
FILE = ROOT / "benchmarks" / "results" / "contacts.json"
NAMES = ("all.contact_friction", "all.restitution", "all.softness")
LOWER, UPPER = np.array([0.3, 0.05, 0.007]), np.array([1.2, 0.6, 0.025])
"""Ends of planted truths. A contact of less than 7 ms is coarse in steps of 1 ms."""
MOTIONS = ("presses and slides", "presses", "stays in the air")
RATE, SECONDS, RECORDINGS, SIGMA = 250, 6.0, 3, 2e-4
FINGER = """
<mujoco model="finger">
  <option timestep="0.001" integrator="implicitfast" cone="elliptic"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body name="finger" pos="0 0 0.06">
      <joint name="press" type="slide" axis="0 0 1" damping="4" armature="0.05"/>
      <joint name="slide" type="slide" axis="1 0 0" damping="4" armature="0.05"/>
      <geom name="tip" type="sphere" size="0.02" mass="0.1"/>
    </body>
  </worldbody>
  <actuator>
    <position name="press" joint="press" kp="300" kv="5"/>
    <position name="slide" joint="slide" kp="300" kv="5"/>
  </actuator>
</mujoco>
"""


class ContactFile(msgspec.Struct, forbid_unknown_fields=True):
    """benchmarks/results/contacts.json."""

    tables: dict[str, Table] = {}


def make_goals(motion: str, seed: int) -> Floats:
    """(rows, 2) heights held for a while, and waves to and fro."""
    chance, count = np.random.default_rng(seed), round(SECONDS * RATE)
    time_ = np.arange(count) / RATE
    low, high = (-0.02, 0.03) if motion == MOTIONS[2] else (-0.09, 0.0)
    height, at = np.zeros(count), 0
    while at < count:
        rows = int(chance.integers(40, 120))
        height[at : at + rows] = chance.uniform(low, high)
        at += rows
    aside = np.zeros(count)
    if motion != MOTIONS[1]:
        for wave in range(3):
            frequency, phase = chance.uniform(0.3, 1.5), chance.uniform(0, 2 * np.pi)
            aside += 0.03 * np.sin(2 * np.pi * frequency * time_ + phase + wave)
    return np.stack([height, aside], axis=1)


def play(twin: Twin, truth: Floats, motion: str, seed: int) -> Recording:
    """One motion of a finger with this truth."""
    simulator = MujocoCpu(bind(twin, twin.space.select(NAMES)), 1, substeps=4)
    simulator.write(truth)
    simulator.reset()
    (clean,) = record(simulator, make_goals(motion, seed))
    chance = np.random.default_rng([seed, 1])
    signals = {
        name: values
        + (SIGMA * chance.standard_normal(len(values)) if "position" in name else 0.0)
        for name, values in clean.signals.items()
        if name.endswith(("position", "command"))
    }
    sidecar = Sidecar(command_kind="position", rate=RATE)
    return Recording(clean.time, signals, sidecar=sidecar)


def run_truth(twin: Twin, motion: str, seed: int) -> list[str | float | None]:
    """A row of the table: what was planted and found, with verdicts."""
    chance = np.random.default_rng([seed, 2])
    truth = chance.uniform(LOWER, UPPER)
    seeds = [RECORDINGS * seed + k for k in range(RECORDINGS)]
    recordings = [play(twin, truth, motion, s) for s in seeds]
    began = time.process_time()
    found = calibrate(twin, recordings, parameters=NAMES)
    spent = time.process_time() - began
    row: list[str | float | None] = [motion, seed, found.outcome.value]
    for name, planted in zip(NAMES, truth, strict=True):
        own = found[name]
        told = f"{own.mean:.4g} ± {own.sd:.2g}" if own.verdict.is_known else "–"
        row += [round(float(planted), 4), told, own.verdict.value]
    return [*row, round(spent, 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--truths", type=int, default=5, help="of each motion")
    chosen = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as made:
        file = Path(made) / "finger.xml"
        file.write_text(FINGER)
        twin = load_twin(file)
        for motion in MOTIONS:
            for seed in range(chosen.truths):
                rows.append(run_truth(twin, motion, seed))
                print(*rows[-1], flush=True)
    columns = ["the finger", "truth", "outcome"]
    for what in ("friction", "restitution", "softness [s]"):
        columns += [f"{what}, planted", "found", "verdict"]
    table = Table(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=f"{platform.machine()}, shared",
        commit=read_commit(),
        command="python benchmarks/contacts.py",
        columns=[*columns, "processor time [s]"],
        rows=rows,
    )
    made = ContactFile(tables={"contacts": table})
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")


if __name__ == "__main__":
    main()
