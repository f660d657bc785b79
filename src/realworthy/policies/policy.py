"""A policy as it is run: loaded from `.onnx`, held to its contract."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadFile, RealworthyError
from realworthy.policies.contract import Contract
from realworthy.policies.metadata import (
    KEY,
    name_sidecar,
    read_metadata,
    read_sidecar,
)
from realworthy.policies.numpy_runner import NumpyRunner
from realworthy.policies.onnx_file import Graph, Port, read_graph
from realworthy.policies.runner import Floats32, Ports, Runner, sort_ports

Engine: TypeAlias = Literal["onnxruntime", "numpy"]
InferContract: TypeAlias = Callable[[Path, Graph], Contract]
"""Makes a contract for a foreign policy, from what its file tells and asking."""
TOLERANCE = 1e-5
"""By which actions may differ from those at export, of 1 or of the largest action."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Policy:
    """Observations in, actions out; what lies around them is in the contract."""

    path: Path
    contract: Contract
    engine: Engine
    worlds: int
    recurrent: bool
    _runner: Runner = field(repr=False)

    def act(self, observation: NDArray[np.floating]) -> Floats32:
        """(actions,) of one (width,) raw observation, or (worlds, …) of many.

        Fresh numbers, neither clipped nor smoothed, which is `contract.action`'s. Not
        checked for NaN: a guard stands behind every policy.
        """
        width = self.contract.width
        single = observation.ndim == 1
        expected = (width,) if single else (self.worlds, width)
        if observation.shape != expected or (single and self.worlds != 1):
            raise RealworthyError(
                f"The policy was given an observation of shape {observation.shape}; it"
                f" takes ({width},), or ({self.worlds}, {width}) for all worlds.",
                hint="load_policy(path, worlds=…) runs it for many worlds at once.",
            )
        rows = observation.reshape(self.worlds, width).astype(np.float32, copy=False)
        action = self._runner.run(rows).copy()
        return action[0] if single else action

    def reset(self, worlds: NDArray[np.bool_] | None = None) -> None:
        """Forgets what a recurrent policy saw: all, or where `worlds` is true."""
        self._runner.reset(worlds)


def load_policy(
    path: Path | str,
    *,
    engine: Engine | None = None,
    worlds: int = 1,
    infer: InferContract | None = None,
) -> Policy:
    """A policy with its contract, which its graph and its own examples agree with.

    `engine` is onnxruntime where it is installed, else numpy, which also runs many
    `worlds` at once. A file without our metadata needs `<name>.contract.yaml` beside
    it; failing that `infer` is asked, where it is given.
    """
    path = Path(path)
    graph = read_graph(path)
    contract = _find_contract(path, graph, infer)
    try:
        ports = sort_ports(graph)
    except ValueError as error:
        raise BadFile(path, f"{error}.", hint=_SHAPE_HINT) from None
    _check_widths(path, contract, ports)
    engine = engine or _choose_engine(worlds)
    policy = Policy(
        path=path,
        contract=contract,
        engine=engine,
        worlds=worlds,
        recurrent=bool(ports.states),
        _runner=_build_runner(path, graph, ports, engine, worlds),
    )
    _check_answers(policy)
    return policy


def load_contract(path: Path | str, *, infer: InferContract | None = None) -> Contract:
    """The contract of a policy alone; its graph is not run."""
    path = Path(path)
    return _find_contract(path, read_graph(path), infer)


_SHAPE_HINT = (
    "A policy takes one raw observation (1, width) and gives one action (1, width);"
    " with memory also h_in, h_out and, for an LSTM, c_in, c_out (layers, 1, hidden)."
)


def _find_contract(path: Path, graph: Graph, infer: InferContract | None) -> Contract:
    if KEY in graph.metadata:
        return read_metadata(path, graph.metadata)
    sidecar = name_sidecar(path)
    if sidecar.exists():
        return read_sidecar(sidecar)
    if infer is not None:
        return infer(path, graph)
    inputs, outputs = (_say(ports) for ports in (graph.inputs, graph.outputs))
    raise BadFile(
        path,
        "it says neither which signals it sees nor what its actions mean: there is no"
        f" metadata '{KEY}' in it and no {sidecar.name} beside it. It takes {inputs}"
        f" and gives {outputs}.",
        hint=f"Write {sidecar.name}: docs/policies.md has an example with every key.",
    )


def _say(ports: tuple[Port, ...]) -> str:
    def shape(port: Port) -> str:
        return ", ".join("?" if n is None else str(n) for n in port.shape)

    return ", ".join(f"{port.name} ({shape(port)})" for port in ports) or "nothing"


def _check_widths(path: Path, contract: Contract, ports: Ports) -> None:
    terms = " + ".join(
        f"{term.name} {term.width}" + (f"·{term.history}" if term.history > 1 else "")
        for term in contract.terms
    )
    for what, port, width, why in (
        ("observation", ports.observation, contract.width, terms),
        ("action", ports.action, contract.action.width, "one per command"),
    ):
        if port.shape[1] != width:
            raise BadFile(
                path,
                f"its graph has {port.shape[1]} numbers in the {what} '{port.name}';"
                f" its contract has {width} ({why}).",
                hint="Contract and graph do not belong together.",
            )


def _choose_engine(worlds: int) -> Engine:
    if worlds > 1:
        return "numpy"
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return "numpy"
    return "onnxruntime"


def _build_runner(
    path: Path, graph: Graph, ports: Ports, engine: Engine, worlds: int
) -> Runner:
    if engine == "numpy":
        try:
            return NumpyRunner(graph, ports, worlds=worlds)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadFile(
                path, f"{error}.", hint="Try: pip install onnxruntime, which runs it."
            ) from None
    if worlds != 1:
        raise RealworthyError(
            f"onnxruntime runs one world, not {worlds}.",
            hint="load_policy(…, engine='numpy') runs many.",
        )
    from realworthy.policies.onnx_runner import OnnxRunner

    return OnnxRunner(path, ports)


def _check_answers(policy: Policy) -> None:
    """Raises where it does not answer as it did at export, or not with numbers."""
    parity, width = policy.contract.parity, policy.contract.width
    observations = np.array(parity.observations if parity else np.zeros((2, width)))
    policy.reset()
    try:
        found = np.array(
            [policy.act(np.tile(row, (policy.worlds, 1)))[0] for row in observations]
        )
    except Exception as error:  # shapes within a graph are found out by running it
        said = str(error).splitlines()[0]
        raise BadFile(policy.path, f"its graph does not run: {said}") from None
    policy.reset()
    if not np.isfinite(found).all():
        raise BadFile(policy.path, "its actions are not numbers (NaN or infinite).")
    if parity is None:
        return
    wanted = np.array(parity.actions)
    worst = np.abs(found - wanted).max(initial=0.0)
    allowed = TOLERANCE * max(1.0, np.abs(wanted).max(initial=0.0))
    if worst > allowed:
        raise BadFile(
            policy.path,
            f"its actions differ by up to {worst:.2g} from those at export, for the"
            f" same {len(wanted)} observations.",
            hint="The weights or the contract were changed since. Export it again.",
        )
