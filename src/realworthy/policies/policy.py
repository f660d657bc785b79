"""A policy as it is run: loaded from `.onnx`, held to its contract."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import check_bytes, say
from realworthy.errors import BadFile, RealworthyError
from realworthy.policies.contract import Contract
from realworthy.policies.cost import compute_cost, compute_declared
from realworthy.policies.metadata import (
    KEY,
    name_sidecar,
    read_metadata,
    read_sidecar,
)
from realworthy.policies.numpy_runner import NumpyRunner, find_needed
from realworthy.policies.onnx_file import Graph, Port, read_graph
from realworthy.policies.rehearsal import rehearse
from realworthy.policies.runner import Floats32, Ports, Runner, sort_ports

Engine: TypeAlias = Literal["onnxruntime", "numpy"]
InferContract: TypeAlias = Callable[[Path, Graph], Contract]
"""Makes a contract for a foreign policy, from what its file tells and asking."""
_LOOPS = frozenset({"Loop", "Scan", "SequenceMap"})
"""Operations that repeat others as often as a number in the file says."""
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

    def wrapped(self, wrap: Callable[[Runner], Runner]) -> "Policy":
        """The same policy with something between it and its graph.

        What the graph remembers is shared: play one of the two at a time.
        """
        return replace(self, _runner=wrap(self._runner))

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

    `engine` is onnxruntime where it is installed, else numpy. Many `worlds` are run by
    numpy, or by onnxruntime where numpy lacks an operation. A file without our metadata
    needs `<name>.contract.yaml` beside it; failing that `infer` is asked, if given.
    """
    path = Path(path)
    graph = read_graph(path)
    contract = _find_contract(path, graph, infer)
    try:
        ports = sort_ports(graph, contract.action.width)
    except ValueError as error:
        raise BadFile(path, f"{error}.", hint=_SHAPE_HINT) from None
    _check_widths(path, contract, ports)
    ways = _list_ways(engine, worlds)
    _check_cost(path, graph, ports, ways, contract.action.width)
    problem: BadFile | None = None
    for way in ways:
        try:
            policy = Policy(
                path=path,
                contract=contract,
                engine=way.engine,
                worlds=worlds,
                recurrent=bool(ports.states),
                _runner=_build_runner(path, graph, ports, way, worlds),
            )
            _check_answers(policy)
        except BadFile as error:
            problem = error
        else:
            return policy
    assert problem is not None
    raise problem


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


@dataclass(frozen=True, slots=True)
class _Way:
    """How a graph may be run."""

    engine: Engine
    together: bool = True
    """All worlds in one call, where the graph says that it can."""


def _list_ways(engine: Engine | None, worlds: int) -> tuple[_Way, ...]:
    """The first that works is taken."""
    if engine == "numpy" or (engine is None and not _has_onnxruntime()):
        return (_Way("numpy"),)
    if worlds == 1:
        return (_Way("onnxruntime"),)
    ways = (_Way("onnxruntime"), _Way("onnxruntime", together=False))
    return ways if engine else (_Way("numpy"), *ways)


def _check_cost(
    path: Path, graph: Graph, ports: Ports, ways: tuple[_Way, ...], actions: int
) -> None:
    """Raises where running the graph would not end, or take too much memory."""
    kinds = graph.inner | {node.kind for node in graph.nodes}
    if loops := sorted(kinds & _LOOPS):
        raise BadFile(
            path,
            f"its graph has a loop ('{loops[0]}'), which may never end.",
            hint="Export the policy for one step, with memory as h_in and h_out.",
        )
    check_bytes(path, compute_declared(ports))
    if all(way.engine == "numpy" for way in ways):
        return  # which knows what it can run, and is asked then
    if (cost := compute_cost(graph, graph.nodes)) is None:
        rehearse(path, actions)
    else:
        check_bytes(path, cost)


def _has_onnxruntime() -> bool:
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return False
    return True


def _build_runner(
    path: Path, graph: Graph, ports: Ports, way: _Way, worlds: int
) -> Runner:
    if way.engine == "numpy":
        try:
            runner = NumpyRunner(graph, ports, worlds=worlds)
            if (cost := compute_cost(graph, find_needed(graph, ports))) is None:
                raise ValueError("what its graph costs cannot be told from its shapes")
            check_bytes(path, cost)
            return runner
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise BadFile(
                path,
                f"{say(error)}.",
                hint="Try: pip install onnxruntime, which runs it.",
            ) from None
    from realworthy.policies.onnx_runner import OnnxRunner

    return OnnxRunner(path, ports, worlds=worlds, together=way.together)


def _check_answers(policy: Policy) -> None:
    """Raises where it does not answer as it did at export, or not with numbers."""
    parity, width = policy.contract.parity, policy.contract.width
    observations = np.array(parity.observations if parity else np.zeros((2, width)))
    try:
        found = _answer(policy, observations)
        apart = _measure_dependence(policy)
    except Exception as error:  # shapes within a graph are found out by running it
        raise BadFile(policy.path, f"its graph does not run: {say(error)}") from None
    if found.shape[1:] != (policy.worlds, policy.contract.action.width):
        raise BadFile(
            policy.path,
            f"its graph gives actions of shape {found.shape[1:]}; its contract has"
            f" {policy.contract.action.width}.",
        )
    if not np.isfinite(found).all():
        raise BadFile(policy.path, "its actions are not numbers (NaN or infinite).")
    if apart > _allow(found):
        raise BadFile(
            policy.path,
            f"its actions in one world change by {apart:.2g} with what others see.",
            hint="Export it for one row, without batch statistics (model.eval()).",
        )
    if parity is None:
        return
    worst = measure_parity(policy)
    if worst > _allow(np.array(parity.actions)):
        raise BadFile(
            policy.path,
            f"its actions differ by up to {worst:.2g} from those at export, for the"
            f" same {len(parity.actions)} observations.",
            hint="The weights or the contract were changed since. Export it again.",
        )


def measure_parity(policy: Policy) -> float:
    """Largest |action − action at export| over the policy's examples; 0 without any."""
    parity = policy.contract.parity
    if parity is None:
        return 0.0
    found = _answer(policy, np.array(parity.observations))
    return float(np.abs(found - np.array(parity.actions)[:, None]).max(initial=0.0))


def is_same(policy: Policy) -> bool:
    """Whether it answers its own examples as it did at export, within `TOLERANCE`."""
    parity = policy.contract.parity
    return parity is None or measure_parity(policy) <= _allow(np.array(parity.actions))


def _answer(policy: Policy, observations: NDArray[np.floating]) -> Floats32:
    """(steps, worlds, actions) from a fresh state, every world seeing the same."""
    policy.reset()
    seen = [np.tile(row, (policy.worlds, 1)) for row in observations]
    found = [policy.act(rows) for rows in seen]
    policy.reset()
    return np.array(found)


def _measure_dependence(policy: Policy) -> float:
    """By how much the first world's action changes with what the others see."""
    if policy.worlds == 1:
        return 0.0
    shape = (policy.worlds, policy.contract.width)
    rows = np.random.default_rng(0).normal(size=shape)
    policy.reset()
    among = policy.act(rows)[0]
    return float(np.abs(among - _answer(policy, rows[:1])[0, 0]).max(initial=0.0))


def _allow(actions: NDArray[np.floating]) -> float:
    return TOLERANCE * float(max(1.0, np.abs(actions).max(initial=0.0)))
