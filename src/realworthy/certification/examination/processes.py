"""Processes beside this one, with one thread each, of which none is left behind."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess

from realworthy.errors import RealworthyError
from realworthy.simulators.mujoco_cpu import THREADS

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
