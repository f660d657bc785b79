"""`realworthy retarget`: a person's or an animal's motion as a motion of a robot."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from realworthy.cli.arguments import (
    BaseName,
    Flag,
    ImporterName,
    JsonFile,
    ReportFile,
    Role,
    UnitName,
)
from realworthy.cli.numbers import AnyNumber
from realworthy.errors import RealworthyError

if TYPE_CHECKING:
    from realworthy.retargeting import Retargeting

MotionFile = Annotated[
    Path,
    Role.READ,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="MOTION", help_behavior_hint=""),
]


@dataclass(frozen=True, slots=True)
class Retarget:
    """A person's or an animal's motion as a motion of a robot, with its metrics."""

    motion: MotionFile
    """A .bvh, or another layout of motions; realworthy show importers lists them."""
    to: Annotated[str, Role.READ, tyro.conf.arg(metavar="TWIN", help_behavior_hint="")]
    """The robot: a built-in twin, an .xml, .urdf or .twin.yaml file, or
    menagerie:<robot>."""
    output: Annotated[Path, Role.WRITTEN, tyro.conf.arg(metavar="FILE.csv")] = Path(
        "motion.csv"
    )
    """Where to write the robot's motion."""
    importer: ImporterName = None
    """Layout of the motion, where the end of its name does not say it."""
    unit: UnitName = None
    """Length that 1 has in the file: m, cm, mm, inch, cmu or a number of metres."""
    rate_in: AnyNumber = None
    """Rows per second of a file that does not say it."""
    regressor: Annotated[
        Path | None,
        Role.READ,
        tyro.conf.arg(metavar="FILE.npz", help_behavior_hint=""),
    ] = None
    """A body model's joints or what finds them, for files of rotations alone."""
    rate: float = 50.0
    """Rows per second of the robot's motion."""
    start: float = 0.0
    """Second of the motion to begin at."""
    end: AnyNumber = None
    """Second to stop at."""
    slower: float = 1.0
    """Times as long as the figure took."""
    point: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="PART=JOINT…", help_behavior_hint="")
    ] = ()
    """Joints of the motion whose names do not say which part they are."""
    body_map: Annotated[
        Path | None,
        Role.READ,
        tyro.conf.arg(metavar="FILE.yaml", help_behavior_hint=""),
    ] = None
    """Which parts of the robot stand for the figure's; else a written or drafted one.
    """
    save_map: Annotated[
        Path | None,
        Role.WRITTEN,
        tyro.conf.arg(metavar="FILE.yaml", help_behavior_hint=""),
    ] = None
    """Also write the body map that was used, to be corrected by hand."""
    base: BaseName = ""
    """What of the robot floats, where the twin does not know: free lets go a robot
    that its model fixes to the world, such as a URDF's."""
    report: ReportFile = None
    """Also write a page with the metrics and both figures in motion."""
    overwrite: Flag = False
    """Replace existing files."""
    json: JsonFile = None
    """Also write the metrics, for programs."""

    def run(self) -> int:
        from realworthy.artefacts import check_free, save
        from realworthy.cli.output import check_report, json_file
        from realworthy.cli.progress import following, waiting
        from realworthy.recordings.motion import check_name, load_motion
        from realworthy.retargeting import RetargetSettings, retarget
        from realworthy.twins import load_twin

        check_name(self.output)
        check_free(self.output, overwrite=self.overwrite)
        if self.save_map is not None:
            check_free(self.save_map, overwrite=self.overwrite)
        check_report(self.report, self.json, overwrite=self.overwrite)
        settings = RetargetSettings(
            rate=self.rate,
            start=self.start,
            end=self.end,
            slower=self.slower,
            points=_parse_points(self.point),
        )
        with json_file(self.json, overwrite=self.overwrite) as save_json:
            with waiting("Reading"):
                twin = load_twin(self.to, base=self.base)
                motion = load_motion(
                    self.motion,
                    self.importer,
                    unit=self.unit,
                    rate=self.rate_in,
                    regressor=self.regressor,
                )
            with following("Retargeting") as show:
                found = retarget(
                    motion,
                    twin,
                    output=self.output,
                    body_map=self.body_map,
                    settings=settings,
                    overwrite=self.overwrite,
                    progress=show,
                )
            save_json(to_tree(found, self.output))
            if self.save_map is not None:
                save(self.save_map, found.body_map, overwrite=self.overwrite)
            if self.report is not None:
                from realworthy.reports.retarget import write_retargeting

                write_retargeting(
                    found,
                    self.report,
                    title=self.motion.name,
                    overwrite=self.overwrite,
                )
        print_retargeting(found, self.output)
        return 0 if found.metrics.is_good else 1


def _parse_points(texts: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        part, sign, joint = text.partition("=")
        if not (part and sign and joint):
            raise RealworthyError(
                f"--point takes PART=JOINT, not '{text}'.",
                hint="Try: --point left_ankle=LeftFoot",
            )
        found[part] = joint
    return found


def to_tree(found: "Retargeting", path: Path) -> dict[str, object]:
    """What programs may rely on: `motion`, `metrics`, `good`, `scale`, `remarks`."""
    return {
        "motion": str(path),
        "good": found.metrics.is_good,
        "metrics": asdict(found.metrics),
        "figure": found.figure.name,
        "scale": found.targets.scale,
        "ground_slope": found.targets.slope,
        "body_map_drafted": found.is_drafted,
        "frames_per_second": found.frames_per_second,
        "remarks": list(found.remarks),
    }


def print_retargeting(found: "Retargeting", path: Path) -> None:
    """Each metric beside its bar."""
    from realworthy.cli.printing import counted, emit_heading, emit_note, emit_table
    from realworthy.retargeting.metrics import list_figures

    metrics = found.metrics
    emit_heading(
        str(path),
        f"{found.motion.duration:.2f} s, {counted(metrics.rows, 'row')} for "
        f"{counted(len(found.motion.joints), 'joint')}; a {found.figure.name} at "
        f"{found.targets.scale:.2f} of its size, {found.frames_per_second:.0f} rows/s",
    )
    emit_table(
        "Metrics",
        ("", "value", "at most", "unit"),
        [
            (line.name, line.value, line.bar, line.unit)
            for line in list_figures(metrics)
        ],
    )
    for remark in found.remarks:
        emit_note(remark, style="yellow")
