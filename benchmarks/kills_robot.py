"""What SIGKILL at a random moment costs a command that moves a robot.

    python benchmarks/kills_robot.py              # 20 kills of record and of deploy

A stand-in runs in a process of its own, in real time; `record` and `deploy` move it
over the wire and are killed at seeded random moments. Counted are: how much of what
happened is missing from the journal that is left, whether the robot braked by itself
within its deadline, and whether the same command then runs through, with what was cut
short still there under another name.
"""

import argparse
import datetime
import json
import platform
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from guards import make_policy

from realworthy.recordings import load_recording
from realworthy.recordings.journal import read_journal
from realworthy.recordings.motion import Motion, save_motion

HERE = Path(__file__).parent
COMMAND = (sys.executable, "-m", "realworthy")
_START = 30.0
"""[s] within which a process must have begun."""
_SECONDS = 4.0
"""[s] of a motion, and for which a policy runs."""


@dataclass(frozen=True, kw_only=True)
class Kill:
    """One kill."""

    command: str
    after: float
    """[s] since the first row reached the disk."""
    rows: int
    lost: float
    """[s] of rows before the kill that no file holds."""
    braked: bool
    """Whether the robot braked by itself, once."""
    again: int
    """Exit status of the same command afterwards."""
    kept: bool
    """Whether what was cut short is still there after that, and can be read."""


def start_robot() -> tuple[subprocess.Popen[str], str]:
    listen = ("--listen", "udp://127.0.0.1:0")
    child = subprocess.Popen(
        (*COMMAND, "robot", "pendulum", *listen), stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    return child, child.stdout.readline().split()[0]


def kill(command: str, after: float) -> Kill:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments, journal = prepare(command, folder)
        robot, address = start_robot()
        run = (*COMMAND, *arguments, "--robot", address)
        child = subprocess.Popen(
            run, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + _START
        while not (journal.exists() and journal.stat().st_size > 4_000):
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(after)
        child.kill()
        killed = time.monotonic()
        child.wait()
        rows = read_journal(journal)[1]["read"][:, 0]
        time.sleep(1.2)  # the lease is over
        again = subprocess.run(run, cwd=folder, capture_output=True, text=True)
        robot.terminate()
        assert robot.stdout is not None
        said = robot.stdout.read()
        robot.wait(10)
        aside = journal.with_name(journal.name.replace(".journal", ".1.journal"))
        kept = aside.exists() and len(load_recording(aside).time) >= 2
    braked = re.search(r"Braked by itself (\d+) times", said)
    return Kill(
        command=command,
        after=after,
        rows=len(rows),
        lost=killed - float(rows[-1]),
        braked=braked is not None and int(braked[1]) == 1,
        again=again.returncode,
        kept=kept,
    )


def prepare(command: str, folder: Path) -> tuple[tuple[str, ...], Path]:
    """Arguments of a command in its folder, and the journal that it writes."""
    if command == "record":
        clock = np.arange(round(100 * _SECONDS) + 1) / 100
        wave = (0.4 * (1 - np.cos(np.pi * clock)))[:, None]
        save_motion(Motion(clock, ("joint",), wave), folder / "sway.csv")
        return ("record", "sway.csv"), folder / "recording.journal"
    make_policy(folder / "policy.onnx", "pendulum")
    options = ("--yes", "--no-wiggle", "--seconds", str(_SECONDS))
    return ("deploy", "policy.onnx", *options), folder / "trials/trial_1.journal"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = []
    for command in ("record", "deploy"):
        chance = random.Random(f"{arguments.seed} {command}")
        for _ in range(arguments.kills):
            found.append(kill(command, chance.uniform(0.0, 0.6 * _SECONDS)))
            print(found[-1], flush=True)
    for command in ("record", "deploy"):
        own = [one for one in found if one.command == command]
        print(
            f"{command}: {len(own)} kills; lost {max(one.lost for one in own):.2f} s "
            f"at most; {sum(one.braked for one in own)} braked by themselves; "
            f"{sum(one.again == 0 for one in own)} ran through again; "
            f"{sum(one.kept for one in own)} still held what was cut short"
        )
    commit = subprocess.run(
        ("git", "rev-parse", "HEAD"), capture_output=True, text=True, cwd=HERE
    ).stdout.strip()
    tree: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "commit": commit,
        "seed": arguments.seed,
        "kills": [asdict(one) for one in found],
    }
    tree["tables"] = {"kills_robot": build_table(tree)}
    path = HERE / "results/kills_robot.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(tree, indent=1) + "\n")


def build_table(tree: dict[str, Any]) -> dict[str, object]:
    """For docs: each command in a line."""
    lines = []
    for command in dict.fromkeys(kill["command"] for kill in tree["kills"]):
        kills = [kill for kill in tree["kills"] if kill["command"] == command]
        line = [command, len(kills), round(max(kill["lost"] for kill in kills), 2)]
        braked, kept = (sum(kill[k] for kill in kills) for k in ("braked", "kept"))
        again = sum(kill["again"] == 0 for kill in kills)
        lines.append([*line, braked, kept, again])
    columns = ["command", "kills", "most lost [s]", "robot braked by itself"]
    return {
        "date": tree["date"],
        "machine": tree["machine"],
        "commit": tree["commit"][:7],
        "seeds": str(tree["seed"]),
        "command": "python benchmarks/kills_robot.py",
        "columns": [*columns, "rows kept", "same command ran again"],
        "rows": lines,
    }


if __name__ == "__main__":
    main()
