"""A policy as it is run: loaded from `.onnx`, held to its contract."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, cast

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
from realworthy.policies.parity import check_answers
from realworthy.policies.rehearsal import rehearse
from realworthy.policies.runner import Floats32, Ports, Runner, sort_ports

Engine: TypeAlias = Literal["onnxruntime", "numpy"]
PLANNERS = {".planner.yaml": "realworthy.adaptation.planner"}
"""End of a file's name → the module that loads it (`PlannerModule`). What plans has the
physics of a twin in the place of a graph, which a robot's own computer may lack."""
InferContract: TypeAlias = Callable[[Path, Graph], Contract]
"""Makes a contract for a foreign policy, from what its file tells and asking."""
_LOOPS = frozenset({"Loop", "Scan", "SequenceMap"})
"""Operations that repeat others as often as a number in the file says."""


class PlannerModule(Protocol):
    """Loads files that hold no graph."""

    def load_planner(self, path: Path, worlds: int) -> "Policy": ...

    def load_planner_contract(self, path: Path) -> Contract: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Policy:
    """Observations in, actions out; what lies around them is in the contract."""

    path: Path
    contract: Contract
    engine: Engine
    worlds: int
    recurrent: bool
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Name → shape of one world's; the pieces of the observation come first."""
    _others: tuple[str, ...] = field(default=(), repr=False)
    """Of the inputs, those that are no pieces of the observation."""
    _runner: Runner = field(repr=False)

    def act(
        self, observation: NDArray[np.floating] | Mapping[str, NDArray[np.floating]]
    ) -> Floats32:
        """(actions,) of one (width,) raw observation, or (worlds, …) of many.

        A policy that sees more than one vector takes all that it sees by the names of
        `inputs`, each with or without an axis of worlds in front. Fresh numbers,
        neither clipped nor smoothed, which is `contract.action`'s. Not checked for NaN:
        a guard stands behind every policy.
        """
        if self._others or not isinstance(observation, np.ndarray):
            return self._act_by_name(observation)
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

    def _act_by_name(
        self, observation: NDArray[np.floating] | Mapping[str, NDArray[np.floating]]
    ) -> Floats32:
        by_name = observation if isinstance(observation, Mapping) else {}
        if {*by_name} != {*self.inputs}:
            wanted = f"inputs {', '.join(by_name)}" if by_name else "one array"
            raise RealworthyError(
                f"The policy was given {wanted}; it takes {_say_shapes(self.inputs)}.",
                hint="policy.act({name: array, …}) with these names.",
            )
        first, *_ = self.inputs
        single = by_name[first].ndim == len(self.inputs[first])
        rows: dict[str, Floats32] = {}
        for name, shape in self.inputs.items():
            array = by_name[name]
            expected = shape if single else (self.worlds, *shape)
            if array.shape != expected or (single and self.worlds != 1):
                raise RealworthyError(
                    f"The policy was given '{name}' of shape {array.shape}; it takes"
                    f" {_say_shapes(self.inputs)}, or {self.worlds} of each.",
                    hint="load_policy(path, worlds=…) runs it for many worlds at once.",
                )
            array = array.reshape(self.worlds, *shape)
            rows[name] = array.astype(np.float32, copy=False)
        others = [rows.pop(name) for name in self._others]
        vectors = [np.zeros((self.worlds, 0), np.float32), *rows.values()]
        action = self._runner.run(np.concatenate(vectors, axis=1), *others).copy()
        return action[0] if single else action

    def split(
        self, observation: NDArray[np.floating]
    ) -> dict[str, NDArray[np.floating]]:
        """(…, width) of all terms, by input."""
        names = [name for name in self.inputs if name not in self._others]
        ends = list(accumulate(self.inputs[name][0] for name in names))
        parts = np.split(observation, ends[:-1], axis=-1) if names else []
        return dict(zip(names, parts, strict=True))

    @property
    def outputs(self) -> dict[str, Floats32]:
        """What it gave beside the last action: `contract.outputs`, (worlds, …) each."""
        return self._runner.outputs

    def wrapped(self, wrap: Callable[[Runner], Runner]) -> "Policy":
        """The same policy with something between it and its graph.

        What the graph remembers is shared: play one of the two at a time.
        """
        return replace(self, _runner=wrap(self._runner))

    def reset(self, worlds: NDArray[np.bool_] | None = None) -> None:
        """Forgets what a recurrent policy saw: all, or where `worlds` is true."""
        self._runner.reset(worlds)


