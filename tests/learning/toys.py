"""Worlds small enough to be known by heart, in plain torch."""

import math
from collections.abc import Mapping
from dataclasses import fields

import torch
from torch import Tensor

from realworthy.tasks.environment.environment import (
    Environment,
    ObservationGroup,
    Observations,
    Purpose,
    Step,
)

CPU = torch.device("cpu")


def describe_groups(widths: Mapping[str, int]) -> dict[str, ObservationGroup]:
    """Of vectors: a robot measures what the `actor` sees."""
    seen, more = Purpose.DEPLOYABLE, Purpose.PRIVILEGED
    return {
        name: ObservationGroup((width,), seen if name == "actor" else more)
        for name, width in widths.items()
    }


class Toy(Environment):
    """Bookkeeping of a toy: subclasses say how it begins, moves and looks."""

    device = CPU
    period = 0.02
    widths: Mapping[str, int]

    @property
    def groups(self) -> dict[str, ObservationGroup]:
        return describe_groups(self.widths)

    def __init__(self, world_count: int, *, step_limit: int, seed: int = 0) -> None:
        self.world_count = world_count
        self.step_limit = step_limit
        self.generator = torch.Generator().manual_seed(seed)
        self.time = torch.zeros(world_count, dtype=torch.long)
        self.state = self.draw()

    def draw(self) -> Tensor:
        """(worlds, …) states at the start of episodes."""
        raise NotImplementedError

    def look(self) -> Observations:
        raise NotImplementedError

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        """Changes the state; reward and whether the episode terminated."""
        raise NotImplementedError

    def is_success(self) -> Tensor:
        return torch.zeros(self.world_count, dtype=torch.bool)

    def is_invalid(self) -> Tensor:
        return torch.zeros(self.world_count, dtype=torch.bool)

    def uniform(self, *shape: int) -> Tensor:
        return 2 * torch.rand(*shape, generator=self.generator) - 1

    def reset(self, *, scatter: bool = False) -> Observations:
        self.state = self.draw()
        self.time = torch.zeros(self.world_count, dtype=torch.long)
        if scatter:
            spread = (self.world_count,)
            self.time = torch.randint(self.step_limit, spread, generator=self.generator)
        return self.look()

    def step(self, action: Tensor) -> Step:
        self.time = self.time + 1
        reward, terminated = self.move(action)
        invalid = self.is_invalid()
        terminated = terminated | invalid
        truncated = (self.time >= self.step_limit) & ~terminated
        done = terminated | truncated
        success = self.is_success() & done
        final = self.look()
        fresh = self.draw()
        mask = done.view(-1, *[1] * (fresh.dim() - 1))
        self.state = torch.where(mask, fresh, self.state)
        self.time = torch.where(done, 0, self.time)
        return Step(
            observations=self.look(),
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            final=final,
            terms={"reward": reward},
            failure=torch.zeros_like(self.time),
            success=success,
            invalid=invalid,
        )

    def state_dict(self) -> dict[str, Tensor]:
        return {
            "state": self.state.clone(),
            "time": self.time.clone(),
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.state = state["state"].clone()
        self.time = state["time"].clone()
        self.generator.set_state(state["generator"])


class Still(Toy):
    """One state; each step is worth 1. `ends` says that time-outs are ends."""

    action_width = 1
    widths = {"actor": 1, "critic": 1}  # noqa: RUF012

    def __init__(self, world_count: int, *, ends: bool = False) -> None:
        self.ends = ends
        super().__init__(world_count, step_limit=20)

    def draw(self) -> Tensor:
        return torch.zeros(self.world_count, 1)

    def look(self) -> Observations:
        return {"actor": self.state, "critic": self.state}

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        return torch.ones(self.world_count), self.ends & (self.time >= self.step_limit)


class Bandit(Toy):
    """One step; the reward falls with the squared distance from (0.5, −0.3)."""

    action_width = 2
    widths = {"actor": 1, "critic": 1}  # noqa: RUF012

    def __init__(self, world_count: int) -> None:
        super().__init__(world_count, step_limit=1)

    def draw(self) -> Tensor:
        return torch.zeros(self.world_count, 1)

    def look(self) -> Observations:
        return {"actor": self.state, "critic": self.state}

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        far = (action - torch.tensor([0.5, -0.3])).square().sum(-1)
        return -far, torch.ones(self.world_count, dtype=torch.bool)


class Brink(Toy):
    """One step, worth its action less ten; above four the physics diverges."""

    action_width = 1
    widths = {"actor": 2, "critic": 2}  # noqa: RUF012

    def __init__(self, world_count: int) -> None:
        super().__init__(world_count, step_limit=1)

    def draw(self) -> Tensor:
        return torch.ones(self.world_count, 2)

    def look(self) -> Observations:
        return {"actor": self.state, "critic": self.state}

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        self.broken = action[:, 0] > 4
        reward = torch.where(self.broken, torch.nan, action[:, 0] - 10)
        return reward, torch.ones(self.world_count, dtype=torch.bool)

    def is_invalid(self) -> Tensor:
        return self.broken


class Recall(Toy):
    """A cue of ±1 is seen at the first step and asked for at the last."""

    action_width = 1
    widths = {"actor": 2, "critic": 2}  # noqa: RUF012

    def __init__(self, world_count: int, *, delay: int = 15, seed: int = 0) -> None:
        self.right = torch.zeros(world_count, dtype=torch.bool)
        super().__init__(world_count, step_limit=delay + 1, seed=seed)

    def draw(self) -> Tensor:
        return self.uniform(self.world_count, 1).sign()

    def look(self) -> Observations:
        shown = torch.where(self.time[:, None] == 0, self.state, 0.0)
        asked = (self.time[:, None] == self.step_limit - 1).float()
        seen = torch.cat([shown, asked], dim=-1)
        return {"actor": seen, "critic": seen}

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        is_last = self.time >= self.step_limit
        self.right = action[:, 0] * self.state[:, 0] > 0
        reward = torch.where(is_last, torch.where(self.right, 1.0, -1.0), 0.0)
        return reward, is_last

    def is_success(self) -> Tensor:
        return self.right


class Pendulum(Toy):
    """Swing-up of a 1 kg rod of 1 m with 2 N·m; rewards are divided by ten.

    With `spread` mass and gravity differ from episode to episode: the critic sees them.
    """

    action_width = 1
    period = 0.04
    mirror_count = 2

    def __init__(
        self, world_count: int, *, seed: int = 0, spread: bool = False
    ) -> None:
        self.spread = spread
        self.widths = {"actor": 3, "critic": 5}
        self.upright = torch.zeros(world_count, dtype=torch.long)
        super().__init__(world_count, step_limit=250, seed=seed)

    def draw(self) -> Tensor:
        angle = math.pi + 0.5 * self.uniform(self.world_count)
        hidden = self.uniform(self.world_count, 2) * self.spread
        mass, gravity = 1 + 0.5 * hidden[:, 0], 9.81 * (1 + 0.2 * hidden[:, 1])
        return torch.stack([angle, torch.zeros_like(angle), mass, gravity], dim=-1)

    def look(self) -> Observations:
        angle, speed, mass, gravity = self.state.unbind(-1)
        seen = [angle.sin(), angle.cos(), speed]
        unseen = [2 * (mass - 1), (gravity / 9.81 - 1) / 0.2]
        return {
            "actor": torch.stack(seen, dim=-1),
            "critic": torch.stack(seen + unseen, dim=-1),
        }

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        torque = 2.0 * action[:, 0].clamp(-1, 1)
        angle, speed, mass, gravity = self.state.unbind(-1)
        wrapped = torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
        cost = wrapped.square() + 0.1 * speed.square() + 0.001 * torque.square()
        for _ in range(4):
            push = torque + mass * gravity * 0.5 * angle.sin()
            speed = speed + 0.01 * push / (mass / 3)
            angle = angle + 0.01 * speed
        self.state = torch.stack([angle, speed, mass, gravity], dim=-1)
        wrapped = torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
        is_up = wrapped.abs() < 0.1
        held = torch.where(self.time == 1, 0, self.upright)
        self.upright = torch.where(is_up, held + 1, 0)
        return -0.1 * cost, torch.zeros(self.world_count, dtype=torch.bool)

    def is_success(self) -> Tensor:
        return self.upright >= 50

    def mirror(self, group: str, x: Tensor, element: int = 1) -> Tensor:
        signs = torch.tensor([-1.0, 1.0, -1.0, 1.0, 1.0])
        return x * signs[: x.shape[-1]]

    def mirror_action(self, action: Tensor, element: int = 1) -> Tensor:
        return -action

    def reference(self) -> Tensor:
        """Energy shaping, then a proportional and damping law near the top."""
        angle, speed = self.state[:, 0], self.state[:, 1]
        wrapped = torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
        energy = 0.5 / 3 * speed.square() + 4.905 * (angle.cos() - 1)
        swing = -3 * energy * torch.where(speed >= 0, 1.0, -1.0)
        hold = -(20 * wrapped + 6 * speed)
        near = (wrapped.abs() < 0.35) & (speed.abs() < 2)
        return torch.where(near, hold, swing)[:, None] / 2.0


class CartPole(Toy):
    """Balance: 1 for each step in which the pole stands and the cart is on its rail."""

    action_width = 1
    widths = {"actor": 4, "critic": 4}  # noqa: RUF012

    def __init__(self, world_count: int, *, seed: int = 0) -> None:
        super().__init__(world_count, step_limit=500, seed=seed)

    def draw(self) -> Tensor:
        return 0.1 * self.uniform(self.world_count, 4)

    def look(self) -> Observations:
        return {"actor": self.state, "critic": self.state}

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        force = 10.0 * action[:, 0].clamp(-1, 1)
        x, v, angle, rate = self.state.unbind(-1)
        sin, cos = angle.sin(), angle.cos()
        pole, total, half = 0.1, 1.1, 0.3
        pushed = (force + pole * half * rate.square() * sin) / total
        turn = (9.81 * sin - cos * pushed) / (
            half * (4 / 3 - pole * cos.square() / total)
        )
        thrust = pushed - pole * half * turn * cos / total
        parts = [
            x + 0.02 * v,
            v + 0.02 * thrust,
            angle + 0.02 * rate,
            rate + 0.02 * turn,
        ]
        self.state = torch.stack(parts, dim=-1)
        fallen = (parts[0].abs() > 1.8) | (parts[2].abs() > 0.21)
        return torch.ones(self.world_count), fallen


class Noise(Toy):
    """Observations of a quadruped's size that mean nothing."""

    action_width = 12
    mirror_count = 2

    def __init__(
        self, world_count: int, *, actor: int = 48, critic: int = 64, seed: int = 0
    ) -> None:
        self.widths = {"actor": actor, "critic": critic}
        super().__init__(world_count, step_limit=100, seed=seed)

    def draw(self) -> Tensor:
        return torch.randn(
            self.world_count, self.widths["critic"], generator=self.generator
        )

    def look(self) -> Observations:
        return {"actor": self.state[:, : self.widths["actor"]], "critic": self.state}

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        width = self.action_width
        self.state = self.draw()
        reward = (action.clamp(-1, 1) * self.state[:, :width]).sum(-1)
        return reward, self.state[:, 0] > 2.5

    def mirror(self, group: str, x: Tensor, element: int = 1) -> Tensor:
        return -x

    def mirror_action(self, action: Tensor, element: int = 1) -> Tensor:
        return -action


class Frozen(Environment):
    """The same step again and again: costs nothing, on any device."""

    period = 0.02
    step_limit = 100
    action_width = 12

    def __init__(self, world_count: int, device: torch.device = CPU) -> None:
        self.world_count, self.device = world_count, device
        toy = Noise(world_count)
        self.groups = toy.groups
        step = toy.step(torch.zeros(world_count, self.action_width))
        facts = {f.name: getattr(step, f.name) for f in fields(step)}
        self.frozen = Step(**{name: self._move(x) for name, x in facts.items()})

    def _move(self, x: Tensor | dict[str, Tensor]) -> Tensor | dict[str, Tensor]:
        if isinstance(x, dict):
            return {name: y.to(self.device) for name, y in x.items()}
        return x.to(self.device)

    def reset(self, *, scatter: bool = False) -> Observations:
        return self.frozen.observations

    def step(self, action: Tensor) -> Step:
        return self.frozen
