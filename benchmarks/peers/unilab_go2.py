"""UniLab's own Go2 on flat ground, with its own PPO settings.

    python unilab_go2.py MINUTES

Its package comes without meshes, which are seen and not felt; those of MuJoCo Menagerie
at MENAGERIE_ROOT, which have the same names, stand in for them. How it walks is what it
says itself of practice: it adds up the velocity error of an episode as a share of 20 s,
which is divided by the share of 20 s that episodes last. Prints a line of JSON.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import unilab

TASK, UPDATES = "go2_joystick_flat", 3
MODEL = Path("assets", "robots", "go2")
STEPS = 1000
"""Control steps of an episode that does not end early."""
FIELDS = {
    "rate": r"Steps per second: +([\d.]+)",
    "steps": r"Total steps: +([\d.]+)",
    "length": r"Mean episode length: +([\d.]+)",
    "summed": r"Metrics/twist/error_vel_xy: +([\d.]+)",
    "took": r"Iteration time: +([\d.]+)s",
}


def main() -> None:
    minutes = float(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place_model(folder / "src" / "unilab" / MODEL)  # looked for from where it runs
        text = learn(folder, minutes)
    rows = [
        {k: float(m[1]) for k, x in FIELDS.items() if (m := re.search(x, part))}
        for part in text.split("Learning iteration")[1:]
    ]
    rows = [row for row in rows if FIELDS.keys() <= row.keys()]
    if len(rows) < 2:
        sys.exit(text[-800:])
    curve, seconds = [], 0.0
    for row in rows:
        seconds += row["took"]
        lasts = row["length"] / STEPS
        mean = row["summed"] / lasts
        at = {"seconds": seconds, "steps": row["steps"]}
        curve.append({**at, "mean_velocity_error": mean, "lasts": lasts})
    walked = (
        row["seconds"]
        for row in curve
        if row["mean_velocity_error"] <= 0.25 and row["lasts"] >= 0.95
    )
    later = [1 / row["rate"] for row in rows[1:]]  # [s] of a step; the first is warm-up
    rate = len(later) / sum(later)
    print(json.dumps({"rate": rate, "reached": next(walked, None), "curve": curve}))


def learn(folder: Path, minutes: float) -> str:
    """What it prints in so many minutes, or of a few updates."""
    command = [str(Path(sys.executable).with_name("train")), "--algo", "ppo"]
    command += ["--task", TASK, "--sim", "mujoco", "training.device=cpu"]
    updates = 10_000 if minutes else UPDATES
    command += [f"algo.max_iterations={updates}", "training.no_play=true"]
    log = folder / "log"
    with log.open("w") as file:
        running = subprocess.Popen(command, cwd=folder, stdout=file, stderr=file)
        try:
            running.wait(timeout=60 * minutes or None)
        except subprocess.TimeoutExpired:
            running.terminate()
            running.wait()
    return log.read_text()


def place_model(folder: Path) -> None:
    shutil.copytree(Path(unilab.__file__).parent / MODEL, folder, dirs_exist_ok=True)
    meshes = Path(os.environ["MENAGERIE_ROOT"], "unitree_go2", "assets")
    shutil.copytree(meshes, folder / "assets", dirs_exist_ok=True)


if __name__ == "__main__":
    main()
