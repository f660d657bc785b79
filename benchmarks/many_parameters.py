"""49 numbers of a robot with 12 joints through `realworthy calibrate`.

A quadruped hangs on a stand. Its truth differs from the twin in four numbers of every
joint (gain, damping, dry friction, rotor) by up to 40 %, and in one delay. It plays
sums of sines; encoders have noise of 1 mrad. The command is given what to fit, and then
left to choose. Truths are read after it has ended.

    python benchmarks/many_parameters.py [--seed 0] [--json FILE] [--keep FOLDER]
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.deployment import play
from realworthy.realities import RealityNoise, StandIn
from realworthy.realities.file import RealityFile
from realworthy.realities.reality import make_reality
from realworthy.recordings import Sidecar, save_recording
from realworthy.twins import Twin, load_twin

Floats = NDArray[np.float64]
KINDS = ("kp", "damping", "coulomb_friction", "armature")
RATE, SIGMA = 200.0, 1e-3
_OFF = 0.4
"""Largest logarithm of a true number over the twin's."""
_DELAY = (0.004, 0.02)
_SWING = 0.35
"""[rad] by which a joint is commanded away from its home at most."""
_FREQUENCIES = (0.2, 4.0)
_WAVES = 8
_SETTLED = 1.0
"""[s] at home before a recording begins: what was sent before it is then its first
command, as a replay takes it to be."""
_QUANTILE = 1.6449
"""Standard deviations of a 90 % interval."""


class Number(msgspec.Struct, frozen=True):
    """A number as `realworthy calibrate --json` tells it."""

    mean: float
    sd: float
    verdict: str
    fitted: bool


class HeldOut(msgspec.Struct, frozen=True):
    position_rmse: float
    position_rmse_before: float


