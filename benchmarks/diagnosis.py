"""Planted faults: does `diagnose` name what is wrong, and nothing that is not?

Stand-ins with one or two hidden faults, and healthy ones, are driven by random
multisines; `diagnose` sees their recordings and the twin, never the truth.

    python benchmarks/diagnosis.py                    everything, about an hour
    python benchmarks/diagnosis.py --only arm pairs   cases whose names hold a word
    python benchmarks/diagnosis.py --seeds 3          each fault with three seeds
    python benchmarks/diagnosis.py --json FILE        what was said of each case

A fault counts as found at rank k if the planted cause and joint, or one that the report
declares indistinguishable from it, stands at rank k. Of a pair both must be among the
first four. A healthy run counts as a false accusation if any cause is named.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from realworthy.deployment import play
from realworthy.diagnosis import Cause, Diagnosis, diagnose
from realworthy.gap.intervals import compute_wilson_interval
from realworthy.realities import StandIn, make_reality
from realworthy.realities.file import RealityFile
from realworthy.recordings import Recording
from realworthy.twins import bind, load_twin

NOISE = {
    "position": 0.001,
    "velocity": 0.01,
    "torque": 0.02,
    "gyro": 0.01,
    "orientation": 0.001,
    "acceleration": 0.1,
}
SHARE = {
    "pendulum": 0.25,
    "double_pendulum": 0.2,
    "cartpole": 0.3,
    "diffdrive": 0.6,
    "servo_bench": 0.6,
}
"""Of the range of commands that motions fill; 0.3 where not said."""


@dataclass(frozen=True)
class Planted:
    """One fault: how a reality file says it, and how a diagnosis should."""

    twin: str
    name: str
    joints: tuple[str, ...]
    parameters: dict[str, float] = field(default_factory=dict)
    effects: tuple[dict[str, object], ...] = ()
    interface: dict[str, object] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.twin}: {self.name} {','.join(self.joints)}"


def parameter(twin: str, name: str, value: float, joints: str = "") -> Planted:
    kind = name.rsplit(".", 1)[-1]
    if kind in ("x", "y", "z"):
        kind = name.split(".")[1]
    return Planted(twin, kind, tuple(joints.split()), {name: value})


def effect(twin: str, kind: str, joint: str, **numbers: float) -> Planted:
    told = {"kind": kind, "joint": joint, **numbers}
    return Planted(twin, kind, (joint,), effects=(told,))


def interface(twin: str, name: str, joints: str, told: object) -> Planted:
    key = {"dropped_samples": "loss"}.get(name, name)
    return Planted(twin, name, tuple(joints.split()), interface={key: told})


ARM = (
    *("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex"),
    *("wrist_yaw", "wrist_roll", "gripper"),
)
LEGS = [
    f"{leg}_{part}"
    for leg in ("FL", "FR", "RL", "RR")
    for part in ("hip", "thigh", "calf")
]


def exchange(names: Sequence[str], first: str, second: str) -> list[str]:
    swap = {first: second, second: first}
    return [swap.get(name, name) for name in names]


SINGLES = [
    parameter("pendulum", "joint.damping", 0.1, "joint"),
    parameter("pendulum", "joint.coulomb_friction", 0.45, "joint"),
    parameter("pendulum", "pendulum.mass", 0.8, "joint"),
    parameter("pendulum", "joint.delay", 0.015, "joint"),
    parameter("pendulum", "joint.gear", 0.8, "joint"),
    effect("pendulum", "drag", "joint", coefficient=0.03),
    effect("pendulum", "backlash", "joint", width=0.06),
    effect("pendulum", "cable", "joint", stiffness=0.4, rest=0.5),
    effect("pendulum", "hysteresis", "joint", torque=0.3, stiffness=5.0),
    effect("pendulum", "saturation", "joint", limit=2.0),
    effect(
        "pendulum",
        "thermal_fade",
        "joint",
        time_constant=8.0,
        loss=0.4,
        rated_torque=2.0,
    ),
    effect("pendulum", "load_friction", "joint", coefficient=0.15),
    interface("pendulum", "encoder_offset", "joint", {"joint": 0.1}),
    interface("pendulum", "clock_offset", "joint", 0.016),
    parameter("double_pendulum", "elbow.damping", 0.02, "elbow"),
    parameter("double_pendulum", "shoulder.coulomb_friction", 0.3, "shoulder"),
    parameter("double_pendulum", "link2.mass", 0.75, "elbow"),
    effect("double_pendulum", "drag", "elbow", coefficient=0.01),
    interface(
        "double_pendulum", "joint_order", "shoulder elbow", ["elbow", "shoulder"]
    ),
    effect("double_pendulum", "flexibility", "elbow", stiffness=3.0),
    parameter("cartpole", "pole.mass", 0.16, "pole"),
    parameter("cartpole", "cart.damping", 1.0, "cart"),
    effect("cartpole", "stribeck", "cart", static=1.0, velocity=0.2),
    parameter("arm", "elbow_flex.damping", 1.2, "elbow_flex"),
    parameter("arm", "forearm.mass", 0.25, "elbow_flex"),
    parameter("arm", "shoulder_lift.kp", 8.0, "shoulder_lift"),
    parameter("arm", "wrist_roll.coulomb_friction", 0.5, "wrist_roll"),
    parameter("arm", "all.delay", 0.02, " ".join(ARM)),
    parameter("arm", "wrist_flex.armature", 0.06, "wrist_flex"),
    interface("arm", "joint_sign", "elbow_flex", ["elbow_flex"]),
    interface(
        "arm",
        "joint_order",
        "shoulder_lift elbow_flex",
        exchange(ARM, "shoulder_lift", "elbow_flex"),
    ),
    interface("arm", "default_pose", "wrist_flex", {"wrist_flex": 0.08}),
    interface("arm", "rate", "", 25.0),
    interface("arm", "unit_scale", "wrist_yaw", {"wrist_yaw": 57.29578}),
    interface("arm", "stale_samples", "", 0.15),
    interface("arm", "dropped_samples", "", 0.1),
    interface("arm", "command_kind", "", "velocity"),
    effect("arm", "backlash", "shoulder_lift", width=0.05),
    effect("arm", "flexibility", "shoulder_lift", stiffness=15.0, damping=0.05),
    effect("arm", "hysteresis", "elbow_flex", torque=0.4, stiffness=20.0),
    effect("arm", "saturation", "shoulder_lift", limit=0.8),
    effect("arm", "cable", "wrist_flex", stiffness=1.0, rest=0.3),
    parameter("quadruped", "FL_thigh.kp", 25.0, "FL_thigh"),
    parameter("quadruped", "trunk.mass", 9.5),
    parameter("quadruped", "all.kd", 1.8, " ".join(LEGS)),
    interface("quadruped", "joint_sign", "RL_hip", ["RL_hip"]),
    interface("quadruped", "quaternion_order", "", "xyzw"),
    effect("quadruped", "load_friction", "RR_calf", coefficient=0.3),
    effect("quadruped", "stribeck", "FR_calf", static=2.0, velocity=0.3),
    parameter("diffdrive", "left_wheel.kd", 0.05, "left_wheel"),
    parameter("diffdrive", "right_wheel.coulomb_friction", 0.06, "right_wheel"),
    interface(
        "diffdrive",
        "joint_order",
        "left_wheel right_wheel",
        ["right_wheel", "left_wheel"],
    ),
    parameter("servo_bench", "arm.damping", 0.03, "arm"),
    effect("servo_bench", "backlash", "arm", width=0.1),
]
PAIRS = [
    (
        parameter("pendulum", "joint.damping", 0.1, "joint"),
        parameter("pendulum", "joint.delay", 0.015, "joint"),
    ),
    (
        parameter("pendulum", "pendulum.mass", 0.8, "joint"),
        effect("pendulum", "drag", "joint", coefficient=0.02),
    ),
    (
        parameter("arm", "elbow_flex.kp", 9.0, "elbow_flex"),
        interface("arm", "default_pose", "wrist_flex", {"wrist_flex": 0.08}),
    ),
    (
        interface("arm", "joint_sign", "shoulder_pan", ["shoulder_pan"]),
        parameter("arm", "forearm.mass", 0.25, "elbow_flex"),
    ),
    (
        effect("arm", "backlash", "shoulder_lift", width=0.05),
        parameter("arm", "all.delay", 0.02, " ".join(ARM)),
    ),
    (
        parameter("arm", "wrist_roll.damping", 1.2, "wrist_roll"),
        parameter("arm", "shoulder_pan.coulomb_friction", 0.6, "shoulder_pan"),
    ),
    (
        parameter("double_pendulum", "elbow.damping", 0.02, "elbow"),
        parameter("double_pendulum", "shoulder.coulomb_friction", 0.3, "shoulder"),
    ),
    (
        parameter("quadruped", "FL_thigh.kp", 25.0, "FL_thigh"),
        parameter("quadruped", "RR_calf.kd", 2.0, "RR_calf"),
    ),
]
HEALTHY = (
    "pendulum",
    "double_pendulum",
    "cartpole",
    "arm",
    "quadruped",
    "diffdrive",
    "servo_bench",
)


def record(
    twin: str,
    planted: Sequence[Planted],
    seed: int,
    *,
    seconds: float = 12.0,
    timestep_factor: float = 1.0,
    noise: dict[str, float] | None = None,
) -> Recording:
    """A stand-in with these faults, driven by a random multisine."""
    told = {
        "schema": 1,
        "twin": twin,
        "seed": seed,
        "parameters": {k: v for p in planted for k, v in p.parameters.items()},
        "effects": [e for p in planted for e in p.effects],
        "interface": {k: v for p in planted for k, v in p.interface.items()},
        "noise": NOISE if noise is None else noise,
        "timestep_factor": timestep_factor,
    }
    robot = StandIn(make_reality("hidden", msgspec.convert(told, RealityFile)))
    return play(robot, excite(twin, robot, seconds, seed))


def excite(twin: str, robot: StandIn, seconds: float, seed: int) -> np.ndarray:
    """(steps, inputs): four sines of 0.2–1.5 Hz each, within a share of the range."""
    info, rng = robot.info, np.random.default_rng(1000 + seed)
    t = np.arange(round(seconds * info.rate)) / info.rate
    lower = np.where(np.isfinite(info.command_lower), info.command_lower, -1.0)
    upper = np.where(np.isfinite(info.command_upper), info.command_upper, 1.0)
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    if twin in ("quadruped", "humanoid"):  # around the standing pose
        middle = bind(load_twin(twin)).compiled.own["own.initial_ctrl"]
        half = np.full(len(middle), 0.6)
    share = SHARE.get(twin, 0.3)
    waves = []
    for _ in info.commands:
        frequency, phase = rng.uniform(0.2, 1.5, 4), rng.uniform(0, 2 * np.pi, 4)
        wave = np.sin(2 * np.pi * np.outer(t, frequency) + phase) @ rng.uniform(
            0.4, 1, 4
        )
        waves.append(wave / np.abs(wave).max())
    return middle + share * half * np.stack(waves, axis=1)


def matches(cause: Cause, planted: Planted) -> bool:
    """Whether a cause is the planted one, or says that it cannot be told from it."""
    said = [(cause.name, cause.joints)]
    said += [(other.name, other.joints) for other in cause.alternatives]
    return any(
        name == planted.name
        and (not planted.joints or set(planted.joints) & set(joints))
        for name, joints in said
    )


def rank(found: Diagnosis, planted: Planted) -> int:
    """Rank of the planted cause from 1; 99 where it is not named."""
    for k, cause in enumerate(found.causes, start=1):
        if matches(cause, planted):
            return k
    return 99


def describe(found: Diagnosis) -> list[str]:
    return [
        f"{c.name}({','.join(c.joints)}) {c.share:.2f}"
        + (f" ~ {','.join(c.indistinguishable_from)}" if c.alternatives else "")
        for c in found.causes
    ]


def share(hits: Sequence[bool]) -> str:
    interval = compute_wilson_interval(sum(hits), len(hits))
    low, high = 100 * interval.lower, 100 * interval.upper
    rate = 100 * np.mean(hits)
    return f"{sum(hits)}/{len(hits)} = {rate:.0f} % (95 %: {low:.0f} … {high:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--healthy", type=int, default=9, help="runs per twin")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    cases = [(p.label, (p,)) for p in SINGLES]
    cases += [("pairs " + " + ".join(p.label for p in pair), pair) for pair in PAIRS]
    lines: list[Line] = []
    for label, planted in cases:
        if asked.only and not any(word in label for word in asked.only):
            continue
        seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
        lines += [run(label, planted, seed, planted[0].twin) for seed in seeds]
    for twin in HEALTHY:
        label = f"healthy {twin}"
        if not asked.only or any(word in label for word in asked.only):
            lines += [run(label, (), seed, twin) for seed in range(asked.healthy)]
    summarise(lines)
    if asked.json:
        told = json.dumps([vars(line) for line in lines], indent=1)
        asked.json.write_text(told, encoding="utf-8")


@dataclass(frozen=True)
class Line:
    """What came of one run."""

    label: str
    seed: int
    ranks: list[int]
    said: list[str]
    verdict: str
    seconds: float


def run(label: str, planted: Sequence[Planted], seed: int, twin: str) -> Line:
    factor = 1.0 if planted or seed % 3 else 0.5  # every third healthy one is finer
    recording = record(twin, planted, seed, timestep_factor=factor)
    began = time.perf_counter()
    found = diagnose(load_twin(twin), recording)
    seconds = time.perf_counter() - began
    ranks, said = [rank(found, p) for p in planted], describe(found)
    line = Line(label, seed, ranks, said, found.verdict, seconds)
    is_right = min(ranks) == 1 and max(ranks) <= 4 if planted else not said
    mark = "ok " if is_right else "   "
    text = f"{mark}{label} #{seed} {ranks} {line.verdict} {seconds:.0f} s: {said}"
    print(text, flush=True)
    return line


def summarise(lines: Sequence[Line]) -> None:
    singles = [line.ranks[0] for line in lines if len(line.ranks) == 1]
    pairs = [max(line.ranks) for line in lines if len(line.ranks) == 2]
    healthy = [line for line in lines if not line.ranks]
    if singles:
        print("top 1:", share([r == 1 for r in singles]))
        print("top 3:", share([r <= 3 for r in singles]))
    if pairs:
        print("pairs, both among the first four:", share([r <= 4 for r in pairs]))
    if healthy:
        print("false accusations:", share([bool(line.said) for line in healthy]))
    seconds = [line.seconds for line in lines]
    print(f"seconds: median {np.median(seconds):.0f}, most {np.max(seconds):.0f}")


if __name__ == "__main__":
    main()
