"""How a policy did on the way: successes in held-out worlds, reward in practice."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from realworthy.reports.certificate_charts import Chart
from realworthy.reports.numbers import SuccessShare
from realworthy.reports.plots import to_json

if TYPE_CHECKING:
    from realworthy.learning.training import Look

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
    titles = ("success in held-out worlds", "mean reward of a step in practice")
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
        f"{count} look{'' if count == 1 else 's'} at the policy: its successes in "
        "held-out worlds, and the mean reward of a step in the practice before. "
        f"At best {SuccessShare(most)} succeed."
    )
