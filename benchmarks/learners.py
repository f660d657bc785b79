"""How many control steps, and seconds, each learner needs for a task.

    python benchmarks/learners.py --task pendulum --learner ppo --seeds 0 1 2 \\
        --every 25000 --most 1500000 --output curves.json
    python benchmarks/learners.py --tables curves.json…

Learners practise by their presets, in worlds as different as the preset says. After
every so many control steps of all worlds together the deterministic policy plays 256
held-out episodes, the same every time; learning ends where the target was met. What
looking takes is not counted. The second form writes `benchmarks/results/learners.json`
from such files, of which `python benchmarks/pages.py` makes tables and plots.
"""

import argparse
import datetime
import json
import platform
import time
from pathlib import Path
from typing import Any

import torch

from realworthy.learning.presets import Randomize, choose_randomization
from realworthy.learning.runs import describe_settings, find_commit
from realworthy.learning.training import choose_settings
from realworthy.tasks.catalogue import find_task
from realworthy.tasks.environment.evaluate import evaluate
from realworthy.tasks.environment.worlds import TaskWorlds

EPISODES = 256
HELD_OUT = 1_000_003
"""Added to the seed for worlds in which policies are looked at, as in `train`."""
NARROW = 64
"""Neurons of a layer up to which a second thread costs more than it gives."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="pendulum")
    parser.add_argument("--learner", default="ppo")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--every", type=int, default=25_000, help="steps between looks")
    parser.add_argument("--most", type=int, default=1_500_000, help="steps")
    parser.add_argument("--target", type=float, default=0.95, help="share of successes")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    device = given.device
    runs = [
        measure_run(
            given.task,
            given.learner,
            seed,
            every=given.every,
            most=given.most,
            target=given.target,
            device=device,
        )
        for seed in given.seeds
    ]
    if given.output is not None:
        given.output.write_text(json.dumps(runs, indent=1), encoding="utf-8")


def measure_run(
    task: str,
    learner: str,
    seed: int,
    *,
    every: int,
    most: int,
    target: float,
    device: str = "cpu",
) -> dict[str, Any]:
    """One run with its curve, and when it first met the target."""
    settings = choose_settings(task, learner=learner, seed=seed, device=device)
    definition = find_task(task)

    def build(count: int, seed: int, *, practises: bool) -> TaskWorlds:
        built = definition.build()
        how = choose_randomization(definition, built.twin, Randomize.PRESET)
        return TaskWorlds(
            built,
            count,
            randomization=how,
            seed=seed,
            device=device,
            coarse=practises and settings.coarse,
            is_practice=practises,
        )

    if settings.learner.widest_layer <= NARROW:
        torch.set_num_threads(1)
    if device.startswith("cuda"):
        torch.set_float32_matmul_precision("high")
    worlds = build(settings.world_count, seed, practises=True)
    held_out = build(EPISODES, seed + HELD_OUT, practises=False)
    agent = settings.learner.build(worlds, seed=seed)
    curve: list[dict[str, float]] = []
    steps, spent, following = 0, 0.0, every
    reached = None
    while steps < most and reached is None:
        began = time.perf_counter()
        agent.collect(worlds)
        steps += agent.update().rollout.step_count
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        spent += time.perf_counter() - began
        if steps < following:
            continue
        following += every * ((steps - following) // every + 1)
        held_out.rewind()
        found = evaluate(held_out, agent.act)
        row = {
            "steps": steps,
            "seconds": round(spent, 2),
            "success": round(found.least_success, 4),
            "mean_return": round(found.mean_return, 4),
        }
        curve.append(row)
        print(task, learner, seed, row, flush=True)
        if found.least_success >= target:
            reached = row
    return {
        "task": task,
        "learner": learner,
        "seed": seed,
        "target": target,
        "reached": reached,
        "curve": curve,
        "settings": describe_settings(settings),
        "warnings": list(agent.warnings),
        "date": datetime.date.today().isoformat(),
        "machine": platform.machine(),
        "device": device,
        "threads": torch.get_num_threads(),
        "commit": find_commit()[:7],
    }


if __name__ == "__main__":
    main()
