"""The folder of an examination: answers kept, so that it goes on; failures recorded."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from realworthy import __version__, artefacts
from realworthy.certification.certificate.results import (
    CellResult,
    FailureCase,
    MarginResult,
    ValidityResult,
    WorstResult,
)
from realworthy.certification.rollouts.episodes import play_condition
from realworthy.certification.subject import Subject
from realworthy.certification.suite.condition import Condition
from realworthy.certification.suite.suite import Suite
from realworthy.errors import RealworthyError, Unwritable
from realworthy.learning.runs import list_versions
from realworthy.policies.onnx_file import read_graph
from realworthy.policies.policy import is_planner
from realworthy.recordings import Recording, save_recording

Result: TypeAlias = CellResult | MarginResult | ValidityResult | WorstResult
Kind: TypeAlias = Literal["cell", "coverage", "margin", "search"]
_KINDS: dict[Kind, type[Result]] = {
    "cell": CellResult,
    "coverage": ValidityResult,
    "margin": MarginResult,
    "search": WorstResult,
}
_FOLDER, _MANIFEST = "parts", "manifest.json"


@dataclass(frozen=True, slots=True)
class SuitePart:
    """Something that can be examined without the rest."""

    kind: Kind
    place: int
    """In the suite's list of its kind."""

    def name(self, suite: Suite) -> str:
        if self.kind == "cell":
            return suite.cells[self.place].name
        if self.kind == "margin":
            return f"margin of {suite.margins[self.place].name}"
        return "validity" if self.kind == "coverage" else "worst case"


class PartStore:
    """Answers in a folder, of one examination only."""

    def __init__(
        self, folder: Path | None, fingerprint: str, *, overwrite: bool = False
    ) -> None:
        """Raises where the folder holds another examination's, unless told so.

        Nothing is written before `begin`.
        """
        self._folder, self._fingerprint = folder, fingerprint
        self._manifest = None if folder is None else open_manifest(folder)
        key = "" if self._manifest is None else self._manifest.key
        self._goes_on = not overwrite and key == fingerprint
        if folder is not None and folder.exists() and not (overwrite or self._goes_on):
            _check_empty(folder)

    def begin(self) -> None:
        """Answers of the same examination stay; those of another one are removed, or
        another policy's verdict would stay."""
        if self._manifest is not None and not self._goes_on:
            self._manifest.begin(self._fingerprint)

    def find(self, part: SuitePart) -> Result | None:
        path = self._place(part)
        if path is None or not (self._manifest and self._manifest.holds(path)):
            return None
        return msgspec.json.decode(path.read_bytes(), type=_KINDS[part.kind])

    def keep(self, part: SuitePart, result: Result) -> None:
        path = self._place(part)
        was_skipped = isinstance(result, CellResult) and result.skipped
        if (
            self._manifest and path and not was_skipped
        ):  # an engine may be there next time
            write_ours(self._manifest, path, msgspec.json.encode(result))

    def _place(self, part: SuitePart) -> Path | None:
        if self._folder is None:
            return None
        return self._folder / _FOLDER / f"{part.kind}_{part.place}.json"


def write_ours(manifest: artefacts.Manifest, path: Path, content: bytes) -> None:
    """Writes a file of an examination, whole or not at all."""
    with manifest.claimed(path), artefacts.writing(path, overwrite=True) as temporary:
        temporary.write_bytes(content)


def open_manifest(folder: Path) -> artefacts.Manifest:
    """What examinations have written into a folder."""
    return artefacts.Manifest(folder, folder / _FOLDER / _MANIFEST)


def fingerprint(subject: Subject, suite: Suite, is_asked: bool) -> str:
    """What makes two examinations the same one; `is_asked`: engines were named."""
    digest = hashlib.sha256(hash_policy(subject.path).encode())
    digest.update(msgspec.json.encode(subject.contract))
    digest.update(msgspec.json.encode(list_versions()))
    digest.update(msgspec.json.encode(suite))
    twin = subject.twin
    digest.update(f"{__version__} {subject.task.name} {twin.name} {is_asked}".encode())
    digest.update(msgspec.json.encode((subject.task.file, subject.task.settings)))
    digest.update(twin.spec().to_xml().encode())
    digest.update(np.ascontiguousarray(twin.space.nominal).tobytes())
    digest.update(repr((twin.actuators, twin.datasheet)).encode())
    digest.update(repr(twin.residual and twin.residual.description).encode())
    digest.update(repr({k: x.file for k, x in twin.networks.items()}).encode())
    belief = subject.belief
    if belief is not None:
        digest.update(np.ascontiguousarray(belief.sample(16, seed=0)).tobytes())
        digest.update(" ".join(belief.space.names).encode())
    return digest.hexdigest()


def hash_policy(path: Path) -> str:
    """Of all files that hold a policy's numbers."""
    digest = hashlib.sha256(path.read_bytes())
    if is_planner(path):
        return digest.hexdigest()
    for beside in read_graph(path).companions:
        digest.update(beside.read_bytes())
    return digest.hexdigest()


def _check_empty(folder: Path) -> None:
    if not folder.is_dir():
        raise Unwritable(folder, "it is no folder.", hint="Give another --output.")
    seen = (path for path in folder.iterdir() if not path.name.startswith("."))
    if any(not (path.is_dir() and artefacts.is_vacant(path)) for path in seen):
        raise Unwritable(
            folder,
            "it holds something else: the same policy, suite and twin would go on.",
            hint="Give another --output, or --overwrite to start again there.",
        )


_TRIES = 16
"""Worlds with one start, whose measurement noise differs."""


def record_failure(
    subject: Subject, condition: Condition, case: FailureCase
) -> Recording | None:
    """A failed episode of the same e, start and goals; None: none failed again."""
    names = tuple(case.e)  # the condition's own among them
    condition = msgspec.structs.replace(condition, times={}, plus={})
    rows = np.tile(list(case.e.values()), (_TRIES, 1)) if names else None
    rollouts = play_condition(
        subject,
        condition,
        _TRIES,
        seed=case.seed,
        rows=rows,
        names=names,
        numbers=np.full(_TRIES, case.number),
        with_signals=True,
    )
    failed = np.flatnonzero((rollouts.failure != 0) & ~rollouts.invalid)
    if not len(failed):
        return None
    assert rollouts.signals is not None
    assert rollouts.commands is not None
    world = int(failed[0])
    steps = max(round(rollouts.seconds[world] / subject.contract.period) - 1, 2)
    commands = rollouts.commands[world, :steps].astype(np.float64)
    signals = subject.build_worlds(Condition(), 1, seed=0).simulator.signals
    values = rollouts.signals[world, :steps].astype(np.float64)
    columns = dict(zip(signals, values.T, strict=True))
    columns |= dict(zip(subject.contract.action.commands, commands.T, strict=True))
    time = np.arange(steps, dtype=np.float64) * subject.contract.period
    return Recording(np.asarray(time, dtype=np.float64), columns)


def save_replay(
    subject: Subject, condition: Condition, case: FailureCase, folder: Path
) -> str | None:
    """Its name in the folder; None where it did not fail again."""
    try:
        recording = record_failure(subject, condition, case)
    except RealworthyError:
        return None
    if recording is None:
        return None
    words = "".join(c if c.isalnum() else "_" for c in case.cell)
    name = f"replays/{words}_{case.name}_{case.number}.npz"
    with open_manifest(folder).claimed(folder / name) as path:
        save_recording(recording, path, overwrite=True)
    return name
