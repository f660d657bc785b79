"""Plots that are read at a glance; colours are the page's, by role.

Each becomes a plotly figure without colours: `meta` of a trace says its role, and the
page paints it, so that light, dark and paper need one figure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from markupsafe import Markup

from realworthy.gap import Gap
from realworthy.reports.units import find_units, join_units

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

EDGES = 64
"""[px] of margins and axes."""


class Role(StrEnum):
    """What a line or bar stands for."""

    REAL = "real"
    TWIN = "twin"
    RIGHT = "right"
    """The twin with every cause put right."""
    MENDED = "mended"
    """The robot, after its log was put right."""
    NOISE = "noise"


LABELS = {
    Role.REAL: "robot",
    Role.TWIN: "twin",
    Role.RIGHT: "twin put right",
    Role.MENDED: "robot, log put right",
    Role.NOISE: "noise alone",
}
DASHES = {Role.RIGHT: "dash", Role.MENDED: "dot", Role.NOISE: "dot"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A figure, what it shows in words, and what its colours mean."""

    title: str
    caption: str
    figure: Markup
    """JSON of a plotly figure, fit to stand in a <script>."""
    height: int
    """[px]"""
    roles: tuple[Role, ...]

    @property
    def labels(self) -> dict[Role, str]:
        return {role: LABELS[role] for role in self.roles}


def draw_horizons(gap: Gap, after: Gap | None = None) -> Plot:
    """Error of predictions against seconds ahead, with what noise alone gives."""
    from plotly.graph_objects import Figure

    unit = join_units(find_units(gap).values())
    curves = {Role.TWIN: gap.horizons}
    if after is not None:
        curves[Role.RIGHT] = after.horizons
    curves[Role.NOISE] = gap.horizon_floor
    figure = Figure()
    sizes: list[float] = []
    for role, curve in curves.items():
        known = {s: v for s, v in curve.items() if math.isfinite(v) and v > 0}
        sizes.extend(known.values())
        figure.add_scatter(
            x=list(known),
            y=list(known.values()),
            mode="lines+markers",
            name=LABELS[role],
            meta=role.value,
            line={"dash": DASHES.get(role, "solid"), "width": 2},
            fill="tozeroy" if role is Role.NOISE else "none",
            hovertemplate=f"%{{y:.3g}} {unit}, %{{x:g}} s ahead",
        )
    ticks = list(gap.horizons)
    figure.update_xaxes(
        type="log",
        title="seconds ahead",
        tickvals=ticks,
        ticktext=[f"{tick:g}" for tick in ticks],
    )
    labels = {tick: f"{tick:.3g}" for tick in _choose_ticks(sizes)}
    figure.update_yaxes(
        type="log",
        title=f"error [{unit}]",
        tickvals=list(labels),
        ticktext=list(labels.values()),
    )
    figure.update_layout(height=320, margin={"t": 8, "b": 48, "l": 64, "r": 8})
    return Plot(
        title="Error against horizon",
        caption="Prediction from measured states: error against how far ahead. Where "
        "a line lies on the noise, nothing is left to explain.",
        figure=to_json(figure),
        height=320,
        roles=tuple(curves),
    )


def draw_joints(gap: Gap, after: Gap | None = None) -> Plot:
    """Replay error of every joint as bars, with the noise of its sensor."""
    from plotly.graph_objects import Figure

    units, per_joint = find_units(gap), gap.replay.per_joint
    names = [escape(f"{joint} [{units[joint]}]") for joint in per_joint]
    bars = {Role.TWIN: per_joint}
    if after is not None:
        bars[Role.RIGHT] = after.replay.per_joint
    figure = Figure()
    for role, sizes in bars.items():
        figure.add_bar(
            x=[_to_finite(sizes.get(joint)) for joint in per_joint],
            y=names,
            orientation="h",
            name=LABELS[role],
            meta=role.value,
            hovertemplate="%{x:.3g}",
        )
    figure.add_scatter(
        x=[gap.noise_floor[joint] for joint in per_joint],
        y=names,
        mode="markers",
        name=LABELS[Role.NOISE],
        meta=Role.NOISE.value,
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
        roles=(*bars, Role.NOISE),
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
