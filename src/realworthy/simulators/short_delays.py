"""Delays shorter than a time step, which MuJoCo makes a whole one.

MuJoCo reads a delayed command before it notes the newest, so that every delay above
zero and below a time step acts as a whole step: the response jumps at zero and is flat
from there. Here commands are mixed with those of the step before instead, which is what
linear interpolation does with longer delays.
"""

import contextlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from realworthy.simulators.mujoco_cpu import MujocoCpu

Floats = NDArray[np.float64]


@contextlib.contextmanager
def mixing(simulator: MujocoCpu) -> Iterator[Floats | None]:
    """(worlds, inputs) share of the command before, in place of short delays.

    These are zero meanwhile. None where no world has any.
    """
    model = simulator.bound.model
    delay = simulator.field("actuator_delay")
    has_history = model.actuator_history[:, 0] > 0
    is_short = (delay > 0) & (delay < model.opt.timestep) & has_history
    if not is_short.any():
        yield None
        return
    share = np.where(is_short, delay / model.opt.timestep, 0.0)
    owner = np.repeat(np.arange(model.nactuator), model.actuator_ctrlnum)
    live = simulator.expand("actuator_delay")
    kept = live.copy()
    live[is_short] = 0.0
    try:
        yield share[:, owner]
    finally:
        live[:] = kept
