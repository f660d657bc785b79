"""From a policy to its certificate: every part of a suite, then a verdict."""

import os
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from realworthy import artefacts
from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.junit import to_junit
from realworthy.certification.contract.check import check_interface
from realworthy.certification.contract.finding import ContractFinding, check_playable
from realworthy.certification.examination.comparisons import (
    check_installed,
    compare_policies,
)
from realworthy.certification.examination.conclusion import conclude
from realworthy.certification.examination.folder import (
    PartStore,
    fingerprint,
    open_manifest,
    save_replay,
    write_ours,
)
from realworthy.certification.examination.parts import Examination, examine_all
from realworthy.certification.rollouts.episodes import play_condition
from realworthy.certification.subject import Subject, build_subject
from realworthy.certification.suite.condition import Condition
from realworthy.certification.suite.suite import Suite, default_suite
from realworthy.errors import RealworthyError, UnknownName
from realworthy.policies import Policy
from realworthy.progress import Progress, ignore
from realworthy.tasks.catalogue import TaskLike
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.failures import Failure
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.twins import Twin

_REPLAYS = 6
"""Failures that are recorded to be looked at."""
_MOST_WORKERS = 8
"""Processes that nobody asked for; each takes half a gigabyte."""
_LOOKS = 16
"""Worlds in which the contract is looked at in play."""
CERTIFICATE, JUNIT = "certificate.json", "junit.xml"


@dataclass(frozen=True, kw_only=True, slots=True)
class CertifySettings:
    """What is asked, and with how many hands."""

    suite: Suite | None = None
    """None: ours, with fewer episodes where a task is costly."""
    bar: float | None = None
    """In place of the suite's."""
    seed: int | None = None
    """In place of the suite's."""
    engines: tuple[str, ...] | None = None
    """Witnesses that must take part; None: those that are installed."""
    against: Path | None = None
    """The last accepted policy."""
    workers: int = 1
    """Processes; 1: this one, with all its cores; 0: one for each core where a task is
    costly, else this one."""
    ray: bool = False
    """Parts are sent to a Ray cluster instead."""


def certify(
    policy: Policy | Path | str,
    *,
    twin: Twin | Path | str = "",
    task: TaskLike = "",
    output: Path | str | None = None,
    settings: CertifySettings | None = None,
    overwrite: bool = False,
    progress: Progress = ignore,
) -> Certificate:
    """Examines a policy; with `output`, a folder that keeps everything.

    A folder with parts of the same examination, interrupted before, is gone on with;
    one of another examination is refused, unless it may be overwritten: then what that
    examination wrote is removed, and nothing else. The policies that are read are never
    written.
    """
    settings = settings or CertifySettings()
    policy = policy.path if isinstance(policy, Policy) else policy
    twin = str(twin) if isinstance(twin, Path) else twin
    folder = None if output is None else Path(output)
    alone = nullcontext() if folder is None else artefacts.locked_folder(folder)
    inputs = (policy, settings.against or policy)
    with artefacts.protected(inputs), alone:
        return _certify(policy, twin, task, folder, settings, progress, overwrite)


def _certify(
    policy: Path | str,
    twin: Twin | str,
    task: TaskLike,
    folder: Path | None,
    settings: CertifySettings,
    progress: Progress,
    overwrite: bool,
) -> Certificate:
    subject = build_subject(policy, task=task, twin=twin)
    with subject.task.blamed():
        return _examine(subject, folder, settings, progress, overwrite)


