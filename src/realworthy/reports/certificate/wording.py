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
    Amount,
    PageTable,
    Percent,
    Span,
    SuccessShare,
)

GROUPS: dict[Group, str] = {
    "everyday": "Nominal conditions",
    "numerics": "Numerical settings",
    "engine": "Other physics engines",
    "actuator": "Drives",
    "sensor": "Sensors",
    "link": "Communication link",
    "stress": "Changed body, changed ground, pushes",
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
    outcome = "The policy failed" if is_failed else "The evidence decides neither way"
    count = len(certificate.reasons)
    if count < 2:
        return f"{outcome}, for one reason." if count else f"{outcome}."
    return f"{outcome}, for {count} reasons, most severe first."


def say_bounds(certificate: Certificate) -> str:
    """What may be expected, and how sure that is."""
    success, validity = certificate.success, certificate.validity
    if validity is not None:
        if validity.lower <= 0:
            return (
                f"The {validity.reality_count} robots sampled within the limits below "
                "prove no success rate above 0 % "
                f"({Percent(validity.confidence)} confidence)."
            )
        return (
            f"{Percent(validity.content)} of robots within the limits below succeed in "
            f"at least {SuccessShare(validity.lower)} of episodes "
            f"({Percent(validity.confidence)} confidence)."
        )
    first = next((cell for cell in certificate.cells if cell.share is not None), None)
    if first is not None:
        return (
            f"In the condition '{first.name}' {SuccessShare(success.mean)} of episodes "
            f"succeed ({SuccessShare(success.lower)} to {SuccessShare(success.upper)}, "
            f"95{SPACE}% confidence). This is the nominal model; no other robots were "
            "sampled."
        )
    return "No condition was run: there is no success rate."


def say_uncovered(certificate: Certificate) -> Iterator[str]:
    """What the certificate does not cover."""
    validity = certificate.validity
    if validity is None:
        yield "Any robot but the nominal model: no others were sampled."
    else:
        yield from _say_beyond(validity)
    tried = ", ".join(validity.effects) if validity is not None else ""
    yield (
        "Effects that the twin lacks, such as play in gears, bending links, cables or "
        "motors that weaken as they warm"
        + (f", except those tested: {tried}." if tried else "; none was tested.")
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
        yield "Physics other than MuJoCo's: no other engine confirmed the result."


def _say_beyond(validity: Validity) -> Iterator[str]:
    if validity.scale < 1:
        yield (
            f"The outer {Percent(1 - validity.scale)} of the belief's ranges, although "
            "the robot may lie there."
        )
    others = "Parameters" if not validity.parameters else "Parameters not in the table"
    yield f"{others} that differ from their nominal values."
    yield (
        "More measurement noise, another control rate, or inputs outside the limits."
    )


def say_margin(margin: MarginResult, bar: float) -> str:
    """The largest value at which the policy succeeds, and the first at which not."""
    if margin.skipped:
        return f"Not {'decided' if margin.levels else 'tested'}: {margin.skipped}"
    if not margin.levels:
        return "Not tested."
    failed = next((x for x in margin.levels if x.value == margin.failing), None)
    after = ""
    if failed is not None:
        share = failed.share
        after = (
            f"{_amount(failed.value, margin.unit)} only {share.successes} of "
            f"{share.count} episodes succeed, below {Percent(bar)}."
        )
    if margin.largest is None:
        return f"Fails at the smallest value tested: at {after}"
    passed = f"Succeeds up to {_amount(margin.largest, margin.unit)}"
    return f"{passed}; at {after}" if after else f"{passed}, the largest value tested."


def say_worst(worst: WorstResult) -> Iterator[str]:
    """Whether the worst case is a failure, how near it is and what makes it so."""
    if worst.skipped:
        yield f"Not searched: {worst.skipped}."
        return
    if not worst.is_failure:
        yield worst.about
        return
    yield (
        f"Among {worst.evaluations:,} parameter samples within the belief, the search "
        "found one at which the policy fails."
    )
    if worst.repeated is not None:
        again = worst.repeated
        yield (
            f"A retest confirms it: {again.successes} of {again.count} new episodes "
            f"succeed there ({SuccessShare(again.lower)} to "
            f"{SuccessShare(again.upper)}, 95{SPACE}% confidence)."
        )
    if worst.safe_fraction is not None:
        yield (
            "On the straight line from the nominal parameters to this point, the "
            f"policy passes on the first {Percent(worst.safe_fraction)}."
        )
    if worst.turns:
        yield f"The parameter with the largest effect is '{worst.turns[0].name}'."


def _amount(value: float, unit: str) -> str:
    return str(Amount(value, unit))


Line = tuple[str, str | Amount | SuccessShare]


def list_judged(certificate: Certificate) -> Iterator[Line]:
    """The bar, the number of episodes, and the versions used."""
    told = certificate
    yield "bar", SuccessShare(told.bar)
    yield "confidence", _say_confidence(told)
    yield from _count_episodes(told)
    yield "suite", told.suite
    yield "seed", str(told.seed)
    yield "task and twin", f"{told.task}, {told.twin}"
    yield "policy", told.policy
    yield "SHA-256 of the policy", told.policy_hash
    yield "created", told.created
    yield "computing time", Amount(told.seconds, "s")
    yield "versions", ", ".join(f"{k} {v}" for k, v in told.versions.items()) or "–"


def tabulate_regression(regression: Regression) -> PageTable:
    return PageTable(
        caption="Success rate of this policy minus that of the last accepted one, on "
        "the same episodes; the interval is 95 %",
        columns=("against", "difference", "between", "episodes"),
        rows=(
            (
                regression.against,
                Percent(regression.difference),
                Span(regression.lower, regression.upper, "%"),
                Amount(regression.count),
            ),
        ),
    )


def _say_confidence(told: Certificate) -> str:
    words = "95 % for each condition, at every interim evaluation"
    if told.validity is None:
        return words
    share = Percent(told.validity.confidence)
    return f"{words}; {share} for the bound over sampled robots"


def _count_episodes(told: Certificate) -> Iterator[Line]:
    played = [cell.share.count for cell in told.cells if cell.share is not None]
    words = [f"{sum(played):,} in {len(played)} conditions"]
    if skipped := len(told.cells) - len(played):
        words.append(f"{skipped} conditions skipped")
    if diverged := sum(cell.invalid for cell in told.cells):
        words.append(f"physics diverged in {diverged:,} more")
    yield "episodes in conditions", "; ".join(words)
    if told.validity is not None:
        yield (
            "episodes on sampled robots",
            f"{told.validity.episode_count:,} on {told.validity.reality_count:,} "
            "robots",
        )
    levels = [level.share.count for one in told.margins for level in one.levels]
    if levels:
        yield "episodes for margins", f"{sum(levels):,} at {len(levels)} values"
    if told.worst is not None and not told.worst.skipped:
        yield "worst-case search", f"{told.worst.evaluations:,} parameter samples"
