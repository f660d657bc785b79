"""What a user did that cannot work: what was asked, what exists, what to try.

Every exception that Realworthy raises on purpose derives from `RealworthyError`; the
command line prints it without a traceback and ends with status 2.
"""

from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path


class RealworthyError(Exception):
    """A mistake that its reader can mend: `problem`, and `hint`, what to try."""

    def __init__(self, problem: str, *, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.problem}\n  {self.hint}" if self.hint else self.problem


class UnknownName(RealworthyError):
    """A name that is not among those that exist; suggests the nearest."""

    def __init__(
        self, what: str, asked: str, existing: Collection[str], *, owner: str, hint: str
    ) -> None:
        self.asked = asked
        self.existing = tuple(existing)
        self.nearest = tuple(get_close_matches(asked, self.existing, n=3, cutoff=0.7))
        if self.nearest:
            listed = "Nearest: " + ", ".join(f"'{name}'" for name in self.nearest) + "."
        elif len(self.existing) <= 12:
            listed = "There are: " + (", ".join(sorted(self.existing)) or "none") + "."
        else:
            listed = f"There are {len(self.existing)}."
        super().__init__(f"{owner} has no {what} '{asked}'.", hint=f"{listed} {hint}")


class UnknownParameter(UnknownName):
    """A parameter that the space or twin does not have."""

    def __init__(self, asked: str, existing: Collection[str], *, owner: str) -> None:
        hint = f"All {len(existing)}: realworthy show parameters --twin TWIN"
        super().__init__("parameter", asked, existing, owner=owner, hint=hint)


class BadFile(RealworthyError):
    """A file that cannot be read as what it should be."""

    def __init__(self, path: Path | str, problem: str, *, hint: str = "") -> None:
        self.path = Path(path)
        super().__init__(f"{path}: {problem}", hint=hint)


class Unwritable(RealworthyError):
    """A place that cannot be written to, or where something already stands."""

    def __init__(self, path: Path | str, problem: str, *, hint: str = "") -> None:
        self.path = Path(path)
        super().__init__(f"Cannot write {path}: {problem}", hint=hint)


class BadBelief(RealworthyError):
    """Numbers that do not make a probability distribution."""


class BadModel(RealworthyError):
    """A model that MuJoCo rejects, or that lacks what a twin needs."""


class BadRecording(RealworthyError):
    """A recording that cannot be trusted: NaN, time running backwards, no signals."""


class MissingExtra(RealworthyError):
    """An optional library that this install does not have."""

    def __init__(self, library: str, extra: str, *, need: str) -> None:
        self.library, self.extra = library, extra
        super().__init__(
            f"{need} needs {library}, which is not installed.",
            hint=f"Try: pip install 'realworthy[{extra}]'",
        )
