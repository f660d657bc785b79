"""What of mink is used here."""

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

class NoSolutionFound(Exception): ...

class Configuration:
    model: mujoco.MjModel
    data: mujoco.MjData
    nv: int
    def __init__(self, model: mujoco.MjModel, q: Floats | None = None) -> None: ...
    def integrate_inplace(self, velocity: Floats, dt: float) -> None: ...
    def update(self, q: Floats | None = None) -> None: ...

class Task:
    cost: Floats
    def __init__(
        self, cost: Floats, gain: float = 1.0, lm_damping: float = 0.0
    ) -> None: ...
    def compute_error(self, configuration: Configuration) -> Floats: ...
    def compute_jacobian(self, configuration: Configuration) -> Floats: ...

class Constraint(NamedTuple):
    G: Floats | None = None
    h: Floats | None = None

class Limit:
    def compute_qp_inequalities(
        self, configuration: Configuration, dt: float
    ) -> Constraint: ...

def solve_ik(
    configuration: Configuration,
    tasks: Sequence[Task],
    dt: float,
    solver: str,
    damping: float = 1e-12,
    safety_break: bool = False,
    limits: Sequence[Limit] | None = None,
    constraints: Sequence[Task] | None = None,
) -> Floats: ...
