"""The page of `experiment`: one joint's numbers, their intervals, and the curve."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from realworthy.identification.experiments import (
    Delay,
    FrictionCurve,
    TorqueConstant,
)
from realworthy.identification.experiments.bench import Result
from realworthy.identification.experiments.delay import respond, trace_answers
from realworthy.identification.experiments.friction_curve import compute_friction
from realworthy.identification.experiments.quantities import Quantity
from realworthy.identification.experiments.torque_constant import average_holds
from realworthy.recordings import Recording
from realworthy.reports.certificate.charts import Chart
from realworthy.reports.elements.numbers import Amount, PageTable, Span, Tile
from realworthy.reports.elements.page import Page, write_page
from realworthy.reports.elements.plots import LineRole, to_json

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True, kw_only=True)
class ExperimentView:
    """What the page shows."""

    experiment: str
    joint: str
    robot: str
    quantities: tuple[Quantity, ...]
    warnings: tuple[str, ...]
    parameters: str
    """Lines for a twin file; empty where the twin has none of the numbers."""
    recordings: tuple[str, ...]
    chart: Chart | None

    @property
    def table(self) -> PageTable:
        return PageTable(
            caption="What the recording shows",
            columns=("number", "value", "sd", "95 % interval"),
            rows=tuple(
                (
                    one.name,
                    Amount(one.value, one.unit, one.sd),
                    Amount(one.sd, one.unit),
                    Span(*one.interval, one.unit),
                )
                for one in self.quantities
            ),
        )


def write_experiment(
    view: ExperimentView, path: Path | str, *, overwrite: bool = False
) -> None:
    """Writes the page: one HTML file without links to others, whole or not at all."""
    first = view.quantities[0]
    page = Page(
        command="experiment",
        title=f"{view.experiment.replace('_', ' ')} of {view.joint}",
        subtitle=f"robot {view.robot}",
        warnings=view.warnings,
        tone="attention" if view.warnings else "good",
        verdict=f"{first.name}: {Amount(first.value, first.unit, first.sd)}",
        summary=f"With 95 % it lies in {Span(*first.interval, first.unit)}.",
        tiles=tuple(
            Tile(
                label=one.name,
                value=Amount(one.value, one.unit, one.sd),
                note=Span(*one.interval, one.unit),
            )
            for one in view.quantities
        ),
    )
    write_page("experiment.html", page, view, path, overwrite=overwrite)


_HEIGHT = 380
"""[px]"""
_WIDTH = 1.96
"""Standard deviations on each side of a 95 % interval."""


def draw_finding(
    result: Result,
    recordings: Sequence[Recording],
    joint: str,
    torques: Sequence[float] = (),
) -> Chart | None:
    """The curve of an experiment; None of one that has none."""
    match result:
        case FrictionCurve():
            return draw_friction(result)
        case Delay():
            return draw_delay(result, recordings[0], joint)
        case TorqueConstant():
            return draw_torque_constant(result, recordings, joint, torques)
        case _:
            return None


def draw_friction(curve: FrictionCurve) -> Chart:
    """Friction against speed, with intervals, and the law through it."""
    figure = _begin("speed [rad/s]", "friction [N·m]")
    x = np.linspace(0.0, 1.05 * float(curve.speed.max()), 100)
    _add_line(figure, x, compute_friction(curve, x))
    figure.add_scatter(
        x=curve.speed.tolist(),
        y=curve.torque.tolist(),
        error_y={"type": "data", "array": (_WIDTH * curve.torque_sd).tolist()},
        mode="markers",
        meta=LineRole.REAL.value,
        hovertemplate="%{y:.3g} N·m at %{x:.3g} rad/s<extra></extra>",
    )
    return _finish(
        figure, "Friction at each speed with its 95 % interval, and the law: a line."
    )


def draw_delay(found: Delay, recording: Recording, joint: str) -> Chart:
    """All answers, each over its own size, and the fitted one."""
    figure = _begin("after the step [ms]", "share of the way")
    traces = trace_answers(recording, joint, found)
    for t, share in traces:
        figure.add_scatter(
            x=(1e3 * t).tolist(),
            y=share.tolist(),
            mode="markers",
            marker={"size": 4},
            meta=LineRole.REAL.value,
            hovertemplate="%{y:.0%} after %{x:.3g} ms<extra></extra>",
        )
    x = np.linspace(0.0, max(float(t[-1]) for t, _ in traces), 200)
    shape = respond(x - found.seconds, found.natural_frequency, found.damping_ratio)
    _add_line(figure, 1e3 * x, shape)
    return _finish(
        figure,
        f"Answers to {found.step_count} steps, each over its own size, and the fitted "
        f"one: a line that begins at {1e3 * found.seconds:.3g} ms.",
    )


def draw_torque_constant(
    found: TorqueConstant,
    recordings: Sequence[Recording],
    joint: str,
    torques: Sequence[float],
) -> Chart:
    """Current of both sides against known torque, and the line through its middle."""
    figure = _begin("known torque [N·m]", "current [A]")
    for torque, recording in zip(torques, recordings, strict=True):
        figure.add_scatter(
            x=[torque, torque],
            y=list(average_holds(recording, joint)),
            mode="markers",
            meta=LineRole.REAL.value,
            hovertemplate="%{y:.3g} A at %{x:.3g} N·m<extra></extra>",
        )
    x = np.array([min(torques), max(torques)])
    _add_line(figure, x, x / found.torque_constant + found.offset_current)
    return _finish(
        figure,
        "Current while each load was held, having come from below and from above, and "
        "the line through the middle.",
    )


def _begin(x: str, y: str) -> "Figure":
    from plotly.graph_objects import Figure

    figure = Figure()
    figure.update_xaxes(title=x, rangemode="tozero", fixedrange=True)
    figure.update_yaxes(title=y, rangemode="tozero", fixedrange=True, automargin=True)
    figure.update_layout(height=_HEIGHT, margin={"t": 8, "b": 48, "l": 8, "r": 8})
    return figure


def _add_line(figure: "Figure", x: np.ndarray, y: np.ndarray) -> None:
    figure.add_scatter(
        x=x.tolist(),
        y=y.tolist(),
        mode="lines",
        meta=LineRole.TWIN.value,
        line={"width": 2},
        hoverinfo="skip",
    )


def _finish(figure: "Figure", caption: str) -> Chart:
    return Chart(caption=caption, figure=to_json(figure), height=_HEIGHT)
