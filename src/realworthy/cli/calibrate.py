"""`realworthy calibrate`: a twin whose parameters are fitted to recordings."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from realworthy.cli.arguments import (
    BaseName,
    Flag,
    ImporterName,
    JsonFile,
    MoreRecordings,
    Names,
    RecordingFiles,
    ReportFile,
    Role,
    SidecarFile,
    TwinToUse,
)
from realworthy.cli.numbers import AnyCount, Seconds

if TYPE_CHECKING:
    from realworthy.identification.calibration.result import Calibration
    from realworthy.identification.networks import ResidualAddition
    from realworthy.recordings import Recording
    from realworthy.twins import Twin
    from realworthy.twins.export import ModelExport

SearchName = Annotated[str, tyro.conf.arg(metavar="NAME", help_behavior_hint="")]


@dataclass(frozen=True, slots=True)
class Calibrate:
    """A twin with a belief from recordings, judged on recordings it has not seen."""

    twin: TwinToUse
    """A built-in twin, an .xml, .urdf or .twin.yaml file, or menagerie:<robot>."""
    recordings: RecordingFiles
    """Files or folders."""
    output: Annotated[
        Path,
        Role.WRITTEN,
        tyro.conf.arg(metavar="X.twin.yaml", help_behavior_hint=""),
    ]
    """Where to write the calibrated twin; X.twin.yaml.partial until it is done."""
    parameters: Names = ()
    """What to fit; by default the parameters that the recordings identify."""
    heldout: MoreRecordings = ()
    """Recordings to judge by; by default every fourth of those given."""
    method: SearchName = "least_squares"
    """How parameters are searched for: least_squares (fast, the default), cma_es (kinks
    and contacts), l_bfgs_b or random_search (published baselines)."""
    evaluations: AnyCount = None
    """Candidates that a search may simulate; least squares takes none."""
    seconds: Seconds = 90.0
    """Recorded time to fit at most; of more, the most informative pieces."""
    folds: Flag = False
    """Also leave every recording out in turn, each from a fit of its own (of servos
    whole gains; four folds of more than eight experiments): mean and worst fold."""
    residual: Flag = False
    """Also learn the force that the twin still lacks, as X.residual.yaml beside the
    twin; kept only if it predicts held-out recordings better."""
    export: Annotated[
        Path | None,
        Role.WRITTEN,
        tyro.conf.arg(metavar="FILE.xml", help_behavior_hint=""),
    ] = None
    """Also write the calibrated model as MJCF (.xml), or into its .urdf, for other
    programs."""
    require_identified: Flag = False
    """Exit with status 1 unless every fitted number is identified."""
    base: BaseName = ""
    """What of the robot floats, where the twin does not know: free lets go a robot
    that its model fixes to the world, such as a URDF's."""
    importer: ImporterName = None
    """Layout of foreign files; realworthy show importers lists them."""
    sidecar: SidecarFile = None
    """YAML with what the files do not say."""
    json: JsonFile = None
    """Also write the findings, for programs."""
    report: ReportFile = None
    """Also write a page with plots, for people."""
    overwrite: Flag = False
    """Replace existing files."""

    def run(self) -> int:
        from realworthy.artefacts import check_free, check_readable
        from realworthy.cli.output import check_report, json_file
        from realworthy.cli.printing import emit_note
        from realworthy.cli.progress import following, waiting
        from realworthy.identification.calibration.calibrate import (
            CalibrateSettings,
            calibrate,
        )
        from realworthy.identification.networks import add_residual, check_enough
        from realworthy.identification.solver.methods import check_budget, find_method
        from realworthy.twins import load_twin, save_twin
        from realworthy.twins.export import check_export, export_model

        check_budget(find_method(self.method), self.evaluations)
        for path in (*self.recordings, *self.heldout):
            check_readable(path)
        check_output(self.output)
        check_free(self.output, overwrite=self.overwrite)
        check_report(self.report, self.json, overwrite=self.overwrite)
        if self.residual:
            for path in (self._residual_file, self._residual_file.with_suffix(".npz")):
                check_free(path, overwrite=self.overwrite)
        kept = self.output.with_name(self.output.name + ".partial")
        with json_file(self.json, overwrite=self.overwrite) as save:
            with waiting("Reading"):
                twin = load_twin(self.twin, base=self.base)
                if self.export is not None:
                    check_export(twin, self.export, overwrite=self.overwrite)
                recordings = self._load(self.recordings)
                heldout = self._load(self.heldout) if self.heldout else None
            if self.residual:
                check_enough(recordings, heldout)
            with following("Calibrating") as progress:
                found = calibrate(
                    twin,
                    recordings,
                    parameters=self.parameters or None,
                    heldout=heldout,
                    method=self.method,
                    folds=self.folds,
                    settings=CalibrateSettings(
                        seconds=self.seconds, evaluations=self.evaluations
                    ),
                    keep=kept,
                    progress=progress,
                )
            is_kept = found.outcome.is_kept
            learned, exported = None, None
            if is_kept and self.residual:
                with waiting("Learning what the twin lacks"):
                    learned = add_residual(found)
            if is_kept:
                calibrated = self._with_residual(found.twin, learned)
                save_twin(calibrated, self.output, overwrite=self.overwrite)
                if self.export is not None:
                    exported = export_model(
                        calibrated,
                        self.export,
                        before=twin,
                        overwrite=self.overwrite,
                    )
            if self.report is not None:
                from realworthy.reports.calibration import write_calibration

                write_calibration(found, self.report, overwrite=self.overwrite)
            tree = to_tree(found, self.output if is_kept else None)
            tree |= {"residual": to_residual_tree(learned)}
            save(tree | {"export": to_export_tree(exported)})
            kept.unlink(missing_ok=True)
        print_calibration(found, self.output if is_kept else None)
        if learned is not None:
            emit_note(f"Residual: {learned.to_words()}", style="")
        if exported is not None:
            print_export(exported)
        if self.require_identified and (unsure := list_unsure(found)):
            emit_unsure(unsure)
            return 1
        return 0 if is_kept else 1

    @property
    def _residual_file(self) -> Path:
        """`X.residual.yaml` beside `X.twin.yaml`."""
        name = self.output.name.removesuffix(".twin.yaml")
        return self.output.with_name(f"{name}.residual.yaml")

    def _with_residual(
        self, twin: "Twin", learned: "ResidualAddition | None"
    ) -> "Twin":
        """The twin with its learned force, whose files are written, if it is kept."""
        from realworthy.residuals import save_residual

        if learned is None or not learned.is_kept:
            return twin
        save_residual(self._residual_file, learned.residual, overwrite=self.overwrite)
        return twin.with_residual(self._residual_file)

    def _load(self, paths: tuple[Path, ...]) -> "list[Recording]":
        from realworthy.recordings import load_recordings

        return load_recordings(paths, self.importer, sidecar=self.sidecar)


