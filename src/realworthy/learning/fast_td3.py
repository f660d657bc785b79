"""FastTD3 (Seo et al. 2025): deterministic policy gradients in many worlds.

The actor is deterministic (Fujimoto et al. 2018); each world adds noise of its own
size. Two critics with distributions of values; both learn the more careful one's view
of what follows.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from realworthy.learning.learner import State
from realworthy.learning.networks import Activation, Actor
from realworthy.learning.normaliser import Average
from realworthy.learning.off_policy import (
    Batch,
    OffPolicy,
    OffPolicySettings,
    compute_mean,
)
from realworthy.tasks.environment.environment import Environment


@dataclass(kw_only=True, slots=True)
class FastTd3Settings(OffPolicySettings):
    """For 16 to 64 worlds on a core; `on_gpu` is for thousands."""

    noise: tuple[float, float] = (0.05, 0.4)
    """Standard deviation of what is added to actions, in shares of `action_limit`: each
    world draws one from between these for each episode."""
    target_noise: float = 0.1
    """Standard deviation of what is added to the actions that critics foresee."""
    target_clip: float = 0.3
    """Most that it is."""
    is_careful: bool = True
    """Both critics learn from the one that expects less; else each from itself."""

    def build(
        self, environment: Environment, *, seed: int, average: Average | None = None
    ) -> "FastTd3":
        return FastTd3(environment, self, seed=seed, average=average)


def on_gpu() -> FastTd3Settings:
    """Thousands of worlds, as the paper has it for legged robots."""
    s = FastTd3Settings()
    s.horizon, s.updates = 2, 8
    s.batch = 32_768
    s.replay_steps = 512
    s.atoms = 101
    s.target_rate = 0.1
    s.actor_rate = s.critic_rate = 3e-4
    s.weight_decay, s.betas = 0.1, (0.9, 0.999)
    s.noise = (0.01, 0.4)
    s.target_noise, s.target_clip = 0.001, 0.5
    s.window, s.discount = 1, 0.97
    s.actor_widths, s.critic_widths = (512, 256, 128), (1024, 512, 256)
    s.activation, s.layer_norm = Activation.RELU, False
    return s


class FastTd3(OffPolicy[Actor]):
    """One deterministic actor, two critics, one generator."""

    Settings = FastTd3Settings
    about = "a deterministic actor and two critics, from a replay; few steps"
    remedy = "learn in smaller steps: smaller actor_rate and critic_rate"
    more = ()

    def __init__(
        self,
        environment: Environment,
        settings: FastTd3Settings | None = None,
        *,
        seed: int = 0,
        average: Average | None = None,
    ) -> None:
        self.settings = settings or FastTd3Settings()
        super().__init__(environment, self.settings, seed=seed, average=average)
        self._std = torch.zeros(environment.world_count, device=self.device)
        """(worlds,) s, of each world's noise in this episode."""

    def _build_actor(self) -> Actor:
        s, width = self.settings, self._policy_input.width
        action_width = self._environment.action_width
        body = self._build_layers(
            width, s.actor_widths, action_width, limit=s.action_limit
        )
        return Actor(body, width, action_width, std=1.0)

    def _list_actor_weights(self) -> list[nn.Parameter]:
        return list(self.actor.network.parameters())

    def _explore(self, seen: Tensor) -> Tensor:
        """a = π(o) + s ε, ε ~ N(0, 1)."""
        limit = self.settings.action_limit
        action = self.actor.network.unroll(seen)
        noise = torch.randn(action.shape, generator=self.generator, device=self.device)
        return (action + limit * self._std[:, None] * noise).clamp(-limit, limit)

    def _forget_episodes(self, done: Tensor) -> None:
        """s ~ U(σ₁, σ₂) anew where an episode began."""
        low, high = self.settings.noise
        u = torch.rand(len(done), generator=self.generator, device=self.device)
        if len(self._std) != len(done):
            self._std = u
        self._std = torch.where(done, low + (high - low) * u, self._std)

    def _aim(self, batch: Batch) -> Tensor:
        """r + γᵐ z under the target critics, at a′ = π(o′) + clip(σ ε, ± c)."""
        s, support = self.settings, self._support
        limit = s.action_limit
        noise = (s.target_noise * batch.noise).clamp(-s.target_clip, s.target_clip)
        action = self.actor.network.unroll(batch.next_actor) + limit * noise
        foreseen = self.critics.foresee(batch.next_critic, action.clamp(-limit, limit))
        first, second = (
            support.project(p, batch.reward, batch.discount) for p in foreseen
        )
        if not s.is_careful:
            return torch.stack([first, second])
        # The whole distribution of whichever has the smaller mean (clipped double Q).
        less = support.expect(first) < support.expect(second)
        target = torch.where(less[:, None], first, second)
        return torch.stack([target, target])

    def _climb(self, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """−E[min(Q₁, Q₂)(o, π(o))]; of each critic alone, −E[(Q₁ + Q₂)/2]."""
        action = self.actor.network.unroll(batch.actor)
        logits = self.critics.judge(batch.critic, action)
        values = self._support.expect(logits.softmax(-1))  # (2, samples)
        value = values.amin(0) if self.settings.is_careful else values.mean(0)
        return -compute_mean(value, batch.weight), []

    def export(self) -> Actor:
        return self.actor

    def state_dict(self) -> State:
        return {**super().state_dict(), "std": self._std.clone()}

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        std = state["std"]
        assert isinstance(std, Tensor)
        self._std = std.to(self.device, copy=True)
