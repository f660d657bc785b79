"""Fixed numbers as arrays, made once for each library, dtype and device.

A tensor made of a tuple in every step would make a GPU wait for the host.
"""

from functools import lru_cache
from types import ModuleType

import array_api_compat as api

from realworthy.actuators.arrays import Array


def remember(values: tuple[float, ...], like: Array) -> Array:
    """`values` in the library, dtype and device of `like`; never write into it."""
    return _make(values, api.array_namespace(like), like.dtype, api.device(like))


@lru_cache(maxsize=512)
def _make(
    values: tuple[float, ...], library: ModuleType, dtype: object, device: object
) -> Array:
    return library.asarray(values, dtype=dtype, device=device)
