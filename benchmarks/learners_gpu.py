"""How soon each learner walks a quadruped on one GPU, and what an update costs there.

    python benchmarks/learners_gpu.py [--learners ppo fastsac fasttd3] [--seeds 0]
        [--seconds 45] [--worlds 4096] [--output curves.json]

All learners practise in the same worlds, one after the other, built once: randomized,
noisy and pushed. A few times on the way the deterministic policy plays 512 held-out
episodes of 20 s, which do not count as practice. About five minutes for three learners
and one seed on an H200, a minute of which is compilation. `--variants` compares other
settings of the learners with a replay.
"""

import argparse
import dataclasses
import datetime
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from walking import ERROR, FALLS, walk

from realworthy.learning.learner import LearnerSettings
from realworthy.learning.off_policy import OffPolicySettings
from realworthy.learning.presets import find_preset
from realworthy.learning.runs import find_commit
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.legged.quadruped import QuadrupedVelocity, quadruped_randomization

HELD_OUT = 1_000_003
LOOKS = 9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learners", nargs="+", default=["ppo", "fastsac", "fasttd3"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--seconds", type=float, default=45.0)
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    worlds = build(given.worlds, 0, given.device)
    judged = build(min(512, given.worlds), HELD_OUT, given.device)
    print("built", torch.__version__, flush=True)
    runs = []
    for name in given.learners:
        for label, settings in list_settings(name, variants=given.variants):
            for seed in given.seeds:
                try:
                    run = learn(worlds, judged, settings, seed, given.seconds)
                except (RuntimeError, torch.OutOfMemoryError) as error:
                    run = {"error": str(error)[-500:]}  # the others still count
                    print(name, label, run, flush=True)
                runs.append({"learner": name, "variant": label, "seed": seed, **run})
                torch.cuda.empty_cache()
                if given.output is not None:  # whatever happens to the next one
                    given.output.write_text(json.dumps(describe(runs), indent=1))


def describe(runs: list[dict[str, Any]]) -> dict[str, Any]:
    is_there = torch.cuda.is_available()
    return {
        "date": datetime.date.today().isoformat(),
        "machine": torch.cuda.get_device_name() if is_there else "cpu",
        "commit": find_commit()[:7],
        "runs": runs,
    }


def list_settings(name: str, *, variants: bool) -> list[tuple[str, LearnerSettings]]:
    """The preset of the quadruped on a GPU, and others to compare it with."""
    preset: Callable[[], LearnerSettings]
    preset = find_preset("quadruped", name).on("cuda").learner
    settings = preset()
    found = [("preset", settings)]
    if not variants or not isinstance(settings, OffPolicySettings):
        return found
    changes: dict[str, dict[str, object]] = {
        "twice the updates": {"updates": 2 * settings.updates},
        "half the batch": {"batch": settings.batch // 2},
        "discount 0.98": {"discount": 0.98},
        "windows of 3": {"window": 3},
        "no graph": {"capture": False},
    }
    for label, values in changes.items():
        found.append((label, dataclasses.replace(preset(), **values)))  # pyright: ignore
    return found


def learn(
    worlds: TaskWorlds,
    judged: TaskWorlds,
    settings: LearnerSettings,
    seed: int,
    seconds: float,
) -> dict[str, Any]:
    worlds.reseed(seed)
    learner = settings.build(worlds, seed=seed)
    learner.begin(worlds)
    spent, steps, updates, looked = 0.0, 0, 0, 0.0
    reached, curve, first = None, [], 0.0
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
            first = spent
        if spent - looked < seconds / LOOKS and spent < seconds:
            continue
        looked = spent
        found = walk(judged, learner.act)
        row = {"seconds": spent, "steps": steps, **found, **metrics.numbers}
        curve.append({k: round(v, 4) for k, v in row.items()})
        walks = found["velocity_error"] <= ERROR and found["falls"] <= FALLS
        if walks and reached is None:
            reached = {"seconds": round(spent, 2), "steps": steps}
        print(type(settings).__name__, seed, curve[-1], flush=True)
    cost = (spent - first) / max(1, updates - 3)
    return {
        "reached": reached,
        "curve": curve,
        "updates": updates,
        "seconds_per_update": round(cost, 5),
        "first_three_updates_s": round(first, 2),
        "steps_per_second": round(steps / spent),
        "memory": learner.memory_plan,
        "warnings": list(learner.warnings),
    }


def build(count: int, seed: int, device: str) -> TaskWorlds:
    return TaskWorlds(
        QuadrupedVelocity(),
        count,
        randomization=quadruped_randomization(),
        seed=seed,
        device=device,
    )


def synchronise(worlds: TaskWorlds) -> None:
    if worlds.device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
