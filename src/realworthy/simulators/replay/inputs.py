"""Which signals of a recording drive a twin, and how its encoders read both."""

import shlex
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadRecording
from realworthy.recordings import Recording
from realworthy.simulators.explicit_laws import OFF
from realworthy.simulators.simulator import Simulator
from realworthy.twins import BoundTwin
from realworthy.twins.commands import CommandLine, describe_commands
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Inputs:
    """(rows, inputs) values for a twin's command, and where each column came from."""

    values: Floats
    sources: dict[str, str]
    """Command of the twin → signal of the recording, or why it rests."""
    constant: tuple[str, ...]
    """Commands that the recording does not have; they rest at the home pose."""


def choose_inputs(bound: BoundTwin, recording: Recording) -> Inputs:
    """Recorded commands where their kind fits, else measured torque or voltage."""
    rest = bound.compiled.own["own.initial_ctrl"]
    columns, sources, constant = [], {}, []
    explicit = {drive.joint for drive in bound.drives}
    for line, still in zip(describe_commands(bound), rest, strict=True):
        values, source = _find(line, recording)
        enabled = recording.signals.get(f"{line.joint}.torque_enable")
        if values is not None and enabled is not None and line.joint in explicit:
            values = np.where(enabled > 0, values, OFF)
        if values is None:
            constant.append(line.signal)
            values = np.full(len(recording.time), still)
        columns.append(values)
        sources[line.signal] = source
    if len(constant) == len(columns):
        check_joints(bound, recording)
        kinds = sorted({line.kind for line in describe_commands(bound)})
        raise BadRecording(
            f"{recording.owner} has nothing that could drive twin "
            f"'{bound.twin.name}', which takes {' and '.join(kinds)} commands.",
            hint="Record <joint>.command as sent (and say command_kind in the "
            "sidecar), or for a torque-driven twin <joint>.torque.",
        )
    return Inputs(np.stack(columns, axis=1), sources, tuple(constant))


def check_joints(bound: BoundTwin, recording: Recording) -> None:
    """Raises where a recording is of another robot, or says so by its names."""
    joints = Layout(bound).joints
    if any(joint in joints for joint in recording.joints):
        return
    source = shlex.quote(str(recording.source or "FILE"))
    reference = shlex.quote(bound.twin.reference or "TWIN")
    raise BadRecording(
        f"{recording.owner} and twin '{bound.twin.name}' have no joint in common.",
        hint=f"Recorded: {', '.join(recording.joints) or 'none'}. The twin has: "
        f"{', '.join(joints) or 'none'}. Name them alike in the sidecar, "
        f"such as mapping: {{{next(iter(joints), 'joint')}.position: "
        f"{{source: {next(iter(recording.signals), 'q1')}}}}}; foreign files may "
        "need --importer. To have a mapping proposed: "
        f"realworthy convert {source} --map {reference} --output recordings",
    )


def _find(line: CommandLine, recording: Recording) -> tuple[Floats | None, str]:
    kind = recording.sidecar.command_kind
    names = [line.signal, f"{line.joint}.command"]
    if kind is None or kind == line.kind:
        for name in names:
            if name in recording.signals:
                return recording.signals[name], name
    torque = f"{line.joint}.torque"
    if line.kind == "torque" and torque in recording.signals:
        return recording.signals[torque], torque
    duty, supply = f"{line.joint}.duty", "supply.voltage"
    if line.kind == "voltage" and {duty, supply} <= set(recording.signals):
        volts = recording.signals[duty] * recording.signals[supply]
        return volts, f"{duty} × {supply}"
    named = [name for name in names if name in recording.signals]
    if named:
        return None, f"{named[0]} is a {kind}, and the twin takes {line.kind} there"
    return None, "it was not recorded"


class Encoders:
    """measured = scale · true + bias; a servo follows its own encoder.

    So bias and scale of a joint's position also hold for the position commands to that
    joint: an encoder that is off moves the arm against gravity, not against its goals.
    """

    def __init__(self, simulator: Simulator, joints: tuple[str, ...]) -> None:
        self._simulator = simulator
        places = {name: place for place, name in enumerate(simulator.signals)}
        self._position = [places[f"{joint}.position"] for joint in joints]
        self._velocity = [places[f"{joint}.velocity"] for joint in joints]
        lines = describe_commands(simulator.bound)
        self.inputs = [
            (column, places[f"{line.joint}.position"])
            for column, line in enumerate(lines)
            if line.kind == "position" and f"{line.joint}.position" in places
        ]
        """Columns of position commands, each with the place of its joint's position
        among the signals."""

    @cached_property
    def are_true(self) -> bool:
        """Whether no world's encoders can be off."""
        moved = {"own.sensor_scale", "own.sensor_bias"}
        own = self._simulator.bound.compiled.own
        neutral = (own["own.sensor_scale"] == 1) & (own["own.sensor_bias"] == 0)
        return bool(neutral.all()) and not moved & set(self._simulator.bound.fields)

    @property
    def _fields(self) -> tuple[Floats, Floats]:
        simulator = self._simulator
        return simulator.field("own.sensor_scale"), simulator.field("own.sensor_bias")

    def measure(self, position: Floats, velocity: Floats) -> tuple[Floats, Floats]:
        """(worlds, rows, joints) as the encoders report it."""
        if self.are_true:
            return position, velocity
        scale, bias = (field[:, None] for field in self._fields)
        q, v = self._position, self._velocity
        return (
            scale[..., q] * position + bias[..., q],
            scale[..., v] * velocity + bias[..., v],
        )

    def read_back(self, position: Floats, velocity: Floats) -> tuple[Floats, Floats]:
        """(worlds, joints) true states behind measured ones."""
        if self.are_true:
            return position, velocity
        (scale, bias), q, v = self._fields, self._position, self._velocity
        return (
            (position - bias[:, q]) / scale[:, q],
            (velocity - bias[:, v]) / scale[:, v],
        )

    def understand(self, command: Floats) -> Floats:
        """(worlds, …, inputs) with position goals in true coordinates."""
        if self.are_true or not self.inputs:
            return command
        scale, bias = self._fields
        understood = np.array(command)
        for column, place in self.inputs:
            shape = (-1, *(1,) * (command.ndim - 2))
            shifted = command[..., column] - bias[:, place].reshape(shape)
            understood[..., column] = shifted / scale[:, place].reshape(shape)
        return understood
