"""What a training says: curves of success and reward, and sentences."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from realworthy.reports.certificate.charts import Chart
from realworthy.reports.elements.numbers import (
    SPACE,
    Amount,
    Span,
    SuccessShare,
)
from realworthy.reports.elements.page import Tone
from realworthy.reports.elements.plots import to_json

if TYPE_CHECKING:
    from realworthy.learning.training import Look, Training
    from realworthy.tasks.environment.evaluate import Evaluation
    from realworthy.tasks.environment.variety import Variety


_HEIGHT = 380
"""[px]"""
_MARKED = 40
"""Looks up to which each has a mark of its own."""


def draw_looks(looks: "Sequence[Look]") -> Chart | None:
    """Both against control steps, one above the other; None where nobody looked."""
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    if not looks:
        return None
    titles = ("success rate in held-out worlds", "mean reward per training step")
    figure = make_subplots(
        2, 1, shared_xaxes=True, vertical_spacing=0.14, subplot_titles=titles
    )
    rows = (
        ([look.success for look in looks], "right", "%{y:.1%}"),
        ([look.reward for look in looks], "twin", "%{y:.3g}"),
    )
    steps = [look.step_count for look in looks]
    for row, (values, colour, shown) in enumerate(rows, start=1):
        line = Scatter(
            x=steps,
            y=[value if math.isfinite(value) else None for value in values],
            mode="lines+markers" if len(looks) <= _MARKED else "lines",
            meta=colour,
            line={"width": 2},
            marker={"size": 6},
            hovertemplate=f"{shown} after %{{x:,}} steps<extra></extra>",
        )
        figure.add_trace(line, row=row, col=1)
    figure.update_annotations(x=0, xanchor="left", font={"size": 12})
    figure.update_xaxes(
        range=[0, 1.03 * max(*steps, 1)], tickformat="~s", fixedrange=True
    )
    figure.update_xaxes(title="control steps of all worlds together", row=2, col=1)
    figure.update_yaxes(fixedrange=True, automargin=True)
    figure.update_yaxes(
        range=[-0.04, 1.06],
        tickvals=[0, 0.25, 0.5, 0.75, 1],
        ticktext=["0 %", "25 %", "50 %", "75 %", "100 %"],
        zeroline=False,
        row=1,
        col=1,
    )
    figure.update_yaxes(nticks=5, zeroline=False, row=2, col=1)
    figure.update_layout(height=_HEIGHT, margin={"t": 24, "b": 44, "l": 52, "r": 8})
    return Chart(caption=_say(looks), figure=to_json(figure), height=_HEIGHT)


def _say(looks: "Sequence[Look]") -> str:
    count = len(looks)
    most = max(look.success for look in looks)
    return (
        f"{count} evaluation{'' if count == 1 else 's'} during training: success rate "
        "in held-out worlds, and mean reward per training step since the evaluation "
        f"before. Highest success rate: {SuccessShare(most)}."
    )


_SURE, _HALF = 0.9, 0.5
"""Shares of successes that the lower end of the interval is held against."""
_VERDICTS: dict[Tone, str] = {
    "good": "Succeeds reliably",
    "attention": "Succeeds, but not reliably",
    "bad": "Fails too often",
    "open": "Too few episodes to decide",
}
_ENDS = {
    "minutes": "stopped by its time limit",
    "steps": "stopped by its step limit",
    "target": "stopped at its target",
}
Part = str | Amount | Span


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
    return _ENDS.get(training.stopped_by, f"stopped by {training.stopped_by}")


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
                *((", from ", Amount(push.start, "s"), " on") if push.start else ()),
                ", a speed changes by up to ",
                Amount(push.speed),
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
        yield Amount(sd)


def _join(low: float, high: float) -> Amount | Span:
    """Seconds from low to high; one number where they are the same."""
    return Amount(low, "s") if low == high else Span(low, high, "s")


def _to_tenths(share: float) -> str:
    """Per cent with a tenth; 100.0 is all of them and 0.0 is none."""
    tenths = round(1000 * share)
    if 0 < share < 1:
        tenths = min(max(tenths, 1), 999)
    return f"{tenths / 10:.1f}"
