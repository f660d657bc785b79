"""`realworthy show`: what exists, and what a file holds."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from realworthy.cli.arguments import (
    BaseName,
    Flag,
    ImporterName,
    JsonFile,
    Role,
    TwinName,
    UnitName,
)
from realworthy.cli.numbers import AnyNumber
from realworthy.errors import BadFile, MissingFile, RealworthyError, UnknownName

TOPICS = {
    "twins": "models of robots, built in or from MuJoCo Menagerie",
    "quadruped": "one twin: what it is made of, and what looks wrong",
    "arm.urdf": "the same of a model or *.twin.yaml of your own",
    "parameters mass --twin arm": "what can be unknown about a twin",
    "realities": "stand-ins for robots, with hidden parameters",
    "importers": "foreign layouts of recordings",
    "tasks": "what can be learned; with a name, what a task is made of",
    "tasks --twin arm": "which of them a twin can learn, and which part does what",
    "learners": "who can learn it, with all settings",
    "tables": "ranges that others have published for randomization",
    "run.csv --twin arm": "a recording, and whether it fits a twin",
    "walk.bvh --unit cm": "a motion: of a robot, a person or an animal",
    "policy.onnx": "a policy: what it sees, what its actions mean",
}
"""What to type after `realworthy show`."""
_SINGULAR = {
    "twin": "twins",
    "parameter": "parameters",
    "reality": "realities",
    "importer": "importers",
    "task": "tasks",
    "learner": "learners",
    "table": "tables",
}


@dataclass(frozen=True, slots=True)
class Show:
    """What exists, or what a twin, recording, policy, belief or reality holds."""

    what: Annotated[
        str,
        Role.READ,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="[WHAT]", help_behavior_hint=""),
    ] = ""
    """twins, parameters, realities, importers, tasks, learners or tables; or a twin,
    file or folder."""
    name: Annotated[
        str,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="[NAME]", help_behavior_hint=""),
    ] = ""
    """One twin, reality, importer, task, learner or table; or a part of parameters'
    names."""
    twin: TwinName = ""
    """The twin whose parameters are shown, or that tasks or a recording should fit."""
    against: TwinName = ""
    """Another file of the same robot, to list where the two disagree."""
    base: BaseName = ""
    """What of the twin floats, where the twin does not know: free lets go a robot
    that its model fixes to the world, such as a URDF's."""
    importer: ImporterName = None
    """Layout of a foreign recording; realworthy show importers lists them."""
    unit: UnitName = None
    """Length that 1 has in a file of a motion: m, cm, mm, inch, cmu or a number of
    metres."""
    rate_in: AnyNumber = None
    """Rows per second of a file of a motion that does not say it."""
    json: JsonFile = None
    """Also write what is shown, for programs."""
    overwrite: Flag = False
    """Replace an existing JSON file."""

    def run(self) -> int:
        from realworthy.cli.output import json_file

        with json_file(self.json, overwrite=self.overwrite) as save:
            save(self._show())
        return 0

    def _show(self) -> object:
        topic = _SINGULAR.get(self.what, self.what)
        if topic == "twins":
            from realworthy.cli import show_twins

            if self.name:
                return show_twins.show_twin(self.name, self.against, self.base)
            return show_twins.show_twins()
        if topic == "parameters":
            from realworthy.cli import show_parameters

            return show_parameters.show_parameters(self.twin, self.name, self.base)
        if topic == "realities":
            from realworthy.cli import show_realities

            if self.name:
                return show_realities.show_reality(self.name)
            return show_realities.show_realities()
        if topic == "importers":
            from realworthy.cli import show_recordings

            return show_recordings.show_importers(self.name)
        if topic == "tasks":
            from realworthy.cli import show_tasks

            if self.name:
                return show_tasks.show_task(self.name, self.twin, self.base)
            if self.twin:
                return show_tasks.show_fits(self.twin, self.base)
            return show_tasks.show_tasks()
        if topic == "learners":
            from realworthy.cli import show_learners

            return (
                show_learners.show_learner(self.name)
                if self.name
                else show_learners.show_learners()
            )
        if topic == "tables":
            from realworthy.cli import show_tables

            return (
                show_tables.show_table(self.name)
                if self.name
                else show_tables.show_tables()
            )
        if not topic:
            return _show_topics()
        self._check_alone()
        return self._show_thing(topic)

    def _check_alone(self) -> None:
        if self.name:
            raise RealworthyError(
                f"'{self.name}' after '{self.what}' is one word too many.",
                hint="Its parameters: realworthy show parameters "
                f"{self.name} --twin {self.what}",
            )

    def _show_thing(self, what: str) -> object:
        """A twin, or a file by the end of its name."""
        if what.lower().endswith(".onnx"):
            from realworthy.cli.show_policies import show_policy

            return show_policy(what)
        if what.endswith(".reality.yaml"):
            from realworthy.cli.show_realities import show_reality

            return show_reality(what)
        if what.endswith(".belief.yaml"):
            from realworthy.cli.show_parameters import show_belief

            return show_belief(what)
        if _is_motion(what, self.importer):
            from realworthy.cli.show_motions import show_motion

            return show_motion(
                what, self.importer, self.twin, unit=self.unit, rate=self.rate_in
            )
        if self.importer is not None or _is_recording(what):
            from realworthy.artefacts import check_readable
            from realworthy.cli.show_recordings import show_recordings

            check_readable(what)
            return show_recordings(what, self.importer, self.twin)
        if not _is_twin(what):
            raise _wonder(what)
        from realworthy.cli.show_twins import show_twin

        return show_twin(what, self.against, self.base)


