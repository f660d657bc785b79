"""Training a quadruped on the CPU: raw physics, the environment, PPO, and the peers.

    python benchmarks/training.py [--minutes 10] [--peers FOLDER]

Prints ratios in one run. Without `--peers` only our own figures. With it, each peer is
installed into an environment of its own under FOLDER, unless it is there already, and
learns for as many minutes, or for a few updates where none are given:
Stable-Baselines3 on our quadruped, mjlab on the Go1 that it brings, UniLab on its Go2,
for whose meshes MENAGERIE_ROOT must name a copy of MuJoCo Menagerie. Of
Stable-Baselines3 as it comes, on the same robot in worlds that are stepped one by one,
only steps/s are measured.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from walking import WORLDS, Walk, build_worlds, walk

from realworthy.learning.ppo import Ppo
from realworthy.learning.ppo_presets import four_legged
from realworthy.learning.presets import find_preset

TORCH = "torch==2.13.0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.0, help="also train so long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    speed = measure_speed()
    found: dict[str, object] = {"speed": speed}
    if given.minutes:
        found["walking"] = time_to_walk(given.minutes, given.seed)
    if given.peers is not None:
        minutes, ours = given.minutes, speed["ppo"]
        found["peers"] = measure_peers(given.peers, ours, minutes)
    if given.output is not None:
        given.output.write_text(json.dumps(found, indent=1))


def measure_speed() -> dict[str, float]:
    """Steps/s of physics alone, of the environment, and of PPO end to end.

    As the preset practises, so with its time step. Physics alone has the same e in
    every world and gets the same commands.
    """
    preset = find_preset("quadruped")
    worlds, bare = (build_worlds(WORLDS, 0, coarse=preset.coarse) for _ in range(2))
    learner = Ppo(worlds, four_legged(), seed=0)
    learner.collect(worlds)
    learner.update()
    action = 0.3 * torch.randn(WORLDS, worlds.action_width)

    def cycle() -> None:
        learner.collect(worlds)
        learner.update()

    horizon = learner.settings.horizon
    rates: dict[str, list[float]] = {"raw": [], "environment": [], "ppo": []}
    command = bare.task.action.compute(action).numpy()
    simulator = bare.simulator
    for _ in range(3):  # interleaved, so that a busy moment hits all
        bare.reset()
        rates["raw"].append(rate(lambda: simulator.step(command), horizon, WORLDS))
        worlds.reset(scatter=True)
        stepping = rate(lambda: worlds.step(action), horizon, WORLDS)
        rates["environment"].append(stepping)
        learner.begin(worlds)
        rates["ppo"].append(rate(cycle, 1, WORLDS * horizon))
    found = {name: max(values) for name, values in rates.items()}
    print(
        f"{WORLDS:,} quadrupeds: raw {found['raw']:,.0f} steps/s; environment "
        f"{found['environment'] / found['raw']:.2f} of it; PPO {found['ppo']:,.0f} "
        "steps/s end to end",
        flush=True,
    )
    return found


def time_to_walk(minutes: float, seed: int) -> dict[str, object]:
    """Trains with the preset, and looks once a minute how well it walks.

    In the end also with pushes.
    """
    preset = find_preset("quadruped")
    worlds = build_worlds(WORLDS, seed, coarse=preset.coarse)
    learner = Ppo(worlds, four_legged(), seed=seed)
    walk_on, spent, steps = Walk(60.0, seed), 0.0, 0
    while spent < 60 * minutes:
        began = time.perf_counter()
        learner.collect(worlds)
        steps += learner.update().rollout.step_count
        spent += time.perf_counter() - began
        walk_on.look(spent, steps, learner.act)
    pushed = walk(build_worlds(256, seed + 1_000_003), learner.act)
    print("with pushes", {k: round(x, 3) for k, x in pushed.items()}, flush=True)
    reached = walk_on.reached
    return {"reached": reached, "curve": walk_on.curve, "with pushes": pushed}


def rate(work: Callable[[], object], times: int, steps: int) -> float:
    """Steps/s of some work that makes `steps` steps each time."""
    began = time.perf_counter()
    for _ in range(times):
        work()
    return times * steps / (time.perf_counter() - began)


@dataclass(frozen=True)
class Peer:
    environment: str
    """Folder of its own environment, in which packages are installed."""
    packages: tuple[str, ...]
    script: str
    most: float = math.inf
    """[min] that it is given: some are too slow to get anywhere in more."""

    def run(self, python: str, minutes: float) -> dict[str, Any]:
        """Its last line, which is JSON; stops where it fails."""
        minutes = min(minutes, self.most)
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(_HERE), str(_HERE.parent / "src")]
        )
        done = subprocess.run(
            [python, _HERE / "peers" / self.script, str(minutes)],
            capture_output=True,
            text=True,
            timeout=60 * minutes + 900,
            env=environment,
        )
        if done.returncode:
            sys.exit(f"{self.script}: failed\n{done.stdout[-400:]}{done.stderr[-800:]}")
        return json.loads(done.stdout.strip().splitlines()[-1])


def measure_peers(folder: Path, ours: float, minutes: float) -> dict[str, Any]:
    """Steps/s of each peer with PPO on two cores, and when it walked."""
    found = {}
    for name, peer in PEERS.items():
        python = install(folder / peer.environment, peer.packages)
        found[name] = said = peer.run(python, minutes)
        rate, reached = said["rate"], said["reached"]
        when = "no" if reached is None else f"after {reached:.0f} s"
        last = said["curve"][-1] if said["curve"] else {}
        print(
            f"{name}: {rate:,.0f} steps/s; ours is {ours / rate:.1f} x; walks: {when} "
            f"{ {k: round(x, 3) for k, x in last.items()} }",
            flush=True,
        )
    return found


def install(folder: Path, packages: tuple[str, ...]) -> str:
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", TORCH]
        subprocess.run([*pip, *packages], check=True)
    return str(python)


_HERE = Path(__file__).parent
_STABLE = ("stable-baselines3", str(_HERE.parent))
PEERS = {
    "Stable-Baselines3 as it comes": Peer(
        "stable_baselines3", _STABLE, "stable_baselines3_alone.py"
    ),
    "Stable-Baselines3 on our worlds": Peer(
        "stable_baselines3", _STABLE, "stable_baselines3_quadruped.py"
    ),
    "mjlab": Peer("mjlab", ("mjlab==1.6.0",), "mjlab_go1.py", most=3.0),
    "UniLab": Peer("unilab", ("unilab[mujoco]==1.5.2",), "unilab_go2.py"),
}


if __name__ == "__main__":
    main()
