"""`realworthy measure`: how far a twin is from the robot behind some recordings."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from realworthy.cli.arguments import (
    BaseName,
    Flag,
    ImporterName,
    JsonFile,
    RecordingFiles,
    ReportFile,
    SidecarFile,
    TwinToUse,
)

if TYPE_CHECKING:
    from realworthy.gap import Gap


@dataclass(frozen=True, slots=True)
class Measure:
    """How far a twin is from the robot: replays recordings, needs no fit."""

    twin: TwinToUse
    """A built-in twin, an .xml, .urdf or .twin.yaml file, or menagerie:<robot>."""
    recordings: RecordingFiles
    """Files or folders."""
    importer: ImporterName = None
    """Layout of foreign files; realworthy show importers lists them."""
    base: BaseName = ""
    """What of the robot floats, where the twin does not know: free lets go a robot
    that its model fixes to the world, such as a URDF's."""
    sidecar: SidecarFile = None
    """YAML with what the files do not say."""
    json: JsonFile = None
    """Also write the figures, for programs."""
    report: ReportFile = None
    """Also write a page with plots, for people."""
    overwrite: Flag = False
    """Replace an existing JSON file or report."""

    def run(self) -> int:
        from realworthy.artefacts import check_readable
        from realworthy.cli.output import check_report, json_file
        from realworthy.cli.printing import emit_note
        from realworthy.cli.progress import following, waiting
        from realworthy.gap import measure
        from realworthy.recordings import load_recordings
        from realworthy.twins import load_twin

        for path in self.recordings:
            check_readable(path)
        check_report(self.report, self.json, overwrite=self.overwrite)
        with json_file(self.json, overwrite=self.overwrite) as save:
            with waiting("Reading"):
                twin = load_twin(self.twin, base=self.base)
                recordings = load_recordings(
                    self.recordings, self.importer, sidecar=self.sidecar
                )
            with following("Measuring") as progress:
                gap = measure(twin, recordings, progress=progress)
            if self.report is not None:
                from realworthy.reports import write_gap

                write_gap(
                    gap, self.report, left_out=gap.skipped, overwrite=self.overwrite
                )
            save(to_tree(gap))
        print_gap(gap)
        for words in gap.cut:
            emit_note(words, style="yellow")
        for problem in gap.skipped:
            emit_note(f"Excluded: {problem}", style="yellow")
        return 0


def to_tree(gap: "Gap") -> dict[str, object]:
    """What programs may rely on: `replay`, `one_step`, `horizons`, `repeats` …"""
    from realworthy.gap import measure_repeats

    return {
        "twin": gap.twin,
        "replay": gap.replay,
        "one_step": gap.one_step,
        "horizons": {f"{s:g}": error for s, error in gap.horizons.items()},
        "horizon_floor": {f"{s:g}": error for s, error in gap.horizon_floor.items()},
        "noise_floor": gap.noise_floor,
        "repeats": [
            {
                "group": one.group,
                "count": one.count,
                "robot_error": one.robot_error,
                "twin_error": one.twin_error,
                "error_ratio": one.error_ratio,
                "rate": one.rate,
                "rho": None if one.horizons is None else one.horizons.ratio,
                "horizons": one.horizons,
                "note": one.note,
            }
            for one in measure_repeats(gap.recordings)
        ],
        "recordings": [
            {
                "name": one.name,
                "replay": one.replay,
                "growth": one.growth,
                "missing_torque": one.forces.rms,
                "missing_torque_floor": one.forces.floor,
                "comparison": one.comparison,
                "assumptions": one.assumptions,
            }
            for one in gap.recordings
        ],
        "skipped": gap.skipped,
        "cut": gap.cut,
    }


def print_gap(gap: "Gap") -> None:
    """Replay by joint, error by horizon, and what was assumed."""
    from realworthy.cli.printing import counted, emit_heading, emit_note, emit_table
    from realworthy.reports.elements.wording import describe_effects, gather_remarks
    from realworthy.reports.measure.view import compute_mean_force

    replay, step = gap.replay, gap.one_step
    count = counted(len(gap.recordings), "recording")
    if leading := gap.leading_horizon:
        seconds, error = leading
        emit_heading(
            f"{error:.4g} rad",
            f"root mean square error {seconds:g} s ahead of measured states in "
            f"{gap.twin}, over {count}",
        )
        emit_note(
            f"The motion is unstable: replaying it whole is off by "
            f"{replay.position_rmse:.4g} rad and says little about the twin.",
            style="yellow",
        )
    else:
        emit_heading(
            f"{replay.position_rmse:.4g} rad",
            f"root mean square error of replaying {count} in {gap.twin}",
        )
    emit_table(
        "Replay, by joint",
        (
            "joint",
            "error",
            "sensor noise",
            "torque residual [N·m]",
            "noise floor [N·m]",
            "differs by",
        ),
        [
            (
                joint,
                error,
                gap.noise_floor[joint],
                compute_mean_force(gap, joint, "rms"),
                compute_mean_force(gap, joint, "floor"),
                describe_effects(gap.recordings, joint),
            )
            for joint, error in replay.per_joint.items()
        ],
    )
    emit_table(
        "Prediction from measured states",
        ("seconds ahead", "error", "noise floor"),
        [(s, error, gap.horizon_floor[s]) for s, error in gap.horizons.items()],
    )
    _print_repeats(gap)
    emit_note(
        f"Normalised one-step error: {step.error:.2g} (1: no better than predicting no "
        f"change); {step.floor:.2g} from sensor noise alone.",
        style="",
    )
    for remark in gather_remarks(gap.recordings):
        emit_note(remark, style="")


def _print_repeats(gap: "Gap") -> None:
    """The twin's error beside the robot's own, where there are repeats."""
    from realworthy.cli.printing import emit_note, emit_table
    from realworthy.gap import measure_repeats
    from realworthy.reports.elements.wording import describe_horizons

    repeats = measure_repeats(gap.recordings)
    emit_table(
        "Repeats of the same commands",
        ("repeat_group", "recordings", "repeatability", "twin error", "ratio"),
        [
            (one.group, one.count, one.robot_error, one.twin_error, one.error_ratio)
            for one in repeats
        ],
    )
    for one in repeats:
        emit_note(f"{one.group}: {describe_horizons(one)}", style="")
