"""How soon learners walk a quadruped and a G1 on one GPU, and what an update costs.

    python benchmarks/learners_gpu.py --output curves.json [--until 450]
        [--parts quadruped:ppo:24 quadruped:fastsac:40 g1:ppo_plain:10 g1:ppo:150]

Each part is a robot, a learner and seconds of practice. The quadruped is our own, by
the presets of its task. `g1` is menagerie:unitree_g1 with all its 29 joints as the task
`biped` prepares it: twelve of the legs learn, the others hold their pose. Its feet
collide, its other bodies do not, and practice has twice the twin's time step. Both are
randomized, noisy and pushed, the G1 by 0.5 m/s. `ppo_plain` has PPO's settings for
thousands of worlds and no mirrored samples.

On the way the deterministic policy plays 512 held-out episodes of 20 s with the twin's
own step, which do not count as practice. Kernels of all robots are compiled first, side
by side. Past `--until` seconds by the clock no part begins, and the one that runs ends.
With `--with-warp --device cpu` all of it runs on the CPU, for a try.
"""

import argparse
import datetime
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mujoco
import torch
from walking import ERROR, FALLS, walk

from realworthy.learning.learner import LearnerSettings
from realworthy.learning.ppo import PpoSettings
from realworthy.learning.ppo_presets import legged_on_gpu
from realworthy.learning.presets import find_preset
from realworthy.learning.runs import find_commit
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.legged.biped import BipedVelocity
from realworthy.tasks.legged.quadruped import QuadrupedVelocity, quadruped_randomization
from realworthy.tasks.randomization.randomization import Pushes
from realworthy.tasks.task import Task
from realworthy.twins import load_twin

HELD_OUT = 1_000_003
LOOKS = 5
"""Of each part."""
PARTS = ["quadruped:ppo:24", "quadruped:fastsac:40", "g1:ppo_plain:10", "g1:ppo:150"]
JUDGED = 512


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=PARTS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--until", type=float, default=450.0, help="s, by the clock")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--with-warp", action="store_true")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--compile", choices=ROBOTS, help="only that, of one robot")
    given = parser.parse_args()
    began = time.perf_counter()
    torch.set_float32_matmul_precision("high")
    if given.compile:
        return compile_kernels(given)
    parts = [part.split(":") for part in given.parts]
    robots = list(dict.fromkeys(robot for robot, _, _ in parts))
    own = [x for x in sys.argv[1:] if x != "--compile"]
    if given.device != "cpu":
        others = [
            subprocess.Popen([sys.executable, __file__, *own, "--compile", robot])
            for robot in robots
        ]
        for other in others:
            other.wait()
    report = Report(given, began)
    report.note("compiled")
    for robot in robots:
        worlds = build(robot, given, seed=given.seed, practises=True)
        judged = build(robot, given, seed=given.seed + HELD_OUT, practises=False)
        report.note(f"{robot} built")
        for _, learner, seconds in (x for x in parts if x[0] == robot):
            left = given.until - report.seconds
            if left <= 0:
                report.note(f"no time for {robot}:{learner}")
                continue
            try:
                settings = choose_settings(robot, learner)
                run = learn(
                    worlds, judged, settings, given.seed, min(float(seconds), left)
                )
            except Exception as error:  # the others still count
                run = {"error": f"{type(error).__name__}: {error}"[-500:]}
            report.add({"robot": robot, "learner": learner, "seed": given.seed, **run})
        del worlds, judged
        if given.device != "cpu":
            torch.cuda.empty_cache()


class Report:
    """What was found so far, written whenever there is more of it."""

    def __init__(self, given: argparse.Namespace, began: float) -> None:
        self._path: Path | None = given.output
        self._began = began
        self.runs: list[dict[str, Any]] = []
        self.clock: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    def note(self, what: str) -> None:
        self.clock[what] = round(self.seconds, 1)
        print(what, self.clock[what], flush=True)
        self._write()

    def add(self, run: dict[str, Any]) -> None:
        self.runs.append(run)
        told = {k: v for k, v in run.items() if k != "curve"}
        print(told, flush=True)
        self.note(f"{run['robot']}:{run['learner']} done")

    def _write(self) -> None:
        is_there = torch.cuda.is_available()
        found = {
            "date": datetime.date.today().isoformat(),
            "machine": torch.cuda.get_device_name() if is_there else "cpu",
            "versions": {"torch": torch.__version__, "mujoco": mujoco.__version__},
            "commit": find_commit()[:7],
            "clock": self.clock,
            "runs": self.runs,
        }
        if self._path is not None:
            self._path.write_text(json.dumps(found, indent=1))


