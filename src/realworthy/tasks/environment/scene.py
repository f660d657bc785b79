"""All worlds as tensors, as of the last step: what rewards and endings are made of."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from realworthy.errors import UnknownName
from realworthy.simulators import Simulator
from realworthy.twins.layout import Layout


class Scene:
    """Truth about every world, in float32 on one device, and named places in it.

    Nothing here is what a robot measures: noise, bias and delay of sensors come later.
    """

    def __init__(self, simulator: Simulator, device: torch.device) -> None:
        self.simulator, self.device = simulator, device
        self.layout = Layout(simulator.bound)
        self.world_count, self.period = simulator.world_count, simulator.period
        self._places = {name: i for i, name in enumerate(simulator.signals)}
        self._held: dict[str, Tensor] = {}
        self.step_count = torch.zeros(
            self.world_count, dtype=torch.int64, device=device
        )
        """(worlds,) control steps since the episode began."""
        model = simulator.bound.model
        self.nq, self.nv = int(model.nq), int(model.nv)
        self.action = self.last_action = torch.empty(0)
        """(worlds, width) the action as used in the last step, and the one before."""
        self.command = torch.empty(0)
        """(worlds, width) what the action told drives, in the commands' units."""

    @property
    def time(self) -> Tensor:
        """(worlds,) [s] since the episode began."""
        return self.step_count * self.period

    @property
    def qpos(self) -> Tensor:
        """(worlds, nq) generalised positions."""
        return self.array("qpos")

    @property
    def qvel(self) -> Tensor:
        """(worlds, nv) generalised velocities."""
        return self.array("qvel")

    @property
    def signals(self) -> Tensor:
        """(worlds, signals) every sensor without its faults, as `simulator.signals`."""
        return self.array("sensordata")

    def array(self, name: str) -> Tensor:
        """(worlds, …) a simulator's array as float32; the same until `renew`."""
        if name not in self._held:
            values = self.simulator.array(name)
            if isinstance(values, np.ndarray):
                values = torch.from_numpy(values.astype(np.float32))
            self._held[name] = values.to(self.device, torch.float32)
        return self._held[name]

    def renew(self) -> None:
        """Forgets what was read, because the worlds have moved."""
        self._held.clear()

    def read(self, columns: Tensor) -> Tensor:
        """(worlds, n) signals at places that `find` gave."""
        return self.signals.index_select(1, columns)

    def find(self, *names: str) -> Tensor:
        """Places of named signals, such as `knee.position`."""
        for name in names:
            if name not in self._places:
                owner = f"twin '{self.simulator.bound.twin.name}'"
                raise UnknownName("signal", name, self._places, owner=owner, hint="")
        places = [self._places[name] for name in names]
        return torch.tensor(places, device=self.device)

    def find_joints(self, names: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Places of joints in `qpos` and `qvel`."""
        found = [self.layout.joint(name) for name in names]
        q, dof = zip(*found, strict=True)
        return torch.tensor(q, device=self.device), torch.tensor(
            dof, device=self.device
        )

    def find_base(self) -> tuple[int, int] | None:
        """Where the robot's floating base begins in `qpos` and `qvel`; None: fixed."""
        return self.layout.base

    def zeros(self, *shape: int) -> Tensor:
        """(worlds, …) zeros to remember something in."""
        return torch.zeros((self.world_count, *shape), device=self.device)

    @cached_property
    def initial_qpos(self) -> Tensor:
        """(nq,) the pose that the twin begins in."""
        return self._own("own.initial_qpos")

    @cached_property
    def initial_command(self) -> Tensor:
        """(inputs,) commands of the pose that the twin begins in."""
        return self._own("own.initial_ctrl")

    def _own(self, name: str) -> Tensor:
        nominal = self.simulator.bound.compiled.nominal(name)
        return torch.tensor(nominal, dtype=torch.float32, device=self.device)
