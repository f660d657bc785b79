"""Robot and twin over time, joint under joint."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.gap import RecordingGap
from realworthy.reports.elements.numbers import Amount, find_units
from realworthy.reports.elements.plots import (
    DASHES,
    EDGES,
    LABELS,
    LineRole,
    Plot,
    escape,
    thin,
    to_json,
)

Floats = NDArray[np.float64]
Lines = Mapping[LineRole, tuple[Floats, Floats]]
"""Role → time [s] and position."""
_AWAY = 1.0
"""Spans of the measured signal that a simulated one may leave it by, and still show."""
_MAX_WHOLE_S, _STRETCH_S = 16.0, 8.0
"""[s] from which a recording is also shown close up, and how much of it."""
_ROW_HEIGHT, _ONLY_HEIGHT = 132, 220
"""[px] of a joint among several, and of a single one."""
_WIDTHS = {LineRole.REAL: 2.6, LineRole.CORRECTED_LOG: 2.0}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a recording that is drawn."""

    title: str
    start: float
    """[s] since the first row."""
    end: float


def find_stretches(one: RecordingGap) -> tuple[Stretch, ...]:
    """The whole of a recording; before it, of a long one, where the error is large.

    That is the first stretch whose error, of joints together and no more than the span
    of each, comes to nine tenths of the largest.
    """
    time = one.track.time
    whole = Stretch("The whole recording", float(time[0]), float(time[-1]))
    if whole.end - whole.start < _MAX_WHOLE_S:
        return (whole,)
    spans = np.maximum(np.ptp(one.track.position, axis=0), 1e-9)
    off = np.nan_to_num(np.abs(one.simulated - one.track.position) / spans, nan=1.0)
    total = np.concatenate([[0.0], np.cumsum(np.minimum(off, 1.0).sum(axis=1))])
    width = max(1, round(_STRETCH_S / (time[-1] - time[0]) * (len(time) - 1)))
    sums = total[width:] - total[:-width]
    first = int(np.argmax(sums >= 0.9 * sums.max()))
    start = float(max(time[first] - 0.2 * _STRETCH_S, time[0]))
    told = f"From {Amount(start, 's')}, where the error is large"
    return Stretch(told, start, start + _STRETCH_S), whole


def draw_overlay(
    one: RecordingGap,
    stretch: Stretch,
    after: RecordingGap | None = None,
    *,
    point_count: int = 600,
    labels: Mapping[LineRole, str] = LABELS,
) -> Plot:
    """Positions over time, robot and twin, one row per joint of the recording."""
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    joints, units = one.track.joints, find_units(one)
    height = (_ROW_HEIGHT if len(joints) > 1 else _ONLY_HEIGHT) * len(joints) + EDGES
    figure = make_subplots(
        len(joints),
        1,
        shared_xaxes=True,
        vertical_spacing=30 / height if len(joints) > 1 else 0,
        subplot_titles=[escape(f"{joint} [{units[joint]}]") for joint in joints],
    )
    seen: set[LineRole] = set()
    for row, joint in enumerate(joints, start=1):
        lines = _gather_lines(one, after, joint, stretch)
        low, high = _find_range(lines)
        seen.update(lines)
        for role, (time, values) in lines.items():
            kept = thin(values, point_count)
            shown = np.clip(values[kept], low - 10 * (high - low), 11 * high - 10 * low)
            line = Scatter(
                x=time[kept].astype(np.float32),
                y=shown.astype(np.float32),
                mode="lines",
                name=labels[role],
                meta=role.value,
                line={
                    "width": _WIDTHS.get(role, 1.4),
                    "dash": DASHES.get(role, "solid"),
                },
                hovertemplate=f"%{{y:.4g}} {units[joint]} at %{{x:.3f}} s",
            )
            figure.add_trace(line, row=row, col=1)
        figure.update_yaxes(range=[low, high], nticks=5, row=row, col=1)
    figure.update_annotations(x=0, xanchor="left", font={"size": 13})
    figure.update_xaxes(range=[stretch.start, stretch.end])
    figure.update_xaxes(title="time [s]", row=len(joints), col=1)
    figure.update_layout(height=height, margin={"t": 24, "b": 40, "l": 48, "r": 8})
    drawn = {role: labels[role] for role in LineRole if role in seen}
    return Plot(
        title=stretch.title,
        caption=f"{stretch.title}: positions of {', '.join(drawn.values())}. One row "
        "per joint.",
        figure=to_json(figure),
        height=height,
        labels=drawn,
    )


def _gather_lines(
    one: RecordingGap, after: RecordingGap | None, joint: str, stretch: Stretch
) -> Lines:
    """The robot is drawn first."""
    i = one.track.joints.index(joint)
    real, time = one.track.position[:, i], one.track.time
    lines = {LineRole.REAL: (time, real), LineRole.TWIN: (time, one.simulated[:, i])}
    if after is not None and joint in after.track.joints:
        k = after.track.joints.index(joint)
        corrected, clock = after.track.position[:, k], after.track.time
        if not _is_same(time, real, clock, corrected):
            lines[LineRole.CORRECTED_LOG] = (clock, corrected)
        lines[LineRole.CORRECTED] = (clock, after.simulated[:, k])
    return {role: _cut(*line, stretch) for role, line in lines.items()}


def _cut(time: Floats, values: Floats, stretch: Stretch) -> tuple[Floats, Floats]:
    is_in = (time >= stretch.start) & (time <= stretch.end)
    return time[is_in], values[is_in]


def _is_same(time: Floats, real: Floats, clock: Floats, corrected: Floats) -> bool:
    """Whether putting the log right left this signal as it was, to the eye."""
    moved = np.interp(time, clock, corrected) - real
    return float(np.abs(moved).max()) <= 0.005 * max(float(np.ptp(real)), 1e-9)


def _find_range(lines: Lines) -> tuple[float, float]:
    """Where an axis begins and ends: all that was measured, and what stays near it."""
    measured = np.concatenate(
        [
            lines[role][1]
            for role in (LineRole.REAL, LineRole.CORRECTED_LOG)
            if role in lines
        ]
    )
    low, high = float(measured.min()), float(measured.max())
    reach = _AWAY * max(high - low, 1e-6)
    every = np.concatenate([values for _, values in lines.values()])
    near = every[np.isfinite(every)]
    low = max(low - reach, float(near.min()))
    high = min(high + reach, float(near.max()))
    edge = 0.06 * max(high - low, 1e-6)
    return low - edge, high + edge
