"""Runs a policy with onnxruntime: one thread, arrays bound once."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import say
from realworthy.errors import BadFile
from realworthy.policies.onnx_file import Port
from realworthy.policies.runner import Floats32, Ports, Runner

_WARM_UP = 50
"""Runs after which onnxruntime's memory is where it stays."""


class OnnxRunner(Runner):
    """Below twenty microseconds for a row of three layers of 256.

    Many worlds are one call where the graph leaves its first axis open, else one call
    for each world; `together` False: always the latter.
    """

    def __init__(
        self, path: Path, ports: Ports, *, worlds: int = 1, together: bool = True
    ) -> None:
        self._session = _open_session(path)
        self._batch = worlds if together and ports.is_open else 1
        self._worlds = worlds
        self._binding = self._session.io_binding()
        try:
            self._vectors = [
                (self._bind(self._binding.bind_input, port, axis=0), part)
                for port, part in zip(ports.vectors, ports.parts, strict=True)
            ]
            self._others = [
                self._bind(self._binding.bind_input, port, axis=0)
                for port in ports.others
            ]
            is_plain = len(self._vectors) == 1 and not self._others
            self._only = self._vectors[0][0] if is_plain else None
            """The one input of most policies."""
            self._action = self._bind(self._binding.bind_output, ports.action, axis=0)
            self._further = {
                port.name: self._bind(self._binding.bind_output, port, axis=0)
                for port in ports.outputs
            }
            self._states = [
                (
                    self._bind(self._binding.bind_input, before, axis=-2),
                    self._bind(self._binding.bind_output, after, axis=-2),
                )
                for before, after in ports.states
            ]
            self._memory = [
                np.zeros(before.size(worlds, axis=-2), before.dtype)
                for before, _ in ports.states
            ]
            """What every world remembers, where worlds are run one after another."""
            self._actions = np.zeros((worlds, self._action.shape[1]), np.float32)
            self._outputs = {
                name: np.zeros((worlds, *array.shape[1:]), np.float32)
                for name, array in self._further.items()
            }
            for _ in range(_WARM_UP):
                self._run_bound()
        except Exception as error:  # onnxruntime has a class of its own for each
            raise BadFile(path, f"its graph does not run: {say(error)}") from None
        self.reset()

    def run(self, observations: Floats32, *others: Floats32) -> Floats32:
        if self._batch == self._worlds:
            if self._only is None:
                self._put(observations, others)
            else:
                self._only[:] = observations
            return self._run_bound()
        for world in range(self._worlds):
            one = slice(world, world + 1)
            for (before, _), memory in zip(self._states, self._memory, strict=True):
                before[:] = memory[..., one, :]
            self._put(observations[one], [other[one] for other in others])
            self._actions[one] = self._run_bound()
            for (_, after), memory in zip(self._states, self._memory, strict=True):
                memory[..., one, :] = after
            for name, array in self._further.items():
                self._outputs[name][one] = array
        return self._actions

    def reset(self, worlds: NDArray[np.bool_] | None = None) -> None:
        inside = [before for before, _ in self._states]
        for held in self._memory if self._batch != self._worlds else inside:
            held[..., slice(None) if worlds is None else worlds, :] = 0

    @property
    def outputs(self) -> dict[str, Floats32]:
        last = self._further if self._batch == self._worlds else self._outputs
        return {name: array.astype(np.float32) for name, array in last.items()}

    def _put(self, observations: Floats32, others: Sequence[Floats32]) -> None:
        for array, part in self._vectors:
            array[:] = observations[:, part]
        for array, other in zip(self._others, others, strict=True):
            array[:] = other

    def _run_bound(self) -> Floats32:
        self._session.run_with_iobinding(self._binding)
        for before, after in self._states:
            before[:] = after
        return self._action.astype(np.float32, copy=False)

    def _bind(
        self, bind: Callable[..., None], port: Port, *, axis: int
    ) -> NDArray[np.floating]:
        """An array that onnxruntime reads from, or writes into, without a copy.

        Worlds lie along `axis`.
        """
        shape = port.size(self._batch, axis=axis)
        array = np.zeros(shape, port.dtype)
        bind(port.name, "cpu", 0, port.dtype, shape, array.ctypes.data)
        return array


def _open_session(path: Path):
    """A session on one thread; weights beside the file are found by onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has a class of its own for each
        raise BadFile(path, f"onnxruntime refuses it: {say(error)}") from None
