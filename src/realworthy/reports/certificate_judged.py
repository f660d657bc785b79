"""How a certificate was judged, line by line."""

from collections.abc import Iterator

from realworthy.certification.certificate import Certificate
from realworthy.certification.results import Regression
from realworthy.reports.numbers import Number, Percent, Span, SuccessShare
from realworthy.reports.tables import Table

Line = tuple[str, str | Number | SuccessShare]


def list_judged(certificate: Certificate) -> Iterator[Line]:
    """What was asked, how often it was tried, and with what."""
    told = certificate
    yield "bar", SuccessShare(told.bar)
    yield "confidence", _say_confidence(told)
    yield from _count_episodes(told)
    yield "suite", told.suite
    yield "seed", str(told.seed)
    yield "task and twin", f"{told.task}, {told.twin}"
    yield "policy", told.policy
    yield "SHA-256 of the policy", told.policy_hash
    yield "made", told.created
    yield "computing", Number(told.seconds, "s")
    yield "versions", ", ".join(f"{k} {v}" for k, v in told.versions.items()) or "–"


def tabulate_regression(regression: Regression) -> Table:
    return Table(
        caption="Successes of this policy less those of the last accepted one, on the "
        "same episodes; the interval is 95 %",
        columns=("against", "difference", "between", "episodes"),
        rows=(
            (
                regression.against,
                Percent(regression.difference),
                Span(regression.lower, regression.upper, "%"),
                Number(regression.count),
            ),
        ),
    )


def _say_confidence(told: Certificate) -> str:
    words = "95 % for each condition, however often one looked"
    if told.validity is None:
        return words
    return f"{words}; {Percent(told.validity.confidence)} for the bound on realities"


def _count_episodes(told: Certificate) -> Iterator[Line]:
    played = [cell.share.count for cell in told.cells if cell.share is not None]
    words = [f"{sum(played):,} in {len(played)} conditions"]
    if skipped := len(told.cells) - len(played):
        words.append(f"{skipped} conditions skipped")
    if diverged := sum(cell.invalid for cell in told.cells):
        words.append(f"the physics of {diverged:,} more diverged")
    yield "episodes in conditions", "; ".join(words)
    if told.validity is not None:
        yield (
            "episodes in realities",
            f"{told.validity.episode_count:,} in {told.validity.reality_count:,} "
            "realities",
        )
    levels = [level.share.count for one in told.margins for level in one.levels]
    if levels:
        yield "episodes for margins", f"{sum(levels):,} at {len(levels)} values"
    if told.worst is not None and not told.worst.skipped:
        yield "search", f"{told.worst.evaluations:,} points of the belief"
