"""What SIGKILL at a random moment costs, command by command.

    python benchmarks/kills.py                       # 20 kills of each: about an hour
    python benchmarks/kills.py --only train --kills 5
    python benchmarks/kills.py --only tour --jobs 12 # where there are many cores

Each command is run as it is, twice; then it is killed at seeded random moments of its
time, and run again the same way (`train` with `--resume`). Counted are: files under
their final names that are not whole, processes that outlive their parent, files that
the second run leaves beside those of an undisturbed one, second runs that are refused,
and results that differ. Results are the JSON file less times, for `train` the weights
and all that learning goes on from, bit by bit. `identify` and `experiment` move a
stand-in in their own process; `record` and `deploy` on one that runs in real time are
in kills_robot.py.
"""

import argparse
import contextlib
import datetime
import hashlib
import json
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
COMMAND = (sys.executable, "-m", "realworthy")
TIMES = re.compile(r"second|created|processor|^looks$")
"""Keys of what a clock says: no two runs agree on them."""
PATIENCE = 10.0
"""[s] within which processes must have followed their parent."""
LIMIT = 900.0
"""[s] that one run may take."""
ASIDE = re.compile(r"\.\d+(\.journal)?$")
"""How names of unfinished work end that made way for the next run."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A command on small work, in a folder that holds `inputs`."""

    arguments: tuple[str, ...]
    resume: tuple[str, ...] = ()
    """Added to take it up again, once there is a folder to go on with."""

    @property
    def name(self) -> str:
        return self.arguments[0]


_RECORDINGS = "inputs/one.csv inputs/two.csv inputs/three.csv"


def _job(arguments: str, resume: str = "") -> Job:
    return Job(
        arguments=(*arguments.split(), "--json", "out.json"),
        resume=tuple(resume.split()),
    )


JOBS = (
    _job(f"measure pendulum {_RECORDINGS} --report m.html"),
    _job(f"convert {_RECORDINGS} --output converted"),
    _job("excite pendulum --seconds 1"),
    _job(f"calibrate pendulum {_RECORDINGS} --output c.twin.yaml"),
    _job(
        "train pendulum --output run --steps 4000 --worlds 8 --target 2",
        resume="--resume",
    ),
    _job("diagnose pendulum inputs/one.csv --report d.html"),
    _job(
        "certify inputs/policy.onnx --suite inputs/small.suite.yaml --output papers "
        "--report c.html"
    ),
    _job("tour --quick --no-wire --output tour"),
    _job(
        "identify pendulum --robot sim:pendulum_1_easy --output i.twin.yaml --rounds 2 "
        "--seconds 3"
    ),
    _job(
        "experiment inertia --robot sim:pendulum_1_easy --output e.npz --report e.html"
    ),
)
SUITE = """\
schema: 1
name: small
coverage: null
cells:
- {name: nominal, group: everyday, episodes: 20}
- {name: late, group: stress, episodes: 20, condition: {plus: {all.delay: 0.005}}}
- {name: heavy, group: stress, episodes: 20, condition: {times: {pendulum.mass: 1.2}}}
"""


