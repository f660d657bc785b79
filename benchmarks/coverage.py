"""Do 90 % intervals of `calibrate` hold the truth in 90 of 100 cases?

Stand-ins with planted numbers play sums of sines, three motions of 6 s; nobody says
what to fit. Noise is white, or lasts (AR(1), 0.95 from row to row), or white beside an
effect that the twin lacks: friction that grows with the load and near rest. Truths are
read when the calibration is over. Numbers that are marked effective are counted apart:
they are right for such motions, and not physical constants.

    python benchmarks/coverage.py --truths 10                  all subjects
    python benchmarks/coverage.py --only joint pendulum        those that are named
    python benchmarks/coverage.py --minutes 8                  as many as begin in that
    python benchmarks/coverage.py --workers 16                 so many at a time
    python benchmarks/coverage.py --merge other.json           from another machine

Every truth goes into benchmarks/results/coverage.json as soon as it is known; truths of
this commit that are there are not done again.
"""

import argparse
import platform
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from results_file import ROOT, Table, read_commit
from workers import run_parts

from realworthy.actuators.controllers import CommandKind
from realworthy.deployment import play
from realworthy.gap.intervals import compute_wilson_interval
from realworthy.identification import calibrate
from realworthy.realities import RealityNoise, StandIn
from realworthy.realities.effects import Effect, LoadFriction, Stribeck
from realworthy.realities.file import RealityFile
from realworthy.realities.reality import make_reality
from realworthy.recordings import Recording, Sidecar
from realworthy.twins import Twin, load_twin

Floats = NDArray[np.float64]
FILE = ROOT / "benchmarks" / "results" / "coverage.json"
CONDITIONS = ("white", "coloured", "unmodelled")
KINDS = ("kp", "kd", "damping", "coulomb_friction", "armature")
SIGMA, CORRELATION = 1e-3, 0.95
"""[rad] of the noise, and from row to row where it lasts."""
OFF, DELAY = 0.4, (0.002, 0.02)
"""Largest logarithm of a true number over the twin's, and delays [s]."""
LOAD_FRICTION, STRIBECK_SHARE = 0.1, 0.5
"""Of motor torque, and static beside dry friction, where the twin lacks something."""
SECONDS, MOTIONS, WAVES, SETTLED = 6.0, 3, 8, 1.0
FREQUENCIES = (0.2, 4.0)
QUANTILE = 1.6449
"""Standard deviations of a 90 % interval."""
JOINT = """
<mujoco model="joint">
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="link">
      <joint name="joint" axis="0 1 0" damping="0.3" frictionloss="0.1"
             armature="0.02"/>
      <inertial pos="0 0 -0.2" mass="0.5" diaginertia="0.003 0.003 0.0005"/>
    </body>
  </worldbody>
  <actuator><position name="joint" joint="joint" kp="15"/></actuator>
</mujoco>
"""


@dataclass(frozen=True)
class Subject:
    """A robot whose numbers are planted."""

    name: str
    twin: str
    swing: float
    """[rad] or, of torque drives, [N·m] of the command."""
    kind: CommandKind = "position"


SUBJECTS = (
    Subject("joint", "joint.xml", 0.6),
    Subject("pendulum", "pendulum", 2.5, "torque"),
    Subject("arm", "arm", 0.35),
    Subject("so_arm100", "menagerie:trs_so_arm100", 0.35),
    Subject("ur5e", "menagerie:universal_robots_ur5e", 0.35),
    Subject("panda", "menagerie:franka_emika_panda", 0.25),
)


