"""Runs a graph in a process that can be ended, before it is run in this one.

For graphs with operations whose cost only their own library knows: what they ask for
may be without end, and no library gives that up half way.
"""

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from realworthy.artefacts import BYTES
from realworthy.artefacts.memory import limited_memory
from realworthy.errors import BadFile
from realworthy.policies.runner import Wiring

_PATIENCE = 10.0
"""[s] for a policy to be opened and run 50 times. The slowest of ours takes 0.4 s on
one core (2026-11-18); it will have some ten milliseconds for each action."""


_PROGRAM = """
import sys
from pathlib import Path
from realworthy.policies.rehearsal import perform
sys.exit(perform(Path(sys.argv[1]), sys.stdin.buffer.read()))
"""


def rehearse(path: Path, wiring: Wiring) -> None:
    """Raises where onnxruntime does not open and run a policy in time and memory."""
    command = [sys.executable, "-c", _PROGRAM, os.path.abspath(path)]
    try:
        done = subprocess.run(
            command,
            input=msgspec.json.encode(wiring),
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        problem = f"its graph does not run: it was not done after {_PATIENCE:g} s."
        raise BadFile(path, problem) from None
    if done.returncode == 0:
        return
    answer = done.stdout.decode(errors="replace").strip()
    if not answer:
        answer = f"it ends the process, or needs more than {BYTES.value:,} bytes"
    answer = answer.removeprefix("its graph does not run: ")
    raise BadFile(path, f"its graph does not run: {answer}")


def perform(path: Path, wiring: bytes) -> int:
    """What the other process does; its exit status, with a message on its output.

    `wiring` is JSON.
    """
    import onnxruntime  # noqa: F401  before memory is counted

    from realworthy.policies.onnx_file import read_graph
    from realworthy.policies.onnx_runner import OnnxRunner
    from realworthy.policies.runner import sort_ports

    try:
        ports = sort_ports(read_graph(path), msgspec.json.decode(wiring, type=Wiring))
        with limited_memory():
            OnnxRunner(path, ports)
    except BadFile as error:
        print(error.problem.removeprefix(f"{path}: "))
        return 1
    return 0
