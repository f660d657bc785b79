"""The robot of a failed episode in three dimensions."""

from collections.abc import Iterator

from realworthy.certification.certificate import Certificate
from realworthy.errors import RealworthyError
from realworthy.recordings import Recording
from realworthy.reports.replay import Replay, build_episode
from realworthy.twins import Twin, load_twin


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

    own = TASKS.get(certificate.task)
    names = (given, "" if own is None else own.twin, certificate.twin)
    for name in filter(None, names):
        try:
            found = load_twin(name)
        except RealworthyError:  # moved, or known elsewhere only
            continue
        if name == given or found.name == certificate.twin:
            yield found
