"""How many control steps, and seconds, each learner needs for a task.

    python benchmarks/learners.py --jobs 2 --output curves.json \\
        [--tasks pendulum reach_wrist] [--learners ppo fastsac fasttd3] [--seeds 0 1 2]
    python benchmarks/learners.py --tables curves.json…

Learners practise by their presets, in worlds as different as the preset says. After
every so many control steps of all worlds together the deterministic policy plays 256
held-out episodes, the same every time; learning ends where the target was met. What
looking takes is not counted. `--jobs` runs go side by side, each on one thread. The
second form writes `benchmarks/results/learners.json` from such files, of which
`python benchmarks/pages.py` makes tables and plots.
"""

import argparse
import datetime
import json
import multiprocessing
import platform
import time
from pathlib import Path
from statistics import median
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
RESULT = Path(__file__).parent / "results" / "learners.json"
POINTS = 12
"""Rows of a table of curves, at most."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=["pendulum", "reach_wrist"])
    parser.add_argument("--learners", nargs="+", default=["ppo", "fastsac", "fasttd3"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--every", type=int, default=20_000, help="steps between looks")
    parser.add_argument("--most", type=int, default=2_000_000, help="steps")
    parser.add_argument("--target", type=float, default=0.95, help="share of successes")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("curves.json"))
    parser.add_argument("--tables", type=Path, nargs="+", metavar="CURVES")
    given = parser.parse_args()
    if given.tables:
        runs = [run for path in given.tables for run in json.loads(path.read_text())]
        text = json.dumps({"tables": build_tables(runs), "runs": runs}, indent=1)
        RESULT.write_text(text + "\n", encoding="utf-8")
        return
    asked = [
        (task, learner, seed, given.every, given.most, given.target)
        for seed in given.seeds
        for task in given.tasks
        for learner in given.learners
    ]
    runs = []
    context = multiprocessing.get_context("spawn")
    with context.Pool(given.jobs, maxtasksperchild=1) as pool:
        for run in pool.imap_unordered(_measure, asked, chunksize=1):
            runs.append(run)
            given.output.write_text(json.dumps(runs, indent=1), encoding="utf-8")


def _measure(asked: tuple[str, str, int, int, int, float]) -> dict[str, Any]:
    task, learner, seed, every, most, target = asked
    return measure_run(task, learner, seed, every=every, most=most, target=target)


def measure_run(
    task: str,
    learner: str,
    seed: int,
    *,
    every: int,
    most: int,
    target: float,
) -> dict[str, Any]:
    """One run with its curve, and when it first met the target."""
    torch.set_num_threads(1)
    settings = choose_settings(task, learner=learner, seed=seed)
    definition = find_task(task)

    def build(count: int, seed: int, *, practises: bool) -> TaskWorlds:
        built = definition.build()
        how = choose_randomization(definition, built.twin, Randomize.PRESET)
        return TaskWorlds(
            built,
            count,
            randomization=how,
            seed=seed,
            thread_count=1,
            coarse=practises and settings.coarse,
            is_practice=practises,
        )

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
        "machine": f"{platform.machine()}, one thread a run",
        "commit": find_commit()[:7],
    }


def build_tables(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Steps to the target by task and learner, and the median curves of each task."""
    tasks = list(dict.fromkeys(run["task"] for run in runs))
    learners = sorted({run["learner"] for run in runs}, key=lambda x: (x != "ppo", x))
    found = {}
    rows = []
    for task in tasks:
        groups = {
            name: sorted(
                (r for r in runs if (r["task"], r["learner"]) == (task, name)),
                key=lambda r: r["seed"],
            )
            for name in learners
        }
        groups = {name: group for name, group in groups.items() if group}
        usual = find_median(groups.get("ppo", []))
        for name, group in groups.items():
            reached = [r["reached"] for r in group]
            all_reached = all(x is not None for x in reached)
            middle = find_median(group)
            rows.append(
                [
                    task,
                    name,
                    [x["steps"] / 1000 for x in reached] if all_reached else None,
                    [x["seconds"] for x in reached] if all_reached else None,
                    f"{sum(x is not None for x in reached)} of {len(group)}",
                    round(middle / usual, 2) if middle and usual else None,
                ]
            )
        found[f"curves_{task}"] = describe(groups, "success") | build_curves(groups)
    columns = ["task", "learner", "steps [thousand]", "learning [s]", "seeds that did"]
    target = runs[0]["target"]
    everything = {str(i): [run] for i, run in enumerate(runs)}
    return {
        "steps": {
            **describe(everything, f"until {target:.0%} of 256 held-out succeed"),
            "columns": [*columns, "steps ÷ PPO's, medians"],
            "rows": rows,
        },
        **found,
    }


def describe(groups: dict[str, list[dict[str, Any]]], what: str) -> dict[str, Any]:
    runs = [run for group in groups.values() for run in group]
    commits = sorted({run["commit"] for run in runs})
    return {
        "date": max(run["date"] for run in runs),
        "machine": f"{runs[0]['machine']}; {what}",
        "seeds": ", ".join(map(str, sorted({run["seed"] for run in runs}))),
        "commit": ", ".join(commits) or None,
        "command": "python benchmarks/learners.py",
    }


def find_median(group: list[dict[str, Any]]) -> float | None:
    """Steps to the target; None where a seed did not get there."""
    reached = [run["reached"] for run in group]
    if not group or any(x is None for x in reached):
        return None
    return median(x["steps"] for x in reached)


def build_curves(groups: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Median success over seeds by steps; a run that has met the target stays there."""
    longest = max(run["curve"][-1]["steps"] for g in groups.values() for run in g)
    rows = []
    for i in range(1, POINTS + 1):
        steps = longest * i // POINTS
        row: list[float | None] = [round(steps / 1000)]
        for group in groups.values():
            seen = [[x for x in r["curve"] if x["steps"] <= steps] for r in group]
            is_known = all(seen)
            row.append(median(x[-1]["success"] for x in seen) if is_known else None)
        rows.append(row)
    return {
        "columns": ["steps [thousand]", *groups],
        "rows": rows,
        "plot": {"kind": "lines", "columns": ["steps [thousand]", *groups]},
    }


if __name__ == "__main__":
    main()
