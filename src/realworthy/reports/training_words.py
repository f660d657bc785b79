"""What a training says, in sentences."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from realworthy.reports.numbers import SPACE, Number, Span
from realworthy.reports.page import Tone

if TYPE_CHECKING:
    from realworthy.learning.training import Training
    from realworthy.tasks.evaluate import Evaluation
    from realworthy.tasks.variety import Variety

_SURE, _HALF = 0.9, 0.5
"""Shares of successes that the lower end of the interval is held against."""
_VERDICTS: dict[Tone, str] = {
    "good": "Does its task",
    "attention": "Does its task, but not reliably",
    "bad": "Fails too often",
    "open": "Too few episodes to tell",
}
_ENDS = {
    "minutes": "until its time was over",
    "steps": "until its steps were made",
    "target": "until its target was met",
}
Part = str | Number | Span


def choose_tone(judged: "Evaluation") -> Tone:
    """By the lower end of the success; open where the upper one promises anything."""
    low, high = judged.success_interval
    if low >= _SURE:
        return "good"
    if low >= _HALF:
        return "attention"
    return "open" if high >= _SURE else "bad"


def say_verdict(judged: "Evaluation") -> str:
    return _VERDICTS[choose_tone(judged)]


def say_success(judged: "Evaluation") -> str:
    """`Succeeds in 98.0 % of 256 unseen episodes (95.5 … 99.2 %).`"""
    if not judged.episode_count:
        return f"The physics of all {judged.invalid_count:,} unseen episodes diverged."
    low, high = map(_to_tenths, judged.success_interval)
    return (
        f"Succeeds in {_to_tenths(judged.success)}{SPACE}% of "
        f"{judged.episode_count:,} unseen episodes ({low} … {high}{SPACE}%)."
    )


def say_end(training: "Training") -> str:
    """Which bound ended the run."""
    return _ENDS.get(training.stopped_by, f"until {training.stopped_by}")


def list_chances(variety: "Variety") -> Iterator[tuple[str, tuple[Part, ...]]]:
    """What differs besides numbers of e: of which kind, and how, in parts to join."""
    if variety.moving:
        yield "move within an episode", (", ".join(variety.moving),)
    if variety.noise:
        yield "noise", tuple(_list_noise(variety.noise))
    if variety.pushes is not None:
        push = variety.pushes
        yield (
            "pushes",
            (
                "every ",
                _join(*push.every),
                *((", from ", Number(push.start, "s"), " on") if push.start else ()),
                ", a speed changes by up to ",
                Number(push.speed),
                " m/s (of a joint: rad/s)",
            ),
        )
    if any(variety.latency):
        late = _join(*variety.latency)
        drawn = ", drawn for every episode" if isinstance(late, Span) else ""
        yield "latency", ("measurements are late by ", late, drawn)


def _list_noise(noise: dict[str, float]) -> Iterator[Part]:
    yield "standard deviation in SI units: "
    for place, (ending, sd) in enumerate(noise.items()):
        yield f"{', ' if place else ''}{ending.lstrip('.')} "
        yield Number(sd)


def _join(low: float, high: float) -> Number | Span:
    """Seconds from low to high; one number where they are the same."""
    return Number(low, "s") if low == high else Span(low, high, "s")


def _to_tenths(share: float) -> str:
    """Per cent with a tenth; 100.0 is all of them and 0.0 is none."""
    tenths = round(1000 * share)
    if 0 < share < 1:
        tenths = min(max(tenths, 1), 999)
    return f"{tenths / 10:.1f}"
