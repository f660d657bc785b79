"""Charts of a certificate: what it bears of one thing, and a failure over time."""

from dataclasses import dataclass

from markupsafe import Markup

from realworthy.certification.certificate.results import MarginResult
from realworthy.recordings import Recording
from realworthy.reports.elements.numbers import Amount, to_digits
from realworthy.reports.elements.plots import EDGES, escape, thin, to_json

_MARGIN_HEIGHT = 190
_ROW_HEIGHT = 96
"""[px]"""
_POINTS = 500
"""Of one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A figure, and what it shows in words for those who do not see it."""

    caption: str
    figure: Markup
    """JSON of a plotly figure; `meta` of a trace names a colour of the page."""
    height: int
    """[px]"""


def draw_margin(margin: MarginResult, bar: float) -> Chart:
    """Share of successes against the value, 95 % intervals, and the bar as a line.

    Values stand side by side at equal distances, as they were tried.
    """
    from plotly.graph_objects import Figure

    shares = [level.share for level in margin.levels]
    places = list(range(len(shares)))
    labels = [to_digits(level.value) for level in margin.levels]
    figure = Figure()
    figure.add_scatter(
        x=[-0.5, len(shares) - 0.5],
        y=[bar, bar],
        mode="lines",
        meta="attention",
        line={"dash": "dash", "width": 2},
        hovertemplate="required: %{y:.0%}<extra></extra>",
    )
    figure.add_scatter(
        x=places,
        y=[share.mean for share in shares],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [share.upper - share.mean for share in shares],
            "arrayminus": [share.mean - share.lower for share in shares],
            "thickness": 1.5,
        },
        mode="lines+markers",
        meta="right",
        line={"width": 2},
        marker={"size": 8},
        text=[f"{share.successes} of {share.count}" for share in shares],
        hovertemplate="%{y:.1%}: %{text}<extra></extra>",
    )
    title = f"{margin.name} [{margin.unit}]" if margin.unit else margin.name
    figure.update_xaxes(
        title=escape(title),
        tickvals=places,
        ticktext=labels,
        tickangle=0,
        tickfont={"size": 10},
        range=[-0.5, max(len(shares) - 0.5, 0.5)],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(
        range=[0, 1.06],
        tickvals=[0, 0.5, 1],
        ticktext=["0 %", "50 %", "100 %"],
        fixedrange=True,
    )
    figure.update_layout(
        height=_MARGIN_HEIGHT, margin={"t": 6, "b": 44, "l": 46, "r": 6}
    )
    told = "; ".join(
        f"{Amount(level.value, margin.unit)}: {level.share.successes} of "
        f"{level.share.count} succeed"
        for level in margin.levels
    )
    return Chart(
        caption=f"{margin.name}: {told}.",
        figure=to_json(figure),
        height=_MARGIN_HEIGHT,
    )


def draw_replay(recording: Recording, names: tuple[str, ...]) -> Chart:
    """Signals over time, one row each; it ends where the episode failed."""
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    height = _ROW_HEIGHT * len(names) + EDGES
    figure = make_subplots(
        len(names),
        1,
        shared_xaxes=True,
        vertical_spacing=28 / height if len(names) > 1 else 0,
        subplot_titles=[escape(name) for name in names],
    )
    for row, name in enumerate(names, start=1):
        values = recording.signals[name]
        kept = thin(values, _POINTS)
        line = Scatter(
            x=recording.time[kept].astype("float32"),
            y=values[kept].astype("float32"),
            mode="lines",
            meta="right" if is_command(name) else "real",
            line={"width": 1.8, "shape": "hv" if is_command(name) else "linear"},
            hovertemplate="%{y:.4g} at %{x:.3f} s<extra></extra>",
        )
        figure.add_trace(line, row=row, col=1)
    figure.update_annotations(x=0, xanchor="left", font={"size": 12})
    figure.update_yaxes(nticks=4, automargin=True)
    figure.update_xaxes(title="time [s]", row=len(names), col=1)
    figure.update_layout(height=height, margin={"t": 24, "b": 40, "l": 52, "r": 8})
    return Chart(
        caption=f"Over time: {', '.join(names)}. It ends where the episode failed.",
        figure=to_json(figure),
        height=height,
    )


def is_command(name: str) -> bool:
    return "command" in name.rpartition(".")[2]
