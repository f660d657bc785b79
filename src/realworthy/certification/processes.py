"""Processes beside this one, with one thread each, of which none is left behind."""

import contextlib
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context

from realworthy.errors import RealworthyError
from realworthy.simulators.mujoco_cpu import THREADS

_THREADS = (THREADS, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextlib.contextmanager
def start_processes(count: int, *, hint: str) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block: at once, where it ends with an error.

    Ctrl-C is the business of this one alone. `hint` says what to try where one of them
    dies.
    """
    others = set(active_children())
    pool = ProcessPoolExecutor(
        count, mp_context=get_context("spawn"), initializer=_prepare
    )
    try:
        with _one_thread_each(), _no_interruption():
            for _ in range(count):  # they begin here, and take both with them
                pool.submit(_begin)
        yield pool
    except BrokenProcessPool:
        raise RealworthyError(
            f"One of {count} processes died, most likely for want of memory.", hint=hint
        ) from None
    except BaseException:  # nobody waits for what is under way
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


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


def _prepare() -> None:
    """In a process that begins, before its first task."""
    import torch

    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _begin() -> None:
    """A task that only starts a process."""
