"""Runs a policy with onnxruntime: one thread, arrays bound once."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadFile
from realworthy.policies.onnx_file import Port
from realworthy.policies.runner import Floats32, Ports, Runner

_WARM_UP = 50
"""Runs after which onnxruntime's memory is where it stays."""


class OnnxRunner(Runner):
    """One row at a time, below twenty microseconds for three layers of 256."""

    def __init__(self, path: Path, ports: Ports) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(
                path.read_bytes(), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime has a class of its own for each
            said = str(error).splitlines()[0]
            raise BadFile(path, f"onnxruntime refuses it: {said}") from None
        self._binding = self._session.io_binding()
        self._observation = self._bind(self._binding.bind_input, ports.observation)
        self._action = self._bind(self._binding.bind_output, ports.action)
        self._states = [
            (
                self._bind(self._binding.bind_input, before),
                self._bind(self._binding.bind_output, after),
            )
            for before, after in ports.states
        ]
        try:
            for _ in range(_WARM_UP):
                self.run(self._observation)
        except Exception as error:
            said = str(error).splitlines()[0]
            raise BadFile(path, f"its graph does not run: {said}") from None
        self.reset()

    def run(self, observations: Floats32) -> Floats32:
        self._observation[:] = observations
        self._session.run_with_iobinding(self._binding)
        for before, after in self._states:
            before[:] = after
        return self._action

    def reset(self, worlds: NDArray[np.bool_] | None = None) -> None:
        if worlds is None or worlds.any():
            for before, _ in self._states:
                before[:] = 0

    def _bind(self, bind: Callable[..., None], port: Port) -> Floats32:
        """An array that onnxruntime reads from, or writes into, without a copy."""
        shape = port.size(1, axis=len(port.shape) - 2)  # rows, or rows of each layer
        array = np.zeros(shape, np.float32)
        bind(port.name, "cpu", 0, np.float32, shape, array.ctypes.data)
        return array
