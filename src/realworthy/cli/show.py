"""`realworthy show`: what exists, and what a file holds."""

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated

import tyro

TOPICS = ("twins", "parameters", "realities", "importers")


@dataclass(frozen=True, slots=True)
class Show:
    """What exists, or what a twin, recording, belief or reality holds.

    realworthy show twins | parameters --twin TWIN | realities | importers | FILE | TWIN
    """

    what: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[WHAT]")] = ""
    """twins, parameters, realities, importers; or a file, or a twin."""
    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[NAME]")] = ""
    """One of them: realworthy show twin pendulum, show parameters mass."""
    twin: str = ""
    """Whose parameters, or which twin a recording should fit."""
    importer: str | None = None
    """Layout of a foreign recording: realworthy show importers."""
    json: Path | None = None
    """Also write it for programs."""
    overwrite: bool = False
    """Replace an existing JSON file."""

    def run(self) -> int:
        from realworthy.cli import tables
        from realworthy.cli.output import save_json

        result = self._find(tables)
        if self.json is not None:
            save_json(self.json, result, overwrite=self.overwrite)
        return 0

    def _find(self, tables: ModuleType) -> object:
        topic = self.what if self.what.endswith("s") else self.what + "s"
        if not self.what:
            return tables.show_topics()
        if topic == "twins":
            return tables.show_twin(self.name) if self.name else tables.show_twins()
        if topic == "parameters":
            return tables.show_parameters(self.twin, self.name)
        if topic in ("realities", "realitys"):
            return (
                tables.show_reality(self.name) if self.name else tables.show_realities()
            )
        if topic == "importers":
            return tables.show_importers()
        if self.what.endswith(".reality.yaml"):
            return tables.show_reality(self.what)
        if self.what.endswith(".belief.yaml"):
            return tables.show_belief(self.what)
        if self.importer is not None or _is_recording(self.what):
            return tables.show_recordings(self.what, self.importer, self.twin)
        return tables.show_twin(self.what)


def _is_recording(text: str) -> bool:
    from realworthy.recordings import FORMATS

    return any(text.endswith(suffix) for suffix in FORMATS) or Path(text).is_dir()
