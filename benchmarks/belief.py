"""Does a calibrated belief make better policies than none, or than wide randomization?

    python benchmarks/belief.py [--tasks pendulum cartpole_balance] [--seeds 5]

For every seed a hidden truth is drawn. A robot with that truth is recorded, its twin is
calibrated from the recordings, and three policies are trained with equal steps: on the
nominal model, with wide domain randomization around it (Peng 2018), and on the
calibrated twin with its posterior. Each is then judged in 200 episodes of the truth,
which nothing before has seen.
"""

import argparse
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from realworthy.deployment import play
from realworthy.gap.intervals import compute_mean_bootstrap
from realworthy.identification.calibration.calibrate import calibrate
from realworthy.learning.presets import find_preset
from realworthy.learning.train import train
from realworthy.learning.training import TrainSettings
from realworthy.parameters.draws import Draws
from realworthy.realities import RealityFile, RealityNoise, StandIn, make_reality
from realworthy.recordings import Recording
from realworthy.tasks.catalogue import TASKS, build_task
from realworthy.tasks.environment.evaluate import evaluate
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Task
from realworthy.tours.training import Way, choose_worlds
from realworthy.twins import Twin, load_twin

ARMS = {
    "published": Way.NOMINAL,
    "wide randomization": Way.WIDE,
    "calibrated": Way.CALIBRATED,
}
EPISODES = 200


@dataclass(frozen=True, slots=True)
class Case:
    """A task with the range of truths, and how its robot is recorded."""

    truths: dict[str, tuple[float, float]]
    """Parameter → factor of its nominal, log-uniform; a delay in seconds, uniform."""
    push: float
    """Largest command while recording."""
    recordings: int
    seconds: float
    """[s] of each: short where motion soon depends on everything."""
    steps: int
    """Control steps of each training."""


CASES = {
    "pendulum": Case(
        {
            "joint.damping": (0.5, 4.0),
            "joint.coulomb_friction": (0.5, 1.8),
            "pendulum.mass": (0.75, 1.35),
            "all.delay": (0.0, 0.08),
        },
        push=3.0,
        recordings=4,
        seconds=5.0,
        steps=800_000,
    ),
    "cartpole_balance": Case(
        {
            "cart.damping": (1.0, 12.0),
            "cart.coulomb_friction": (1.0, 8.0),
            "pole.mass": (0.5, 4.0),
            "all.delay": (0.0, 0.07),
        },
        push=12.0,
        recordings=12,
        seconds=1.6,
        steps=400_000,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=list(CASES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    rows = []
    for task in given.tasks:
        for seed in range(given.first, given.first + given.seeds):
            rows.append(run(task, CASES[task], seed))
            if given.output is not None:
                given.output.write_text(json.dumps(rows, indent=1))
        summarise(task, [row for row in rows if row["task"] == task])


def run(task: str, case: Case, seed: int) -> dict[str, object]:
    """Real success of the three policies on one truth."""
    began = time.perf_counter()
    twin = load_twin(TASKS[task].twin)
    truth = draw_truth(twin, case, seed)
    found = calibrate(twin, record(twin, truth, case, seed))
    row: dict[str, object] = {"task": task, "seed": seed, "truth": truth}
    for arm, way in ARMS.items():
        believed = found.twin if way is Way.CALIBRATED else twin
        worlds = choose_worlds(believed, way)
        row[arm] = judge(task, case, believed, worlds, twin, truth, seed)
    row["seconds"] = time.perf_counter() - began
    print(row, flush=True)
    return row


def draw_truth(twin: Twin, case: Case, seed: int) -> dict[str, float]:
    u = Draws(seed, "truth").uniform([0], len(case.truths))[0]
    truth = {}
    for x, (name, (low, high)) in zip(u, case.truths.items(), strict=True):
        if name.endswith("delay"):
            truth[name] = low + x * (high - low)
        else:
            truth[name] = twin.space[name].nominal * low * (high / low) ** x
    return {name: float(value) for name, value in truth.items()}


def record(
    twin: Twin, truth: dict[str, float], case: Case, seed: int
) -> list[Recording]:
    """Motions under sums of sines."""
    file = RealityFile(
        schema=1,
        twin=twin.name,
        seed=seed,
        parameters=truth,
        noise=RealityNoise(position=0.001, velocity=0.01),
    )
    robot = StandIn(make_reality("hidden", file))
    time_ = np.arange(round(case.seconds * robot.info.rate)) / robot.info.rate
    found = []
    for k in range(case.recordings):
        rates = np.array([0.4, 0.9, 1.7]) * (1 + 0.13 * k)
        command = np.sin(2 * np.pi * np.outer(time_, rates) + k).mean(axis=1)
        found.append(play(robot, (case.push * command)[:, None]))
    return found


def judge(
    task: str,
    case: Case,
    believed: Twin,
    randomization: Randomization,
    twin: Twin,
    truth: dict[str, float],
    seed: int,
) -> float:
    """Share of successes on the truth of a policy trained on what is believed."""
    preset = find_preset(task)
    settings = TrainSettings(
        task=task,
        learner=preset.learner(),
        world_count=preset.world_count,
        steps=case.steps,
        seed=seed,
    )

    def build() -> Task:
        return build_task(task, believed)

    with tempfile.TemporaryDirectory() as folder:
        done = train(
            settings,
            output=Path(folder) / "run",
            task=build,
            randomization=randomization,
        )
        worlds = TaskWorlds(
            build_task(task, twin.with_values(truth)),
            EPISODES,
            randomization=Randomization(noise=1.0),
            seed=seed + 5_000_003,
        )
        learner = settings.learner.build(worlds, seed=0)
        learner.load_weights(done.folder.load("best.pt"))
        return evaluate(worlds, learner.act).success


def summarise(task: str, rows: list[dict[str, object]]) -> None:
    shares = {arm: np.array([row[arm] for row in rows], dtype=float) for arm in ARMS}
    best = shares["calibrated"]
    for arm, found in shares.items():
        said = f"{task}, {arm}: median {np.median(found):.2f}, mean {found.mean():.2f}"
        if arm != "calibrated" and len(rows) > 1:
            low, high = compute_mean_bootstrap(best - found, seed=0)
            more = (best - found).mean()
            said += f"; calibrated is {more:+.2f} better ({low:+.2f} … {high:+.2f})"
        print(said, found.tolist())


if __name__ == "__main__":
    main()
