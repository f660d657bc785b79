"""Real machines: how near a calibrated twin comes to recordings it has not seen.

Recordings are those under $REALWORTHY_DATA. Folds of them are left out in turn, of the
servo bench whole gains; without each fold the twin is calibrated anew with nothing set
by hand, and measured on what was left out, as `realworthy calibrate --folds` and
`realworthy measure` do. Mean and worst fold count, with the rows in which a joint
stalls on something that the twin lacks or responses shift in time, and without them.

    python benchmarks/calibration.py                      all machines
    python benchmarks/calibration.py --only servo arm     those whose names hold a word
    python benchmarks/calibration.py --folds 1            the first fold of each
    python benchmarks/calibration.py --missing            folds that this commit lacks
    python benchmarks/calibration.py --workers 16         so many folds at a time
    python benchmarks/calibration.py --merge other.json   from another machine

Every fold goes into benchmarks/results/calibration.json as soon as it is known, with
the commit that it is from; `python benchmarks/pages.py` makes the pages' tables of it.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
from results_file import ROOT, Table, read_commit
from workers import run_parts

from realworthy.gap.intervals import Interval, compute_block_bootstrap
from realworthy.gap.measure import Gap, measure
from realworthy.identification.calibration.calibrate import calibrate
from realworthy.identification.calibration.folds import divide_into_folds
from realworthy.identification.calibration.recording_checks import (
    drop_impossible_torques,
)
from realworthy.identification.validation.held_out import AHEAD, predict_each
from realworthy.recordings import Recording, load_recordings
from realworthy.simulators.replay import lay_out
from realworthy.twins import Twin, load_twin

DATA = Path(os.environ.get("REALWORTHY_DATA", "../shared/data"))
FILE = ROOT / "benchmarks" / "results" / "calibration.json"
Figure = Callable[[Gap], float]
"""What is read off a gap."""
APART = 0.05
"""[s] between two predictions of controllers' runs."""
NAME_FOLDS = 4
"""Folds of the arm's motions, by their names."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """What is measured of a machine, and what is to be reached."""

    name: str
    read: Figure
    published: float | None = None
    """The best published model, on other recordings of the same machine."""
    mean_bar: float | None = None
    worst_bar: float | None = None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A robot and its recordings."""

    name: str
    twin: str
    importer: str
    folder: str
    quantities: tuple[Quantity, ...]
    divide: Callable[[Sequence[Recording]], tuple[tuple[Recording, ...], ...]] = (
        divide_into_folds
    )
    also: tuple[str, ...] = ()
    """Folders of controllers' runs that are measured too and never fitted."""


class FoldRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fold of one machine."""

    machine: str
    left_out: list[str]
    verdict: str
    before: dict[str, float]
    """Quantity → with the twin as given."""
    after: dict[str, float]
    by_recording: dict[str, dict[str, float]]
    """Recording → quantity → with the calibrated twin."""
    controllers: dict[str, Interval] = {}
    """Folder of controllers' runs → 95 % of errors after over before."""
    undisturbed: float | None = None
    """[rad] `after` without the rows in which a joint stalls on something that the twin
    lacks, or responses shift in time; None where there are none."""
    ratios: list[str] = []
    """Inertia over mass times lever, in words."""
    warnings: list[str] = []
    seconds: float
    """By the clock, of the calibration."""
    processor: float
    """[s] of it."""
    date: str
    commit: str


class CalibrationFile(msgspec.Struct, forbid_unknown_fields=True):
    """benchmarks/results/calibration.json."""

    tables: dict[str, Table] = {}
    folds: list[FoldRow] = []


def ahead(seconds: float) -> Figure:
    """[rad] after a time, predicted from measured states."""
    return lambda gap: gap.horizons[seconds]


def divide_by_name(
    recordings: Sequence[Recording],
) -> tuple[tuple[Recording, ...], ...]:
    """Four folds by the recordings' names, whatever their order."""
    return tuple(
        tuple(r for r in recordings if sum(r.name.encode()) % NAME_FOLDS == k)
        for k in range(NAME_FOLDS)
    )


