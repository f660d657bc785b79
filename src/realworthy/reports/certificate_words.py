"""What a certificate says, in sentences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from markupsafe import Markup

from realworthy.certification.certificate import Certificate
from realworthy.certification.results import (
    Group,
    MarginResult,
    Validity,
    WorstResult,
)
from realworthy.certification.statistics import Verdict
from realworthy.reports.numbers import SPACE, Number, Percent

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
    Verdict.PASS: "Passed",
    Verdict.FAIL: "Failed",
    Verdict.INSUFFICIENT: "Insufficient evidence",
}
_FAILURES = {
    "numerical": "The physics diverged",
    "fall": "It fell",
    "base_contact": "Its base touched something",
    "joint_limit": "A joint went beyond its limit",
    "torque_saturation": "A drive stayed at its limit",
    "over_speed": "A joint was too fast",
    "tracking_lost": "It lost what it was to follow",
    "object_dropped": "It dropped the object",
    "grasp_missed": "It missed the grasp",
    "wrong_contact": "It touched what it must not",
    "no_progress": "Time ran out before the goal",
    "oscillation": "Its actions swung faster than 8 Hz",
    "out_of_workspace": "It left its workspace",
    "watchdog": "Guards had to step in",
}
_MORE = re.compile(r"\brun (\d+) more\b")


@dataclass(frozen=True, slots=True)
class SuccessShare:
    """A share of successes; 100 % is all of them and 0 % is none."""

    value: float

    def __str__(self) -> str:
        tenths = round(1000 * self.value)
        if 0 < self.value < 1:
            tenths = min(max(tenths, 1), 999)
        return f"{tenths / 10:g}{SPACE}%"

    def __html__(self) -> str:
        told = Markup('<data value="{}">{}</data>')
        return told.format(repr(float(self.value)), str(self))


def say_verdict(certificate: Certificate) -> str:
    """A few words; where evidence lacks, how many more episodes the reasons ask for."""
    words = _VERDICTS[certificate.verdict]
    asked = [int(n) for text in certificate.reasons for n in _MORE.findall(text)]
    if certificate.verdict is not Verdict.INSUFFICIENT or not asked:
        return words
    if len(asked) == 1:
        return f"{words}: run {asked[0]:,} more episodes"
    return f"{words}: run up to {max(asked):,} more episodes in {len(asked)} conditions"


def say_reasons(certificate: Certificate) -> str:
    """The sentence under the verdict, before the list of reasons."""
    if certificate.verdict is Verdict.PASS:
        return say_bounds(certificate)
    is_failed = certificate.verdict is Verdict.FAIL
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
        if cell.group == "engine" and cell.share and cell.verdict is Verdict.PASS
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


def say_failure(name: str) -> str:
    """A cause of failure, as a sentence without its full stop."""
    return _FAILURES.get(name) or name.replace("_", " ").capitalize()


def say_margin(margin: MarginResult, bar: float) -> str:
    """The largest value that was borne, and what came after it."""
    if margin.skipped:
        return f"Not tried: {margin.skipped}"
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
