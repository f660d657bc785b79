"""A bound on memory where a library allocates before anybody can ask."""

import contextlib
from collections.abc import Iterator

from realworthy.artefacts.reading_costs import BYTES

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None


@contextlib.contextmanager
def limited_memory() -> Iterator[None]:
    """Lets this process grow by the limit of a file and no more: `MemoryError` instead.

    Where the system knows how large a process is (Linux). The bound is on addresses,
    so not for libraries that start many threads, whose stacks would count.
    """
    if (size := _measure_size()) is None or resource is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = size + BYTES.value
    most = [bound for bound in (soft, hard) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([wanted, *most]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _measure_size() -> int | None:
    """[bytes] of addresses that this process has."""
    if resource is None:
        return None
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return None