MACHINES = (
    Machine(
        name="SO-101 arm",
        twin="menagerie:robotstudio_so101",
        importer="so101_sage",
        folder="so101_sage",
        divide=divide_by_name,
        quantities=(
            Quantity(
                name="root mean square",
                read=lambda gap: gap.replay.position_rmse,
                published=0.0292,
                mean_bar=0.0055,
                worst_bar=0.0085,
            ),
        ),
    ),
    Machine(
        name="servo bench",
        twin="servo_bench",
        importer="bam_servos",
        folder="bam_servos/xl330",
        quantities=(
            Quantity(
                name="mean absolute",
                read=lambda gap: gap.replay.position_mae,
                published=0.058,
                mean_bar=0.030,
                worst_bar=0.038,
            ),
        ),
    ),
    Machine(
        name="double pendulum C.1",
        twin="double_pendulum",
        importer="dfki_double_pendulum",
        folder="dfki_double_pendulum/design_C.1_sysid",
        quantities=(
            Quantity(
                name="after 0.1 s", read=ahead(0.1), published=0.020, mean_bar=0.011
            ),
            Quantity(
                name="after 0.5 s", read=ahead(0.5), published=0.099, mean_bar=0.060
            ),
        ),
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
        quantities=(Quantity(name="after 0.5 s", read=ahead(0.5)),),
    ),
)


def load_machine(
    machine: Machine,
) -> tuple[list[Recording], Sequence[Recording], Sequence[str]]:
    """All recordings, those that are believable, and why others are not."""
    every = load_recordings([DATA / machine.folder], machine.importer)
    return every, *drop_impossible_torques(load_twin(machine.twin), every)


def run_part(part: tuple[int, int]) -> FoldRow:
    """A machine's fold, by their numbers."""
    machine = MACHINES[part[0]]
    every, believable, _ = load_machine(machine)
    return run_fold(machine, every, machine.divide(believable)[part[1]])


def run_fold(
    machine: Machine, recordings: Sequence[Recording], held: Sequence[Recording]
) -> FoldRow:
    """Calibrates without what is held out, and measures on it."""
    seen = [r for r in recordings if not any(r is h for h in held)]
    clock, processor = time.perf_counter(), time.process_time()
    found = calibrate(load_twin(machine.twin), seen, heldout=list(held))
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    before, after = (measure(twin, list(held)) for twin in (found.original, found.twin))
    each = {r.name: measure(found.twin, [r]) for r in held}
    controllers = {
        folder.partition("/")[2]: compare_windows(
            found.original,
            found.twin,
            load_recordings([DATA / folder], machine.importer),
        )
        for folder in machine.also
    }
    return FoldRow(
        machine=machine.name,
        left_out=[r.name for r in held],
        verdict=found.outcome.value,
        before={q.name: q.read(before) for q in machine.quantities},
        after={q.name: q.read(after) for q in machine.quantities},
        by_recording={
            name: {q.name: q.read(gap) for q in machine.quantities}
            for name, gap in each.items()
        },
        controllers=controllers,
        undisturbed=found.after_undisturbed if found.disturbed else None,
        ratios=[ratio.to_words() for ratio in found.ratios],
        warnings=list(found.warnings),
        seconds=clock,
        processor=processor,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        commit=read_commit(),
    )


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


