"""Failed episodes of a certificate: what happened, what repeats it, how it looked."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.results import FailureCase
from realworthy.errors import RealworthyError
from realworthy.recordings import Recording, load_recording
from realworthy.reports.certificate.charts import Chart, draw_replay
from realworthy.reports.certificate.limits import to_unit
from realworthy.reports.elements.numbers import Amount
from realworthy.reports.elements.wording import describe_failure
from realworthy.reports.replay import Replay, build_episode
from realworthy.twins import Twin, load_twin

_FIRST_SIGNALS, _MOST_SIGNALS = 5, 40
"""Of a replay that are drawn at once, and in all: a page must stay small."""
_MAX_SHOWN_PARAMETERS = 3
"""Parameters of a failure that are shown without being asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRow:
    """One failed episode, as a table shows it."""

    case: FailureCase
    words: str
    seconds: Amount
    e: tuple[tuple[str, Amount], ...]
    file: str
    """Name of its replay; a dash where there is none."""
    link: str
    """Its address from the page; empty where it is not there."""

    @property
    def is_short(self) -> bool:
        return len(self.e) <= _MAX_SHOWN_PARAMETERS


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFailure:
    """One failure over time."""

    title: str
    charts: tuple[Chart, ...]
    """The first signals, then the others."""
    motion: Replay | None
    """The robot in three dimensions; None where its twin is not at hand."""


def list_failures(
    certificate: Certificate, folder: Path | None, beside: Path | None = None
) -> tuple[FailureRow, ...]:
    """All of them; links lead from the folder `beside`, else from the certificate's."""
    validity = certificate.validity
    ranges = {} if validity is None else validity.parameters
    units = {name: to_unit(limits) for name, limits in ranges.items()}
    return tuple(
        FailureRow(
            case=case,
            words=describe_failure(case.name),
            seconds=Amount(case.seconds, "s"),
            e=tuple(
                (name, Amount(value, units.get(name, "")))
                for name, value in case.e.items()
            ),
            file="–" if case.replay is None else case.replay.rpartition("/")[2],
            link=_find_link(case, folder, beside or folder),
        )
        for case in certificate.failures
    )


def draw_first_replay(
    certificate: Certificate, folder: Path | None, twin: str = ""
) -> DrawnFailure | None:
    """Of the first failure whose recording can be read; None where there is none."""
    for case, recording in _load_replays(certificate, folder):
        names = tuple(recording.signals)[:_MOST_SIGNALS]
        parts = (names[:_FIRST_SIGNALS], names[_FIRST_SIGNALS:])
        title = f"{describe_failure(case.name)} ({case.cell})"
        return DrawnFailure(
            title=title,
            charts=tuple(draw_replay(recording, part) for part in parts if part),
            motion=build_failure(certificate, recording, title=title, twin=twin),
        )
    return None


def _load_replays(
    certificate: Certificate, folder: Path | None
) -> Iterator[tuple[FailureCase, Recording]]:
    for case in certificate.failures:
        if folder is not None and case.replay is not None:
            try:
                yield case, load_recording(folder / case.replay)
            except RealworthyError:  # moved or not whole; the table still names it
                continue


def _find_link(case: FailureCase, folder: Path | None, beside: Path | None) -> str:
    if case.replay is None or folder is None or not (folder / case.replay).exists():
        return ""
    relative = os.path.relpath(folder / case.replay, beside)
    # "./" in front, so that no name is taken for the address of another site
    return "./" + quote(Path(relative).as_posix())


def build_failure(
    certificate: Certificate, recording: Recording, *, title: str, twin: str = ""
) -> Replay | None:
    """None where the twin cannot be loaded any more, or does not fit the recording.

    `twin` is what the policy was certified on, as `load_twin` takes it; without it the
    task's own twin serves, or a built-in one, if it has the name on the certificate.
    """
    for found in _find_twins(certificate, twin):
        try:
            return build_episode(
                found,
                recording,
                title=title,
                label="as it failed",
                remark="The robot as it was measured, until the episode failed.",
            )
        except RealworthyError:
            continue
    return None


def _find_twins(certificate: Certificate, given: str) -> Iterator[Twin]:
    from realworthy.tasks.catalogue import TASKS

    definition = TASKS.get(certificate.task)
    names = (given, "" if definition is None else definition.twin, certificate.twin)
    for name in filter(None, names):
        try:
            model = load_twin(name)
        except RealworthyError:  # moved, or known elsewhere only
            continue
        if name == given or model.name == certificate.twin:
            yield model
