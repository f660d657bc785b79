"""What runs the graph of a policy: rows of observations in, rows of actions out."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.policies.onnx_file import Graph, Port

Floats32 = NDArray[np.float32]
STATE_NAMES = {"h_in": "h_out", "c_in": "c_out"}
"""Inputs that hold what a recurrent network remembers → outputs they come from."""
ACTION_NAMES = ("action", "actions")
"""What the action is called among several outputs, such as values of a critic."""


class Wiring(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a contract says of the inputs and outputs of a graph, by their names."""

    action_width: int | None = None
    """None: as the graph has it."""
    vectors: dict[str, int] | None = None
    """Input → how many numbers of the observation it takes, in order; None: the one
    input that is nothing else takes all, whatever its name."""
    others: dict[str, tuple[int, ...]] = {}
    """Input that takes something else → shape of one world's."""
    outputs: dict[str, tuple[int, ...]] = {}
    """Beside the action → shape of one world's."""
    states: dict[str, str] = {}
    """Beside `STATE_NAMES`."""


class Runner(ABC):
    """Runs a graph for one row or for several worlds; remembers recurrent state."""

    @abstractmethod
    def run(self, observations: Floats32, *others: Floats32) -> Floats32:
        """(worlds, actions) of (worlds, width); read it before the next call.

        `others` (worlds, …) are inputs beside the observation, in the contract's order.
        """

    @abstractmethod
    def reset(self, worlds: NDArray[np.bool_] | None = None) -> None:
        """Forgets what was seen: everywhere, or where `worlds` (worlds,) is true."""

    @property
    def outputs(self) -> dict[str, Floats32]:
        """Outputs of the last run beside the action, (worlds, …) by name."""
        return {}


@dataclass(frozen=True, slots=True)
class Ports:
    """Which input and output of a graph is what."""

    vectors: tuple[Port, ...]
    """(1, width) each: pieces of the observation, in order."""
    action: Port
    states: tuple[tuple[Port, Port], ...]
    """What goes in and comes out, each (layers, 1, hidden) or (1, hidden)."""
    others: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    """Beside the action."""

    @property
    def observation(self) -> Port:
        """Of a policy that sees one vector."""
        (port,) = self.vectors
        return port

    @property
    def parts(self) -> tuple[slice, ...]:
        """Which columns of the observation each of `vectors` takes."""
        ends = accumulate((port.width for port in self.vectors), initial=0)
        return tuple(slice(*pair) for pair in pairwise(ends))

    @property
    def by_world(self) -> tuple[Port, ...]:
        """All whose first axis is that of worlds."""
        return (*self.vectors, *self.others, self.action, *self.outputs)

    @property
    def is_open(self) -> bool:
        """Whether the graph says that it takes many rows at once."""
        rows = [port.shape[0] for port in self.by_world]
        rows += [port.shape[-2] for pair in self.states for port in pair]
        return all(n is None for n in rows)


def sort_ports(graph: Graph, wiring: Wiring | None = None) -> Ports:
    """Ports of a graph; raises `ValueError` with what is wrong in words.

    Those that the contract names are what it says. Of the others the observation is the
    input that is no state, the action the output that is none; of several the one
    called `action` or `actions`, or the only one (1, action_width). An action whose
    width is left open is as wide as it should be; running it shows.
    """
    wiring = wiring or Wiring()
    inputs = {port.name: port for port in graph.inputs}
    outputs = {port.name: port for port in graph.outputs}
    named = {name: (width,) for name, width in (wiring.vectors or {}).items()}
    vectors = _take("input", inputs, named)
    others = _take("input", inputs, wiring.others)
    further = _take("output", outputs, wiring.outputs)
    states = []
    for name in wiring.states.keys() - inputs.keys():
        raise ValueError(f"it has no input '{name}', a state by its contract")
    every = {**STATE_NAMES, **wiring.states}
    for name in inputs.keys() & every.keys():
        if every[name] not in outputs:
            raise ValueError(f"it has an input '{name}' and no output '{every[name]}'")
        states.append((inputs.pop(name), outputs.pop(every[name])))
    if wiring.vectors is None:
        _check_single("input", inputs.values())
        vectors = tuple(inputs.values())
    elif inputs:
        raise ValueError(
            f"it has an input '{min(inputs)}', which its contract does not describe"
        )
    outputs = _choose_action(outputs, wiring.action_width)
    _check_single("output", outputs.values())
    for before, after in states:
        is_state = len(before.shape) in (2, 3) and None not in (
            *before.shape[:-2],
            before.shape[-1],
        )
        if before.shape != after.shape or not is_state:
            raise ValueError(
                f"'{before.name}' is {_say(before)} and '{after.name}' is {_say(after)}"
            )
    for port in (*(p for pair in states for p in pair), *vectors):
        if any(n is not None and n < 1 for n in port.shape):
            raise ValueError(f"'{port.name}' is {_say(port)}")
    (action,) = outputs.values()
    open_width = len(action.shape) == 2 and action.shape[1] is None
    if open_width and wiring.action_width is not None:
        action = replace(action, shape=(action.shape[0], wiring.action_width))
    for port in (*vectors, action):
        if len(port.shape) != 2 or port.shape[0] not in (None, 1) or port.shape[1] == 0:
            raise ValueError(f"'{port.name}' is {_say(port)}, not (1, width)")
        if port.shape[1] is None:
            raise ValueError(
                f"the width of '{port.name}' is left open (a dynamic shape)"
            )
    for port in (*vectors, *others, action, *further):
        if port.dtype not in (np.float32, np.float64):
            kind = "another kind" if port.dtype is None else port.dtype.__name__
            raise ValueError(f"'{port.name}' holds numbers of {kind}, not floats")
    states.sort(key=lambda pair: pair[0].name)
    return Ports(vectors, action, tuple(states), others, further)


def _take(
    what: str, ports: dict[str, Port], shapes: Mapping[str, tuple[int, ...]]
) -> tuple[Port, ...]:
    """Those that the contract names, taken out of `ports`."""
    taken = []
    for name, shape in shapes.items():
        if name not in ports:
            has = ", ".join(ports) or "none"
            raise ValueError(
                f"it has no {what} '{name}', which its contract names; it has {has}"
            )
        port = ports.pop(name)
        if not port.shape or port.shape[0] not in (1, None) or port.shape[1:] != shape:
            wanted = ", ".join(map(str, (1, *shape)))
            raise ValueError(
                f"'{name}' is {_say(port)}; by its contract it is ({wanted})"
            )
        taken.append(port)
    return tuple(taken)


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
