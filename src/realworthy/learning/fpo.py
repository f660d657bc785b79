"""Flow policy optimization: policy gradients for policies of any shape.

A flow (`flow.py`) has no density that could be divided. In place of its logarithm
stands the loss of flow matching at pairs (ε, τ), which are drawn once for each action
and kept: how much that loss has fallen since the action was played (McAllister et al.
2025). Their later form, FPO++, is the default here: a ratio for each pair,
ρ = exp(ℓ_old − ℓ), and a trust region that pulls back where an action was worse than
expected,

    A > 0: min(ρ A, clip(ρ, 1−ε, 1+ε) A);   A ≤ 0: ρ A − |A|/(2ε) (ρ − 1)²

the first PPO's (Schulman et al. 2017, eq. 7), the second that of simple policy
optimization (Xie et al. 2024). `is_per_pair=False` is the first form: one ratio for
each action, and PPO's region on both sides.

*Experimental*: several ways to act are kept apart, but a task with one way takes more
steps than with PPO. What acts in the end is the moving mean of the weights, from ε = 0,
or a network of one step that is fitted to it.
"""

import math
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from realworthy.learning.capture import CapturedPasses, Passes
from realworthy.learning.flow import (
    TIME_WIDTH,
    Flow,
    compute_flow_loss,
    follow,
    measure_spread,
)
from realworthy.learning.learner import (
    BadSettings,
    BadWeights,
    Learner,
    LearnerSettings,
    Memory,
    NothingCollected,
    State,
    build_generator,
)
from realworthy.learning.network_input import (
    check_vectors,
    find_critic_input,
    find_policy_input,
)
from realworthy.learning.networks import Activation, Actor, Critic, Mlp, find_misfit
from realworthy.learning.normaliser import Average, Normaliser
from realworthy.learning.ppo import compute_actor_loss, compute_value_loss
from realworthy.learning.storage import Storage, compute_advantages
from realworthy.learning.tally import RolloutMetrics, Tally
from realworthy.learning.weighted import compute_mean, compute_variance
from realworthy.tasks.environment.devices import spare_threads
from realworthy.tasks.environment.environment import Environment, Observations

_NEIGHBOUR = 3
"""Nearest neighbour by which spread is measured: the first alone is noisy."""


@dataclass(kw_only=True, slots=True)
class FpoSettings(LearnerSettings):
    """For hundreds of worlds on a few cores; `on_gpu` is for thousands."""

    horizon: int = 32
    """Control steps of each world before an update."""
    epochs: int = 8
    """Passes over a rollout in an update."""
    minibatches: int = 4
    """Gradient steps in a pass."""
    flow_samples: int = 8
    """Pairs (ε, τ) of noise and flow time that are kept for each action."""
    flow_steps: int = 10
    """Network calls of an action, in practice and in the file."""
    is_per_pair: bool = True
    """FPO++: a ratio for each pair, and a trust region that pulls back; else FPO."""
    one_step: bool = False
    """A network of one call is fitted to the flow, and is what acts in the end."""
    discount: float = 0.98
    """What a reward is worth one control step later."""
    decay: float = 0.95
    """λ of generalised advantages: 0 trusts the critic, 1 the returns."""
    clip: float = 0.05
    """ε: how far ratios may move in an update."""
    loss_limit: float = 20.0
    """Most that the loss of a pair counts."""
    difference_limit: float = 10.0
    """Most that ℓ_old − ℓ counts; beyond it the gradient stays, the ratio does not."""
    learning_rate: float = 3e-4
    """Of all networks."""
    weight_decay: float = 1e-4
    """Of all weights, in a gradient step of unit size (Loshchilov & Hutter 2019)."""
    gradient_limit: float = 1.0
    """Norm to which the gradients of actor and critic are cut, each on its own."""
    std: float = 1.0
    """Of the noise that flows begin from, and so of actions at the start."""
    perturbation: float = 0.02
    """Standard deviation of what is added to actions in practice."""
    weight_memory: float = 0.95
    """Of the moving mean of the weights, in each gradient step."""
    entropy_weight: float = 0.0
    """Of the spread of actions in a state, by nearest neighbours; dear above zero."""
    entropy_states: int = 32
    """States of a minibatch in which that is measured, by as many actions each."""
    actor_widths: tuple[int, ...] = (64, 64)
    """Hidden layers of the field of velocities."""
    critic_widths: tuple[int, ...] = (64, 64)
    """Hidden layers of the critic."""
    activation: Activation = Activation.SILU
    """Between the layers."""
    capture: bool = True
    """On CUDA: an update is one graph; not over several processes."""

    @property
    def widest_layer(self) -> int:
        return max((*self.actor_widths, *self.critic_widths, 1))

    def build(
        self, environment: Environment, *, seed: int, average: Average | None = None
    ) -> "Fpo":
        return Fpo(environment, self, seed=seed, average=average)


