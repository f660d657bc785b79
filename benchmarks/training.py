"""Training a quadruped on the CPU: raw physics, the environment, PPO, and the peers.

    python benchmarks/training.py [--minutes 10] [--peers FOLDER]

Prints ratios in one run. Without `--peers` only our own figures. With it, each peer is
installed into an environment of its own under FOLDER, unless it is there already, and
runs a few updates: Stable-Baselines3 on our quadruped, mjlab on the Go1 that it brings,
UniLab on its Go2, for whose meshes MENAGERIE_ROOT must name a copy of MuJoCo Menagerie.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from walking import walk

from realworthy.learning.ppo import Ppo
from realworthy.learning.presets import find_preset
from realworthy.tasks.curriculum import ease, ramp
from realworthy.tasks.quadruped import QuadrupedVelocity, quadruped_randomization
from realworthy.tasks.worlds import TaskWorlds

WORLDS = 1024
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
        found["peers"] = measure_peers(given.peers, speed["ppo"])
    if given.output is not None:
        given.output.write_text(json.dumps(found, indent=1))


def measure_speed() -> dict[str, float]:
    """Steps/s of physics alone, of the environment, and of PPO end to end.

    As the preset practises, so with its time step. Physics alone has the same e in
    every world and gets the same commands.
    """
    preset = find_preset("quadruped")
    worlds, bare = (build(WORLDS, 0, coarse=preset.coarse) for _ in range(2))
    learner = Ppo(worlds, preset.ppo(), seed=0)
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
    """Trains with the preset, and looks at held-out episodes of 20 s on the way.

    256 with pushes and 256 without; e and noise are as in training in both.
    """
    preset = find_preset("quadruped")
    worlds = build(WORLDS, seed, coarse=preset.coarse)
    judged = build(256, seed + 1_000_003)
    calm = build(256, seed + 1_000_003, pushes=False)
    learner = Ppo(worlds, preset.ppo(), seed=seed)
    spent, looked, steps, curve = 0.0, 0.0, 0, []
    wanted = quadruped_randomization()
    while spent < 60 * minutes:
        began = time.perf_counter()
        if preset.ease_steps:
            factor = ramp(steps / preset.ease_steps, end=1.0)
            worlds.randomize(ease(wanted, round(factor, 1)))
        learner.collect(worlds)
        steps += learner.update().rollout.step_count
        spent += time.perf_counter() - began
        if spent - looked >= 30 * minutes or spent >= 60 * minutes:
            looked = spent
            row = {"seconds": spent, "steps": steps, **walk(judged, learner)}
            row |= {f"{k}, no pushes": x for k, x in walk(calm, learner).items()}
            curve.append(row)
            print({name: round(value, 3) for name, value in row.items()}, flush=True)
    return {"seed": seed, "curve": curve}


def build(
    count: int, seed: int, *, pushes: bool = True, coarse: bool = False
) -> TaskWorlds:
    return TaskWorlds(
        QuadrupedVelocity(),
        count,
        randomization=quadruped_randomization(pushes=pushes),
        seed=seed,
        coarse=coarse,
    )


def rate(work: Callable[[], object], times: int, steps: int) -> float:
    """Steps/s of some work that makes `steps` steps each time."""
    began = time.perf_counter()
    for _ in range(times):
        work()
    return times * steps / (time.perf_counter() - began)


def measure_peers(folder: Path, ours: float) -> dict[str, float]:
    """Steps/s of each peer with PPO on two cores, in its own environment."""
    found = {}
    for name, (packages, command, read) in PEERS.items():
        python = install(folder / name, packages)
        done = subprocess.run(
            [python, *command],
            capture_output=True,
            text=True,
            timeout=900,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        )
        if done.returncode:
            print(f"{name}: failed\n{done.stderr[-800:]}", flush=True)
            continue
        found[name] = read(done.stdout)
        print(
            f"{name}: {found[name]:,.0f} steps/s; ours is {ours / found[name]:.1f} x",
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


def read_last(text: str) -> float:
    """The number in the last line."""
    return float(text.strip().splitlines()[-1])


_HERE = Path(__file__).parent
PEERS: dict[str, tuple[tuple[str, ...], list[str], Callable[[str], float]]] = {
    "stable_baselines3": (
        ("stable-baselines3", str(_HERE.parent)),
        [str(_HERE / "peers" / "stable_baselines3_quadruped.py")],
        read_last,
    ),
    "mjlab": (("mjlab==1.6.0",), [str(_HERE / "peers" / "mjlab_go1.py")], read_last),
    "unilab": (
        ("unilab[mujoco]==1.5.2",),
        [str(_HERE / "peers" / "unilab_go2.py")],
        read_last,
    ),
}


if __name__ == "__main__":
    main()
