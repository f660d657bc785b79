"""`realworthy record`: a motion played on a robot, guarded, and kept."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from realworthy.cli.arguments import Flag, JsonFile, KeyFile, Role, TwinName
from realworthy.cli.numbers import AnyNumber


@dataclass(frozen=True, slots=True)
class Record:
    """A motion on a robot, within limits of position, speed and torque."""

    motion: Annotated[
        Path,
        Role.READ,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="MOTION", help_behavior_hint=""),
    ]
    """A .csv file with time and <joint>.position, such as excite writes."""
    robot: Annotated[
        str, Role.READ, tyro.conf.arg(metavar="ADDRESS", help_behavior_hint="")
    ]
    """sim:REALITY, udp://HOST:PORT or zenoh:NAME."""
    output: Annotated[Path, Role.WRITTEN, tyro.conf.arg(metavar="FILE")] = Path(
        "recording.csv"
    )
    """Where to write the recording: .csv, .csv.gz, .npz, .parquet or .mcap."""
    twin: TwinName = ""
    """The twin that gives limits and dynamics; by default the one the robot names."""
    rate: AnyNumber = None
    """Commands per second; by default the robot's own rate."""
    key: KeyFile = None
    """File with the key that a robot on the wire shares."""
    reset_stop: Flag = False
    """A robot in emergency stop may move again: you have looked at it."""
    overwrite: Flag = False
    """Replace existing files."""
    json: JsonFile = None
    """Also write what was done, for programs."""

    def run(self) -> int:
        from realworthy.cli.output import json_file
        from realworthy.cli.printing import emit_note, say
        from realworthy.cli.progress import waiting
        from realworthy.deployment.trial_files import check_recording_free
        from realworthy.identification.excitation import record
        from realworthy.realities.stand_in import find_twin
        from realworthy.recordings.motion import load_motion
        from realworthy.robots.address import open_robot

        check_recording_free(self.output, overwrite=self.overwrite)
        motion = load_motion(self.motion)
        robot = open_robot(self.robot, key=self.key, reset_stop=self.reset_stop)
        with json_file(self.json, overwrite=self.overwrite) as save:
            twin = find_twin(robot, self.twin)
            with waiting("Recording"):
                done = record(
                    motion,
                    robot,
                    twin,
                    rate=self.rate,
                    output=self.output,
                    overwrite=self.overwrite,
                )
            recording = done.recording
            save(
                {
                    "recording": str(self.output),
                    "rows": len(recording.time),
                    "seconds": recording.duration,
                    "outcome": "stopped" if done.reason else "done",
                    "reason": done.reason,
                    "braked": done.braked,
                }
            )
        say(
            f"{self.output}  {len(recording.time)} rows, {recording.duration:.2f} s at "
            f"{recording.rate:.4g} Hz"
        )
        if done.reason:
            emit_note(f"Stopped by the guard: {done.reason}.", style="yellow")
        if done.braked:
            emit_note(tell_braking(done.braked), style="yellow")
        return 0 if done.is_clean else 1


def tell_braking(steps: int) -> str:
    """What a robot did that nobody asked for, and what becomes of it."""
    from realworthy.cli.printing import counted

    return (
        f"The robot braked by itself in {counted(steps, 'step')}: commands came too "
        "late or not at all. Fits leave these rows out."
    )
