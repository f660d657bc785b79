"""`realworthy convert`: foreign layouts into ours."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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

if TYPE_CHECKING:
    from realworthy.recordings.propose import MappingProposal


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
    map: TwinName = ""
    """Propose a mapping of columns to this twin's joints, write it as mapping.yaml
    beside the recordings, and convert with it."""
    overwrite: Flag = False
    """Replace recordings, and the JSON file, of the same names."""
    json: JsonFile = None
    """Also write what was done, for programs."""

    def run(self) -> int:
        from realworthy.artefacts import check_readable
        from realworthy.cli.output import json_file
        from realworthy.cli.printing import counted, say
        from realworthy.cli.progress import following, waiting
        from realworthy.cli.show_recordings import emit_mapping, to_proposal_tree
        from realworthy.recordings import convert, load_recordings
        from realworthy.recordings.sidecar import save_sidecar

        for path in self.recordings:
            check_readable(path)
        if self._are_motions():
            return self._convert_motions()
        proposal = self._propose() if self.map else None
        sidecar = proposal.sidecar if proposal else self.sidecar
        with json_file(self.json, overwrite=self.overwrite) as save:
            with waiting("Reading"):
                recordings = load_recordings(
                    self.recordings, self.importer, sidecar=sidecar
                )
            with following("Writing") as progress:
                paths = convert(
                    recordings,
                    output=self.output,
                    format=self.format,
                    overwrite=self.overwrite,
                    progress=progress,
                )
            if proposal:
                save_sidecar(
                    proposal.sidecar, self._mapping_file, overwrite=self.overwrite
                )
            pairs = zip(paths, recordings, strict=True)
            done = [{"path": str(p), "rows": len(r.time)} for p, r in pairs]
            tree = {"proposal": to_proposal_tree(proposal)} if proposal else {}
            save({"recordings": done} | tree)
        if proposal:
            emit_mapping(proposal)
        seconds = sum(recording.duration for recording in recordings)
        count = counted(len(recordings), "recording")
        say(f"{count}, {seconds:.1f} s in all, written to {self.output}")
        if proposal:
            names = " ".join(shlex.quote(str(path)) for path in self.recordings)
            folder = shlex.quote(str(self.output))
            say(
                f"The mapping is {self._mapping_file}. Where it errs, edit it, then: "
                f"realworthy convert {names} --sidecar "
                f"{shlex.quote(str(self._mapping_file))} --output {folder} --overwrite"
            )
            say(f"Next: realworthy measure {shlex.quote(self.map)} {folder}")
        return 0

    def _are_motions(self) -> bool:
        from realworthy.cli.convert_motions import are_motions

        return are_motions(self.recordings, self.importer)

    def _convert_motions(self) -> int:
        from realworthy.cli.convert_motions import convert_motions
        from realworthy.cli.output import json_file
        from realworthy.cli.printing import counted, say
        from realworthy.errors import RealworthyError

        if self.format != "csv" or self.map or self.sidecar:
            raise RealworthyError(
                "A motion is kept as .csv, and its joints are named by --twin.",
                hint="Leave --format, --map and --sidecar out.",
            )
        with json_file(self.json, overwrite=self.overwrite) as save:
            done = convert_motions(
                self.recordings,
                self.importer,
                output=self.output,
                unit=self.unit,
                rate=self.rate_in,
                twin=self.twin,
                overwrite=self.overwrite,
            )
            save({"motions": done})
        say(f"{counted(len(done), 'motion')} written to {self.output}")
        return 0

    @property
    def _mapping_file(self) -> Path:
        return self.output / "mapping.yaml"

    def _propose(self) -> "MappingProposal":
        """For the longest of the files; the others must have the same columns."""
        from realworthy.artefacts import check_free
        from realworthy.errors import RealworthyError
        from realworthy.recordings.load import read_tables
        from realworthy.recordings.propose import propose_mapping
        from realworthy.twins import load_twin
        from realworthy.twins.joint_facts import list_joint_facts

        for option, value in (("sidecar", self.sidecar), ("importer", self.importer)):
            if value is not None:
                raise RealworthyError(
                    f"--map proposes what --{option} says already.",
                    hint="Give one of the two.",
                )
        check_free(self._mapping_file, overwrite=self.overwrite)
        tables = read_tables(self.recordings).values()
        table = max(tables, key=lambda t: len(next(iter(t.values()), ())))
        return propose_mapping(table, list_joint_facts(load_twin(self.map)))
