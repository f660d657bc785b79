"""What a result says of itself: the table that pages quote, and the commit."""

import os
import subprocess
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
COMMIT = "REALWORTHY_COMMIT"
"""The variable that names the commit where the tree is no git checkout."""


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What benchmarks/pages.py puts into a page."""

    date: str
    machine: str
    commit: str
    command: str
    columns: list[str]
    rows: list[list[str | float | None]]


def read_commit() -> str:
    """The commit that is checked out, and whether its code was edited since."""
    if COMMIT in os.environ:
        return os.environ[COMMIT]

    def ask(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], capture_output=True, text=True, check=True, cwd=ROOT
        )
        return done.stdout.strip()

    edited = ask("status", "--porcelain", "--", "src")
    return ask("rev-parse", "--short", "HEAD") + (" and edits" if edited else "")
