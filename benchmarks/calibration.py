"""Real machines: how near a calibrated twin comes to recordings it has not seen.

Recordings are those under $REALWORTHY_DATA. Whole recordings are left out, of the servo
bench a whole gain; the twin is calibrated on the others, with nothing set by hand, and
measured on those left out, as `realworthy calibrate` and `realworthy measure` do.

    python benchmarks/calibration.py                      all machines
    python benchmarks/calibration.py --only servo arm     those whose names hold a word
    python benchmarks/calibration.py --json FILE          the table, for programs

`published` and `bar` were measured on other recordings of the same machines, which are
not in that folder: published is the best published model there, the bar what is to be
beaten. They are of the same size as, not equal to, what these rows would give.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from realworthy.gap.intervals import Interval, compute_block_bootstrap
from realworthy.gap.measure import Gap, measure
from realworthy.identification.calibration.calibrate import calibrate
from realworthy.identification.calibration.result import Calibration
from realworthy.identification.validation.held_out import AHEAD, predict_each
from realworthy.recordings import Recording, load_recordings
from realworthy.simulators.replay import lay_out
from realworthy.twins import Twin, load_twin

DATA = Path(os.environ.get("REALWORTHY_DATA", "../shared/data"))
Figure = Callable[[Gap], float]
"""What is read off a gap."""
APART = 0.05
"""[s] between two predictions of controllers' runs."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A robot, its recordings, and what is to be beaten."""

    name: str
    twin: str
    importer: str
    folder: str
    is_unseen: Callable[[Recording], bool]
    """Which recordings of the folder are left out."""
    figures: dict[str, tuple[Figure, float, float]]
    """What is measured → how, the best published model's figure, and the bar."""
    also: tuple[str, ...] = ()
    """Folders that are measured too and never fitted: `horizons` after 0.5 s."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table."""

    machine: str
    what: str
    before: float
    after: float
    published: float
    bar: float
    seconds: float
    """Of the calibration, by the clock."""
    change: Interval | None = None
    """95 % of after over before, where windows of a run were compared in pairs."""


def ahead(seconds: float) -> Figure:
    """[rad] after a time, predicted from measured states."""
    return lambda gap: gap.horizons[seconds]


def named(*words: str) -> Callable[[Recording], bool]:
    return lambda recording: any(word in recording.name for word in words)


def every_fourth(recording: Recording) -> bool:
    """A quarter of the motions, by their names."""
    return sum(recording.name.encode()) % 4 == 0


MACHINES = (
    Machine(
        name="servo bench, gain 200 unseen",
        twin="servo_bench",
        importer="bam_servos",
        folder="bam_servos/xl330",
        is_unseen=named("kp200"),
        figures={"mean absolute": (lambda g: g.replay.position_mae, 0.058, 0.038)},
    ),
    Machine(
        name="double pendulum C.1",
        twin="double_pendulum",
        importer="dfki_double_pendulum",
        folder="dfki_double_pendulum/design_C.1_sysid",
        is_unseen=named("143601", "154548"),
        figures={
            "after 0.1 s": (ahead(0.1), 0.020, 0.013),
            "after 0.5 s": (ahead(0.5), 0.099, 0.071),
        },
        also=(
            "dfki_double_pendulum/acrobot_ilqr_tvlqr_lqr",
            "dfki_double_pendulum/pendubot_ilqr_tvlqr_lqr",
            "dfki_double_pendulum/acrobot_mcpilco",
            "dfki_double_pendulum/pendubot_mcpilco",
            "dfki_double_pendulum/pendubot_sac_lqr",
        ),
    ),
    Machine(
        name="simple pendulum",
        twin="pendulum",
        importer="dfki_simple_pendulum",
        folder="dfki_simple_pendulum",
        is_unseen=named("ilqr"),
        figures={"after 0.5 s": (ahead(0.5), np.nan, np.nan)},
    ),
    Machine(
        name="SO-101 arm",
        twin="menagerie:robotstudio_so101",
        importer="so101_sage",
        folder="so101_sage",
        is_unseen=every_fourth,
        figures={
            "root mean square": (lambda g: g.replay.position_rmse, 0.0292, 0.0085)
        },
    ),
)


def run(machine: Machine) -> tuple[list[Row], Calibration]:
    """Calibrates on the seen recordings and measures on the others."""
    every = load_recordings([DATA / machine.folder], machine.importer)
    unseen = [r for r in every if machine.is_unseen(r)]
    seen = [r for r in every if not machine.is_unseen(r)]
    began = time.perf_counter()
    found = calibrate(load_twin(machine.twin), seen)
    seconds = time.perf_counter() - began
    before, after = (measure(twin, unseen) for twin in (found.original, found.twin))
    rows = [
        Row(
            machine=machine.name,
            what=what,
            before=figure(before),
            after=figure(after),
            published=published,
            bar=bar,
            seconds=seconds,
        )
        for what, (figure, published, bar) in machine.figures.items()
    ]
    for folder in machine.also:
        others = load_recordings([DATA / folder], machine.importer)
        gaps = [measure(twin, others) for twin in (found.original, found.twin)]
        rows.append(
            Row(
                machine=folder.partition("/")[2],
                what="after 0.5 s",
                before=gaps[0].horizons[AHEAD],
                after=gaps[1].horizons[AHEAD],
                published=gaps[0].horizons[AHEAD],
                bar=gaps[0].horizons[AHEAD],
                seconds=seconds,
                change=compare_windows(found.original, found.twin, others),
            )
        )
    return rows, found


def compare_windows(
    before: Twin, after: Twin, recordings: Sequence[Recording]
) -> Interval:
    """95 % of the ratio of errors `AHEAD`, by blocks of four times as long."""

    def predict(twin: Twin, one: Recording) -> np.ndarray:
        joints, count = lay_out(twin, one).joints, round(one.duration / APART)
        return predict_each(twin, one, joints, count=count)

    pairs = [
        np.stack([predict(twin, one) for twin in (before, after)], axis=1)
        for one in recordings
    ]

    def divide(squares: np.ndarray) -> float:
        first, second = np.sqrt(squares.mean(axis=0))
        return float(second / first)

    rows = round(4 * AHEAD / APART)
    return compute_block_bootstrap(pairs, divide, block_rows=rows)


def print_rows(rows: Sequence[Row]) -> None:
    for row in rows:
        print(
            f"{row.machine:34s} {row.what:17s} {row.before:8.4f} {row.after:8.4f} "
            f"{row.published:9.4f} {row.bar:8.4f} {row.seconds:8.0f}"
            + (f"  {row.change[0]:.2f} … {row.change[1]:.2f}" if row.change else ""),
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="words of names")
    parser.add_argument("--json", type=Path, help="write the table here")
    chosen = parser.parse_args()
    print(
        f"{'machine [rad]':34s} {'what':17s} {'before':>8s} {'after':>8s} "
        f"{'published':>9s} {'bar':>8s} {'seconds':>8s}  after / before"
    )
    rows: list[Row] = []
    for machine in MACHINES:
        if chosen.only and not any(word in machine.name for word in chosen.only):
            continue
        made, found = run(machine)
        print_rows(made)
        for ratio in found.ratios:
            print(f"    {ratio.to_words()}")
        for warning in found.warnings:
            print(f"    {warning}")
        rows += made
    if chosen.json is not None:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
