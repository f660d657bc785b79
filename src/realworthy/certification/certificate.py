"""A certificate: the verdict, its reasons, and the limits within which it holds."""

from pathlib import Path

import msgspec

from realworthy.artefacts import read_bytes, reading
from realworthy.certification.covering import find_uncovered
from realworthy.certification.finding import Finding
from realworthy.certification.results import (
    CellResult,
    FailureCase,
    Graded,
    MarginResult,
    Regression,
    Validity,
    ValidityResult,
    WorstResult,
)
from realworthy.certification.statistics import Verdict
from realworthy.realities import Reality

SCHEMA = 1
_COST = 16
"""Bytes of memory for a byte of JSON."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Share of successes."""

    lower: float
    """What at least 90 % of the realities within `validity` show, 95 % confidence."""
    mean: float
    upper: float


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of a policy and what came out; saved as JSON."""

    schema: int = SCHEMA
    verdict: Verdict
    reasons: tuple[str, ...]
    """Why it did not pass, the gravest first; empty where it did."""
    warnings: tuple[str, ...]
    policy: str
    policy_hash: str
    """SHA-256 of the file."""
    task: str
    twin: str
    suite: str
    bar: float
    seed: int
    success: Bounds
    validity: Validity | None
    failures: tuple[FailureCase, ...]
    interface: tuple[Finding, ...]
    cells: tuple[CellResult, ...]
    coverage: ValidityResult | None
    margins: tuple[MarginResult, ...]
    worst: WorstResult | None
    grade: Graded | None = None
    """Everyday play against the cell that loses most; None: nothing to compare."""
    regression: Regression | None
    versions: dict[str, str]
    created: str
    seconds: float

    def find_uncovered(self, reality: Reality) -> tuple[str, ...]:
        """Why a reality lies outside the validity, a sentence each; empty: inside.

        Needs the truth of the reality, so it is for stand-ins: of a robot one knows
        only its calibrated belief.
        """
        if self.coverage is not None and self.coverage.verdict is not Verdict.PASS:
            return ("The policy was not shown to work in any limits.",)
        if self.validity is None:
            return ("The certificate covers nothing.",)
        return tuple(find_uncovered(self.validity, reality))


def load_certificate(path: Path | str) -> Certificate:
    with reading(path, "a certificate"):
        return msgspec.json.decode(read_bytes(path, cost=_COST), type=Certificate)