@dataclass(frozen=True)
class Robot:
    task: Callable[[], Task]
    push: float
    """[m/s]"""
    coarse: bool
    """Practice has twice the twin's time step."""


def build_g1() -> Task:
    return BipedVelocity(load_twin("menagerie:unitree_g1").edited(keep_feet))


def keep_feet(spec: mujoco.MjSpec) -> None:
    """Meshes and the shoulders' cylinders do not collide; spheres under feet do."""
    hulls = (mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_CYLINDER)
    for shape in spec.geoms:
        if shape.type in hulls:
            shape.contype = shape.conaffinity = 0


ROBOTS = {
    "quadruped": Robot(QuadrupedVelocity, 1.0, coarse=False),
    "g1": Robot(build_g1, 0.5, coarse=True),
}


def choose_settings(robot: str, learner: str) -> LearnerSettings:
    if learner == "ppo_plain":
        return PpoSettings()
    if robot == "g1":
        return legged_on_gpu()
    return find_preset("quadruped", learner).on("cuda").learner()


def compile_kernels(given: argparse.Namespace) -> None:
    """As the parts will want them, into Warp's cache."""
    for practises in (True, False):
        worlds = build(given.compile, given, seed=0, practises=practises)
        worlds.reset()
        action = torch.zeros(
            worlds.world_count, worlds.action_width, device=worlds.device
        )
        for _ in range(3):
            worlds.step(action)


def learn(
    worlds: TaskWorlds,
    judged: TaskWorlds,
    settings: LearnerSettings,
    seed: int,
    seconds: float,
) -> dict[str, Any]:
    """A curve of so many seconds of practice, and when it first walked."""
    worlds.reseed(seed)
    learner = settings.build(worlds, seed=seed)
    learner.begin(worlds)
    spent, steps, updates, looked = 0.0, 0, 0, 0.0
    reached, curve, first, steps_first = None, [], 0.0, 0
    while spent < seconds:
        synchronise(worlds)
        began = time.perf_counter()
        learner.collect(worlds)
        metrics = learner.update()
        synchronise(worlds)
        spent += time.perf_counter() - began
        steps += metrics.rollout.step_count
        updates += 1
        if updates == 3:  # libraries are loaded, and a graph is recorded
            first, steps_first = spent, steps
        if spent - looked < seconds / LOOKS and spent < seconds:
            continue
        looked = spent
        found = walk(judged, learner.act)
        reward = metrics.rollout.reward
        row = {"seconds": spent, "steps": steps, "reward": reward}
        row |= found | metrics.numbers
        curve.append({k: round(v, 4) for k, v in row.items()})
        walks = found["velocity_error"] <= ERROR and found["falls"] <= FALLS
        if walks and reached is None:
            reached = {"seconds": round(spent, 2), "steps": steps}
        print(type(settings).__name__, seed, curve[-1], flush=True)
    if updates <= 3:
        first, steps_first = 0.0, 0
    return {
        "reached": reached,
        "curve": curve,
        "updates": updates,
        "first_three_updates_s": round(first, 2),
        "steps_per_second": round((steps - steps_first) / (spent - first)),
        "invalid": int(worlds.invalid_count),
        "memory": learner.memory_plan,
        "warnings": list(learner.warnings),
    }


def build(
    name: str, given: argparse.Namespace, *, seed: int, practises: bool
) -> TaskWorlds:
    robot = ROBOTS[name]
    task = robot.task()
    how = quadruped_randomization(task.twin)
    pushes = Pushes(speed=robot.push, every=(1.0, 3.0), start=5.0)
    return TaskWorlds(
        task,
        given.worlds if practises else min(JUDGED, given.worlds),
        randomization=replace(how, pushes=pushes),
        seed=seed,
        device=given.device,
        with_warp=True if given.with_warp else None,
        coarse=practises and robot.coarse,
        is_practice=practises,
    )


def synchronise(worlds: TaskWorlds) -> None:
    if worlds.device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
