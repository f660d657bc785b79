"""Numbers in the library, dtype and device of the arrays that a law is given."""

from typing import Any, TypeAlias

import array_api_compat as api
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = Any
"""A numpy array or a torch tensor."""

Floats = NDArray[np.float64]


def constant(values: object, like: Array) -> Array:
    """`values` in the library, dtype and device of `like`."""
    xp = api.array_namespace(like)
    return xp.asarray(values, dtype=like.dtype, device=api.device(like))