class Number(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fitted number with a planted truth."""

    name: str
    kind: str
    truth: float
    mean: float
    sd: float
    verdict: str


class TruthRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One calibration."""

    subject: str
    condition: str
    seed: int
    outcome: str
    numbers: list[Number]
    processor: float
    """[s]"""
    date: str
    commit: str


class CoverageFile(msgspec.Struct, forbid_unknown_fields=True):
    """benchmarks/results/coverage.json."""

    tables: dict[str, Table] = {}
    truths: list[TruthRow] = []


def load_subject(subject: Subject, folder: Path) -> Twin:
    (folder / "joint.xml").write_text(JOINT)
    own = folder / subject.twin
    return load_twin(own if own.suffix == ".xml" else subject.twin)


def draw_truth(twin: Twin, joints: Sequence[str], seed: int) -> dict[str, float]:
    """Numbers of joints and of their drives; a joint with a braking drive keeps its
    own damping, since the two can be exchanged."""
    chance = np.random.default_rng([seed, 1])
    truth: dict[str, float] = {}
    for joint in joints:
        brakes = _is_planted(twin, f"{joint}.kd")
        for kind in KINDS:
            name, factor = f"{joint}.{kind}", float(np.exp(chance.uniform(-OFF, OFF)))
            if _is_planted(twin, name) and not (kind == "damping" and brakes):
                truth[name] = twin.space[name].nominal * factor
    if "all.delay" in twin.space:
        truth["all.delay"] = float(chance.uniform(*DELAY))
    return truth


def _is_planted(twin: Twin, name: str) -> bool:
    return name in twin.space and twin.space[name].nominal > 0


def record(
    subject: Subject, twin: Twin, truth: dict[str, float], condition: str, seed: int
) -> list[Recording]:
    """Motions of a stand-in with this truth."""
    joints = sorted({n.rpartition(".")[0] for n in truth} - {"all"})
    effects: list[Effect] = []
    if condition == "unmodelled":
        for joint in joints:
            effects.append(LoadFriction(joint=joint, coefficient=LOAD_FRICTION))
            dry = truth.get(f"{joint}.coulomb_friction", 0.0)
            if dry > 0:
                effects.append(Stribeck(joint=joint, static=STRIBECK_SHARE * dry))
    white = 0.0 if condition == "coloured" else SIGMA
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _ = load_subject(subject, folder)
        described = RealityFile(
            schema=1,
            twin=subject.twin,
            seed=seed,
            parameters=truth,
            effects=effects,
            noise=RealityNoise(position=white, velocity=10 * SIGMA),
        )
        robot = StandIn(make_reality("planted", described, folder=folder))
    sidecar = Sidecar(command_kind=subject.kind, rate=robot.info.rate)
    home = np.array(robot.read().position)
    found = []
    for k in range(MOTIONS):
        rest = home if subject.kind == "position" else np.zeros_like(home)
        waves = make_waves(rest, subject.swing, robot.info.rate, 10 * seed + k)
        made = play(robot, waves, sidecar=sidecar).crop(SETTLED, np.inf)
        found.append(_add_noise(made, 10 * seed + k) if not white else made)
    return found


def make_waves(rest: Floats, swing: float, rate: float, seed: int) -> Floats:
    """(steps, inputs) sums of sines around a rest, after a second of it."""
    chance = np.random.default_rng([seed, 2])
    t = np.arange(round(SECONDS * rate)) / rate
    low, high = np.log(FREQUENCIES)
    shape = (WAVES, len(rest))
    frequency = np.exp(chance.uniform(low, high, shape))
    phase = chance.uniform(0, 2 * np.pi, shape)
    size = 1 / np.sqrt(frequency)
    size *= swing / np.sqrt(0.5 * np.sum(size**2, axis=0)) / 2
    waves = (size * np.sin(2 * np.pi * frequency * t[:, None, None] + phase)).sum(1)
    ramp = np.minimum(1, t / 0.5)
    still = np.tile(rest, (round(SETTLED * rate), 1))
    return np.concatenate([still, rest + np.clip(waves, -swing, swing) * ramp[:, None]])


def _add_noise(recording: Recording, seed: int) -> Recording:
    """Position noise n_k = ρ n_{k−1} + √(1 − ρ²) σ w_k."""
    chance = np.random.default_rng([seed, 3])
    signals: dict[str, Floats] = {}
    for joint in recording.joints:
        own = chance.standard_normal(len(recording.time))
        noise = np.empty_like(own)
        noise[0] = own[0]
        for k in range(1, len(own)):
            fresh = np.sqrt(1 - CORRELATION**2) * own[k]
            noise[k] = CORRELATION * noise[k - 1] + fresh
        name = f"{joint}.position"
        signals[name] = recording.signals[name] + SIGMA * noise
    return recording.with_signals(signals)


def run_truth(subject: Subject, condition: str, seed: int, folder: Path) -> TruthRow:
    """Plants, records, calibrates, and only then reads the truth."""
    twin = load_subject(subject, folder)
    joints = [n.rpartition(".")[0] for n in twin.space.names if n.endswith(".armature")]
    truth = draw_truth(twin, [j for j in joints if j != "all"], seed)
    recordings = record(subject, twin, truth, condition, seed)
    began = time.process_time()
    found = calibrate(twin, recordings)
    spent = time.process_time() - began
    numbers = [
        Number(e.name, twin.space[e.name].kind, truth[e.name], e.mean, e.sd, e.verdict)
        for e in found.estimates
        if e.is_fitted and e.name in truth
    ]
    return TruthRow(
        subject.name,
        condition,
        seed,
        found.outcome.value,
        numbers,
        round(spent, 1),
        f"{datetime.now(UTC):%Y-%m-%d}",
        read_commit(),
    )


def run_part(part: tuple[Subject, str, int]) -> TruthRow:
    with tempfile.TemporaryDirectory() as made:
        return run_truth(*part, Path(made))


def build_table(truths: Sequence[TruthRow]) -> Table:
    """Numbers within their interval of those so called, by kind of parameter."""
    counts: dict[tuple[str, str, str], dict[str, list[bool]]] = {}
    for row in truths:
        for n in row.numbers:
            own = counts.setdefault(
                (row.subject, row.condition, n.kind), defaultdict(list)
            )
            own[n.verdict].append(abs(n.mean - n.truth) <= QUANTILE * n.sd)
    rows: list[list[str | float | None]] = []
    for (subject, condition, kind), own in sorted(counts.items()):
        sure, effective = own["identified"], own["effective"]
        share = ""
        if sure:
            low, high = compute_wilson_interval(sum(sure), len(sure))
            share = f"{100 * np.mean(sure):.0f} % ({100 * low:.0f} to {100 * high:.0f})"
        others = sum(map(len, own.values())) - len(sure) - len(effective)
        rows.append(
            [
                f"{subject}, {condition}",
                kind,
                f"{sum(sure)} of {len(sure)}",
                share,
                f"{sum(effective)} of {len(effective)}",
                others,
            ]
        )
    return Table(
        date=", ".join(sorted({row.date for row in truths})),
        machine=f"{platform.machine()}, shared",
        commit=", ".join(sorted({row.commit for row in truths})),
        command="python benchmarks/coverage.py",
        columns=[
            "subject, noise",
            "kind",
            "identified: within 90 %",
            "share (95 %)",
            "effective: within 90 %",
            "fitted, neither",
        ],
        rows=rows,
    )


def load_file(path: Path) -> CoverageFile:
    if not path.exists():
        return CoverageFile()
    return msgspec.json.decode(path.read_bytes(), type=CoverageFile)


def save_rows(rows: Sequence[TruthRow], path: Path) -> None:
    """Puts truths in place of those that were there."""
    keys = {(r.subject, r.condition, r.seed) for r in rows}
    others = [
        r
        for r in load_file(path).truths
        if (r.subject, r.condition, r.seed) not in keys
    ]
    truths = sorted([*others, *rows], key=lambda r: (r.subject, r.condition, r.seed))
    made = CoverageFile(tables={"coverage": build_table(truths)}, truths=truths)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[s.name for s in SUBJECTS])
    parser.add_argument("--conditions", nargs="*", default=CONDITIONS)
    parser.add_argument("--truths", type=int, default=100, help="of each")
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--output", type=Path, default=FILE)
    parser.add_argument("--merge", type=Path, nargs="*", help="files to take over")
    chosen = parser.parse_args()
    path: Path = chosen.output
    if chosen.merge:
        save_rows([r for file in chosen.merge for r in load_file(file).truths], path)
        return
    commit = read_commit()
    done = {(r.subject, r.condition, r.seed, r.commit) for r in load_file(path).truths}
    parts = [
        (subject, condition, seed)
        for seed in range(chosen.truths)
        for subject in SUBJECTS
        for condition in chosen.conditions
        if subject.name in chosen.only
        and (subject.name, condition, seed, commit) not in done
    ]
    found = run_parts(
        run_part, parts, workers=chosen.workers, seconds=60 * chosen.minutes
    )
    for row in found:
        save_rows([row], path)
        off = [abs(n.mean - n.truth) / n.sd for n in row.numbers]
        print(
            f"{row.subject}, {row.condition}, seed {row.seed}: {row.outcome}, "
            f"{sum(x <= QUANTILE for x in off)} of {len(off)} within, "
            f"worst {max(off, default=0):.1f} sd, {row.processor:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
