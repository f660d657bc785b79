# warp ships no types for its compiled parts: all of it is Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
