"""Recordings from files and folders, and back."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from realworthy import artefacts
from realworthy.errors import BadFile, BadRecording, UnknownName
from realworthy.recordings.formats import FORMATS, find_format, find_suffix
from realworthy.recordings.importers import IMPORTERS, Imported, Importer
from realworthy.recordings.mapping import build_recording
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import (
    Sidecar,
    load_sidecar,
    overlay,
    sidecar_path,
)
from realworthy.recordings.signals import Table
from realworthy.recordings.suspicions import check_units as raise_on_wrong_units

MAX_GUESSED_FILES = 2000
"""Files in a folder up to which its layout is guessed: a home folder has more, and is
not searched through."""


def load_recording(
    path: Path | str,
    importer: str | None = None,
    *,
    sidecar: Sidecar | Path | str | None = None,
    check_units: bool = True,
) -> Recording:
    """The one recording in a file, or in a file or folder of a foreign layout.

    `sidecar` takes the place of the one inside or beside the file; with an importer its
    keys go over those that the layout implies. With `check_units` off, units that are
    surely wrong are let through, and `suspicions` still tells them.
    """
    recordings = _load([Path(path)], importer, sidecar, check_units, limit=1)
    return recordings[0]


Recordings: TypeAlias = Recording | Path | str | Iterable[Recording | Path | str]
"""One recording, a file or a folder of them, or several of these."""


def load_recordings(
    recordings: Recordings,
    importer: str | None = None,
    *,
    sidecar: Sidecar | Path | str | None = None,
    check_units: bool = True,
) -> list[Recording]:
    """Every recording in the files and folders, in order; at least one.

    A folder without an importer gives its files in our formats, not those below it.
    Recordings that are loaded already stay as they are: whatever takes recordings takes
    all of these.
    """
    is_one = isinstance(recordings, Recording | str | Path)
    listed = [recordings] if is_one else list(recordings)
    found: list[Recording] = []
    for one in listed:
        if isinstance(one, Recording):
            found.append(one)
        else:
            found += _load([Path(one)], importer, sidecar, check_units)
    if not found:
        raise BadRecording("No recordings were given.", hint="Name a file or a folder.")
    return found


def save_recording(
    recording: Recording, path: Path | str, *, overwrite: bool = False
) -> None:
    """Writes the recording in the format of the name, whole or not at all.

    A `.csv` gets its sidecar as `<name>.yaml` beside it; other formats hold it inside.
    """
    path = Path(path)
    form = find_format(path)
    if form.embeds:
        with artefacts.writing(path, overwrite=overwrite) as temporary:
            form.write(recording, temporary)
        return
    beside = sidecar_path(path)
    with (
        artefacts.writing(path, overwrite=overwrite) as temporary,
        artefacts.writing(beside, overwrite=overwrite) as temporary_sidecar,
    ):
        form.write(recording, temporary)
        text = artefacts.to_yaml(recording.sidecar)
        temporary_sidecar.write_text(text, encoding="utf-8")


def _load(
    paths: list[Path],
    importer: str | None,
    sidecar: Sidecar | Path | str | None,
    check_units: bool,
    limit: int | None = None,
) -> list[Recording]:
    given = sidecar if isinstance(sidecar, Sidecar | None) else load_sidecar(sidecar)
    recordings: list[Recording] = []
    for path in paths:
        if importer is None:
            recordings += [_read(file, given) for file in _list_files(path, limit)]
        else:
            found = _import(path, importer, given, limit)
            recordings += [build_recording(i.table, i.sidecar, i.source) for i in found]
    if check_units:
        for recording in recordings:
            raise_on_wrong_units(recording)
    return recordings


def read_tables(paths: Iterable[Path | str]) -> dict[Path, Table]:
    """Columns as the files hold them, before any mapping; of folders each file."""
    tables: dict[Path, Table] = {}
    for path in paths:
        for file in _list_files(Path(path), None):
            form = find_format(file)
            artefacts.check_readable(file)
            tables[file], _ = form.read(file)
    return tables


def find_importer(name: str) -> Importer:
    """The importer of that name."""
    if name not in IMPORTERS:
        raise UnknownName(
            "importer",
            name,
            list(IMPORTERS),
            owner="Realworthy",
            hint=f"All {len(IMPORTERS)}: realworthy show importers",
        )
    return IMPORTERS[name]


def _read(path: Path, given: Sidecar | None) -> Recording:
    hint = "" if find_suffix(path) else _foreign_hint(path)
    form = find_format(path, hint=hint)
    artefacts.check_readable(path)
    table, embedded = form.read(path)
    return build_recording(table, given or embedded or _load_beside(path), path)


def _load_beside(path: Path) -> Sidecar | None:
    beside = sidecar_path(path)
    return load_sidecar(beside) if beside.is_file() else None


def _list_files(path: Path, limit: int | None) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if find_suffix(file))
    if not files:
        raise BadFile(
            path,
            "it is a folder without recordings.",
            hint=f"Formats: {', '.join(FORMATS)}. {_foreign_hint(path)}",
        )
    _check_limit(path, [file.name for file in files], limit)
    return files


def _import(
    path: Path, name: str, given: Sidecar | None, limit: int | None
) -> list[Imported]:
    importer = find_importer(name)
    artefacts.check_readable(path)
    places = importer.find(path)
    if not places:
        raise BadFile(
            path,
            f"it holds no {name} recording.",
            hint=f"The importer expects {importer.layout}.",
        )
    _check_limit(path, [place.name for place in places], limit)
    found: list[Imported] = []
    for place in places:
        top = given or _load_beside(place) or _load_beside(path) or Sidecar()
        with artefacts.reading(place, f"a {name} recording"):
            items = importer.read(place, top)
        found += [replace(i, sidecar=overlay(i.sidecar, top)) for i in items]
    _check_limit(path, [item.source.name for item in found], limit)
    return found


def _check_limit(path: Path, names: list[str], limit: int | None) -> None:
    if limit is not None and len(names) > limit:
        listed = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        raise BadRecording(
            f"{path} holds {len(names)} recordings, not one: {listed}",
            hint="Name one of them, or use load_recordings.",
        )


def _foreign_hint(path: Path) -> str:
    if (
        path.exists()
        and len(list(islice(path.rglob("*"), MAX_GUESSED_FILES))) < MAX_GUESSED_FILES
    ):
        fits = [name for name, importer in IMPORTERS.items() if importer.find(path)]
        if fits:
            return f"This looks like {fits[0]}: try --importer {fits[0]}"
    return "Foreign layouts: realworthy show importers"