def list_unsure(found: "Calibration") -> tuple[str, ...]:
    """Numbers that were fitted and are not identified."""
    from realworthy.identification.identifiability.verdicts import ParameterVerdict

    return tuple(
        e.name
        for e in found.estimates
        if e.verdict is not ParameterVerdict.IDENTIFIED
        and (e.is_fitted or not found.outcome.is_kept)
    )


def emit_unsure(names: tuple[str, ...]) -> None:
    from realworthy.cli.printing import emit_note

    text = f"Not identified, though it was required: {', '.join(names)}."
    emit_note(text, style="red")


def check_output(path: Path) -> None:
    """Raises, before the work begins, where no twin could be written."""
    from realworthy.errors import RealworthyError
    from realworthy.twins.files import SUFFIX

    if not path.name.endswith(SUFFIX):
        raise RealworthyError(
            f"A twin's file name ends in {SUFFIX}, not '{path.name}'.",
            hint=f"Try: --output {path.name.partition('.')[0]}{SUFFIX}",
        )


def to_tree(found: "Calibration", path: Path | None) -> dict[str, object]:
    """What programs may rely on: `parameters`, `heldout`, `seconds`, `twin`."""
    from realworthy.cli.excite import to_forecast_tree
    from realworthy.identification.validation.held_out import find_outlying

    return {
        "twin": None if path is None else str(path),
        "verdict": found.outcome,
        "method": found.method,
        "summary": found.summary,
        "reason": found.reason,
        "parameters": {
            e.name: {
                "mean": e.mean,
                "sd": e.sd,
                "verdict": e.verdict,
                "unit": e.unit,
                "before": e.before,
                "partners": e.partners,
                "effective": e.is_effective,
                "fitted": e.is_fitted,
            }
            for e in found.estimates
        },
        "heldout": {
            "position_rmse": found.after,
            "position_rmse_before": found.before,
            "position_rmse_undisturbed": found.after_undisturbed,
            "disturbed": found.disturbed,
            "strange": [error.recording for error in find_outlying(found.errors)],
            "by_time": found.is_by_time,
            "recordings": found.errors,
        },
        "folds": to_folds_tree(found),
        "cross_validated": {"position_rmse": found.cross_validated},
        "fitted": {"recordings": found.fitted, "seconds": found.fitted_seconds},
        "ratios": {
            f"{r.joint}.inertia_over_mass_times_lever": {
                "mean": r.mean,
                "sd": r.sd,
                "before": r.before,
                "unit": "m",
            }
            for r in found.ratios
        },
        "reduced_chi2": found.reduced_chi2,
        "inflation": found.inflation,
        "warnings": found.warnings,
        "advice": found.advice,
        "excitation": None
        if found.excitation is None
        else {
            "seconds": found.excitation.motion.duration,
            "joints": found.excitation.motion.joints,
            "parameters": to_forecast_tree(found.excitation),
        },
        "seconds": found.seconds,
        "evaluations": found.evaluation_count,
    }


