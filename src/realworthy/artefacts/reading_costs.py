"""What reading a file may cost, asked before it is read: the two limits that there are.

A file of a few bytes can ask for terabytes or years: packed zeros, declared shapes,
aliases of aliases, a `replicate` of 10⁸. Every reader asks here first. Who trusts a
file raises the limit by the environment variable that the message names.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from realworthy.errors import BadFile, RealworthyError


@dataclass(frozen=True, slots=True)
class Limit:
    """A number that no file may exceed, and the variable that sets another."""

    variable: str
    default: int

    @property
    def value(self) -> int:
        """What holds now."""
        text = os.environ.get(self.variable, "")
        if not text:
            return self.default
        if not (text.isascii() and text.isdigit() and 0 < int(text[:19]) < 2**63):
            raise RealworthyError(
                f"{self.variable} is '{text}', not a whole number above zero.",
                hint=f"Left out, it is {self.default}.",
            )
        return int(text[:19])

    def check(self, asked: int | float, what: str, path: Path | None = None) -> None:
        """Raises where more is asked; `what` says of what there is too much."""
        if asked <= self.value:
            return
        problem = f"{what} ({asked:.3g}; the limit is {self.value:,})."
        enough = 2 ** max(int(min(asked, 2.0**62)) - 1, 1).bit_length()
        hint = f"If you trust it, allow more: {self.variable}={enough}"
        if path is None:
            raise RealworthyError(problem, hint=hint)
        raise BadFile(path, problem, hint=hint)


BYTES = Limit("REALWORTHY_MAX_BYTES", 512 * 2**20)
"""Memory that reading one file may take. With what Python and its libraries need that
stays below 1 GB; the largest real recording of the tests needs 10 MB (2026-11-18)."""
COUNT = Limit("REALWORTHY_MAX_COUNT", 100_000)
"""Things that a file may have done: episodes of a suite, substeps of one period. The
default suite has 10,000 episodes; 100,000 substeps of a pendulum take a second
(2026-11-18)."""


def check_bytes(path: Path | str, asked: int | float) -> None:
    """Raises where reading `path` would take more memory than a file may."""
    BYTES.check(asked, "reading it would take too many bytes of memory", Path(path))
