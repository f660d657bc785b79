"""Independent parts of a benchmark, each in a process of its own on one thread."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def run_parts(
    function: Callable[[Part], Result],
    parts: Sequence[Part],
    *,
    workers: int = 1,
    seconds: float = float("inf"),
) -> Iterator[Result]:
    """Results in the order in which they are ready.

    No part begins after `seconds`; those that have begun are waited for. With one
    worker everything happens in this process.
    """
    ends = time.perf_counter() + seconds
    if workers == 1:
        for part in parts:
            if time.perf_counter() < ends:
                yield function(part)
        return
    os.environ.update(REALWORTHY_THREADS="1", OMP_NUM_THREADS="1")
    left, running = list(parts), set[Future[Result]]()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        while running or (left and time.perf_counter() < ends):
            while left and len(running) < workers and time.perf_counter() < ends:
                running.add(pool.submit(function, left.pop(0)))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
