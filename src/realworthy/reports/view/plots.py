"""Live plots of one joint: where it is and was told to be, and its torque."""

from collections.abc import Mapping, Sequence

import numpy as np
import viser
from numpy.typing import NDArray
from viser import uplot

from realworthy.reports.elements.numbers import to_torque_unit
from realworthy.reports.view.play import Play, Reading
from realworthy.reports.view.session import WINDOW

Floats = NDArray[np.float64]
_COLOURS = {
    "simulated": "#e8710a",
    "recorded": "#3b78d8",
    "command": "#5f6b7a",
    "torque": "#e8710a",
}
_DASHED = ("command",)
_HEIGHT = 200
_MIN_PLOT_HEIGHT = 0.02
"""Height of a plot, in the unit of its curves, below which it would magnify noise."""
_APART = ("velocity", "voltage")
"""Kinds of commands that fit neither plot of a joint."""


class Plots:
    """Position and torque of the joint that is chosen, over the last seconds."""

    def __init__(self, server: viser.ViserServer, play: Play) -> None:
        gui = server.gui
        self._server, self._play = server, play
        self._joint = gui.add_dropdown("Joint", options=_list_joints(play))
        self._charts = [_Chart(gui), _Chart(gui), _Chart(gui)]

    def set(self, play: Play) -> None:
        """Takes up another play."""
        self._play = play
        self._joint.options = _list_joints(play)

    def show(self, history: Sequence[Reading], clock: float) -> None:
        """Draws the last seconds."""
        joint, world = self._joint.value, self._play.world
        if joint not in world.joints or len(history) < 2:
            return
        column = world.joints.index(joint)
        time = np.array([reading.time for reading in history])

        def pick(name: str) -> Floats:
            return np.array([getattr(reading, name)[column] for reading in history])

        lines = {line.joint: line for line in world.lines[::-1]}
        line, unit = lines.get(joint), world.units[joint]
        kind = None if line is None else line.kind
        command = {"command": pick("command")}
        none: dict[str, Floats] = {}
        position = {"simulated": pick("position"), "recorded": pick("recorded")}
        position |= command if kind == "position" else none
        torque = {"torque": pick("torque")} | (command if kind == "torque" else none)
        with self._server.atomic():
            for chart, title, curves in zip(
                self._charts,
                (
                    f"Position of {joint} [{unit}]",
                    f"Torque of {joint} [{to_torque_unit(unit)}]",
                    f"Command to {joint} [{world.find_unit(line) if line else ''}]",
                ),
                (position, torque, command if kind in _APART else none),
                strict=True,
            ):
                chart.draw(title, time, curves, clock)


class _Chart:
    """Some curves over time; hidden while there are none."""

    def __init__(self, gui: viser.GuiApi) -> None:
        nothing = np.zeros(2)
        self._plot = gui.add_uplot(
            (nothing, nothing),
            ({}, _line("simulated")),
            height=_HEIGHT,
            padding=(10, 20, 0, 0),
            scales=_scales(0.0),
            legend={"show": True, "live": False},
            visible=False,
        )
        self._names: tuple[str, ...] = ("simulated",)
        self._title = ""

    def draw(
        self, title: str, time: Floats, curves: Mapping[str, Floats], clock: float
    ) -> None:
        """Curves without a single number are left out."""
        found = {name: y for name, y in curves.items() if np.isfinite(y).all()}
        if found and tuple(found) != self._names:
            self._names = tuple(found)
            self._plot.series = ({}, *(_line(name) for name in found))
        if title != self._title:
            self._title = self._plot.title = title
        if found:
            self._plot.data = (time, *found.values())
            self._plot.scales = _scales(clock, tuple(found.values()))
        if self._plot.visible != bool(found):
            self._plot.visible = bool(found)


def _list_joints(play: Play) -> tuple[str, ...]:
    """Joints, those that a command drives first."""
    driven = [line.joint for line in play.world.lines if line.joint is not None]
    joints = play.world.joints
    found = [joint for joint in (*driven, *joints) if joint in joints]
    return tuple(dict.fromkeys(found)) or ("none",)


def _line(name: str) -> uplot.Series:
    series: uplot.Series = {
        "label": name,
        "stroke": _COLOURS[name],
        "width": 2,
        "points": {"show": False},
    }
    return {**series, "dash": (6, 4)} if name in _DASHED else series


def _scales(clock: float, curves: Sequence[Floats] = ()) -> dict[str, uplot.Scale]:
    """The window ends now, in seconds; what hardly moves looks as if it did not."""
    end = max(clock, WINDOW)
    low = min((float(y.min()) for y in curves), default=0.0)
    high = max((float(y.max()) for y in curves), default=0.0)
    room = max(0.08 * (high - low), (_MIN_PLOT_HEIGHT - (high - low)) / 2)
    return {
        "x": {"time": False, "auto": False, "range": (end - WINDOW, end)},
        "y": {"auto": False, "range": (low - room, high + room)},
    }