def _show_topics() -> object:
    from realworthy.cli.printing import emit_table

    emit_table("realworthy show …", ("", ""), TOPICS.items())
    return {"topics": list(_SINGULAR.values())}


def _is_recording(what: str) -> bool:
    from realworthy.recordings.formats import find_suffix

    return bool(find_suffix(Path(what))) or os.path.isdir(what)


def _is_motion(what: str, importer: str | None) -> bool:
    """Whether a file is a motion: by its layout, its end, or columns of bodies."""
    from realworthy.recordings.formats.csv import read_heading
    from realworthy.recordings.motion_layouts import MOTION_LAYOUTS, find_layout

    if importer is not None:
        return importer in MOTION_LAYOUTS
    if find_layout(Path(what)):
        return True
    if not what.lower().endswith((".csv", ".csv.gz")) or not os.path.isfile(what):
        return False
    names = read_heading(Path(what)).split(",")
    return any(name.startswith(("body.", "object.", "contact.")) for name in names)


def _is_twin(what: str) -> bool:
    from realworthy.twins.model_sources import (
        MENAGERIE_PREFIX,
        MODEL_SUFFIXES,
        builtin_names,
    )

    by_name = what.startswith(MENAGERIE_PREFIX) or what in builtin_names()
    return by_name or what.lower().endswith((*MODEL_SUFFIXES, ".twin.yaml"))


def _wonder(what: str) -> RealworthyError:
    """What to say of a word that is no twin, no topic and no file that we know."""
    from realworthy.artefacts import check_readable
    from realworthy.recordings import FORMATS, IMPORTERS
    from realworthy.twins.files import suggest_robot
    from realworthy.twins.model_sources import builtin_names

    path = Path(what)
    if not os.path.exists(path):
        if path.suffix or path.name != what:
            return MissingFile(path)
        return UnknownName(
            "twin or topic",
            what,
            (*builtin_names(), *_SINGULAR.values()),
            owner="Realworthy",
            hint=f"{suggest_robot(what)} Try: realworthy show".strip(),
        )
    check_readable(path)
    if path.suffix in (".yaml", ".yml"):
        return BadFile(
            path,
            "its name does not say what it is.",
            hint="Names end in .twin.yaml, .reality.yaml or .belief.yaml; a sidecar is "
            "shown with its recording.",
        )
    fitting = [name for name, each in IMPORTERS.items() if path in each.find(path)]
    hint = f"Models end in .xml or .urdf, recordings in {', '.join(FORMATS)}; foreign "
    hint += "recordings need --importer."
    if fitting:
        hint = f"It looks like {fitting[0]}: try --importer {fitting[0]}"
    return BadFile(path, "nothing here reads such a file.", hint=hint)
