"""Linear-quadratic gains from a twin's own equations of motion.

Dry friction has no slope at rest, and what is late shows in no step of its own, so the
equations are those without either: whoever uses a gain makes up for them, or lives with
them.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.simulators import Simulator

Floats = NDArray[np.float64]
_DIFFERENCE_STEP = 1e-5
"""Of a central difference, in the units of states and commands: near the cube root of
the machine's precision, 6e-6, where truncation and rounding balance."""


@dataclass(frozen=True, slots=True)
class Regulator:
    """command = −gain · (state − equilibrium), the best for small deviations."""

    gain: Tensor
    """(2 nv,) command per deviation of positions, then of speeds."""
    cost: Tensor
    """(2 nv, 2 nv) what is still to come, as deviationᵀ · cost · deviation."""

    def command(self, deviation: Tensor) -> Tensor:
        """(worlds,) from (worlds, 2 nv)."""
        return -deviation @ self.gain

    def foresee(self, deviation: Tensor) -> Tensor:
        """(worlds,) cost to come, which falls along every motion that it can hold."""
        return ((deviation @ self.cost) * deviation).sum(dim=1)


def build_regulator(
    simulator: Simulator,
    *,
    qpos: Sequence[float],
    command: str,
    state_cost: Sequence[float],
    command_cost: float,
    device: torch.device,
) -> Regulator:
    """The regulator at rest in `qpos`, with one command and the others at zero.

    `state_cost` weighs squares of positions, then of speeds, in each control step.
    """
    from scipy.linalg import LinAlgError, solve_discrete_are

    column = simulator.commands.index(command)
    a, b = linearise(simulator, qpos, column)
    q, r = np.diag(state_cost), np.array([[command_cost]])
    try:
        cost = solve_discrete_are(a, b, q, r)
    except LinAlgError as error:
        raise RealworthyError(
            f"'{command}' cannot hold twin '{simulator.bound.twin.name}' at rest in "
            f"{list(qpos)}.",
            hint="Look for a joint that this command does not reach.",
        ) from error
    gain = np.linalg.solve(r + b.T @ cost @ b, b.T @ cost @ a)[0]
    return Regulator(
        torch.tensor(gain, dtype=torch.float32, device=device),
        torch.tensor(cost, dtype=torch.float32, device=device),
    )


def linearise(
    simulator: Simulator, qpos: Sequence[float], column: int
) -> tuple[Floats, Floats]:
    """x′ = A x + B u of one control step: (2 nv, 2 nv) and (2 nv, 1).

    By central differences over whole steps; for models with hinges and slides only.
    """
    model = copy.copy(simulator.bound.model)
    model.dof_frictionloss[:] = 0
    model.actuator_delay[:] = 0
    data, nv = mujoco.MjData(model), int(model.nv)

    def move(change: Floats) -> Floats:
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = qpos + change[:nv], change[nv:-1]
        data.ctrl[column] = change[-1]
        for _ in range(simulator.substeps):
            mujoco.mj_step(model, data)
        return np.concatenate([data.qpos, data.qvel])

    slopes = [
        (move(change) - move(-change)) / (2 * _DIFFERENCE_STEP)
        for change in _DIFFERENCE_STEP * np.eye(2 * nv + 1)
    ]
    both = np.stack(slopes, axis=1)
    return both[:, :-1], both[:, -1:]


def compute_tolerance(
    x: Tensor, *, margin: float, lower: float = 0.0, upper: float = 0.0
) -> Tensor:
    """1 within [lower, upper]; a bell beyond, which has fallen to 0.1 at `margin`."""
    outside = (lower - x).clamp(min=0) + (x - upper).clamp(min=0)
    return 0.1 ** (outside / margin).square()