def _examine(
    subject: Subject,
    folder: Path | None,
    settings: CertifySettings,
    progress: Progress,
    overwrite: bool,
) -> Certificate:
    began = time.perf_counter()
    if settings.against is not None:  # a mistake in it is said before the work begins
        build_subject(settings.against, task=subject.task, twin=subject.twin)
    suite = _choose_suite(settings, subject)
    is_asked = settings.engines is not None
    kept = PartStore(folder, fingerprint(subject, suite, is_asked), overwrite=overwrite)
    findings = _inspect(subject, suite)
    kept.begin()
    ran = examine_all(
        Examination(subject=subject, suite=suite, is_asked=is_asked),
        kept,
        workers=_count_workers(settings, subject),
        with_ray=settings.ray,
        progress=progress,
    )
    regression = None
    if settings.against is not None:
        regression = compare_policies(subject, settings.against, seed=suite.seed)
    certificate = conclude(subject, suite, findings, ran, regression)
    if folder is not None:
        certificate = _keep_replays(certificate, subject, suite, folder)
    seconds = time.perf_counter() - began
    certificate = msgspec.structs.replace(certificate, seconds=seconds)
    if folder is not None:
        save_certificate(certificate, folder)
    return certificate


def save_certificate(certificate: Certificate, folder: Path) -> None:
    """`certificate.json` and `junit.xml`, each whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(certificate), indent=1)
    manifest = open_manifest(folder)
    write_ours(manifest, folder / CERTIFICATE, text)
    write_ours(manifest, folder / JUNIT, to_junit(certificate).encode())


def _choose_suite(settings: CertifySettings, subject: Subject) -> Suite:
    """The suite with the bar, the seed and the engines that were asked for."""
    suite = settings.suite or default_suite(is_costly=subject.is_costly)
    if settings.bar is not None:
        suite = msgspec.structs.replace(suite, bar=settings.bar)
    if settings.seed is not None:
        suite = msgspec.structs.replace(suite, seed=settings.seed)
    if settings.engines is None:
        return suite
    others = [cell for cell in suite.cells if cell.group != "engine"]
    known = {
        c.condition.engine: c for c in default_suite().cells if c.group == "engine"
    }
    for name in settings.engines:
        if name not in known:
            raise UnknownName("engine", name, known, owner="Realworthy")
    check_installed(settings.engines)
    cells = (*others, *(known[name] for name in settings.engines))
    return msgspec.structs.replace(suite, cells=cells)


def _count_workers(settings: CertifySettings, subject: Subject) -> int:
    if settings.workers:
        return settings.workers
    is_shared = subject.twin.reference and subject.task.is_elsewhere
    many = subject.is_costly and is_shared
    return min(os.cpu_count() or 1, _MOST_WORKERS) if many else 1


def _inspect(subject: Subject, suite: Suite) -> tuple[ContractFinding, ...]:
    """The contract beside twin and task, with what the policy sees in play."""
    policy = subject.load(1)
    # built without the contract's terms, so that names which do not exist are said
    worlds = _build_plain_worlds(subject, seed=suite.seed)
    findings = check_interface(policy, worlds)
    check_playable(findings, task=subject.task.name)
    played = play_condition(subject, Condition(), _LOOKS, seed=suite.seed + 5)
    broken = np.flatnonzero(played.failure == Failure.WATCHDOG)
    if len(broken):
        first = played.seconds[broken].min()
        raise RealworthyError(
            f"The actions of {subject.path.name} are not numbers: NaN or infinite in "
            f"{len(broken)} of {_LOOKS} worlds, first after {first:g} s.",
            hint="Look for weights or a normaliser with NaN or a zero deviation in it.",
        )
    return check_interface(policy, worlds, seen=played.observed)


def _build_plain_worlds(subject: Subject, *, seed: int) -> TaskWorlds:
    task = subject.task.build(subject.twin)
    how = Randomization(belief=subject.belief)
    return TaskWorlds(task, 1, randomization=how, seed=seed)


def _keep_replays(
    certificate: Certificate, subject: Subject, suite: Suite, folder: Path
) -> Certificate:
    conditions = {cell.name: cell.condition for cell in suite.cells}
    kept = []
    for i, case in enumerate(certificate.failures):
        condition = conditions.get(case.cell, Condition())
        if i < _REPLAYS:
            name = save_replay(subject, condition, case, folder)
            case = msgspec.structs.replace(case, replay=name)
        kept.append(case)
    return msgspec.structs.replace(certificate, failures=tuple(kept))
