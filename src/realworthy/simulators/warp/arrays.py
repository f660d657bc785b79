"""Arrays of Warp as seen by PyTorch and numpy, without copies."""

from typing import Any, TypeAlias

import numpy as np
import warp as wp
from numpy.typing import ArrayLike, NDArray

from realworthy.simulators.simulator import Array

try:
    import torch
except ImportError:  # arrays are then numpy's on the CPU device, Warp's own on CUDA
    torch = None

HAS_TORCH = torch is not None
WarpArray: TypeAlias = Any
"""A `wp.array`, whose type has no static form."""


def share(array: WarpArray) -> Array:
    """The same memory as a torch tensor; without torch, as numpy or as it is."""
    if torch is not None:
        tensor = wp.to_torch(array)
        return tensor.flatten(-2) if _is_matrix(array) else tensor
    if array.device.is_cuda:
        return array
    values = array.numpy()
    return values.reshape(*values.shape[:-2], -1) if _is_matrix(array) else values


def alias(array: WarpArray, dtype: object, shape: tuple[int, ...]) -> WarpArray:
    """The same memory under another element type; keeps it alive."""
    other = wp.array(ptr=array.ptr, dtype=dtype, shape=shape, device=array.device)
    other._owner = array
    return other


def fill(
    array: WarpArray, values: ArrayLike | Array, ids: NDArray[np.intp] | None = None
) -> None:
    """Puts values into a (worlds, width) array.

    They are (width,) for all worlds, (worlds, width), or (n, width) for the n worlds
    `ids`. A tensor on the array's device goes there without waiting for it.
    """
    if torch is not None and isinstance(values, torch.Tensor):
        tensor = wp.to_torch(array)
        if ids is None or values.ndim < 2 or len(values) != len(ids):
            tensor.copy_(values)
        else:
            tensor[torch.as_tensor(ids, device=tensor.device)] = values.to(tensor)
        return
    rows = np.asarray(values, dtype=np.float32)
    if ids is not None and rows.ndim > 1 and len(rows) == len(ids):
        placed = np.zeros(array.shape, dtype=np.float32)
        placed[ids] = rows
        rows = placed
    array.assign(np.ascontiguousarray(np.broadcast_to(rows, array.shape)))


def is_mask_on(values: object, device: wp.Device) -> bool:
    """Whether values are a mask that lives on a CUDA device and can stay there."""
    if torch is None or not isinstance(values, torch.Tensor) or not device.is_cuda:
        return False
    there = values.device == torch.device(wp.device_to_torch(device))
    return there and values.dtype == torch.bool


class TorchStream:
    """The CUDA stream that PyTorch is using now, as Warp's."""

    def __init__(self, device: wp.Device) -> None:
        self._device = device
        self._streams: dict[int, wp.Stream] = {}

    def current(self) -> wp.Stream | None:
        """None on the CPU device and without torch: Warp's own."""
        if torch is None or not self._device.is_cuda:
            return None
        stream = torch.cuda.current_stream(wp.device_to_torch(self._device))
        if stream.cuda_stream not in self._streams:
            self._streams[stream.cuda_stream] = wp.stream_from_torch(stream)
        return self._streams[stream.cuda_stream]


def _is_matrix(array: WarpArray) -> bool:
    return len(getattr(array.dtype, "_shape_", ())) == 2