def build_tables(found: Sequence[FoldRow]) -> dict[str, Table]:
    """Mean and worst of each machine, and every fold."""
    means: list[list[str | float | None]] = []
    folds: list[list[str | float | None]] = []
    for machine in MACHINES:
        own = [row for row in found if row.machine == machine.name]
        for q in machine.quantities if own else ():
            after = [row.after[q.name] for row in own]
            apart = [row.undisturbed or row.after[q.name] for row in own]
            means.append(
                [
                    f"{machine.name}, {q.name}",
                    len(own),
                    round(float(np.mean([row.before[q.name] for row in own])), 4),
                    round(float(np.mean(after)), 4),
                    round(max(after), 4),
                    round(float(np.mean(apart)), 4),
                    round(max(apart), 4),
                    q.mean_bar,
                    q.worst_bar,
                    round(float(np.mean([row.processor for row in own]))),
                ]
            )
            folds += [
                [
                    f"{machine.name}, {q.name}",
                    row.left_out[0]
                    + (f" and {n} more" if (n := len(row.left_out) - 1) else ""),
                    round(row.before[q.name], 4),
                    round(row.after[q.name], 4),
                    row.undisturbed and round(row.undisturbed, 4),
                    round(row.processor),
                ]
                for row in own
            ]

    controllers: list[list[str | float | None]] = []
    for folder in sorted({folder for row in found for folder in row.controllers}):
        spans = [row.controllers[folder] for row in found if folder in row.controllers]
        controllers.append(
            [
                f"`{folder}`",
                len(spans),
                round(float(np.mean(spans)), 2),
                round(float(np.max(np.mean(spans, axis=1))), 2),
                round(float(np.max(spans)), 2),
            ]
        )

    def make(columns: str, rows: list[list[str | float | None]]) -> Table:
        return Table(
            date=", ".join(sorted({row.date for row in found})),
            machine=f"{os.cpu_count()}-core {platform.machine()}, shared",
            commit=", ".join(sorted({row.commit for row in found})),
            command="python benchmarks/calibration.py",
            columns=columns.split("; "),
            rows=rows,
        )

    tables = {
        "machines": make(
            "machine, error [rad]; folds; nominal; calibrated, mean; worst fold; "
            "undisturbed, mean; worst; bar, mean; bar, worst; "
            "processor time of a fold [s]",
            means,
        ),
        "folds": make(
            "machine, error [rad]; left out; nominal; calibrated; undisturbed; "
            "processor time [s]",
            folds,
        ),
    }
    if controllers:
        tables["controllers"] = make(
            "runs of a controller, never fitted; folds; error 0.5 s ahead over "
            "nominal's, mean; worst fold; its upper end, 95 %",
            controllers,
        )
    return tables


def load_file(path: Path = FILE) -> CalibrationFile:
    if not path.exists():
        return CalibrationFile()
    return msgspec.json.decode(path.read_bytes(), type=CalibrationFile)


def save_rows(made: Sequence[FoldRow]) -> None:
    """Puts folds in place of those that were there."""
    file = load_file()
    keys = [(row.machine, row.left_out) for row in made]
    rows = [r for r in file.folds if (r.machine, r.left_out) not in keys]
    order = [machine.name for machine in MACHINES]
    rows = sorted([*rows, *made], key=lambda r: (order.index(r.machine), r.left_out))
    file = CalibrationFile(tables=build_tables(rows), folds=rows)
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="words of names")
    parser.add_argument(
        "--missing", action="store_true", help="skip folds of this commit"
    )
    parser.add_argument("--folds", nargs="*", type=int, help="numbers, from 1")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--merge", type=Path, nargs="*", help="files to take over")
    chosen = parser.parse_args()
    if chosen.merge is not None:
        save_rows([row for file in chosen.merge for row in load_file(file).folds])
        return
    commit = read_commit()
    done = [(r.machine, r.left_out) for r in load_file().folds if r.commit == commit]
    parts: list[tuple[int, int]] = []
    for number, machine in enumerate(MACHINES):
        if chosen.only and not any(word in machine.name for word in chosen.only):
            continue
        _, believable, doubts = load_machine(machine)
        print(*doubts, sep="\n", end="\n" if doubts else "")
        for fold, held in enumerate(machine.divide(believable)):
            is_chosen = not chosen.folds or fold + 1 in chosen.folds
            is_done = (machine.name, [r.name for r in held]) in done
            if is_chosen and not (chosen.missing and is_done):
                parts.append((number, fold))
    for row in run_parts(run_part, parts, workers=chosen.workers):
        save_rows([row])
        told = ", ".join(
            f"{name} {row.before[name]:.4f} to {row.after[name]:.4f} rad"
            for name in row.after
        )
        apart = row.undisturbed
        print(
            f"{row.machine} without {row.left_out[0]}: {told}"
            + (f" ({apart:.4f} undisturbed)" if apart else "")
            + f"; {row.seconds:.0f} s, of them {row.processor:.0f} s of processor time",
            flush=True,
        )
        for folder, ratio in row.controllers.items():
            print(f"    {folder}: {ratio[0]:.2f} … {ratio[1]:.2f} of before")


if __name__ == "__main__":
    main()
