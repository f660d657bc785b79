"""The parts of an examination: run here, in other processes, or through Ray; kept.

Processes have one thread each, and none is left behind.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path

from realworthy.certification.certificate.results import (
    CellResult,
    MarginResult,
    ValidityResult,
    WorstResult,
)
from realworthy.certification.examination.cells import examine_cell, examine_margin
from realworthy.certification.examination.comparisons import examine_engine
from realworthy.certification.examination.folder import PartStore, Result, SuitePart
from realworthy.certification.limits.validity import examine_validity
from realworthy.certification.limits.worst_case import examine_worst
from realworthy.certification.subject import Subject, build_subject
from realworthy.certification.suite.suite import Suite
from realworthy.errors import RealworthyError
from realworthy.policies.contract import TaskSetting
from realworthy.progress import Progress
from realworthy.simulators.mujoco_cpu import THREADS
from realworthy.tasks.catalogue import find_task


@dataclass(frozen=True, kw_only=True, slots=True)
class Examination:
    """A policy and a suite."""

    subject: Subject
    suite: Suite
    is_asked: bool
    """Whether engines were asked for by name."""

    def list_parts(self) -> tuple[SuitePart, ...]:
        """Cells first: they are the most informative for their time."""
        suite = self.suite
        parts = [SuitePart("cell", i) for i in range(len(suite.cells))]
        parts += [SuitePart("coverage", 0)] if suite.coverage is not None else []
        parts += [SuitePart("margin", i) for i in range(len(suite.margins))]
        parts += [SuitePart("search", 0)] if suite.search is not None else []
        return tuple(parts)

    def is_long(self, part: SuitePart) -> bool:
        """Whether it takes much longer than most."""
        if part.kind == "cell":
            return self.suite.cells[part.place].condition.engine != "mujoco"
        return part.kind in ("coverage", "search")

    def examine(self, part: SuitePart) -> Result:
        subject, suite = self.subject, self.suite
        bar, seed = suite.bar, suite.seed
        if part.kind == "cell":
            cell = suite.cells[part.place]
            if cell.condition.engine != "mujoco":
                return examine_engine(subject, cell, seed=seed, is_asked=self.is_asked)
            return examine_cell(
                subject, cell, bar=cell.bar or bar, seed=seed, batch=suite.batch
            )
        if part.kind == "coverage":
            assert suite.coverage is not None
            return examine_validity(subject, suite.coverage, bar=bar, seed=seed)
        if part.kind == "margin":
            return examine_margin(
                subject, suite.margins[part.place], bar=bar, seed=seed
            )
        assert suite.search is not None
        return examine_worst(subject, suite.search, bar=bar, seed=seed)


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteResults:
    """All answers."""

    cells: tuple[CellResult, ...]
    coverage: ValidityResult | None
    margins: tuple[MarginResult, ...]
    worst: WorstResult | None


def examine_all(
    examination: Examination,
    kept: PartStore,
    *,
    workers: int,
    with_ray: bool,
    progress: Progress,
) -> SuiteResults:
    """Every answer, those that are kept already among them."""
    parts = examination.list_parts()
    answers = {part: kept.find(part) for part in parts}
    waiting = [part for part, result in answers.items() if result is None]
    run = _run_on_ray if with_ray else _run_beside if workers > 1 else _run_here
    for part, result in run(examination, waiting, workers):
        kept.keep(part, result)
        answers[part] = result
        left = sum(one is None for one in answers.values())
        progress(1 - left / len(answers), part.name(examination.suite))
    results = list(answers.values())
    return SuiteResults(
        cells=tuple(r for r in results if isinstance(r, CellResult)),
        coverage=next((r for r in results if isinstance(r, ValidityResult)), None),
        margins=tuple(r for r in results if isinstance(r, MarginResult)),
        worst=next((r for r in results if isinstance(r, WorstResult)), None),
    )


def _run_here(
    examination: Examination, parts: Sequence[SuitePart], _workers: int
) -> Iterator[tuple[SuitePart, Result]]:
    for part in parts:
        yield part, examination.examine(part)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Errand:
    """A part as another process takes it."""

    policy: str
    task: str
    task_settings: Mapping[str, TaskSetting]
    twin: str
    suite: Suite
    is_asked: bool
    part: SuitePart

    def do(self) -> Result:
        try:
            return self._do()
        except RealworthyError as error:  # of a kind that crosses processes
            raise RealworthyError(error.problem, hint=error.hint) from None

    def _do(self) -> Result:
        subject = build_subject(
            Path(self.policy),
            task=find_task(self.task).with_settings(self.task_settings),
            twin=self.twin,
            thread_count=1,
        )
        examination = Examination(
            subject=subject, suite=self.suite, is_asked=self.is_asked
        )
        return examination.examine(self.part)


def _pack(examination: Examination, parts: Sequence[SuitePart]) -> list[_Errand]:
    subject = examination.subject
    if not subject.twin.reference:
        raise RealworthyError(
            f"Twin '{subject.twin.name}' is in no file, so no other process can load"
            " it.",
            hint="Save it with save_twin and give the file, or use one worker.",
        )
    if not subject.task.is_elsewhere:
        raise RealworthyError(
            f"Task '{subject.task.name}' is in no file, so no other process can load"
            " it.",
            hint="Put its class into a file of its own, or use one worker.",
        )
    return [
        _Errand(
            policy=str(subject.path),
            task=subject.task.name,
            task_settings=dict(subject.task.settings),
            twin=subject.twin.reference,
            suite=examination.suite,
            is_asked=examination.is_asked,
            part=part,
        )
        for part in parts
    ]


def _run_beside(
    examination: Examination, parts: Sequence[SuitePart], workers: int
) -> Iterator[tuple[SuitePart, Result]]:
    """In processes of this machine, each with one thread; the longest parts first."""
    ordered = sorted(parts, key=lambda part: not examination.is_long(part))
    errands = _pack(examination, ordered)
    hint = "Try fewer --workers; with --output it resumes."
    with start_processes(workers, hint=hint) as pool:
        tasks = {pool.submit(errand.do): errand.part for errand in errands}
        for task in as_completed(tasks):
            yield tasks[task], task.result()


def _run_on_ray(
    examination: Examination, parts: Sequence[SuitePart], _workers: int
) -> Iterator[tuple[SuitePart, Result]]:
    """On the cluster at `RAY_ADDRESS`, or on a local one; files must be shared."""
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise RealworthyError(
            "Ray is not installed.", hint="Try: pip install 'realworthy[ray]'"
        ) from None
    ray.init(ignore_reinit_error=True, log_to_driver=False, include_dashboard=False)
    do = ray.remote(num_cpus=1)(lambda errand: errand.do())  # pyright: ignore
    tasks = {do.remote(errand): errand.part for errand in _pack(examination, parts)}
    while tasks:
        ready, _ = ray.wait(list(tasks), num_returns=1)
        yield tasks.pop(ready[0]), ray.get(ready[0])


_THREADS = (THREADS, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextlib.contextmanager
def start_processes(
    count: int, *, hint: str, nice: int = 0
) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block: at once, where it ends with an error.

    Ctrl-C is the business of this one alone. `hint` says what to try where one of them
    dies. `nice` ones step back for others.
    """
    others = set(active_children())
    begun: list[Future[None]] = []
    children: set[BaseProcess] = set()
    pool = ProcessPoolExecutor(
        count,
        mp_context=get_context("spawn"),
        initializer=_prepare,
        initargs=(nice,),
    )
    try:
        with _one_thread_each(), _no_interruption():
            for _ in range(count):  # they begin here, and take both with them
                begun.append(pool.submit(_begin))
                children |= set(active_children()) - others
        yield pool
    except BrokenProcessPool:
        pool.shutdown(cancel_futures=True)
        if _failed_to_begin(begun, children):
            raise RealworthyError(
                "Processes beside this one could not begin: each loads the script that "
                "was started, and that ended with an error.",
                hint='In a script, put what is done under: if __name__ == "__main__":',
            ) from None
        raise RealworthyError(
            f"One of {count} processes died, most likely for want of memory.", hint=hint
        ) from None
    except BaseException:  # nobody waits for what is under way
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _failed_to_begin(
    begun: Sequence[Future[None]], children: Iterable[BaseProcess]
) -> bool:
    """Whether an error of Python's ended one before it did anything; a want of memory
    ends it by a signal."""
    is_new = all(future.exception() is not None for future in begun if future.done())
    return is_new and any(child.exitcode == 1 for child in children)


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Worlds and linear algebra in processes that begin now use one thread."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _no_interruption() -> Iterator[None]:
    """Processes that begin now do not hear Ctrl-C, not even while they load."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare(nice: int) -> None:
    """In a process that begins, before its first task."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch  # takes seconds

    if nice and hasattr(os, "nice"):
        os.nice(nice)
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with_parent() -> None:
    """A parent that was killed can end nobody: none of its processes must write on."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _begin() -> None:
    """A task that only starts a process."""
