"""UniLab's own Go2 on flat ground, with its own PPO settings; prints steps/s.

Its package comes without meshes, which are seen and not felt; those of MuJoCo Menagerie
at MENAGERIE_ROOT, which have the same names, stand in for them.
"""

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


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place_model(folder / "src" / "unilab" / MODEL)  # looked for from where it runs
        command = [str(Path(sys.executable).with_name("train")), "--algo", "ppo"]
        command += ["--task", TASK, "--sim", "mujoco", "training.device=cpu"]
        done = subprocess.run(
            [*command, f"algo.max_iterations={UPDATES}", "training.no_play=true"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
    rates = [float(x) for x in re.findall(r"Steps per second: +(\d+)", done.stdout)]
    if len(rates) < 2:
        sys.exit(done.stdout[-800:] + done.stderr[-800:])
    seconds = [1 / rate for rate in rates[1:]]  # of a step; the first update is warm-up
    print(len(seconds) / sum(seconds))


def place_model(folder: Path) -> None:
    shutil.copytree(Path(unilab.__file__).parent / MODEL, folder)
    meshes = Path(os.environ["MENAGERIE_ROOT"], "unitree_go2", "assets")
    shutil.copytree(meshes, folder / "assets")


if __name__ == "__main__":
    main()
