"""What a certificate says, in sentences."""

from collections.abc import Iterator
from typing import get_args

from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.results import (
    Group,
    MarginResult,
    Regression,
    Validity,
    WorstResult,
)
from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.reports.elements.numbers import (
    SPACE,
    Number,
    PageTable,
    Percent,
    Span,
    SuccessShare,
)

GROUPS: dict[Group, str] = {
    "everyday": "Everyday play",
    "numerics": "The same physics, computed otherwise",
    "engine": "Other physics engines",
    "actuator": "Drives",
    "sensor": "Sensors",
    "link": "Between policy and robot",
    "stress": "Another body, another ground, pushes",
}
assert tuple(GROUPS) == get_args(Group)
_VERDICTS = {
    CertificateVerdict.PASS: "Passed",
    CertificateVerdict.FAIL: "Failed",
    CertificateVerdict.INSUFFICIENT: "Insufficient evidence",
}


def say_verdict(certificate: Certificate) -> str:
    """A few words; where evidence lacks, how many more episodes would settle it."""
    words = _VERDICTS[certificate.verdict]
    asked = [cell.more for cell in certificate.cells if cell.required and cell.more]
    if certificate.verdict is not CertificateVerdict.INSUFFICIENT or not asked:
        return words
    if len(asked) == 1:
        return f"{words}: run {asked[0]:,} more episodes"
    return f"{words}: run up to {max(asked):,} more episodes in {len(asked)} conditions"


def say_reasons(certificate: Certificate) -> str:
    """The sentence under the verdict, before the list of reasons."""
    if certificate.verdict is CertificateVerdict.PASS:
        return say_bounds(certificate)
    is_failed = certificate.verdict is CertificateVerdict.FAIL
    told = "It did not pass" if is_failed else "It has neither passed nor failed"
    count = len(certificate.reasons)
    if count < 2:
        return f"{told}, for one reason." if count else f"{told}."
    return f"{told}, for {count} reasons, the gravest first."


def say_bounds(certificate: Certificate) -> str:
    """What may be expected, and how sure that is."""
    success, validity = certificate.success, certificate.validity
    if validity is not None:
        if validity.lower <= 0:
            return (
                f"The {validity.reality_count} realities tried within the limits below "
                "prove no share of successes at all "
                f"({Percent(validity.confidence)} confidence)."
            )
        return (
            f"At least {SuccessShare(validity.lower)} of episodes succeed in "
            f"{Percent(validity.content)} of the realities within the limits below, "
            f"with {Percent(validity.confidence)} confidence."
        )
    first = next((cell for cell in certificate.cells if cell.share is not None), None)
    if first is not None:
        return (
            f"In the condition '{first.name}' {SuccessShare(success.mean)} of episodes "
            f"succeed ({SuccessShare(success.lower)} to {SuccessShare(success.upper)}, "
            f"95{SPACE}% confidence). Other realities were not tried, so nothing is "
            "said of them."
        )
    return "Nothing was played, so nothing is said."


def say_uncovered(certificate: Certificate) -> Iterator[str]:
    """What the certificate does not speak of."""
    validity = certificate.validity
    if validity is None:
        yield "Any reality but the nominal twin: no others were tried."
    else:
        yield from _say_beyond(validity)
    tried = ", ".join(validity.effects) if validity is not None else ""
    yield (
        "Effects that the twin lacks, such as play in gears, bending links, cables or "
        "motors that weaken as they warm"
        + (f", other than those tried: {tried}." if tried else ": none was tried.")
    )
    yield (
        "Faults between policy and robot: mixed-up joints, wrong signs, units, zeros, "
        "clocks that differ. The contract was checked against the twin, never against "
        "the robot."
    )
    agreeing = [
        cell.name
        for cell in certificate.cells
        if cell.group == "engine"
        and cell.share
        and cell.verdict is CertificateVerdict.PASS
    ]
    if not agreeing:
        yield "Physics other than MuJoCo's: no other engine agreed with it here."


def _say_beyond(validity: Validity) -> Iterator[str]:
    if validity.scale < 1:
        yield (
            f"The outer {Percent(1 - validity.scale)} of the believed ranges: the twin "
            "may be there, by what is known of it."
        )
    others = "Parameters" if not validity.parameters else "Parameters not in the table"
    yield f"{others} that differ from the twin's own values."
    yield (
        "More measurement noise, another rate of control, or inputs outside the limits."
    )


def say_margin(margin: MarginResult, bar: float) -> str:
    """The largest value that was borne, and what came after it."""
    if margin.skipped:
        return f"Not {'told' if margin.levels else 'tried'}: {margin.skipped}"
    if not margin.levels:
        return "Not tried."
    failed = next((x for x in margin.levels if x.value == margin.failing), None)
    after = ""
    if failed is not None:
        share = failed.share
        after = (
            f"{_amount(failed.value, margin.unit)} only {share.successes} of "
            f"{share.count} episodes succeed, below {Percent(bar)}."
        )
    if margin.largest is None:
        return f"It does not bear even the least: at {after}"
    borne = f"It bears {_amount(margin.largest, margin.unit)}"
    return f"{borne}; at {after}" if after else f"{borne}, the most that was tried."


def say_worst(worst: WorstResult) -> Iterator[str]:
    """Whether the worst case is a failure, how near it is and what makes it so."""
    if worst.skipped:
        yield f"Not searched: {worst.skipped}."
        return
    if not worst.is_failure:
        yield worst.about
        return
    yield (
        f"Among {worst.evaluations:,} points of what is believed of this twin, the "
        "search found one at which the policy fails."
    )
    if worst.repeated is not None:
        again = worst.repeated
        yield (
            f"It repeats itself: with fresh starts {again.successes} of {again.count} "
            f"episodes succeed there ({SuccessShare(again.lower)} to "
            f"{SuccessShare(again.upper)}, 95{SPACE}% confidence)."
        )
    if worst.safe_fraction is not None:
        yield (
            "On the straight way there from the nominal twin, the first "
            f"{Percent(worst.safe_fraction)} are safe."
        )
    if worst.turns:
        yield f"What matters most is '{worst.turns[0].name}'."


def _amount(value: float, unit: str) -> str:
    return str(Number(value, unit))


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


def tabulate_regression(regression: Regression) -> PageTable:
    return PageTable(
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
