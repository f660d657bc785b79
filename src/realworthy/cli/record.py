"""`realworthy record`: a motion played on a robot, guarded, and kept."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from realworthy.cli.arguments import Flag, JsonFile, TwinName

if TYPE_CHECKING:
    from realworthy.realities import Reality

SIMULATED = "sim:"


@dataclass(frozen=True, slots=True)
class Record:
    """A motion on a robot, within limits of position, speed and torque."""

    motion: Annotated[
        Path,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="MOTION", help_behavior_hint=""),
    ]
    """A .csv file with time and <joint>.position, such as excite writes."""
    robot: Annotated[str, tyro.conf.arg(metavar="ADDRESS", help_behavior_hint="")]
    """sim:REALITY, a shipped reality's name or a .reality.yaml file."""
    output: Annotated[Path, tyro.conf.arg(metavar="FILE")] = Path("recording.csv")
    """Where to write the recording: .csv, .csv.gz, .npz, .parquet or .mcap."""
    twin: TwinName | None = None
    """Whose limits and dynamics hold; by default that of the reality."""
    overwrite: Flag = False
    """Replace existing files."""
    json: JsonFile = None
    """Also write what was done, for programs."""

    def run(self) -> int:
        from realworthy.artefacts import check_free
        from realworthy.cli.output import json_file
        from realworthy.cli.printing import emit_note
        from realworthy.cli.progress import waiting
        from realworthy.identification.excitation import record_motion
        from realworthy.realities import StandIn
        from realworthy.recordings import save_recording
        from realworthy.recordings.formats import find_format
        from realworthy.recordings.motion import load_motion
        from realworthy.recordings.sidecar import sidecar_path
        from realworthy.twins import load_twin

        if not find_format(self.output).embeds:
            check_free(sidecar_path(self.output), overwrite=self.overwrite)
        check_free(self.output, overwrite=self.overwrite)
        motion = load_motion(self.motion)
        reality = open_reality(self.robot)
        with json_file(self.json, overwrite=self.overwrite) as save:
            twin = reality.twin if self.twin is None else load_twin(self.twin)
            with waiting("Recording"):
                done = record_motion(StandIn(reality), motion, twin)
            recording = done.recording
            save_recording(recording, self.output, overwrite=self.overwrite)
            save(
                {
                    "recording": str(self.output),
                    "rows": len(recording.time),
                    "seconds": recording.duration,
                    "outcome": "stopped" if done.reason else "done",
                    "reason": done.reason,
                }
            )
        print(
            f"{self.output}  {len(recording.time)} rows, {recording.duration:.2f} s at "
            f"{recording.rate:.4g} Hz"
        )
        if done.reason:
            emit_note(f"Stopped by the guard: {done.reason}.", style="yellow")
        return 1 if done.reason else 0


def open_reality(address: str) -> "Reality":
    """The reality behind a `sim:` address."""
    from realworthy.errors import RealworthyError
    from realworthy.realities import load_reality

    if not address.startswith(SIMULATED):
        raise RealworthyError(
            f"'{address}' is not an address that can be reached yet.",
            hint="Try sim:REALITY, such as sim:pendulum_1_easy. All: realworthy show "
            "realities",
        )
    return load_reality(address.removeprefix(SIMULATED))
