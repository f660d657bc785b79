"""What runs the graph of a policy: rows of observations in, rows of actions out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.policies.onnx_file import Graph, Port

Floats32 = NDArray[np.float32]
STATE_NAMES = {"h_in": "h_out", "c_in": "c_out"}
"""Inputs that hold what a recurrent network remembers → outputs they come from."""


class Runner(ABC):
    """Runs a graph for one row or for several worlds; remembers recurrent state."""

    @abstractmethod
    def run(self, observations: Floats32) -> Floats32:
        """(worlds, actions) of (worlds, width); read it before the next call."""

    @abstractmethod
    def reset(self, worlds: NDArray[np.bool_] | None = None) -> None:
        """Forgets what was seen: everywhere, or where `worlds` (worlds,) is true."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Which input and output of a graph is what."""

    observation: Port
    action: Port
    states: tuple[tuple[Port, Port], ...]
    """What goes in and comes out, each (layers, 1, hidden)."""


def sort_ports(graph: Graph) -> Ports:
    """Ports of a graph; raises `ValueError` with what is wrong in words.

    The observation is the input that is no state, the action the output that is none.
    """
    inputs = {port.name: port for port in graph.inputs}
    outputs = {port.name: port for port in graph.outputs}
    states = []
    for name in inputs.keys() & STATE_NAMES.keys():
        if STATE_NAMES[name] not in outputs:
            raise ValueError(
                f"it has an input '{name}' and no output '{STATE_NAMES[name]}'"
            )
        states.append((inputs.pop(name), outputs.pop(STATE_NAMES[name])))
    for what, found in (("input", inputs), ("output", outputs)):
        if len(found) != 1:
            names = ", ".join(map(repr, found)) or "none"
            raise ValueError(
                f"it should have one {what} beside {', '.join(_states(what))}, and has "
                + names
            )
    for before, after in states:
        if before.shape != after.shape or None in before.shape[::2]:
            raise ValueError(
                f"'{before.name}' is {_say(before)} and '{after.name}' is {_say(after)}"
            )
    (observation,), (action,) = inputs.values(), outputs.values()
    for port in (observation, action):
        if len(port.shape) != 2 or port.shape[0] not in (None, 1):
            raise ValueError(f"'{port.name}' is {_say(port)}, not (1, width)")
        if port.shape[1] is None:
            raise ValueError(
                f"the width of '{port.name}' is left open (a dynamic shape)"
            )
    return Ports(observation, action, tuple(sorted(states, key=lambda s: s[0].name)))


def _states(what: str) -> tuple[str, ...]:
    return tuple(STATE_NAMES if what == "input" else STATE_NAMES.values())


def _say(port: Port) -> str:
    return "(" + ", ".join("?" if n is None else str(n) for n in port.shape) + ")"
