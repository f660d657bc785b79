"""How policies fare on hidden truths: calibrated, on the nominal model, wide.

    python benchmarks/tour.py [--robots pendulum] [--seeds 10] [--jobs 1] [--wire]
    python benchmarks/tour.py --apart [--jobs 2]

Takes `realworthy tour` with every seed and prints, for each robot, the median real
success of the three policies; the same on hard realities, where the policy of the
nominal model succeeds in at most 60 % of episodes; and how long a tour took. Each tour
uses two processes, so that `--jobs 1` fills two cores. With `--apart` only what decides
success is done (record, excite, calibrate, train, 200 episodes on the robot), every
policy in a process of its own.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import (
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from multiprocessing import get_context
from pathlib import Path

import msgspec
import numpy as np

from realworthy.gap.intervals import compute_mean_bootstrap
from realworthy.tours import ROBOTS, TourSettings, quick_tour, try_way
from realworthy.tours.training import Way

HARD = 0.6
"""Real success of the nominal policy up to which a reality is hard."""


class Fared(msgspec.Struct, frozen=True):
    """One policy of a tour, as `realworthy tour --json` tells it."""

    class Real(msgspec.Struct, frozen=True):
        mean: float

    way: Way
    simulated: float
    real: Real


class Row(msgspec.Struct, frozen=True):
    """One tour."""

    robot: str
    seed: int
    policies: tuple[Fared, ...]
    seconds: dict[str, float]
    processor: dict[str, float]
    verdict: str = ""
    note: str = ""

    @property
    def real(self) -> dict[Way, float]:
        """Way → share of successes on the hidden reality."""
        return {each.way: each.real.mean for each in self.policies}

    @property
    def took(self) -> float:
        """[s] by the clock."""
        return max(self.seconds.values(), default=np.nan)

    @property
    def used(self) -> float:
        """[s] of processors."""
        return sum(self.processor.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS), choices=ROBOTS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="tours side by side")
    parser.add_argument("--wire", action="store_true", help="with trials in real time")
    parser.add_argument("--apart", action="store_true", help="policies alone")
    parser.add_argument("--quick", action="store_true", help="only to try this file")
    parser.add_argument("--output", type=Path, default=Path("tour.json"))
    given = parser.parse_args()
    options = [] if given.wire else ["--no-wire"]
    options += ["--quick"] if given.quick else []
    rows: list[Row] = []
    asked = [
        (robot, seed)
        for robot in given.robots
        for seed in range(given.first, given.first + given.seeds)
    ]

    def run(one: tuple[str, int]) -> Row:
        return take(*one, options=options)

    if given.apart:
        rows = take_apart(asked, given.jobs, is_quick=given.quick)
        given.output.write_bytes(msgspec.json.format(msgspec.json.encode(rows)))
        asked = []

    with ThreadPoolExecutor(given.jobs) as pool:
        for row in pool.map(run, asked):
            rows.append(row)
            print(describe(row), flush=True)
            given.output.write_bytes(msgspec.json.format(msgspec.json.encode(rows)))
    for robot in given.robots:
        summarise([row for row in rows if row.robot == robot])


def take(robot: str, seed: int, *, options: list[str]) -> Row:
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "tour.json"
        where = ("--output", str(Path(place) / "tour"), "--json", str(report))
        what = ("--robot", robot, "--seed", str(seed), *options)
        done = subprocess.run(
            (sys.executable, "-m", "realworthy", "tour", *what, *where),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"{robot} {seed}: {done.stderr}")
        return msgspec.json.decode(report.read_bytes(), type=Row)


def take_apart(asked: list[tuple[str, int]], jobs: int, *, is_quick: bool) -> list[Row]:
    """Every policy by itself; rows as of tours without anything else."""
    fared: dict[tuple[str, int], list[tuple[Fared, float]]] = {one: [] for one in asked}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {
            pool.submit(fare, *one, way, is_quick): one for one in asked for way in Way
        }
        for done in as_completed(waiting):
            robot, seed = waiting[done]
            found, used = done.result()
            fared[robot, seed].append((found, used))
            says = f"{robot} {seed} {found.way}: {found.real.mean:.0%}, {used:.0f} s"
            print(f"{says} of a processor", flush=True)
    return [
        Row(
            robot=robot,
            seed=seed,
            policies=tuple(one for one, _ in found),
            seconds={},  # policies ran beside each other
            processor={"all": sum(used for _, used in found)},
        )
        for (robot, seed), found in fared.items()
    ]


def fare(robot: str, seed: int, way: Way, is_quick: bool) -> tuple[Fared, float]:
    """How one policy does, and what it took [s of a processor]."""
    began = time.process_time()
    settings = quick_tour(seed) if is_quick else TourSettings(seed=seed)
    with tempfile.TemporaryDirectory() as place:
        simulated, real = try_way(robot, way, folder=Path(place), settings=settings)
    found = Fared(way, simulated, Fared.Real(real.mean))
    return found, time.process_time() - began


def describe(row: Row) -> str:
    shares = ", ".join(f"{way} {share:.0%}" for way, share in row.real.items())
    times = f"{row.took:.0f} s, {row.used:.0f} s of processors"
    return f"{row.robot} {row.seed}: {shares}; {row.verdict}; {times}  {row.note}"


def summarise(rows: list[Row]) -> None:
    """Medians over truths, all and hard; what calibration adds, with its interval."""
    hard = [row for row in rows if row.real[Way.NOMINAL] <= HARD]
    print(f"\n{rows[0].robot}      truths  " + "  ".join(f"{way:>10}" for way in Way))
    for name, chosen in (("all", rows), ("hard", hard)):
        if not chosen:
            print(f"  {name:<10} {0:>5}")
            continue
        medians = [float(np.median([row.real[way] for row in chosen])) for way in Way]
        figures = "  ".join(f"{median:>10.0%}" for median in medians)
        print(f"  {name:<10} {len(chosen):>5}  {figures}")
        for way in (Way.NOMINAL, Way.WIDE):
            print(f"    calibrated over {way}: {compare(chosen, way)}")
    took, used = [row.took for row in rows], [row.used for row in rows]
    if not np.isnan(took).any():
        print(f"  {np.median(took):.0f} s each (most {max(took):.0f})")
    print(f"  {np.median(used):.0f} s of processors each")


def compare(rows: list[Row], way: Way) -> str:
    """Mean difference in points, and its 95 % interval where there are several."""
    more = np.array([row.real[Way.CALIBRATED] - row.real[way] for row in rows])
    said = f"{100 * more.mean():+.0f} points"
    if len(rows) > 1:
        low, high = compute_mean_bootstrap(more, seed=0)
        said += f" ({100 * low:+.0f} … {100 * high:+.0f})"
    return said


if __name__ == "__main__":
    main()
