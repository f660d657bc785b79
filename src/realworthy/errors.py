"""What a user did that cannot work: what was asked, what exists, what to try.

Every exception that Realworthy raises on purpose derives from `RealworthyError`; the
command line prints it without a traceback and ends with status 2.
"""

import os
import re
from collections.abc import Collection
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path

_MIN_NAME_SIMILARITY = 0.7
"""Likeness from which two names may be the same one, misspelt."""
_LIKE_WORD = 0.76
"""The same of two words, which are shorter."""
_SAME_THING = 0.5
"""Share of the words of a name that must be found again in another one."""
_MAX_LISTED_NAMES = 12
"""Names up to which all are listed: two lines of an error."""


class RealworthyError(Exception):
    """A mistake that its reader can correct: `problem`, and `hint`, what to try."""

    def __init__(self, problem: str, *, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.problem}\n  {self.hint}" if self.hint else self.problem


class UnknownName(RealworthyError):
    """A name that is not among those that exist; suggests the nearest.

    `listing` is the command that lists all of them, where there is one.
    """

    def __init__(
        self,
        what: str,
        asked: str,
        existing: Collection[str],
        *,
        owner: str,
        hint: str = "",
        listing: str = "",
    ) -> None:
        self.asked = asked
        self.existing = tuple(existing)
        self.nearest = find_nearest(asked, self.existing)
        parts = []
        if self.nearest:
            parts.append(f"Nearest: {', '.join(map(repr, self.nearest))}.")
        elif len(self.existing) <= _MAX_LISTED_NAMES:
            parts.append(f"There are: {', '.join(sorted(self.existing)) or 'none'}.")
            listing = ""
        elif not listing:
            parts.append(f"There are {len(self.existing)}.")
        parts.append(hint)
        parts.append(f"All {len(self.existing)}: {listing}" if listing else "")
        problem = f"{owner} has no {what} '{asked}'."
        super().__init__(problem, hint=" ".join(filter(None, parts)))


class UnknownParameter(UnknownName):
    """A parameter that the space or twin does not have."""

    def __init__(
        self, asked: str, existing: Collection[str], *, owner: str, listing: str = ""
    ) -> None:
        super().__init__("parameter", asked, existing, owner=owner, listing=listing)


class BadFile(RealworthyError):
    """A file that cannot be read as what it should be."""

    def __init__(self, path: Path | str, problem: str, *, hint: str = "") -> None:
        self.path = Path(path)
        super().__init__(f"{path}: {problem}", hint=hint)


class MissingFile(BadFile):
    """A file or folder that is not there; suggests what lies where it should be."""

    def __init__(self, path: Path | str) -> None:
        folder = Path(path).parent
        problem, hint = "there is no such file.", ""
        if os.path.islink(path):
            problem = "it is a link to something that is not there."
        elif not os.path.isdir(folder):
            hint = f"There is no folder '{folder}' either."
        elif neighbours := _find_neighbours(Path(path)):
            hint = f"Nearest: {', '.join(map(repr, neighbours))}."
        super().__init__(path, problem, hint=hint)


class Unwritable(RealworthyError):
    """A place that cannot be written to, or where something already stands."""

    def __init__(self, path: Path | str, problem: str, *, hint: str = "") -> None:
        self.path, self.why = Path(path), problem
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


def find_nearest(asked: str, existing: Collection[str]) -> tuple[str, ...]:
    """At most three names that may have been meant, the likeliest first.

    Names are compared as a whole and word by word, so that 'knee_fricton' finds
    'FL_calf.coulomb_friction' where there is no knee.
    """
    found = {name: _compute_likeness(asked, name) for name in existing}
    best = max(found.values(), default=0.0)
    near = [name for name, likeness in found.items() if likeness > best - 0.15]
    if best == 0.0:
        return ()
    return tuple(sorted(near, key=lambda name: (-found[name], len(name)))[:3])


def _compute_likeness(asked: str, name: str) -> float:
    """1 for equal names, 0 for names without a word in common."""
    whole = _compare(asked.lower(), name.lower())
    words, others = _split(asked), _split(name)
    if not words or not others:
        return 0.0
    letters = sum(map(len, words))
    alike = [max(_compare_words(word, other) for other in others) for word in words]
    shared = sum(
        len(word) * like
        for word, like in zip(words, alike, strict=True)
        if like >= _LIKE_WORD
    )
    by_words = shared / letters - 0.01 * abs(len(others) - len(words))
    by_words = by_words if by_words >= _SAME_THING else 0.0
    return round(max(whole if whole >= _MIN_NAME_SIMILARITY else 0.0, by_words), 3)


def _split(name: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]


def _compare_words(asked: str, word: str) -> float:
    is_beginning = len(asked) >= 3 and word.startswith(asked)
    return max(0.9 if is_beginning else 0.0, _compare(asked, word))


@lru_cache(maxsize=65536)
def _compare(first: str, second: str) -> float:
    return SequenceMatcher(None, first, second).ratio()


def _find_neighbours(path: Path) -> list[str]:
    """Names in the same folder that are alike up to their first dot."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return []
    stems = {name: name.lstrip(".").partition(".")[0] for name in names}
    nearest = find_nearest(path.name.partition(".")[0], set(stems.values()))
    found = [name for name in names if stems[name] in nearest]
    return sorted(found, key=lambda name: (not name.endswith(path.suffix), name))[:3]
