"""Equations of motion of two links in a plane, read from a model."""

from dataclasses import dataclass

import mujoco
import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class TwoLinks:
    """M(q) q̈ + h(q, q̇) = torque, without friction.

    The first angle is from hanging down, the second from the first link [rad].
    """

    first: float
    """[kg·m²] of both links about the first joint, but for the coupling."""
    second: float
    """[kg·m²] of the second link about its joint, without the rotor."""
    rotor: float
    """[kg·m²] of the second joint's rotor."""
    coupling: float
    """[kg·m²] mass · length of the first · centre of mass of the second."""
    lever: float
    """[N·m] of all that hangs on the first joint's link, held out sideways."""
    outer: float
    """[N·m] of the second link, held out sideways."""

    def compute_energy(self, q: Tensor, v: Tensor) -> Tensor:
        """(worlds,) [J], zero at rest upright."""
        (m11, m12, m22), turn = self._masses(q), q.sum(dim=1)
        motion = m11 * v[:, 0] ** 2 + 2 * m12 * v[:, 0] * v[:, 1] + m22 * v[:, 1] ** 2
        height = self.lever * (1 + torch.cos(q[:, 0]))
        return 0.5 * motion - height - self.outer * (1 + torch.cos(turn))

    def compute_elbow_torque(self, q: Tensor, v: Tensor, wanted: Tensor) -> Tensor:
        """(worlds,) [N·m] that gives the second joint an acceleration [rad/s²].

        The first joint is free: collocated partial feedback linearisation.
        """
        m11, m12, m22 = self._masses(q)
        turn = self.coupling * torch.sin(q[:, 1])
        pull = self.outer * torch.sin(q.sum(dim=1))
        h1 = -turn * (2 * v[:, 0] + v[:, 1]) * v[:, 1]
        h1 = h1 + self.lever * torch.sin(q[:, 0]) + pull
        h2 = turn * v[:, 0] ** 2 + pull
        return (m22 - m12**2 / m11) * wanted + h2 - m12 / m11 * h1

    def _masses(self, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        bent = self.coupling * torch.cos(q[:, 1])
        m22 = torch.full_like(bent, self.second + self.rotor)
        return self.first + 2 * bent, self.second + bent, m22


def read_links(model: mujoco.MjModel) -> TwoLinks:
    """The numbers of a model with two hinges about one axis, hanging at zero."""
    bent, straight = _compute(model, np.pi / 2), _compute(model, 0.0)
    second = bent[0][0, 1]
    return TwoLinks(
        first=bent[0][0, 0],
        second=second,
        rotor=bent[0][1, 1] - second,
        coupling=straight[0][0, 1] - second,
        lever=bent[1][0],
        outer=straight[1][0] - bent[1][0],
    )


def _compute(model: mujoco.MjModel, elbow: float) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix and gravity torques, the first link held out sideways."""
    data = mujoco.MjData(model)
    data.qpos[:] = np.pi / 2, elbow
    mujoco.mj_forward(model, data)
    masses = np.zeros((2, 2))
    mujoco.mj_fullM(model, data, masses)
    return masses, data.qfrc_bias.copy()