@dataclass(kw_only=True)
class Row:
    """What came of one command."""

    command: str
    seconds: float
    """Of an undisturbed run."""
    kills: int = 0
    broken: list[str] = field(default_factory=list)
    """Files under their final names that are not whole."""
    orphans: int = 0
    blocked: list[str] = field(default_factory=list)
    """What second runs were refused with."""
    left: list[str] = field(default_factory=list)
    """Files of second runs that an undisturbed one does not have."""
    different: list[str] = field(default_factory=list)
    """Results, by kill, that differ from an undisturbed one's."""
    done_before: int = 0
    """Kills that came when an output was there, whole: --overwrite was needed."""
    set_aside: int = 0
    """Kills after which unfinished work was moved to another name, not lost."""
    compared: int = 0
    """Numbers and words of the result that were compared, each time."""

    def add(self, other: "Row") -> None:
        """What came of further kills of the command."""
        for name in ("kills", "orphans", "done_before", "set_aside"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("broken", "blocked", "left", "different"):
            getattr(self, name).extend(getattr(other, name))

    @property
    def is_clean(self) -> bool:
        wrong = (*self.broken, *self.blocked, *self.left, *self.different)
        return not wrong and not self.orphans


def make_inputs(folder: Path, *, with_policy: bool) -> None:
    """Three recordings of a pendulum and, where it is asked for, a policy."""
    from realworthy.recordings import save_recording
    from realworthy.tours.hidden_truth import hide, record_sines
    from realworthy.tours.robots import ROBOTS
    from realworthy.twins import load_twin

    folder.mkdir(parents=True)
    robot = ROBOTS["pendulum"]
    reality = hide(robot, load_twin("pendulum"), seed=0)
    recordings = record_sines(robot, reality, count=3, seconds=3.0)
    for name, recording in zip(("one", "two", "three"), recordings, strict=True):
        save_recording(recording, folder / f"{name}.csv")
    (folder / "small.suite.yaml").write_text(SUITE)
    if with_policy:
        train = ("train", "pendulum", "--output", "run", "--steps", "20000")
        subprocess.run((*COMMAND, *train), cwd=folder, check=True, capture_output=True)
        shutil.copy(folder / "run" / "policy.onnx", folder / "policy.onnx")
        shutil.rmtree(folder / "run")


def try_job(
    job: Job, inputs: Path, place: Path, *, kills: int, seed: int, jobs: int = 1
) -> Row:
    """Undisturbed twice, then killed `kills` times, `jobs` at a time, and run again."""
    results, took = [], []
    for k in range(2):
        folder = make_place(place / f"whole_{k}", inputs)
        began = time.perf_counter()
        status = run(job.arguments, folder).returncode
        if status not in (0, 1):
            raise RuntimeError(f"{job.name} ended with {status}")
        took.append(time.perf_counter() - began)
        results.append(read_result(folder))
    same = {key for key, value in results[0].items() if results[1].get(key) == value}
    names = list_files(place / "whole_0")
    row = Row(command=job.name, seconds=min(took), compared=len(same))
    chance = random.Random(f"{seed} {job.name}")
    moments = [chance.uniform(0.0, min(took)) for _ in range(kills)]

    def kill(k: int) -> Row:
        found = Row(command=job.name, seconds=min(took), kills=1)
        folder = make_place(place / f"kill_{k}", inputs)
        kill_once(job, folder, moments[k], found)
        found.broken = [f"kill {k}: {path}" for path in find_broken(folder)]
        found.set_aside = run_again(job, folder, found, k)
        result = read_result(folder)
        different = [x for x in sorted(same) if result.get(x) != results[0][x]]
        found.different = [f"kill {k}: {key}" for key in different[:3]]
        left = sorted(list_files(folder) - names)
        found.left = [f"kill {k}: {name}" for name in left]
        shutil.rmtree(folder)
        return found

    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(kill, range(kills)):
            row.add(found)
    return row


def kill_once(job: Job, folder: Path, after: float, row: Row) -> None:
    """SIGKILL to the command alone; those that it started must follow by themselves."""
    process = subprocess.Popen(
        (*COMMAND, *job.arguments),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    end = time.monotonic() + PATIENCE
    while (left := list_session(process.pid)) and time.monotonic() < end:
        time.sleep(0.05)
    row.orphans += len(left)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def run_again(job: Job, folder: Path, row: Row, k: int) -> bool:
    """The same command once more; whether unfinished work was set aside for it."""
    resume = job.resume if (folder / "run").is_dir() else ()
    done = run((*job.arguments, *resume), folder)
    if done.returncode == 2 and "exists already" in done.stderr:
        row.done_before += 1
        done = run((*job.arguments, *resume, "--overwrite"), folder)
    if done.returncode not in (0, 1):
        row.blocked.append(f"kill {k}: {done.stderr.strip()[-300:]}")
    asides = [path for path in folder.rglob("*") if ASIDE.search(path.name)]
    for path in asides:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return bool(asides)


def run(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = (*COMMAND, *arguments)
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=LIMIT
    )


def make_place(folder: Path, inputs: Path) -> Path:
    folder.mkdir(parents=True)
    shutil.copytree(inputs, folder / "inputs")
    return folder


def list_files(folder: Path) -> set[str]:
    """Every file, hidden ones too; TensorBoard names its files by the clock."""
    names = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    return {name for name in names if "/tensorboard/" not in name}


def list_session(leader: int) -> list[int]:
    """Living processes of a session; Linux only, elsewhere none are seen."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, *rest = stat.read_text().rpartition(")")[2].split()
            if int(rest[2]) == leader and state != "Z":
                found.append(int(stat.parent.name))
    return found


def find_broken(folder: Path) -> list[str]:
    """Files under their final names that cannot be read to their end."""
    broken = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            try:
                read_whole(path)
            except Exception as error:
                broken.append(f"{path.relative_to(folder)}: {error}")
    return broken


def read_whole(path: Path) -> None:
    """Raises where a file is cut off."""
    from realworthy.artefacts import read_tree
    from realworthy.policies.onnx_file import read_graph
    from realworthy.recordings import load_recording

    ending = path.suffix
    if ending == ".json":
        json.loads(path.read_text())
    elif ending in (".yaml", ".partial"):
        read_tree(path)
    elif ending == ".html" and not path.read_text().rstrip().endswith("</html>"):
        raise ValueError("it has no end")
    elif ending == ".onnx":
        read_graph(path)
    elif ending == ".pt":
        load_checkpoint(path)
    elif (
        ending == ".csv" and "time" in path.read_text()[:100] and path.stem != "motion"
    ):
        load_recording(path)
    elif ending == ".npz":
        with np.load(path) as arrays:
            _ = [arrays[name] for name in arrays.files]


def read_result(folder: Path) -> dict[str, object]:
    """Place → number or word of what a command found, without times."""
    found: dict[str, object] = {}
    result, latest = folder / "out.json", folder / "run" / "checkpoints" / "latest.pt"
    if latest.exists():
        state = load_checkpoint(latest)
        for key in ("learner", "worlds", "step_count", "update_count"):
            found |= dict(flatten(state[key], key))
    elif result.exists():
        found |= dict(flatten(json.loads(result.read_text()), ""))
    return found


def load_checkpoint(path: Path) -> dict[str, object]:
    import torch

    return torch.load(path, map_location="cpu", weights_only=True)


def flatten(tree: object, place: str) -> Iterator[tuple[str, object]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if not TIMES.search(str(key)):
                yield from flatten(value, f"{place}.{key}")
    elif isinstance(tree, list | tuple):
        for i, value in enumerate(tree):
            yield from flatten(value, f"{place}[{i}]")
    elif hasattr(tree, "numpy"):
        data = tree.numpy().tobytes()  # pyright: ignore
        yield place, hashlib.sha256(data).hexdigest()
    else:
        yield place, tree if isinstance(tree, int | float | str | None) else repr(tree)


def describe_run(seed: int) -> dict[str, object]:
    commit = subprocess.run(
        ("git", "rev-parse", "--short", "HEAD"),
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    ).stdout.strip()
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "commit": commit,
        "seed": seed,
    }


def keep(rows: Sequence[Row], seed: int) -> Path:
    """Rows of other commands in the file stay."""
    path = RESULTS / "kills.json"
    RESULTS.mkdir(exist_ok=True)
    kept = json.loads(path.read_text())["rows"] if path.exists() else []
    new = {row.command: asdict(row) | describe_run(seed) for row in rows}
    joined = list(({row["command"]: row for row in kept} | new).values())
    tree = {"rows": joined, "tables": {"kills": build_table(joined)}}
    path.write_text(json.dumps(tree, indent=1) + "\n")
    return path


def build_table(rows: Sequence[dict[str, Any]]) -> dict[str, object]:
    """For docs: counts in place of lists."""
    faults = ("broken", "orphans", "blocked", "left", "different")
    names = ("files broken", "orphans", "runs refused", "files left over", "different")
    columns = ["command", "takes [s]", "kills", *names, "numbers compared", "date"]
    lines = []
    for row in rows:
        counts = [row[k] if isinstance(row[k], int) else len(row[k]) for k in faults]
        begin = [row["command"], round(row["seconds"], 1), row["kills"]]
        lines.append([*begin, *counts, row["compared"], row["date"]])
    return {
        "date": max(row["date"] for row in rows),
        "machine": "Linux x86_64, 2 or 16 cores, often busy",
        "commit": rows[-1]["commit"],
        "seeds": ", ".join(sorted({str(row["seed"]) for row in rows})),
        "command": "python benchmarks/kills.py",
        "columns": columns,
        "rows": lines,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [job.name for job in JOBS]
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    print(
        f"{'command':10s} {'takes [s]':>9s} {'kills':>5s} {'broken':>6s} "
        f"{'orphans':>7s} {'blocked':>7s} {'left':>4s} {'differ':>6s} "
        f"{'compared':>8s} {'aside':>5s}"
    )
    with tempfile.TemporaryDirectory() as place:
        inputs = Path(place) / "inputs"
        make_inputs(inputs, with_policy="certify" in chosen.only)
        for job in (job for job in JOBS if job.name in chosen.only):
            where = Path(place) / job.name
            row = try_job(
                job,
                inputs,
                where,
                kills=chosen.kills,
                seed=chosen.seed,
                jobs=chosen.jobs,
            )
            print(
                f"{row.command:10s} {row.seconds:9.1f} {row.kills:5d} "
                f"{len(row.broken):6d} {row.orphans:7d} {len(row.blocked):7d} "
                f"{len(row.left):4d} {len(row.different):6d} {row.compared:8d} "
                f"{row.set_aside:5d}",
                flush=True,
            )
            for text in (*row.broken, *row.blocked, *row.left, *row.different):
                print("   ", text, flush=True)
            keep([row], chosen.seed)


if __name__ == "__main__":
    main()