def load_policy(
    policy: Policy | Path | str,
    *,
    engine: Engine | None = None,
    worlds: int = 1,
    infer: InferContract | None = None,
) -> Policy:
    """A policy with its contract, which its graph and its own examples agree with.

    `engine` is onnxruntime where it is installed, else numpy. Many `worlds` are run by
    numpy, or by onnxruntime where numpy lacks an operation. A file without our metadata
    needs `<name>.contract.yaml` beside it; failing that `infer` is asked, if given.

    A policy that is loaded already is handed back where it runs so many worlds.
    """
    if isinstance(policy, Policy):
        if policy.worlds == worlds and engine in (None, policy.engine):
            return policy
        policy = policy.path
    path = Path(policy)
    if (planner := _find_planner(path)) is not None:
        return planner.load_planner(path, worlds)
    graph = read_graph(path)
    contract = _find_contract(path, graph, infer)
    try:
        ports = sort_ports(graph, contract.wiring)
    except ValueError as error:
        raise BadFile(path, f"{error}.", hint=_SHAPE_HINT) from None
    _check_widths(path, contract, ports)
    ways = _list_ways(engine, worlds)
    _check_cost(path, graph, ports, ways, contract)
    problem: BadFile | None = None
    for way in ways:
        try:
            policy = Policy(
                path=path,
                contract=contract,
                engine=way.engine,
                worlds=worlds,
                recurrent=bool(ports.states),
                inputs=_list_inputs(contract, ports),
                _others=tuple(contract.others),
                _runner=_build_runner(path, graph, ports, way, worlds),
            )
            check_answers(policy)
        except BadFile as error:
            problem = error
        else:
            return policy
    assert problem is not None
    raise problem


def load_contract(path: Path | str, *, infer: InferContract | None = None) -> Contract:
    """The contract of a policy alone; its graph is not run."""
    path = Path(path)
    if (planner := _find_planner(path)) is not None:
        return planner.load_planner_contract(path)
    return _find_contract(path, read_graph(path), infer)


def is_planner(path: Path) -> bool:
    """Whether a file is that of a planner, which holds no graph."""
    return any(path.name.endswith(end) for end in PLANNERS)


def _find_planner(path: Path) -> PlannerModule | None:
    """What loads a file of a planner; None: it is another file."""
    for end, name in PLANNERS.items():
        if path.name.endswith(end):
            try:
                return cast(PlannerModule, importlib.import_module(name))
            except ImportError as error:
                raise BadFile(
                    path,
                    f"a planner needs the physics of its twin: {say(error)}.",
                    hint="Try: pip install 'realworthy[train]'",
                ) from None
    return None


_SHAPE_HINT = (
    "A policy takes one raw observation (1, width) and gives one action (1, width);"
    " with memory also h_in, h_out and, for an LSTM, c_in, c_out (layers, 1, hidden)."
    " The contract's vectors, images, arrays, outputs and states name others."
)


def _list_inputs(contract: Contract, ports: Ports) -> dict[str, tuple[int, ...]]:
    return {port.name: (port.width,) for port in ports.vectors} | contract.others


def _say_shapes(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{k} ({', '.join(map(str, v))})" for k, v in shapes.items())


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
        "neither its observations nor the meaning of its actions is stated: there is"
        f" no metadata '{KEY}' in it and no {sidecar.name} beside it. It takes {inputs}"
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
    seen = ", ".join(port.name for port in ports.vectors)
    for what, name, found, width, why in (
        (
            "observation",
            seen,
            sum(p.width for p in ports.vectors),
            contract.width,
            terms,
        ),
        (
            "action",
            ports.action.name,
            ports.action.width,
            contract.action.width,
            "one per command",
        ),
    ):
        if found != width:
            raise BadFile(
                path,
                f"its graph has {found} numbers in the {what} '{name}';"
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
    path: Path, graph: Graph, ports: Ports, ways: tuple[_Way, ...], contract: Contract
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
        rehearse(path, contract.wiring)
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
                raise ValueError("the cost of its graph does not follow from shapes")
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