def on_gpu() -> FpoSettings:
    """Thousands of worlds, as the paper has it for legged robots."""
    s = FpoSettings()
    s.horizon, s.epochs, s.flow_samples = 24, 16, 16
    s.learning_rate, s.discount = 1e-4, 0.99
    s.actor_widths, s.critic_widths = (256, 256, 256), (768, 768, 768)
    return s


@dataclass(frozen=True, slots=True)
class FlowSamples:
    """Samples of one rollout with the pairs that they are judged by."""

    actor: Tensor
    """(samples, width) normalised, as is what the critic sees."""
    critic: Tensor
    action: Tensor
    """(samples, action_width)."""
    noise: Tensor
    """(samples, pairs, action_width) ε."""
    time: Tensor
    """(samples, pairs, 1) τ."""
    numbers: Tensor
    """(samples, 4) value, return, advantage, weight."""
    loss: Tensor
    """(samples, pairs) ℓ_old: of each pair, by the policy that played."""

    def split(self, count: int, generator: torch.Generator) -> list["FlowSamples"]:
        """`count` random minibatches."""
        size, device = len(self.action), self.action.device
        order = torch.randperm(size, generator=generator, device=device)
        dealt = [
            getattr(self, field.name).index_select(0, order).tensor_split(count)
            for field in fields(self)
        ]
        return [FlowSamples(*parts) for parts in zip(*dealt, strict=True)]


@dataclass(frozen=True, kw_only=True, slots=True)
class FpoMetrics:
    """What one update did; means over its gradient steps."""

    rollout: RolloutMetrics
    """What the worlds brought."""
    actor_loss: float
    value_loss: float
    flow_loss: float
    """ℓ of the pairs."""
    clipped: float
    """Share of ratios beyond the trusted range."""
    spread: float
    """Entropy of actions in a state but for a constant; 0 where nobody measures it."""
    imitation: float
    """Squared difference of the one-step network from the flow; 0 without one."""
    explained_variance: float
    """Of returns by the critic: 1 is perfect, 0 is no better than a constant."""

    @property
    def numbers(self) -> dict[str, float]:
        return {
            "flow_loss": self.flow_loss,
            "clipped": self.clipped,
            "spread": self.spread,
            "imitation": self.imitation,
            "value_loss": self.value_loss,
            "explained_variance": self.explained_variance,
        }

    @property
    def is_finite(self) -> bool:
        numbers = (self.actor_loss, self.value_loss, self.flow_loss)
        return all(map(math.isfinite, numbers))


class FlowActor(nn.Module):
    """A flow, the moving mean of its weights and, if wanted, its one-step image."""

    def __init__(self, flow: Flow, input_width: int, student: Mlp | None) -> None:
        super().__init__()
        self.normaliser = Normaliser(input_width)
        self.flow = flow
        self.mean = deepcopy(flow).requires_grad_(False)
        self.student = student


