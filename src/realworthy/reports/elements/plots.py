"""Plots that are read at a glance; colours are the page's, by role.

Each becomes a plotly figure without colours: `meta` of a trace says its role, and the
page paints it, so that light, dark and paper need one figure.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from realworthy.gap import Gap
from realworthy.reports.elements.numbers import find_units, join_units

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


EDGES = 64
"""[px] of margins and axes."""


class LineRole(StrEnum):
    """What a line or bar stands for."""

    REAL = "real"
    TWIN = "twin"
    CORRECTED = "right"
    """The twin with every cause corrected."""
    CORRECTED_LOG = "mended"
    """The robot, after its log was corrected."""
    NOISE = "noise"


LABELS = {
    LineRole.REAL: "robot",
    LineRole.TWIN: "twin",
    LineRole.CORRECTED: "corrected twin",
    LineRole.CORRECTED_LOG: "robot, corrected log",
    LineRole.NOISE: "noise floor",
}
NOMINAL_LABELS = LABELS | {
    LineRole.TWIN: "nominal model",
    LineRole.CORRECTED: "calibrated twin",
}
"""Where the first twin is the one before any calibration, and the other is calibrated.
"""
CALIBRATED_LABELS = LABELS | {LineRole.CORRECTED: "calibrated twin"}
DASHES = {
    LineRole.CORRECTED: "dash",
    LineRole.CORRECTED_LOG: "dot",
    LineRole.NOISE: "dot",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A figure, what it shows in words, and what its colours mean."""

    title: str
    caption: str
    figure: Markup
    """JSON of a plotly figure, fit to stand in a <script>."""
    height: int
    """[px]"""
    labels: Mapping[LineRole, str]
    """What each line is called."""


def draw_horizons(
    gap: Gap, after: Gap | None = None, labels: Mapping[LineRole, str] = LABELS
) -> Plot:
    """Error of predictions against seconds ahead, with what noise alone gives."""
    from plotly.graph_objects import Figure

    unit = join_units(find_units(gap).values())
    curves = {LineRole.TWIN: gap.horizons}
    if after is not None:
        curves[LineRole.CORRECTED] = after.horizons
    curves[LineRole.NOISE] = gap.horizon_floor
    figure = Figure()
    sizes: list[float] = []
    for role, curve in curves.items():
        known = {s: v for s, v in curve.items() if math.isfinite(v) and v > 0}
        sizes.extend(known.values())
        figure.add_scatter(
            x=list(known),
            y=list(known.values()),
            mode="lines+markers",
            name=labels[role],
            meta=role.value,
            line={"dash": DASHES.get(role, "solid"), "width": 2},
            fill="tozeroy" if role is LineRole.NOISE else "none",
            hovertemplate=f"%{{y:.3g}} {unit}, %{{x:g}} s ahead",
        )
    ticks = list(gap.horizons)
    figure.update_xaxes(
        type="log",
        title="seconds ahead",
        tickvals=ticks,
        ticktext=[f"{tick:g}" for tick in ticks],
    )
    ticked = {tick: f"{tick:.3g}" for tick in _choose_ticks(sizes)}
    figure.update_yaxes(
        type="log",
        title=f"error [{unit}]",
        tickvals=list(ticked),
        ticktext=list(ticked.values()),
    )
    figure.update_layout(height=320, margin={"t": 8, "b": 48, "l": 64, "r": 8})
    return Plot(
        title="Error against horizon",
        caption="Error of predictions from measured states, against seconds ahead. "
        "On the noise floor, sensor noise alone explains it.",
        figure=to_json(figure),
        height=320,
        labels={role: labels[role] for role in curves},
    )


def draw_joints(
    gap: Gap, after: Gap | None = None, labels: Mapping[LineRole, str] = LABELS
) -> Plot:
    """Replay error of every joint as bars, with the noise of its sensor."""
    from plotly.graph_objects import Figure

    units, per_joint = find_units(gap), gap.replay.per_joint
    names = [escape(f"{joint} [{units[joint]}]") for joint in per_joint]
    bars = {LineRole.TWIN: per_joint}
    if after is not None:
        bars[LineRole.CORRECTED] = after.replay.per_joint
    figure = Figure()
    for role, sizes in bars.items():
        figure.add_bar(
            x=[_to_finite(sizes.get(joint)) for joint in per_joint],
            y=names,
            orientation="h",
            name=labels[role],
            meta=role.value,
            hovertemplate="%{x:.3g}",
        )
    figure.add_scatter(
        x=[gap.noise_floor[joint] for joint in per_joint],
        y=names,
        mode="markers",
        name=labels[LineRole.NOISE],
        meta=LineRole.NOISE.value,
        marker={"symbol": "line-ns-open", "size": 18, "line": {"width": 3}},
        hovertemplate="%{x:.3g}",
    )
    height = (16 * len(bars) + 14) * len(names) + EDGES
    unit = join_units(units.values())
    figure.update_xaxes(title=f"root mean square error [{unit}]", rangemode="tozero")
    figure.update_yaxes(autorange="reversed", automargin=True, showgrid=False)
    figure.update_layout(
        height=height, margin={"t": 8, "b": 44, "l": 8, "r": 8}, bargap=0.25
    )
    return Plot(
        title="Replay error by joint",
        caption="Open-loop replay from the first measured pose: error of each joint, "
        "beside the noise of its sensor.",
        figure=to_json(figure),
        height=height,
        labels={role: labels[role] for role in (*bars, LineRole.NOISE)},
    )


def _choose_ticks(sizes: Sequence[float]) -> list[float]:
    """1, 2 and 5 of each decade; of many decades only 1."""
    if not sizes:
        return []
    first, last = math.log10(min(sizes)), math.log10(max(sizes))
    steps = (1, 2, 5) if last - first < 2.5 else (1,)
    decades = range(math.floor(first), math.ceil(last) + 1)
    return [step * 10.0**decade for decade in decades for step in steps]


def _to_finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def escape(text: str) -> str:
    """Plotly reads some HTML in texts; a name is never meant as that."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def to_json(figure: "Figure") -> Markup:
    figure.update_layout(template={}, showlegend=False)
    text = figure.to_json()
    assert text is not None
    return Markup(text.replace("<", "\\u003c"))


Floats = NDArray[np.float64]


def thin(values: ArrayLike, point_count: int) -> NDArray[np.intp]:
    """Rows to draw: the lowest and the highest of each of `point_count` / 2 stretches.

    So that no peak is lost and no fast motion looks slow. The first and the last row
    are always among them; a stretch without a finite value keeps a gap. At least four
    points.
    """
    rows = np.asarray(values, np.float64)
    if len(rows) <= max(point_count, 4):
        return np.arange(len(rows))
    stretch_count = max(point_count // 2 - 1, 1)
    edges = np.linspace(0, len(rows), stretch_count + 1).astype(np.intp)
    width = int(np.diff(edges).max())
    places = edges[:-1, None] + np.arange(width)
    places = np.minimum(places, edges[1:, None] - 1)
    is_known = np.isfinite(rows[places])
    each = np.arange(stretch_count)
    lowest = np.where(is_known, rows[places], np.inf).argmin(axis=1)
    highest = np.where(is_known, rows[places], -np.inf).argmax(axis=1)
    kept = [places[each, lowest], places[each, highest], [0, len(rows) - 1]]
    return np.unique(np.concatenate(kept))
