"""From the truth to what the actor observes: bias, noise, latency, then its terms."""

from typing import Protocol

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.policies.observer import Observer
from realworthy.sensors.stages import compute_reading, recall, remember, restart
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Task
from realworthy.twins import BoundTwin

_FAULTS = {"scale": 1.0, "bias": 0.0, "noise": 0.0}
"""What sensors add to the truth → its value where they are right."""


class Link(Protocol):
    """What a robot's own interface makes of the truth, in every world; on the CPU."""

    def report(self) -> NDArray[np.float64]:
        """(worlds, signals) what was measured last, as `simulator.signals`."""
        ...

    def reseed(self, seed: int) -> None:
        """Chance starts again, before all worlds do."""
        ...


class Measurements:
    """Rows of named signals in every world, true and as measured, and their terms.

    A row is every signal of the twin, the last action, then the task's inputs. With a
    `link` measurements are what it reports.
    """

    def __init__(
        self,
        task: Task,
        scene: Scene,
        randomization: Randomization,
        chance: Chance,
        *,
        link: Link | None = None,
    ) -> None:
        self._task, self._scene, self._chance = task, scene, chance
        self._link = link
        signals = scene.simulator.signals
        inputs = (one.name for one in task.inputs)
        names = (*signals, *task.action.names, *inputs)
        instant = [msgspec.structs.replace(term, history=1) for term in task.terms]
        self._actor = Observer(task.terms, task.action, names)
        self._critic = Observer(instant, task.action, names)
        self._noise = self._find_noise(randomization.noise)
        self._has_faults = _has_faults(scene.simulator.bound)
        self._faults = [torch.empty(0)] * len(_FAULTS)
        self._least, self._most = randomization.latency
        self.late = scene.zeros().to(torch.int64)
        """(worlds,) control steps by which measurements are late in this episode."""
        self.rows = scene.zeros(self._most + 1, len(signals))
        """(worlds, latency + 1, signals) the last measurements, the newest first."""
        bounds = task.action.bounds
        self._near = scene.find(*(b.signal for b in bounds)) if bounds else None
        self.near = scene.zeros(len(bounds))
        """(worlds, bounds) what the robot measured last of where commands stay near."""
        self.renew()

    @property
    def scale(self) -> Tensor:
        """(worlds, signals) of sensors, live; empty where none is wrong."""
        return self._faults[0]

    @property
    def bias(self) -> Tensor:
        """(worlds, signals) of sensors, live; empty where none is wrong."""
        return self._faults[1]

    def begin(self, worlds: Tensor) -> None:
        """Draws the latency of the worlds of a mask."""
        if self._most:
            u = self._chance.uniform("latency", 1, worlds)[:, 0]
            drawn = self._least + (u * (self._most - self._least + 1)).to(torch.int64)
            self.late = torch.where(worlds, drawn.clamp(max=self._most), self.late)

    def change_noise(self, factor: float) -> None:
        """Another factor of the task's own noise."""
        self._noise = self._find_noise(factor)

    def renew(self) -> None:
        """Takes up scale, bias and noise of sensors, because e has changed."""
        if self._has_faults:
            simulator, device = self._scene.simulator, self._scene.device
            fields = [simulator.field(f"own.sensor_{kind}") for kind in _FAULTS]
            values = [torch.tensor(x).to(device, torch.float32) for x in fields]
            for i, value in enumerate(values):
                if self._faults[i].shape == value.shape:
                    self._faults[i].copy_(value)
                else:
                    self._faults[i] = value

    def observe(self, fresh: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(worlds, …) of the actor, and the same terms of the truth now.

        Worlds of the mask `fresh` have just begun: what they measure now has held for
        ever, and the others are as they were observed last.
        """
        signals, known = self._scene.signals, self._list_known()
        truth = torch.cat([signals, *known], dim=1)
        row = torch.cat([self._take(signals, fresh), *known], dim=1)
        if fresh is None:
            actor = self._actor.observe(row)
        else:
            actor = self._actor.restart(row, fresh)
        return actor, self._critic.observe(truth)

    def observe_begun(self, fresh: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        """As `observe(fresh)`, computed where worlds have begun: those of the mask.

        `ids` (n,) are their numbers; the terms of the truth are (n, …), theirs alone.
        """
        signals, known = self._scene.signals, [x[ids] for x in self._list_known()]
        truth = torch.cat([signals[ids], *known], dim=1)
        row = torch.cat([self._take(signals, fresh)[ids], *known], dim=1)
        assert self._actor.last is not None
        actor = self._actor.last.index_copy(0, ids, self._actor.begin(row))
        self._actor.last = actor
        return actor, self._critic.begin(truth)

    def _list_known(self) -> list[Tensor]:
        """What a row holds besides signals: the last action, and inputs if any."""
        inputs = self._task.read_inputs(self._scene)
        known = [self._scene.action]
        return known if inputs is None else [*known, inputs]

    def memory(self) -> dict[str, Tensor]:
        """Tensors that it remembers, by name, live."""
        held = {"late": self.late, "rows": self.rows}
        if self._near is not None:
            held["near"] = self.near
        return held if self._actor.last is None else held | {"seen": self._actor.last}

    def _take(self, signals: Tensor, fresh: Tensor | None) -> Tensor:
        """(worlds, signals) measured now; where commands stay near is remembered."""
        measured = self._measure(signals, fresh)
        if self._near is not None:
            near = measured[:, self._near]
            if fresh is not None:
                near = torch.where(fresh[:, None], near, self.near)
            self.near = near
        return measured

    def _measure(self, signals: Tensor, fresh: Tensor | None) -> Tensor:
        """(worlds, signals) as the robot would report them, some steps late."""
        if self._link is not None:
            return torch.from_numpy(self._link.report()).to(signals)
        scale, bias, sd = self._faults if self._has_faults else (None, None, None)
        noise = [x for x in (sd, self._noise) if x is not None]
        drawn = [x * self._chance.normal(*signals.shape) for x in noise]
        reading = compute_reading(signals, scale=scale, bias=bias, noise=drawn)
        if not self._most:
            return reading
        if fresh is None:
            self.rows = remember(self.rows, reading)
        else:
            self.rows = restart(self.rows, reading, fresh)
        return recall(self.rows, self.late)

    def _find_noise(self, factor: float) -> Tensor | None:
        """(signals,) sd of the task's noise on each signal; None: there is none."""
        task, scene = self._task, self._scene
        sd = [
            max((n for end, n in task.noise.items() if _ends(name, end)), default=0.0)
            for name in scene.simulator.signals
        ]
        if not factor or not any(sd):
            return None
        return factor * torch.tensor(sd, device=scene.device)


def may_differ(bound: BoundTwin, name: str, ideal: float) -> bool:
    """Whether an `own.` field is not ideal, in the twin itself or in some worlds."""
    return name in bound.fields or bool((bound.compiled.own[name] != ideal).any())


def _has_faults(bound: BoundTwin) -> bool:
    """Whether sensors are wrong, in the twin itself or in some worlds."""
    return any(
        may_differ(bound, f"own.sensor_{kind}", right)
        for kind, right in _FAULTS.items()
    )


def _ends(signal: str, end: str) -> bool:
    """Whether a signal, or the sensor that it is a component of, ends so."""
    return signal.endswith(end) or signal.rpartition(".")[0].endswith(end)
