# Its own stubs are wrong about the arrays that it takes: all of it is Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
