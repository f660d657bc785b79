"""Training a quadruped on one GPU: raw physics, the environment, PPO, time to walk.

    python benchmarks/training_gpu.py [--worlds 4096 16384] [--seconds 60]
        [--coarse] [--mjlab FOLDER]

Prints ratios in one run. With `--coarse`, practice has twice the twin's time step;
episodes that judge never do. With `--mjlab`, a folder of packages that holds mjlab (it
pins an older MuJoCo, so that it cannot share an environment), its own Go1 is trained
with as many worlds right after ours. Without it ours is compared with what mjlab did on
the same kind of GPU before.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from walking import walk

from realworthy.learning.ppo import Ppo, PpoSettings
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.legged.quadruped import QuadrupedVelocity, quadruped_randomization
from realworthy.tasks.randomization.randomization import Randomization

MJLAB = 120_000
"""Steps/s of mjlab 1.6 with PPO, Go1 flat, 4,096 worlds, one H200, run apart."""
PEER = Path(__file__).parent / "peers" / "mjlab_go1.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, nargs="*", default=[4096, 16384])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--with-warp", action="store_true")
    parser.add_argument("--train", type=int, nargs="*", default=[4096])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--coarse", action="store_true")
    parser.add_argument("--mjlab", type=Path, metavar="FOLDER")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    rows = [measure_speed(count, given) for count in given.worlds]
    runs = [time_to_walk(count, given) for count in given.train]
    if given.output is not None:
        given.output.write_text(json.dumps({"speed": rows, "walking": runs}, indent=1))


def measure_speed(count: int, given: argparse.Namespace) -> dict[str, float]:
    """Steps/s of raw physics, of the environment and of PPO, in one process."""
    worlds = build(count, given, coarse=given.coarse)
    simulator, device = worlds.simulator, worlds.device
    command = worlds.scene.initial_command.repeat(count, 1)
    raw = rate(lambda: simulator.step(command), given.steps, count, device)
    worlds.reset(scatter=True)
    action = 0.3 * torch.randn(count, worlds.action_width, device=device)
    stepping = rate(lambda: worlds.step(action), given.steps, count, device)
    settings = PpoSettings()
    learner = Ppo(worlds, settings, seed=0)
    learner.collect(worlds)
    learner.update()
    collect = rate(lambda: learner.collect(worlds), 4, count * settings.horizon, device)

    def cycle() -> None:
        learner.collect(worlds)
        learner.update()

    learning = rate(cycle, 4, count * settings.horizon, device)
    found = {
        "worlds": count,
        "raw": raw,
        "environment": stepping,
        "collect": collect,
        "ppo": learning,
    }
    print(
        f"{count:,} worlds: raw physics {raw:,.0f} steps/s; environment "
        f"{stepping / raw:.2f} of it; collecting {collect / raw:.2f}; PPO "
        f"{learning:,.0f} steps/s, {learning / MJLAB:.1f} × mjlab's 120,000 of before",
        flush=True,
    )
    if given.mjlab is not None:
        peer = measure_mjlab(count, given)
        found["mjlab"] = peer["rate"]
        print(
            f"{count:,} worlds of mjlab: PPO {peer['rate']:,.0f} steps/s, ours "
            f"{learning / peer['rate']:.1f} × that; walks by its own words after "
            f"{peer['reached']} s; at last {peer['curve'][-1]}",
            flush=True,
        )
    return found


def measure_mjlab(count: int, given: argparse.Namespace) -> dict[str, Any]:
    """mjlab's own Go1 with its own PPO, for as long as ours may learn to walk."""
    path = os.pathsep.join(filter(None, (str(given.mjlab), os.getenv("PYTHONPATH"))))
    asked = (str(given.seconds / 60), str(count), given.device)
    done = subprocess.run(
        (sys.executable, str(PEER), *asked),
        env=os.environ | {"PYTHONPATH": path, "WANDB_MODE": "disabled"},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"mjlab did not run:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def time_to_walk(count: int, given: argparse.Namespace) -> dict[str, object]:
    """Trains for some seconds and looks at 1,000 held-out episodes on the way."""
    worlds = build(count, given, seed=given.seed, coarse=given.coarse)
    everyday = quadruped_randomization(pushes=False)
    judged = {
        name: build(min(1000, count), given, seed=given.seed + 1_000_003, how=how)
        for name, how in (
            ("pushed", quadruped_randomization()),
            ("noisy", everyday),
            ("exact", replace(everyday, noise=0.0)),
        )
    }
    learner = Ppo(worlds, PpoSettings(), seed=given.seed)
    spent, looked, curve = 0.0, 0.0, []
    while spent < given.seconds:
        synchronise(worlds.device)
        began = time.perf_counter()
        learner.collect(worlds)
        metrics = learner.update()
        synchronise(worlds.device)
        spent += time.perf_counter() - began
        if spent - looked >= given.seconds / 6 or spent >= given.seconds:
            looked = spent
            row = {"seconds": spent, "reward": metrics.rollout.reward}
            row |= walk(judged["pushed"], learner.act)
            row["std"], row["invalid"] = metrics.std, worlds.invalid_count
            curve.append(row)
            print({k: round(v, 3) for k, v in row.items()}, flush=True)
    for name, kept in judged.items():
        found = walk(kept, learner.act)
        print(count, name, {k: round(v, 3) for k, v in found.items()}, flush=True)
        curve.append({"judged": name, **found})
    return {"worlds": count, "curve": curve}


def build(
    count: int,
    given: argparse.Namespace,
    *,
    seed: int = 0,
    how: Randomization | None = None,
    coarse: bool = False,
) -> TaskWorlds:
    return TaskWorlds(
        QuadrupedVelocity(),
        count,
        randomization=how or quadruped_randomization(),
        seed=seed,
        device=given.device,
        with_warp=True if given.with_warp else None,
        coarse=coarse,
    )


def rate(work, times: int, steps: int, device: torch.device) -> float:
    """Steps/s of some work that makes `steps` steps each time."""
    for _ in range(min(3, times)):
        work()
    synchronise(device)
    began = time.perf_counter()
    for _ in range(times):
        work()
    synchronise(device)
    return times * steps / (time.perf_counter() - began)


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
