"""How far other engines are from MuJoCo on the same twins, and how fast they are.

    python benchmarks/witnesses.py [--json FILE]

Prints joint errors (root mean square, rad) of Drake and SAPIEN against MuJoCo: free
swings without contact, and a quadruped that is dropped and then stands or trots in
place, beside MuJoCo against itself with other contact numbers. Then substeps per second
of processor time. Needs `pip install 'realworthy[sim2sim]'`.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.simulators import MujocoCpu, Simulator
from realworthy.simulators.witnesses.drake import (
    DrakeSettings,
    DrakeWitness,
    resolved_contacts,
)
from realworthy.simulators.witnesses.sapien import SapienSettings, SapienWitness
from realworthy.twins import BoundTwin, bind, load_twin

Floats = NDArray[np.float64]
Build = Callable[[BoundTwin], Simulator]
Edit = Callable[[mujoco.MjSpec], None]
SWINGING = ("pendulum", "double_pendulum", "arm")
TIMED = ("pendulum", "arm", "diffdrive", "quadruped")
TROT = 0.15
"""[rad] by which the targets of all joints swing at 2 Hz, diagonal legs together."""
SAMPLE = 0.01
"""[s] between compared positions."""
DIAGONAL = np.pi * np.array([0, 1, 1, 0])[np.arange(12) // 3]


def build_mujoco(bound: BoundTwin) -> Simulator:
    return MujocoCpu(bound, 1, substeps=1)


def build_drake(bound: BoundTwin) -> Simulator:
    return DrakeWitness(bound, 1, substeps=1)


def build_drake_resolved(bound: BoundTwin) -> Simulator:
    settings = resolved_contacts()
    return DrakeWitness(bound, 1, substeps=1, settings=settings)


def build_sapien(bound: BoundTwin) -> Simulator:
    return SapienWitness(bound, 1, substeps=1)


def build_drake_alike(bound: BoundTwin) -> Simulator:
    settings = DrakeSettings(longest_step=1.0)
    return DrakeWitness(bound, 1, substeps=1, settings=settings)


def build_sapien_alike(bound: BoundTwin) -> Simulator:
    settings = SapienSettings(longest_step=1.0)
    return SapienWitness(bound, 1, substeps=1, settings=settings)


def main() -> None:
    arguments = argparse.ArgumentParser(description="Other engines beside MuJoCo.")
    arguments.add_argument("--json", type=Path)
    settings = arguments.parse_args()
    found = {
        "swings": compare_swings(),
        "quadruped": compare_quadrupeds(),
        "substeps/s": measure_speeds(),
    }
    for title, rows in found.items():
        print(title)
        for name, values in rows.items():
            line = "  ".join(f"{key} {value:.3g}" for key, value in values.items())
            print(f"  {name}: {line}")
    if settings.json is not None:
        settings.json.write_text(json.dumps(found, indent=1))


def compare_swings() -> dict[str, dict[str, float]]:
    """One second from joint speeds of up to 3 rad/s, all contacts taken out."""
    engines: dict[str, Build] = {
        "drake": build_drake_alike,
        "sapien": build_sapien_alike,
        "drake, 1 ms": build_drake,
        "sapien, 1 ms": build_sapien,
    }
    rows = {}
    for name in SWINGING:
        bound = bind(load_twin(name).edited(take_contacts_out))
        speed = np.linspace(3.0, -3.0, bound.model.nv)
        expected = play(build_mujoco(bound), 1.0, qvel=speed)
        rows[name] = {
            engine: compute_rms(play(build(bound), 1.0, qvel=speed) - expected)
            for engine, build in engines.items()
        }
    return rows


def compare_quadrupeds() -> dict[str, dict[str, float]]:
    """Two seconds after a fall of 5 cm, at 1 ms."""
    engines: dict[str, Build] = {
        "drake": build_drake,
        "drake, resolved": build_drake_resolved,
        "sapien": build_sapien,
    }
    contacts: dict[str, Edit] = {
        "as shipped": change_contacts(),
        "solref 0.02": change_contacts(solref=0.02),
        "solref 0.005": change_contacts(solref=0.005),
        "solref 0.005, elliptic, impratio 100": change_contacts(
            solref=0.005, is_hard=True
        ),
        "friction 0.5": change_contacts(friction=0.5),
    }
    rows = {}
    for motion, amplitude in (("stand", 0.0), ("trot", TROT)):
        shipped = bind(load_twin("quadruped").edited(contacts["as shipped"]))
        found = {n: fall(b(shipped), amplitude) for n, b in engines.items()}
        mine = {
            name: fall(
                build_mujoco(bind(load_twin("quadruped").edited(edit))), amplitude
            )
            for name, edit in contacts.items()
        }
        others = {**found, "MuJoCo as shipped": mine["as shipped"]}
        for name, expected in mine.items():
            rows[f"{motion}, MuJoCo {name}"] = {
                other: compute_rms(trace - expected) for other, trace in others.items()
            }
    return rows


def measure_speeds() -> dict[str, dict[str, float]]:
    """Substeps per second of processor time; the best of three rounds."""
    engines: dict[str, Build] = {
        "mujoco": build_mujoco,
        "drake": build_drake,
        "sapien": build_sapien,
    }
    rows: dict[str, dict[str, float]] = {}
    for name in TIMED:
        bound = bind(load_twin(name))
        still = bound.compiled.own["own.initial_ctrl"][None]
        rows[name] = {}
        for engine, build in engines.items():
            simulator = build(bound)
            rows[name][engine] = max(count(simulator, still) for _ in range(3))
    return rows


def count(simulator: Simulator, command: Floats, substeps: int = 300) -> float:
    start = time.process_time()
    for _ in range(substeps):
        simulator.step(command)
    return substeps / (time.process_time() - start)


def fall(simulator: Simulator, amplitude: float) -> Floats:
    start = simulator.bound.compiled.own["own.initial_qpos"].copy()
    start[2] += 0.05

    def trot(seconds: float) -> Floats:
        swing = np.sin(4 * np.pi * seconds + DIAGONAL)
        return amplitude * min(1.0, seconds / 0.3) * swing

    return play(simulator, 2.0, trot, qpos=start)[:, 7:]


def play(
    simulator: Simulator,
    seconds: float,
    add: Callable[[float], Floats] | None = None,
    **start: Floats,
) -> Floats:
    """(samples, nq) positions."""
    home = simulator.bound.compiled.own["own.initial_ctrl"]
    simulator.reset(**start)
    every, trace = round(SAMPLE / simulator.timestep), []
    for k in range(round(seconds / simulator.timestep)):
        more = 0.0 if add is None else add(k * simulator.timestep)
        simulator.step((home + more)[None])
        if (k + 1) % every == 0:
            trace.append(np.array(simulator.array("qpos")[0]))
    return np.array(trace)


def take_contacts_out(spec: mujoco.MjSpec) -> None:
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0


def change_contacts(
    *,
    solref: float | None = None,
    is_hard: bool = False,
    friction: float | None = None,
) -> Edit:
    def edit(spec: mujoco.MjSpec) -> None:
        spec.option.timestep = 0.001
        if is_hard:
            spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
            spec.option.impratio = 100
        for geom in spec.geoms:
            if solref is not None:
                geom.solref = [solref, 1]
            if friction is not None:
                geom.friction = [friction, *geom.friction[1:]]

    return edit


def compute_rms(error: Floats) -> float:
    return float(np.sqrt((error**2).mean()))


if __name__ == "__main__":
    main()