class Told(msgspec.Struct, frozen=True):
    """What `realworthy calibrate --json` tells."""

    parameters: dict[str, Number]
    heldout: HeldOut
    reduced_chi2: float
    evaluations: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One calibration."""

    asked: str
    fitted: int
    planted: int
    """Of those fitted, how many have a planted truth."""
    within: int
    """Planted numbers whose 90 % interval holds the truth."""
    median_error: float
    worst_error: float
    """Shares of the truth."""
    worst: str
    farthest: float
    """Standard deviations by which the worst is off."""
    before: float
    after: float
    """[rad] replay of motions that were not fitted."""
    reduced_chi2: float
    evaluations: int
    clock: float
    processor: float
    """[s] of the whole command."""


def draw_truth(twin: Twin, joints: Sequence[str], seed: int) -> dict[str, float]:
    chance = np.random.default_rng([seed, 1])
    names = [f"{joint}.{kind}" for joint in joints for kind in KINDS]
    factors = np.exp(chance.uniform(-_OFF, _OFF, len(names)))
    found = {n: twin.space[n].nominal * f for n, f in zip(names, factors, strict=True)}
    return {**found, "all.delay": float(chance.uniform(*_DELAY))}


def make_waves(home: Floats, seconds: float, seed: int) -> Floats:
    """(steps, joints) sums of sines around a pose, after a rest and back to it."""
    chance = np.random.default_rng([seed, 2])
    t = np.arange(round(seconds * RATE)) / RATE
    low, high = np.log(_FREQUENCIES)
    shape = (_WAVES, len(home))
    frequency = np.exp(chance.uniform(low, high, shape))
    phase = chance.uniform(0, 2 * np.pi, shape)
    size = 1 / np.sqrt(frequency)
    size *= _SWING / np.sqrt(0.5 * np.sum(size**2, axis=0)) / 2
    waves = (size * np.sin(2 * np.pi * frequency * t[:, None, None] + phase)).sum(1)
    ramp = np.minimum(1, np.minimum(t, t[-1] - t) / 0.5)
    rest = np.tile(home, (round(_SETTLED * RATE), 1))
    moving = home + np.clip(waves, -_SWING, _SWING) * ramp[:, None]
    return np.concatenate([rest, moving])


def record(folder: Path, twin: Twin, truth: dict[str, float], seed: int) -> list[Path]:
    """Six motions of 12 s to fit and two to judge by; the last two paths."""
    (folder / "hung.xml").write_text(twin.hung().spec().to_xml())
    described = RealityFile(
        schema=1,
        twin="hung.xml",
        seed=seed,
        parameters=truth,
        noise=RealityNoise(position=SIGMA, velocity=10 * SIGMA),
        rate=RATE,
    )
    robot = StandIn(make_reality("hung", described, folder=folder))
    home = np.array(robot.read().position)
    sidecar = Sidecar(command_kind="position", rate=RATE)
    paths = []
    for k in range(8):
        made = play(robot, make_waves(home, 12.0, 10 * seed + k), sidecar=sidecar)
        paths.append(folder / f"waves_{k}.npz")
        save_recording(made.crop(_SETTLED, np.inf), paths[-1])
    return paths


def calibrate(
    folder: Path, paths: Sequence[Path], names: Sequence[str]
) -> tuple[Told, float, float]:
    """What the command tells, its clock time and its processor time [s]."""
    output = folder / f"found_{len(names)}.twin.yaml"
    tells = output.with_suffix(".json")
    words = ["calibrate", "quadruped", *map(str, paths[:-2])]
    words += ["--heldout", *map(str, paths[-2:])]
    words += ["--output", str(output), "--json", str(tells)]
    words += ["--parameters", *names] if names else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    _ = subprocess.run(
        [sys.executable, "-m", "realworthy", *words], check=True, capture_output=True
    )
    clock = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return msgspec.json.decode(tells.read_bytes(), type=Told), clock, spent


def judge(
    asked: str, told: Told, truth: dict[str, float], clock: float, processor: float
) -> Row:
    """Fitted numbers against what was planted."""
    fitted = {name: n for name, n in told.parameters.items() if n.fitted}
    planted = {name: n for name, n in fitted.items() if name in truth}
    names = list(planted)
    off = np.array([planted[n].mean - truth[n] for n in names])
    share = np.abs(off) / np.array([truth[n] for n in names])
    sds = np.abs(off) / np.array([planted[n].sd for n in names])
    worst = int(np.argmax(share))
    return Row(
        asked=asked,
        fitted=len(fitted),
        planted=len(planted),
        within=int(np.sum(sds <= _QUANTILE)),
        median_error=float(np.median(share)),
        worst_error=float(share[worst]),
        worst=names[worst],
        farthest=float(sds.max()),
        before=told.heldout.position_rmse_before,
        after=told.heldout.position_rmse,
        reduced_chi2=told.reduced_chi2,
        evaluations=told.evaluations,
        clock=clock,
        processor=processor,
    )


def to_words(row: Row) -> str:
    return (
        f"{row.asked}: {row.fitted} fitted, {row.within} of {row.planted} planted ones "
        f"within their 90 % interval, errors {100 * row.median_error:.2f} % (median), "
        f"{100 * row.worst_error:.2f} % (worst, {row.worst}), {row.farthest:.1f} sd at "
        f"most; held out {row.before:.4f} to {row.after:.5f} rad; reduced χ² "
        f"{row.reduced_chi2:.3f}; {row.evaluations} candidates, "
        f"{row.processor:.0f} s of processor time, {row.clock:.0f} s of the clock"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--keep", type=Path, help="keep recordings and twins here")
    chosen = parser.parse_args()
    twin = load_twin("quadruped")
    joints = [n.removesuffix(".kp") for n in twin.space.names if n.endswith(".kp")]
    joints.remove("all")
    truth = draw_truth(twin, joints, chosen.seed)
    rows = []
    with tempfile.TemporaryDirectory() as made:
        folder = chosen.keep or Path(made)
        folder.mkdir(exist_ok=True)
        paths = record(folder, twin, truth, chosen.seed)
        brakes = {f"{j}.kd": compute_brake(twin, truth, j) for j in joints}
        for asked, names in ((f"{len(truth)} named", list(truth)), ("none named", [])):
            found = calibrate(folder, paths, names)
            known = truth if names else {**truth, **brakes}
            rows.append(judge(asked, found[0], known, *found[1:]))
            print(to_words(rows[-1]), flush=True)
            for warning in found[0].warnings:
                print(f"    {warning}", flush=True)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


def compute_brake(twin: Twin, truth: dict[str, float], joint: str) -> float:
    """What `kd` must be where it brakes for the joint's own damping too."""
    own = f"{joint}.damping"
    return twin.space[f"{joint}.kd"].nominal + truth[own] - twin.space[own].nominal


if __name__ == "__main__":
    main()
