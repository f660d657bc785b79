"""`realworthy tour`: the whole loop on a robot whose truth is hidden."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from realworthy.cli.arguments import Flag, JsonFile, ReportFile, Role
from realworthy.cli.numbers import Seed
from realworthy.cli.printing import emit_note, emit_table, number

if TYPE_CHECKING:
    from realworthy.tours import Tour


@dataclass(frozen=True, slots=True)
class TourCommand:
    """The whole loop on a robot whose truth is hidden, in minutes, without a GPU."""

    robot: Annotated[str, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = (
        "pendulum"
    )
    """Which robot: arm, diffdrive or pendulum. The pendulum is the default. Or a
    TourRobot of your own: my_file.py:MY_ROBOT."""
    seed: Seed = 0
    """Seed of the hidden truth and of all random numbers."""
    output: Annotated[
        Path | None,
        Role.WRITTEN,
        tyro.conf.arg(metavar="FOLDER", help_behavior_hint=""),
    ] = None
    """Where its files go; by default tour_<robot>_<seed>."""
    no_wire: Flag = False
    """Leave out the trials in real time."""
    quick: Flag = False
    """Hardly any training: every step is taken, and success rates mean nothing."""
    json: JsonFile = None
    """Also write the result, for programs."""
    report: ReportFile = None
    """Where the page goes; by default report.html in the folder."""
    overwrite: Flag = False
    """Replace files of the same names; a folder is never replaced."""

    def run(self) -> int:
        from realworthy.cli.output import check_report, json_file
        from realworthy.tours import TourSettings, find_robot, quick_tour, tour

        settings = TourSettings(seed=self.seed)
        if self.quick:
            settings = quick_tour(self.seed)
        robot = find_robot(self.robot)
        folder = self.output or Path(f"tour_{robot.name}_{self.seed}")
        check_report(self.report, self.json, overwrite=self.overwrite)
        page = self.report or folder / "report.html"

        def write(taken: "Tour") -> None:
            from realworthy.tours.page import write_tour

            write_tour(taken, page, overwrite=self.overwrite)

        with json_file(self.json, overwrite=self.overwrite) as save:
            with _saying_what_stays(folder):
                found = tour(
                    robot,
                    output=folder,
                    settings=replace(settings, with_wire=not self.no_wire),
                    finish=write,
                    progress=_print_finding,
                )
            save(to_tree(found))
        print_tour(found)
        print(f"{page}")
        return 0


@contextlib.contextmanager
def _saying_what_stays(folder: Path) -> Iterator[None]:
    """Where the user stops a tour: it cannot go on from what it left."""
    try:
        yield
    except KeyboardInterrupt:
        if folder.is_dir() and (names := _list_names(folder)):
            print(f"{folder} keeps {', '.join(names)}. You may remove it.", flush=True)
        raise


def _list_names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))


def _print_finding(_fraction: float, stage: str) -> None:
    """`measure: The twin is off by …` as a line of a table."""
    from rich.text import Text

    from realworthy.cli.printing import emit

    step, _, finding = stage.partition(": ")
    emit(Text.assemble((f"{step:>10}  ", "bold"), finding))


def to_tree(tour: "Tour") -> dict[str, object]:
    """What programs may rely on."""
    return {
        "robot": tour.robot.name,
        "seed": tour.seed,
        "note": tour.note,
        "gap": {
            "unit": tour.unit,
            "before": tour.gap_before,
            "after": tour.gap_after,
            "trials": tour.gap_again,
        },
        "diagnosis": None if tour.diagnosis is None else tour.diagnosis.summary,
        "estimates": tour.estimates,
        "policies": [
            {
                "way": each.way,
                "simulated": each.simulated,
                "real": each.real,
                "gap": each.gap,
                "verdict": each.certificate.verdict,
                "certified_lower": each.certificate.success.lower,
                "trials": None if each.trials is None else each.trials.successes,
            }
            for each in tour.fared
        ],
        "verdict": tour.verdict.name.lower(),
        "truth": tour.truth,
        "seconds": tour.seconds,
        "processor": tour.processor,
    }


def print_tour(tour: "Tour") -> None:
    count = tour.fared[0].real.count if tour.fared else 0
    emit_table(
        f"Success on the robot, {count} episodes each, faster than real time",
        (
            "trained on",
            "simulated",
            "real",
            "95 %",
            "gap",
            "certificate",
            "over the network",
        ),
        [
            (
                str(each.way),
                f"{100 * each.simulated:.0f} %",
                f"{100 * each.real.mean:.0f} %",
                f"{100 * each.real.lower:.0f} … {100 * each.real.upper:.0f} %",
                f"{100 * each.gap:+.0f} points",
                str(each.certificate.verdict),
                "" if each.trials is None else each.trials.summary,
            )
            for each in tour.fared
        ],
    )
    emit_table(
        "Hidden parameters",
        ("", "published", "calibrated", "±", "truth", "unit"),
        [
            (
                one.name,
                one.nominal,
                number(one.mean, one.sd),
                one.sd,
                number(one.truth, one.sd),
                one.unit,
            )
            for one in tour.estimates
        ],
    )
    if tour.note:
        emit_note(tour.note, style="yellow")
    took = max(tour.seconds.values(), default=0.0)
    emit_note(f"{tour.verdict.sentence} {took:.0f} s in all.")
