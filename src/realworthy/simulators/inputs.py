"""Which signals of a recording drive a twin, and what was assumed for it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadRecording
from realworthy.recordings import Recording
from realworthy.twins import BoundTwin
from realworthy.twins.commands import CommandLine, describe_commands

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Inputs:
    """(rows, inputs) values for a twin's command, and where each column came from."""

    values: Floats
    sources: dict[str, str]
    """Command of the twin → signal of the recording, or why it is constant."""
    constant: tuple[str, ...]
    """Commands that the recording does not have; they rest at the home pose."""


def choose_inputs(bound: BoundTwin, recording: Recording) -> Inputs:
    """Recorded commands where their kind fits, else measured torque or voltage."""
    rest = bound.compiled.own["own.initial_ctrl"]
    columns, sources, constant = [], {}, []
    for line, still in zip(describe_commands(bound), rest, strict=True):
        values, source = _find(line, recording)
        if values is None:
            constant.append(line.signal)
            values = np.full(len(recording.time), still)
        columns.append(values)
        sources[line.signal] = source
    if len(constant) == len(columns):
        kinds = sorted({line.kind for line in describe_commands(bound)})
        raise BadRecording(
            f"{recording.owner} has nothing that could drive twin "
            f"'{bound.twin.name}', which takes {' and '.join(kinds)} commands.",
            hint="Record <joint>.command as sent (and say command_kind in the sidecar), "
            "or for a torque-driven twin <joint>.torque.",
        )
    return Inputs(np.stack(columns, axis=1), sources, tuple(constant))


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
    return None, "not recorded"
