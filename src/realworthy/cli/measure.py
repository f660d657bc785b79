"""`realworthy measure`: how far a twin is from the robot behind some recordings."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from realworthy.cli.arguments import Flag, ImporterName, JsonFile, SidecarFile

if TYPE_CHECKING:
    from realworthy.gap import Gap, RecordingGap

_GROWTH = {
    "noise_floor": "never rises above the noise",
    "velocity_bias": "grows with time, as a wrong velocity does",
    "force_bias": "grows with time squared, as a wrong force does",
    "instability": "grows exponentially: the motion itself is unstable",
    "saturated": "is as large after one row as ever after",
    "mixed": "grows in no single way",
}
_SIZES = {
    "delay": "delay {:.3f} s",
    "gain": "gain {:.2f}",
    "bias": "bias {:+.3f}",
}


@dataclass(frozen=True, slots=True)
class Measure:
    """How far a twin is from the robot: replays recordings, needs no fit."""

    twin: Annotated[
        str, tyro.conf.Positional, tyro.conf.arg(metavar="TWIN", help_behavior_hint="")
    ]
    """A built-in twin, an .xml, .urdf or .twin.yaml file, or menagerie:<robot>."""
    recordings: Annotated[
        tuple[Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="RECORDING…", help_behavior_hint=""),
    ]
    """Files or folders."""
    importer: ImporterName = None
    """Layout of foreign files; realworthy show importers lists them."""
    sidecar: SidecarFile = None
    """YAML with what the files do not say."""
    json: JsonFile = None
    """Also write the figures, for programs."""
    overwrite: Flag = False
    """Replace an existing JSON file."""

    def run(self) -> int:
        from realworthy.cli.output import json_file
        from realworthy.cli.printing import emit_note
        from realworthy.cli.progress import track, waiting
        from realworthy.errors import BadRecording
        from realworthy.gap import Gap
        from realworthy.gap.measure import measure_recording
        from realworthy.recordings import load_recordings
        from realworthy.twins import load_twin

        with json_file(self.json, overwrite=self.overwrite) as save:
            with waiting("Reading"):
                twin = load_twin(self.twin)
                recordings = load_recordings(
                    self.recordings, self.importer, sidecar=self.sidecar
                )
            found, skipped = [], []
            for recording in track(recordings, "Measuring"):
                try:
                    found.append(measure_recording(twin, recording))
                except BadRecording as error:
                    skipped.append(error)
            if not found:
                raise skipped[0]
            gap = Gap(twin=twin.name, recordings=tuple(found))
            save(to_tree(gap) | {"skipped": [error.problem for error in skipped]})
        print_gap(gap)
        for error in skipped:
            emit_note(f"Left out: {error.problem}", style="yellow")
        return 0


def to_tree(gap: "Gap") -> dict[str, object]:
    """What programs may rely on: `replay`, `one_step`, `horizons`, `noise_floor`."""
    return {
        "twin": gap.twin,
        "replay": gap.replay,
        "one_step": gap.one_step,
        "horizons": {f"{s:g}": error for s, error in gap.horizons.items()},
        "horizon_floor": {f"{s:g}": error for s, error in gap.horizon_floor.items()},
        "noise_floor": gap.noise_floor,
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
    }


def print_gap(gap: "Gap") -> None:
    """Replay by joint, error by horizon, and what was assumed."""
    from realworthy.cli.printing import counted, emit_heading, emit_note, emit_table

    replay, step = gap.replay, gap.one_step
    count = counted(len(gap.recordings), "recording")
    emit_heading(
        f"{replay.position_rmse:.4g} rad",
        f"root mean square error of replaying {count} in {gap.twin}",
    )
    emit_table(
        "Replay, by joint",
        (
            "joint",
            "error",
            "noise",
            "missing torque [N·m]",
            "its floor",
            "differs by",
        ),
        [
            (
                joint,
                error,
                gap.noise_floor[joint],
                _mean(gap, joint, "rms"),
                _mean(gap, joint, "floor"),
                _effects(gap.recordings, joint),
            )
            for joint, error in replay.per_joint.items()
        ],
    )
    emit_table(
        "Prediction from measured states",
        ("seconds ahead", "error", "noise alone"),
        [(s, error, gap.horizon_floor[s]) for s, error in gap.horizons.items()],
    )
    emit_note(
        f"One row ahead: {step.error:.2g} × what changes in a row (1: no better than "
        f"no motion), {step.floor:.2g} × by noise alone.",
        style="",
    )
    said: dict[str, list[str]] = {}
    for one in gap.recordings:
        for words in (_describe_growth(one), *one.assumptions):
            said.setdefault(words, []).append(one.name)
    for words, names in said.items():
        everywhere = len(names) == len(gap.recordings)
        emit_note(words if everywhere else f"{', '.join(names)}: {words}", style="")


def _mean(gap: "Gap", joint: str, name: str) -> float | None:
    values = [getattr(r.forces, name).get(joint) for r in gap.recordings]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _describe_growth(one: "RecordingGap") -> str:
    growth = one.growth
    ends = growth.saturates_at
    levels_off = f", and levels off after about {ends:.2g} s" if ends else ""
    return f"The error {_GROWTH[growth.kind]}{levels_off}."


def _effects(recordings: "tuple[RecordingGap, ...]", joint: str) -> str:
    """What explains a tenth or more of the joint's error in most recordings."""
    found: dict[str, list[float]] = {}
    for one in recordings:
        if joint in one.comparison:
            for effect in one.comparison[joint].effects:
                if effect.share >= 0.1:
                    found.setdefault(effect.name, []).append(effect.value)
    usual = {
        n: sum(v) / len(v) for n, v in found.items() if 2 * len(v) > len(recordings)
    }
    return ", ".join(_SIZES[name].format(value) for name, value in usual.items())