class Fpo(Learner):
    """One flow, one critic, one generator; processes average gradients."""

    Settings = FpoSettings
    about = "policy gradients of flows, which hold several ways to act; from rollouts"
    remedy = "learn in smaller steps: a smaller learning_rate and difference_limit"

    def __init__(
        self,
        environment: Environment,
        settings: FpoSettings | None = None,
        *,
        seed: int = 0,
        average: Average | None = None,
    ) -> None:
        self.settings = s = settings or FpoSettings()
        self._policy_input = find_policy_input(environment)
        self._critic_input = find_critic_input(environment)
        self._check(environment)
        self.device, self.average = environment.device, average
        self.generator = build_generator(seed, self.device)
        seen, judged = self._policy_input.width, self._critic_input.width
        self._action_width = width = environment.action_width
        field = self._build_layers(
            seen + width + TIME_WIDTH, s.actor_widths, width, gain=0.01
        )
        student = None
        if s.one_step:
            student = self._build_layers(seen, s.actor_widths, width, gain=0.01)
        flow = Flow(field, width, s.flow_steps)
        self.actor = FlowActor(flow, seen, student).to(self.device)
        body = self._build_layers(judged, s.critic_widths, 1, gain=1.0)
        self.critic = Critic(body, judged).to(self.device)
        self._parts = [list(x.parameters()) for x in (flow, self.critic)]
        if student is not None:
            self._parts.append(list(student.parameters()))
        self.optimiser = torch.optim.AdamW(
            [weights for part in self._parts for weights in part],
            lr=s.learning_rate,
            weight_decay=s.weight_decay,
            fused=True,
            capturable=self.device.type == "cuda",
        )
        self._observations: Observations = {}
        self._has_rollout = False
        self._allocate(environment.world_count)

    # Playing

    def begin(self, environment: Environment) -> None:
        if environment.world_count != self._storage.world_count:
            self._allocate(environment.world_count)
        self._observations = environment.reset(scatter=True)
        self._see(self._observations)
        self._tally.restart()

    @torch.no_grad()
    def collect(self, environment: Environment) -> None:
        storage = self._storage
        if not self._observations or environment.world_count != storage.world_count:
            self.begin(environment)
            storage = self._storage
        with spare_threads(environment.world_count):
            for t in range(storage.step_count):
                action = self.explore(self._observations)
                step = environment.step(action)
                storage.put(t, self._observations, None, action, step)
                self._tally.add(step)
                self._observations = step.observations
                self._see(step.observations)
        if self.average is not None:
            self.actor.normaliser.merge(self.average)
            self.critic.normaliser.merge(self.average)
        hidden = self.critic.network.initial_hidden(storage.world_count)
        judge = self._critic_input.join
        storage.value, _ = self.critic(judge(storage.seen), hidden)
        storage.next_value, _ = self.critic(judge(storage.final), hidden)
        self._has_rollout = True

    @torch.no_grad()
    def explore(self, observations: Observations) -> Tensor:
        """(worlds, action_width) actions drawn from the flow, and shaken a little."""
        seen = self.actor.normaliser(self._policy_input.join(observations))
        noise, shake = torch.randn(
            2,
            len(seen),
            self._action_width,
            generator=self.generator,
            device=self.device,
        )
        s = self.settings
        return self.actor.flow.carry(seen, s.std * noise) + s.perturbation * shake

    @torch.no_grad()
    def act(self, observations: Observations, memory: Memory | None = None) -> Tensor:
        seen = self.actor.normaliser(self._policy_input.join(observations))
        return self._acting.unroll(seen)

    @property
    def _acting(self) -> Flow | Mlp:
        actor = self.actor
        return actor.mean if actor.student is None else actor.student

    def remember(self, world_count: int) -> Memory:
        return Memory(self._acting.initial_hidden(world_count))

    # Learning

    def update(self) -> FpoMetrics:
        s = self.settings
        if not self._has_rollout:
            raise NothingCollected
        self._has_rollout = False
        samples, explained = self._judge()
        sums = self._passes(samples)
        means = sums / (s.epochs * len(samples))
        numbers = torch.cat([means, explained[None]]).tolist()
        return FpoMetrics(
            rollout=self._tally.read(),
            actor_loss=numbers[0],
            value_loss=numbers[1],
            flow_loss=numbers[2],
            clipped=numbers[3],
            spread=numbers[4],
            imitation=numbers[5],
            explained_variance=numbers[6],
        )

    @torch.no_grad()
    def _judge(self) -> tuple[list[FlowSamples], Tensor]:
        """Minibatches with their worth and their pairs, and the explained variance."""
        s, storage = self.settings, self._storage
        value = storage.value
        advantage = compute_advantages(
            storage.reward,
            value,
            storage.next_value,
            terminated=storage.terminated,
            done=storage.done,
            invalid=storage.invalid,
            discount=s.discount,
            decay=s.decay,
        )
        returns = advantage + value
        weight = (~storage.invalid).to(value.dtype)
        error = compute_variance(returns - value, weight)
        explained = 1 - error / compute_variance(returns, weight)
        advantage = self._normalise(advantage, weight)
        numbers = torch.stack([value, returns, advantage, weight], dim=-1)
        action = storage.action.flatten(0, 1)
        shape = (len(action), s.flow_samples)
        device, generator = self.device, self.generator
        noise = torch.randn(
            *shape, self._action_width, generator=generator, device=device
        )
        actor, critic = self.actor.normaliser, self.critic.normaliser
        samples = FlowSamples(
            actor=actor(self._policy_input.join(storage.seen)).flatten(0, 1),
            critic=critic(self._critic_input.join(storage.seen)).flatten(0, 1),
            action=action,
            noise=s.std * noise,
            time=torch.rand(*shape, 1, generator=generator, device=device),
            numbers=numbers.flatten(0, 1),
            loss=torch.zeros(shape, device=device),
        )
        # In minibatches as they will be learned from: so ρ is 1 to the last bit.
        parts = samples.split(s.minibatches, generator)
        return [replace(x, loss=self._compute_losses(x)) for x in parts], explained

    def _compute_losses(self, batch: FlowSamples) -> Tensor:
        """(samples, pairs) ℓ of the policy as it is, at the pairs that were drawn."""
        count = batch.noise.shape[1]
        action = batch.action[:, None].expand_as(batch.noise)
        x = batch.time * action + (1 - batch.time) * batch.noise  # x_τ
        seen = batch.actor[:, None].expand(-1, count, -1)
        velocity = self.actor.flow.find_velocity(seen, x, batch.time)
        losses = compute_flow_loss(velocity, action, batch.noise)
        return losses.clamp(max=self.settings.loss_limit)

    def compute_ratios(self, batch: FlowSamples) -> tuple[Tensor, Tensor]:
        """ρ = exp(ℓ_old − ℓ), (samples, pairs) or (samples, 1), and the mean ℓ."""
        s = self.settings
        losses = self._compute_losses(batch)
        fallen = batch.loss - losses
        if not s.is_per_pair:
            fallen = fallen.mean(1, keepdim=True)
        limit = s.difference_limit
        # The value is cut, the gradient is that of what was not.
        cut = fallen + (fallen.clamp(-limit, limit) - fallen).detach()
        return cut.exp(), losses.mean()

    def _descend_all(self, samples: list[FlowSamples]) -> Tensor:
        """All passes over the minibatches; what they saw, added up."""
        sums = torch.zeros(6, device=self.device)
        for _ in range(self.settings.epochs):
            for minibatch in samples:
                sums += self._descend(minibatch)
        return sums

    def _descend(self, batch: FlowSamples) -> Tensor:
        """One gradient step; what it saw, (6,)."""
        s = self.settings
        old_value, returns, advantage, weight = batch.numbers.unbind(-1)
        ratio, flow_loss = self.compute_ratios(batch)
        losses = compute_trusted_loss(
            ratio, advantage[:, None], s.clip, pulls_back=s.is_per_pair
        )
        actor_loss = compute_mean(losses.mean(1), weight)
        value = self.critic.network.unroll(batch.critic).squeeze(-1)
        errors = compute_value_loss(value, old_value, returns, None)
        value_loss = compute_mean(errors, weight)
        loss = actor_loss + value_loss
        spread = imitation = torch.zeros_like(loss)
        if s.entropy_weight:
            spread = self._measure_spread(batch)
            loss = loss - s.entropy_weight * spread
        if self.actor.student is not None:
            with torch.no_grad():
                wanted = self.actor.mean.unroll(batch.actor)
            done = self.actor.student.unroll(batch.actor)
            imitation = (done - wanted).square().mean()
            loss = loss + imitation

        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        for weights in self._parts:
            if self.average is not None:
                self.average([w.grad for w in weights if w.grad is not None])
            nn.utils.clip_grad_norm_(weights, s.gradient_limit)
        self.optimiser.step()
        follow(self.actor.mean, self.actor.flow, s.weight_memory)
        with torch.no_grad():
            clipped = ((ratio - 1).abs() > s.clip).to(ratio.dtype).mean()
            seen = [actor_loss, value_loss, flow_loss, clipped, spread, imitation]
            return torch.stack(seen).detach()

    def _measure_spread(self, batch: FlowSamples) -> Tensor:
        """Of what the flow does from the pairs' noise, in some states."""
        count = self.settings.entropy_states
        noise = batch.noise[:count]
        seen = batch.actor[:count, None].expand(-1, noise.shape[1], -1)
        return measure_spread(self.actor.flow.carry(seen, noise), _NEIGHBOUR).mean()

    def _normalise(self, advantage: Tensor, weight: Tensor) -> Tensor:
        """About zero, of unit standard deviation, over the samples of all processes."""
        mean = compute_mean(advantage, weight)
        if self.average is not None:
            self.average([mean])
        variance = compute_mean((advantage - mean).square(), weight)
        if self.average is not None:
            self.average([variance])
        return (advantage - mean) / (variance.sqrt() + 1e-8)

    # Keeping

    def export(self) -> Actor:
        """From ε = 0, by the moving mean of the weights, or by the network of one step.

        All steps of the flow are in it.
        """
        width = self._policy_input.width
        actor = Actor(self._acting, width, self._action_width, std=1.0)
        actor.normaliser = self.actor.normaliser
        return actor.to(self.device)

    def copy_weights(self) -> State:
        return {
            "actor": _copy(self.actor.state_dict()),
            "critic": _copy(self.critic.state_dict()),
        }

    def load_weights(self, weights: State) -> tuple[str, ...]:
        """A critic that sees other numbers begins anew."""
        actor, critic = (cast(Any, weights.get(x, {})) for x in ("actor", "critic"))
        if (misfit := find_misfit(self.actor, actor)) is not None:
            raise BadWeights(
                f"Weights of another policy: {misfit}.",
                hint="Policies fit where observations, actions and layers are alike.",
            )
        self.actor.load_state_dict(actor)
        if (misfit := find_misfit(self.critic, critic)) is not None:
            return (f"The critic begins anew: {misfit}.",)
        self.critic.load_state_dict(critic)
        return ()

    def state_dict(self) -> State:
        return {
            **self.copy_weights(),
            "optimiser": deepcopy(self.optimiser.state_dict()),
            "generator": self.generator.get_state(),
            "world_count": self._storage.world_count,
            "observations": _copy(self._observations),
            "tally": self._tally.state_dict(),
        }

    def load_state_dict(self, state: State) -> None:
        s = cast(dict[str, Any], state)
        self.actor.load_state_dict(s["actor"])
        self.critic.load_state_dict(s["critic"])
        self.optimiser.load_state_dict(deepcopy(s["optimiser"]))
        self.generator.set_state(s["generator"].cpu())
        self._allocate(s["world_count"])
        self._observations = {
            group: x.to(self.device, copy=True)
            for group, x in s["observations"].items()
        }
        self._tally.load_state_dict(s["tally"])

    # Building

    def _build_layers(
        self, width: int, hidden: tuple[int, ...], out: int, *, gain: float
    ) -> Mlp:
        return Mlp(
            width,
            hidden,
            out,
            activation=self.settings.activation,
            output_gain=gain,
            generator=self.generator,
        )

    def _see(self, observations: Observations) -> None:
        self.actor.normaliser.observe(self._policy_input.join(observations))
        self.critic.normaliser.observe(self._critic_input.join(observations))

    def _allocate(self, world_count: int) -> None:
        self._storage = Storage(
            self.settings.horizon,
            world_count,
            policy_groups=self._policy_input.groups,
            critic_groups=self._critic_input.groups,
            action_width=self._action_width,
            device=self.device,
        )
        self._tally = Tally(world_count, self.device)
        self._has_rollout = False
        self._passes: Passes[FlowSamples] = self._descend_all
        alone = self.average is None and self.device.type == "cuda"
        if self.settings.capture and alone:
            self._passes = CapturedPasses(self._descend_all)

    def _check(self, environment: Environment) -> None:
        s = self.settings
        check_vectors(self._policy_input)
        check_vectors(self._critic_input)
        for name in (
            *(
                "horizon",
                "epochs",
                "flow_samples",
                "flow_steps",
                "clip",
                "learning_rate",
            ),
            *("loss_limit", "difference_limit", "gradient_limit", "std"),
        ):
            if not getattr(s, name) > 0:
                option = f"--{name.replace('_', '-')}"
                raise BadSettings(
                    f"{option} should be above zero, not {getattr(s, name):g}."
                )
        if not 0 <= s.weight_memory < 1:
            raise BadSettings(
                f"--weight-memory {s.weight_memory:g} is no share of a mean: 0 … 1."
            )
        if s.entropy_weight and s.flow_samples <= _NEIGHBOUR:
            raise BadSettings(
                f"The spread of {s.flow_samples} actions has no neighbour "
                f"{_NEIGHBOUR}.",
                hint=f"Choose {_NEIGHBOUR + 1} --flow-samples or more, or no "
                "entropy_weight.",
            )
        size = environment.world_count * s.horizon
        if not 1 <= s.minibatches <= size:
            raise BadSettings(
                f"{s.minibatches} minibatches were asked of {size} samples.",
                hint="Choose fewer minibatches, or more worlds.",
            )


def compute_trusted_loss(
    ratio: Tensor, advantage: Tensor, clip: float, *, pulls_back: bool
) -> Tensor:
    """Of each ratio: PPO's loss; where it `pulls_back` and A ≤ 0, that of SPO.

    −(ρ A − |A|/(2ε) (ρ − 1)²): outside the trusted range PPO's loss is flat, this one
    leads back.
    """
    plain = compute_actor_loss(ratio, advantage, clip)
    if not pulls_back:
        return plain
    bowl = advantage.abs() / (2 * clip) * (ratio - 1).square() - ratio * advantage
    return torch.where(advantage > 0, plain, bowl)


def _copy(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: x.clone() for name, x in tensors.items()}