def to_folds_tree(found: "Calibration") -> object:
    """Mean and worst over recordings left out in turn, and each; null if none were."""
    if not found.folds:
        return None
    return {
        "position_rmse": found.folds_mean,
        "position_rmse_worst": found.folds_worst,
        "position_rmse_undisturbed": found.folds_undisturbed,
        "position_rmse_before": found.folds_before,
        "folds": [
            {
                "held_out": [error.recording for error in fold.errors],
                "position_rmse": fold.after,
                "position_rmse_before": fold.before,
                "verdict": fold.outcome,
                "parameters": {e.name: e.mean for e in fold.estimates if e.is_fitted},
                "seconds": fold.seconds,
            }
            for fold in found.folds
        ],
    }


def to_residual_tree(learned: "ResidualAddition | None") -> object:
    """`kept`, and errors half a second ahead `without` and `with` it; else null."""
    if learned is None:
        return None
    compared = learned.comparison
    return {
        "kept": learned.is_kept,
        "without": compared.without,
        "with": compared.with_residual,
        "starts": compared.start_count,
    }


def to_export_tree(exported: "ModelExport | None") -> object:
    """The file, what changed in it and what it cannot hold; null if none was asked."""
    if exported is None:
        return None
    return {
        "path": str(exported.path),
        "changed": exported.changed,
        "left_out": exported.left_out,
    }


def print_export(exported: "ModelExport") -> None:
    """The file and what it cannot hold."""
    from realworthy.cli.printing import counted, emit_note

    numbers = counted(len(exported.changed), "number")
    emit_note(f"{exported.path} has {numbers} changed, each with a comment.", style="")
    for words in exported.left_out:
        emit_note(f"Not in {exported.path.name}: {words}.", style="yellow")


def print_calibration(found: "Calibration", path: Path | None) -> None:
    """Warnings, the outcome, every number with its verdict, and what to record next."""
    from realworthy.cli.printing import emit_heading, emit_note, emit_table, number

    for warning in found.warnings:
        emit_note(f"Warning: {warning}", style="yellow")
    emit_heading("Not written." if path is None else str(path), found.summary)
    emit_table(
        "Parameters",
        ("parameter", "before", "mean", "sd", "unit", "verdict"),
        [
            (e.name, e.before, number(e.mean, e.sd), e.sd, e.unit, e.to_words())
            for e in found.estimates
        ],
    )
    emit_table(
        "Held out, replay error",
        ("recording", "before", "after"),
        [(e.recording, e.before, e.after) for e in found.errors],
    )
    if found.folds:
        emit_table(
            "Left out in turn",
            ("fold", "before", "after"),
            [(fold.held_out_words, fold.before, fold.after) for fold in found.folds],
        )
    for words in found.advice:
        emit_note(f"Record next: {words}", style="")
