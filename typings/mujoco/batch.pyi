# mujoco ships no types for its compiled parts: everything in it is Any to the checker.
from typing import Any

def __getattr__(name: str) -> Any: ...
