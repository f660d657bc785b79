"""FastSAC (Seo et al. 2025): soft actor–critic in many worlds.

The actor is a normal distribution squashed by tanh (Haarnoja et al. 2018), paid for its
entropy at a price α that keeps the entropy at a target. Each of two critics with
distributions of values learns from itself; the actor follows their mean.
"""

import math
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from realworthy.learning.gaussian import Gaussian
from realworthy.learning.learner import State
from realworthy.learning.networks import Actor, Mlp
from realworthy.learning.normaliser import Average, Normaliser
from realworthy.learning.off_policy import (
    Batch,
    OffPolicy,
    OffPolicySettings,
    compute_mean,
)
from realworthy.learning.squashed import SquashedGaussian
from realworthy.tasks.environment.environment import Environment


@dataclass(kw_only=True, slots=True)
class FastSacSettings(OffPolicySettings):
    """For 16 to 64 worlds on a core; `on_gpu` is for thousands."""

    log_std: tuple[float, float] = (-5.0, 0.0)
    """Between which the logarithm of the standard deviation, before tanh, stays."""
    temperature: float = 0.001
    """α at the start: what a nat of entropy is worth, in rewards."""
    temperature_rate: float = 1e-3
    """Step size of log α."""
    entropy_target: float = -1.0
    """Entropy [nat] of each action, in shares of `action_limit`, that α aims at."""

    def build(
        self, environment: Environment, *, seed: int, average: Average | None = None
    ) -> "FastSac":
        return FastSac(environment, self, seed=seed, average=average)


def on_gpu() -> FastSacSettings:
    """Thousands of worlds, as the paper has it for humanoids."""
    s = FastSacSettings()
    s.horizon, s.updates, s.actor_every = 1, 8, 4
    s.batch = 8192
    s.replay_steps = 512
    s.atoms = 101
    s.target_rate = 0.125
    s.actor_rate = s.critic_rate = s.temperature_rate = 3e-4
    s.window, s.discount = 1, 0.97
    s.entropy_target = 0.0
    s.actor_widths, s.critic_widths = (512, 256, 128), (768, 384, 192)
    return s


class SquashedActor(nn.Module):
    """Observations → a squashed Gaussian of actions, its width part of what is seen."""

    def __init__(
        self,
        network: Mlp,
        input_width: int,
        *,
        limit: float,
        log_std: tuple[float, float],
    ) -> None:
        super().__init__()
        self.normaliser = Normaliser(input_width)
        self.network = network
        self.limit, self.log_std = limit, log_std

    def distribution(self, seen: Tensor) -> SquashedGaussian:
        """Of normalised (rows, width) observations."""
        mean, x = self.network.unroll(seen).chunk(2, dim=-1)
        low, high = self.log_std
        log_std = low + 0.5 * (high - low) * (x.tanh() + 1)
        return SquashedGaussian(Gaussian(mean, log_std.exp()), self.limit)


class FastSac(OffPolicy[SquashedActor]):
    """One stochastic actor, two critics, a temperature, one generator."""

    Settings = FastSacSettings
    about = "a stochastic actor and two critics, from a replay; few steps"
    remedy = "learn in smaller steps: smaller actor_rate and critic_rate"
    more = ("temperature", "entropy")

    def __init__(
        self,
        environment: Environment,
        settings: FastSacSettings | None = None,
        *,
        seed: int = 0,
        average: Average | None = None,
    ) -> None:
        self.settings = s = settings or FastSacSettings()
        super().__init__(environment, s, seed=seed, average=average)
        self._middle = self._build_middle()
        start = torch.tensor(math.log(s.temperature), device=self.device)
        self._log_temperature = nn.Parameter(start)
        weights = [self._log_temperature]
        self._temperature_optimiser = self._build_optimiser(weights, s.temperature_rate)
        self._temperature_optimiser.param_groups[0]["weight_decay"] = 0.0
        # Entropies of actions and of their shares of the limit differ by its logarithm.
        target = s.entropy_target + math.log(s.action_limit)
        self._entropy_target = environment.action_width * target

    def _build_actor(self) -> SquashedActor:
        s, width = self.settings, self._policy_input.width
        body = self._build_layers(
            width, s.actor_widths, 2 * self._environment.action_width
        )
        return SquashedActor(body, width, limit=s.action_limit, log_std=s.log_std)

    def _list_actor_weights(self) -> list[nn.Parameter]:
        return list(self.actor.parameters())

    def _explore(self, seen: Tensor) -> Tensor:
        gaussian = self.actor.distribution(seen)
        shape = gaussian.before.mean.shape
        noise = torch.randn(shape, generator=self.generator, device=self.device)
        return gaussian.draw(noise)[0]

    def _aim(self, batch: Batch) -> Tensor:
        """r + γᵐ (z − α log π(a′|o′)) under each target critic, a′ ~ π(o′)."""
        action, density = self.actor.distribution(batch.next_actor).draw(batch.noise)
        reward = batch.reward - batch.discount * self._temperature * density
        foreseen = self.critics.foresee(batch.next_critic, action)
        return torch.stack(
            [self._support.project(p, reward, batch.discount) for p in foreseen]
        )

    def _climb(self, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """E[α log π(a|o) − (Q₁ + Q₂)/2], a ~ π(o); α moves first."""
        action, density = self.actor.distribution(batch.actor).draw(batch.actor_noise)
        entropy = -compute_mean(density, batch.weight)
        temperature = self._temperature
        self._adapt(entropy.detach())
        logits = self.critics.judge(batch.critic, action)
        values = self._support.expect(logits.softmax(-1)).mean(0)
        loss = -temperature * entropy - compute_mean(values, batch.weight)
        return loss, [temperature, entropy]

    def _adapt(self, entropy: Tensor) -> None:
        """α falls where the entropy is above its target H̄: ∇ of α (H − H̄)."""
        loss = self._log_temperature.exp() * (entropy - self._entropy_target)
        self._step(self._temperature_optimiser, loss, [self._log_temperature])

    @property
    def _temperature(self) -> Tensor:
        return self._log_temperature.detach().exp()

    def export(self) -> Actor:
        return self._middle

    def _build_middle(self) -> Actor:
        """limit · tanh(mean): the actor without chance, which shares its weights."""
        width = self._environment.action_width
        body = self.actor.network.keep_outputs(width, limit=self.settings.action_limit)
        actor = Actor(body, self._policy_input.width, width, std=1.0)
        actor.normaliser = self.actor.normaliser
        return actor.to(self.device)

    def state_dict(self) -> State:
        return {
            **super().state_dict(),
            "log_temperature": self._log_temperature.detach().clone(),
            "temperature_optimiser": deepcopy(self._temperature_optimiser.state_dict()),
        }

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        s = cast(dict[str, Any], state)
        with torch.no_grad():
            self._log_temperature.copy_(s["log_temperature"])
        self._temperature_optimiser.load_state_dict(
            deepcopy(s["temperature_optimiser"])
        )
