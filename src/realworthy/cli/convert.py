"""`realworthy convert`: foreign layouts into ours."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from realworthy.cli.arguments import (
    Flag,
    ImporterName,
    JsonFile,
    RecordingFiles,
    Role,
    SidecarFile,
    TwinName,
    UnitName,
)
from realworthy.cli.numbers import AnyNumber


@dataclass(frozen=True, slots=True)
class Convert:
    """Foreign recordings or motions into ours: SI units, our names, one file each."""

    recordings: RecordingFiles
    """Files or folders."""
    output: Annotated[Path, Role.WRITTEN, tyro.conf.arg(metavar="FOLDER")]
    """Where to write; the folder is made where it is missing."""
    importer: ImporterName = None
    """Layout of foreign files; realworthy show importers lists them."""
    format: Literal["csv", "csv.gz", "npz", "parquet", "mcap"] = "csv"
    """What to write."""
    sidecar: SidecarFile = None
    """YAML with what the files do not say, such as a mapping of columns."""
    unit: UnitName = None
    """Length that 1 has in files of motions: m, cm, mm, inch, cmu or a number of
    metres."""
    rate_in: AnyNumber = None
    """Rows per second of motions whose files do not say it."""
    twin: TwinName = ""
    """Robot whose order of joints motions without names of joints have."""
    overwrite: Flag = False
    """Replace recordings, and the JSON file, of the same names."""
    json: JsonFile = None
    """Also write what was done, for programs."""

    def run(self) -> int:
        from realworthy.artefacts import check_readable
        from realworthy.cli.output import json_file
        from realworthy.cli.printing import counted, say
        from realworthy.cli.progress import following, waiting
        from realworthy.recordings import convert, load_recordings

        for path in self.recordings:
            check_readable(path)
        if self._are_motions():
            return self._convert_motions()
        with json_file(self.json, overwrite=self.overwrite) as save:
            with waiting("Reading"):
                recordings = load_recordings(
                    self.recordings, self.importer, sidecar=self.sidecar
                )
            with following("Writing") as progress:
                paths = convert(
                    recordings,
                    output=self.output,
                    format=self.format,
                    overwrite=self.overwrite,
                    progress=progress,
                )
            pairs = zip(paths, recordings, strict=True)
            done = [{"path": str(p), "rows": len(r.time)} for p, r in pairs]
            save({"recordings": done})
        seconds = sum(recording.duration for recording in recordings)
        count = counted(len(recordings), "recording")
        say(f"{count}, {seconds:.1f} s in all, written to {self.output}")
        return 0

    def _are_motions(self) -> bool:
        from realworthy.recordings.motion_layouts import MOTION_LAYOUTS, find_layout

        if self.importer is not None:
            return self.importer in MOTION_LAYOUTS
        return bool(self.recordings) and all(map(find_layout, self.recordings))

    def _convert_motions(self) -> int:
        """Each file into one of ours, a .csv with base, joints, bodies and so on."""
        from realworthy.artefacts import check_free
        from realworthy.cli.output import json_file
        from realworthy.cli.printing import counted, say
        from realworthy.cli.show_motions import list_joints
        from realworthy.errors import RealworthyError
        from realworthy.recordings.motion import load_motion, save_motion

        if self.format != "csv":
            raise RealworthyError(
                f"A motion is kept as .csv, not as .{self.format}.",
                hint="Leave --format out.",
            )
        joints = list_joints(self.twin)
        names = [path.name.partition(".")[0] for path in self.recordings]
        paths = [self.output / f"{name}.csv" for name in names]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise RealworthyError(f"Two motions would be called '{twice[0]}.csv'.")
        for path in paths:
            check_free(path, overwrite=self.overwrite)
        with json_file(self.json, overwrite=self.overwrite) as save:
            done = []
            for source, path in zip(self.recordings, paths, strict=True):
                motion = load_motion(
                    source,
                    self.importer,
                    unit=self.unit,
                    rate=self.rate_in,
                    joints=joints,
                )
                os.makedirs(self.output, exist_ok=True)
                save_motion(motion, path, overwrite=self.overwrite)
                done.append({"path": str(path), "rows": len(motion.time)})
            save({"motions": done})
        say(f"{counted(len(done), 'motion')} written to {self.output}")
        return 0
