"""Live plots of one joint: where it is and was told to be, and its torque."""

from collections.abc import Sequence

import numpy as np
import viser
from numpy.typing import NDArray
from viser import uplot

from realworthy.reports.view.play import Play, Reading
from realworthy.reports.view.session import WINDOW

Floats = NDArray[np.float64]
_SIMULATED, _TOLD, _RECORDED = "#e8710a", "#5f6b7a", "#3b78d8"
_HEIGHT = 190
_COMMAND_UNITS = {
    "position": "",
    "torque": "N·m",
    "velocity": "rad/s",
    "voltage": "V",
}


class Plots:
    """Three curves of position, one or two of torque or command."""

    def __init__(self, server: viser.ViserServer, play: Play) -> None:
        self._gui = server.gui
        self._joint = self._gui.add_dropdown("Joint", options=("",))
        nothing = np.zeros(2)
        self._position = self._gui.add_uplot(
            (nothing, nothing, nothing, nothing),
            (
                {},
                _line("simulated", _SIMULATED),
                _line("recorded", _RECORDED),
                _line("command", _TOLD, dash=True),
            ),
            title="Position [rad or m]",
            height=_HEIGHT,
            scales=_scales(0.0),
            legend={"show": True, "live": False},
        )
        self._torque = self._gui.add_uplot(
            (nothing, nothing, nothing),
            ({}, _line("torque", _SIMULATED), _line("command", _TOLD, dash=True)),
            title="Torque [N·m or N]",
            height=_HEIGHT,
            scales=_scales(0.0),
            legend={"show": True, "live": False},
        )
        self._joints: tuple[str, ...] = ()
        self._kinds: dict[str, str] = {}
        self.set(play)

    def set(self, play: Play) -> None:
        """Takes up another play."""
        self._kinds = {}
        for line in play.world.lines[::-1]:
            if line.joint is not None:
                self._kinds[line.joint] = line.kind
        self._joints = play.world.joints
        driven = [joint for joint in self._joints if joint in self._kinds]
        options = tuple(dict.fromkeys((*driven, *self._joints)))
        self._joint.options = options or ("none",)
        self._joint.visible = len(options) > 1

    def show(self, history: Sequence[Reading], clock: float) -> None:
        """Draws the last seconds."""
        joint = self._joint.value
        if joint not in self._joints or len(history) < 2:
            return
        column = self._joints.index(joint)
        time = np.array([reading.time for reading in history])
        values = {
            name: np.array([getattr(reading, name)[column] for reading in history])
            for name in ("position", "recorded", "command", "torque")
        }
        nothing = np.full(len(time), np.nan)
        kind = self._kinds.get(joint, "")
        goal = values["command"] if kind == "position" else nothing
        effort = values["command"] if kind == "torque" else nothing
        scales = _scales(clock)
        self._position.data = (time, values["position"], values["recorded"], goal)
        self._position.scales = scales
        self._torque.data = (time, values["torque"], effort)
        self._torque.scales = scales


def _line(label: str, colour: str, *, dash: bool = False) -> uplot.Series:
    series: uplot.Series = {
        "label": label,
        "stroke": colour,
        "width": 2,
        "points": {"show": False},
    }
    return {**series, "dash": (6, 4)} if dash else series


def _scales(clock: float) -> dict[str, uplot.Scale]:
    """The window ends now; seconds, not dates."""
    end = max(clock, WINDOW)
    return {"x": {"time": False, "auto": False, "range": (end - WINDOW, end)}}
