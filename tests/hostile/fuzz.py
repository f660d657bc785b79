"""Reads damaged files by the thousand: python -m tests.hostile.fuzz FIRST COUNT [KIND]

Each seed damages a valid file in one way for ever, so a seed that fails can be looked
at again. A reader either reads, or raises an error of ours, within `PATIENCE`.
"""

import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from realworthy.errors import RealworthyError
from tests.hostile.damage import damage
from tests.hostile.valid import KINDS

PATIENCE = 10
"""[s] for one file."""


class Hang(BaseException):
    """A file took longer than `PATIENCE`."""


@dataclass
class Tally:
    """What became of the files of one kind."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    """Tracebacks and hangs, with their seeds."""
    slowest: tuple[float, int] = (0.0, 0)
    """[s], and of which seed."""


def fuzz(name: str, seeds: Iterable[int], folder: Path, *, note: bool = False) -> Tally:
    """Damages the files of one kind; `note` keeps the seed, should the process die."""
    kind, tally = KINDS[name], Tally()
    kind.make(folder)
    target = folder / kind.target
    good = target.read_bytes()
    kind.read(folder)
    before = signal.signal(signal.SIGALRM, _raise)
    for seed in seeds:
        target.write_bytes(damage(good, seed))
        if note:
            (folder / "seed").write_text(str(seed))
        begun = time.monotonic()
        signal.alarm(PATIENCE)
        try:
            kind.read(folder)
            tally.counts["read"] += 1
        except RealworthyError:
            tally.counts["refused"] += 1
        except Hang:
            tally.counts["hang"] += 1
            tally.failures.append(f"{name}, seed {seed}: no end after {PATIENCE} s")
        except BaseException as error:
            tally.counts["traceback"] += 1
            lines = traceback.format_exception(error, limit=-4)
            tally.failures.append(f"{name}, seed {seed}:\n{''.join(lines)}")
        finally:
            signal.alarm(0)
        tally.slowest = max(tally.slowest, (time.monotonic() - begun, seed))
    signal.signal(signal.SIGALRM, before)
    return tally


def _raise(*_: object) -> None:
    raise Hang


def _main(first: int, count: int, names: list[str]) -> int:
    warnings.simplefilter("ignore")
    total: Counter[str] = Counter()
    for name in names or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}: {folder}", file=sys.stderr, flush=True)
            tally = fuzz(name, range(first, first + count), Path(folder), note=True)
        seconds, seed = tally.slowest
        counts = ", ".join(f"{n} {what}" for what, n in sorted(tally.counts.items()))
        print(f"{name}: {counts}; slowest {seconds:.2f} s (seed {seed})", flush=True)
        print(*tally.failures[:5], sep="\n", end="\n" if tally.failures else "")
        total += tally.counts
    print(f"all: {', '.join(f'{n} {what}' for what, n in sorted(total.items()))}")
    return min(total["traceback"] + total["hang"], 1)


if __name__ == "__main__":
    sys.exit(_main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
