"""`show FILE`, `show importers`: what recordings hold, and which can be read."""

import shlex
from collections.abc import Sequence

import msgspec
from rich.text import Text

from realworthy.artefacts import dump_yaml
from realworthy.cli.printing import (
    counted,
    emit,
    emit_block,
    emit_heading,
    emit_note,
    emit_table,
    say,
)
from realworthy.cli.progress import waiting
from realworthy.errors import BadRecording, UnknownName
from realworthy.recordings import (
    IMPORTERS,
    Recording,
    RecordingSummary,
    distinct_names,
    load_recordings,
    summary,
)
from realworthy.recordings.load import find_importer, read_tables
from realworthy.recordings.propose import MappingProposal, propose_mapping

_MANY_SIGNALS = 1000
"""Signals of which a table is printed; 10⁵ took 45 s to be laid out (2026-11-18)."""


def show_importers(name: str) -> object:
    """Foreign layouts that can be read, or one of them."""
    from realworthy.recordings.motion_layouts import MOTION_LAYOUTS

    if name:
        importer = MOTION_LAYOUTS.get(name) or find_importer(name)
        emit_heading(name, importer.summary)
        emit(Text(f"Expects {importer.layout}."))
        emit_note(f"realworthy show PATH --importer {name}")
        return {"importers": {name: importer.summary}}
    summaries = {name: importer.summary for name, importer in IMPORTERS.items()}
    emit_table("Importers (--importer NAME)", ("name", "reads"), summaries.items())
    motions = {name: layout.summary for name, layout in MOTION_LAYOUTS.items()}
    emit_table(
        "Motions, in show, convert, retarget", ("name", "reads"), motions.items()
    )
    return {"importers": summaries, "motions": motions}


def show_recordings(path: str, importer: str | None, twin: str) -> object:
    """What recordings hold; with a twin, whether it has the joints."""
    if twin and not importer and (found := propose_where_foreign(path, twin)):
        emit_proposal(found, path, twin)
        return {"recordings": [], "proposal": to_proposal_tree(found)}
    with waiting("Reading"):
        recordings = load_recordings(path, importer)
        summaries = [summary(recording) for recording in recordings]
    if twin:
        _check_joints(twin, recordings)
    if len(summaries) == 1:
        _emit_recording(summaries[0])
    else:
        _emit_recordings(summaries, distinct_names(recordings))
    return {"recordings": summaries}


def _emit_recordings(
    summaries: Sequence[RecordingSummary], names: Sequence[str]
) -> None:
    joints = {about.joints for about in summaries}
    seconds = sum(about.duration for about in summaries)
    emit_table(
        f"{counted(len(summaries), 'recording')}, {seconds:.1f} s in all",
        ("name", "rows", "duration [s]", "rate [Hz]", "joints", "suspicions"),
        [
            (
                name,
                about.row_count,
                about.duration,
                about.rate,
                ", ".join(about.joints) if len(joints) > 1 else "",
                len(about.suspicions) or None,
            )
            for name, about in zip(names, summaries, strict=True)
        ],
    )
    if len(joints) == 1 and summaries[0].joints:
        emit_note(f"Joints: {', '.join(summaries[0].joints)}")


def _emit_recording(about: RecordingSummary) -> None:
    regular = f"irregular, {counted(about.gap_count, 'gap')}"
    emit_heading(
        about.name,
        f"{counted(about.row_count, 'row')}, {about.duration:.3f} s at "
        f"{about.rate:.4g} Hz ({'regular' if about.is_regular else regular})",
    )
    for suspicion in about.suspicions:
        emit_note(f"Suspicious: {suspicion.text}", style="yellow")
    emit_table(
        "Signals",
        ("name", "min", "max", "rms", "unit"),
        [
            (s.name, s.minimum, s.maximum, s.rms, s.unit)
            for s in about.signals[:_MANY_SIGNALS]
        ],
    )
    if (more := len(about.signals) - _MANY_SIGNALS) > 0:
        emit_note(f"And {counted(more, 'more signal')}: --json FILE has them all.")
    facts = msgspec.to_builtins(about.sidecar)
    del facts["schema"]
    if facts:
        emit_block("Sidecar", dump_yaml(facts))


def propose_where_foreign(path: str, twin: str) -> MappingProposal | None:
    """A mapping for files in our formats that have no joint of a twin by its name."""
    from realworthy.twins import load_twin
    from realworthy.twins.joint_facts import list_joint_facts

    try:
        recordings = load_recordings(path)
    except BadRecording:  # without a clock; or for another reason, which comes again
        recordings = []
    if any(recording.joints for recording in recordings):
        return None
    tables = read_tables([path])
    table = max(tables.values(), key=lambda t: len(next(iter(t.values()), ())))
    if not recordings and "time" in table:
        return None
    return propose_mapping(table, list_joint_facts(load_twin(twin)))


def emit_proposal(found: MappingProposal, path: str, twin: str) -> None:
    """The proposed mapping, its doubts, and the command that uses it."""
    emit_note(
        f"No column of {path} has the name of a joint of twin '{twin}'.", "yellow"
    )
    emit_mapping(found)
    say(
        "To write it, and convert with it: realworthy convert "
        f"{shlex.quote(path)} --map {shlex.quote(twin)} --output recordings"
    )


def emit_mapping(found: MappingProposal) -> None:
    """Column by column what it is taken for, then what should be looked at."""
    emit_table(
        "Proposed mapping",
        ("column", "signal", "unit", "because of"),
        [
            (one.column, one.signal or "kept as it is", one.unit, one.reason)
            for one in found.columns
        ],
    )
    for doubt in found.doubts:
        emit_note(f"Look at: {doubt}", style="yellow")


def to_proposal_tree(found: MappingProposal) -> object:
    """For programs: the sidecar, the columns and what is doubtful."""
    return {
        "sidecar": msgspec.to_builtins(found.sidecar),
        "columns": found.columns,
        "doubts": found.doubts,
    }


def _check_joints(reference: str, recordings: Sequence[Recording]) -> None:
    from realworthy.twins import load_twin
    from realworthy.twins.writers.joints import single_joints

    twin = load_twin(reference)
    joints = single_joints(twin.compiled)
    for recording in recordings:
        for joint in recording.joints:
            if joint not in joints:
                raise UnknownName(
                    "joint",
                    joint,
                    joints,
                    owner=twin.owner,
                    hint=f"It is in {recording.owner}: name it as the twin does, in "
                    "the mapping of its sidecar.",
                )
