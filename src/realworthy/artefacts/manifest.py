"""What runs of ours have written into a folder: this alone may they remove again."""

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from realworthy.artefacts.folders import put_aside
from realworthy.artefacts.writing import writing

SCHEMA = 1


class ManifestFile(msgspec.Struct, forbid_unknown_fields=True):
    """`manifest.json`."""

    schema: int = SCHEMA
    key: str = ""
    """Of the work that the files belong to; empty: none was begun."""
    files: dict[str, str] = {}
    """Path in the folder → sha256; empty while it is being written."""


class Manifest:
    """Files of one work in a folder, known by name and content."""

    def __init__(self, folder: Path, path: Path) -> None:
        """`path` is the manifest's own place; damaged, it lists nothing."""
        self._folder, self._path = folder, path
        self._file = ManifestFile()
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            found = msgspec.json.decode(path.read_bytes(), type=ManifestFile)
            self._file = found if found.schema == SCHEMA else self._file

    @property
    def key(self) -> str:
        return self._file.key

    def begin(self, key: str) -> None:
        """Another work: files of the one before are removed, and no others."""
        for name in self._file.files:
            if self._is_ours(name):
                (self._folder / name).unlink(missing_ok=True)
        self._file = ManifestFile(key=key)
        self._save()

    @contextlib.contextmanager
    def claimed(self, path: Path) -> Iterator[Path]:
        """The block writes a file of ours; one there that is not ours is put aside."""
        name = path.relative_to(self._folder).as_posix()
        if path.exists() and not self._is_ours(name):
            put_aside(path)
        self._file.files[name] = ""
        self._save()
        yield path
        if written := _hash(path):
            self._file.files[name] = written
        else:
            del self._file.files[name]
        self._save()

    def holds(self, path: Path) -> bool:
        """Whether a file is there, whole, as we have written it."""
        name = path.relative_to(self._folder).as_posix()
        return bool(written := _hash(path)) and self._file.files.get(name) == written

    def _is_ours(self, name: str) -> bool:
        """Whether we wrote a file, or were killed while we did."""
        return self._file.files.get(name) in ("", _hash(self._folder / name))

    def _save(self) -> None:
        with writing(self._path, overwrite=True) as temporary:
            temporary.write_bytes(msgspec.json.encode(self._file))


def _hash(path: Path) -> str | None:
    """None where there is no such file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
