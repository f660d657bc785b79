"""What runs the graph of a policy: rows of observations in, rows of actions out."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realworthy.policies.onnx_file import Graph, Port

Floats32 = NDArray[np.float32]
STATE_NAMES = {"h_in": "h_out", "c_in": "c_out"}
"""Inputs that hold what a recurrent network remembers → outputs they come from."""
ACTION_NAMES = ("action", "actions")
"""What the action is called among several outputs, such as values of a critic."""


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

    @property
    def is_open(self) -> bool:
        """Whether the graph says that it takes many rows at once."""
        rows = [self.observation.shape[0], self.action.shape[0]]
        return all(
            n is None for n in rows + [p.shape[1] for s in self.states for p in s]
        )


def sort_ports(graph: Graph, action_width: int | None = None) -> Ports:
    """Ports of a graph; raises `ValueError` with what is wrong in words.

    The observation is the input that is no state, the action the output that is none;
    of several the one called `action` or `actions`, or the only one (1, action_width).
    An action whose width is left open is as wide as it should be; running it shows.
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
    _check_single("input", inputs.values())
    outputs = _choose_action(outputs, action_width)
    _check_single("output", outputs.values())
    for before, after in states:
        is_state = len(before.shape) == 3 and None not in before.shape[::2]
        if before.shape != after.shape or not is_state:
            raise ValueError(
                f"'{before.name}' is {_say(before)} and '{after.name}' is {_say(after)}"
            )
    for port in (*(p for pair in states for p in pair), *inputs.values()):
        if any(n is not None and n < 1 for n in port.shape):
            raise ValueError(f"'{port.name}' is {_say(port)}")
    (observation,), (action,) = inputs.values(), outputs.values()
    if len(action.shape) == 2 and action.shape[1] is None and action_width is not None:
        action = replace(action, shape=(action.shape[0], action_width))
    for port in (observation, action):
        if len(port.shape) != 2 or port.shape[0] not in (None, 1) or port.shape[1] == 0:
            raise ValueError(f"'{port.name}' is {_say(port)}, not (1, width)")
        if port.shape[1] is None:
            raise ValueError(
                f"the width of '{port.name}' is left open (a dynamic shape)"
            )
        if port.dtype not in (np.float32, np.float64):
            kind = "another kind" if port.dtype is None else port.dtype.__name__
            raise ValueError(f"'{port.name}' holds numbers of {kind}, not floats")
    return Ports(observation, action, tuple(sorted(states, key=lambda s: s[0].name)))


def _choose_action(outputs: dict[str, Port], width: int | None) -> dict[str, Port]:
    """Of several outputs those that may be the action."""
    if len(outputs) < 2:
        return outputs
    if named := {name: outputs[name] for name in ACTION_NAMES if name in outputs}:
        return named
    if width is None:
        return outputs
    wide = {
        name: port
        for name, port in outputs.items()
        if len(port.shape) == 2 and port.shape[1] in (width, None)
    }
    return wide or outputs


def _check_single(what: str, ports: Collection[Port]) -> None:
    if len(ports) != 1:
        found = ", ".join(f"'{port.name}' {_say(port)}" for port in ports) or "none"
        named = " that is called action" if what == "output" and ports else ""
        raise ValueError(
            f"it should have one {what}{named} beside {', '.join(_states(what))}, and"
            f" has {found}"
        )


def _states(what: str) -> tuple[str, ...]:
    return tuple(STATE_NAMES if what == "input" else STATE_NAMES.values())


def _say(port: Port) -> str:
    return "(" + ", ".join("?" if n is None else str(n) for n in port.shape) + ")"
