"""Proximal policy optimisation (Schulman et al. 2017), as legged robots use it.

A rollout of all worlds, advantages (Schulman et al. 2016), then a few passes of
gradient steps that stay near the policy that played. They descend (2017, eq. 9 with its
sign turned; c1 is `value_weight`, c2 `entropy_weight`)

    L = −E[min(r Â, clip(r, 1−ε, 1+ε) Â)] + c1 E[(V − R)²] − c2 H(π)

with the ratio of probabilities r = π(a|s) / π_old(a|s). The step size follows the KL
divergence of π from π_old, as Rudin et al. 2022 do.

The critic may see what no robot measures; both may remember; tasks with a symmetry may
learn from mirrored samples.
"""

import enum
import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from realworthy.learning.capture import CapturedPasses, Passes
from realworthy.learning.gaussian import Gaussian
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
    NetworkInput,
    find_critic_input,
    find_policy_input,
)
from realworthy.learning.networks import (
    Activation,
    Actor,
    Critic,
    Network,
    build_network,
    find_misfit,
)
from realworthy.learning.normaliser import Average
from realworthy.learning.recurrent import RecurrentKind, forget
from realworthy.learning.storage import Samples, Storage, compute_advantages
from realworthy.learning.tally import RolloutMetrics, Tally
from realworthy.learning.watch import Watch
from realworthy.learning.weighted import compute_mean, compute_variance
from realworthy.tasks.environment.devices import spare_threads
from realworthy.tasks.environment.environment import Environment, Observations


class TimeOut(enum.Enum):
    """What is taken to follow where time was up."""

    FINAL = "final"
    """The value of the true last observation."""
    BEFORE = "before"
    """The value of the observation before: what codes without the last one do."""


@dataclass(kw_only=True, slots=True)
class PpoSettings(LearnerSettings):
    """For thousands of worlds on a GPU; see `cpu` and `small` for others."""

    horizon: int = 24
    """Control steps of each world before an update."""
    epochs: int = 5
    """Passes over a rollout in an update."""
    minibatches: int = 4
    """Gradient steps in a pass."""
    discount: float = 0.99
    """What a reward is worth one control step later."""
    decay: float = 0.95
    """λ of generalised advantages: 0 trusts the critic, 1 the returns."""
    clip: float = 0.2
    """How far probability ratios, and values, may move in an update."""
    clip_value: bool = True
    """Values too move by `clip` at most; wants returns of about unit size."""
    learning_rate: float = 1e-3
    """At the start; `kl_target` moves it."""
    kl_target: float | None = 0.01
    """KL divergence [nat] of an update that the step size aims at; none: fixed size."""
    learning_rate_range: tuple[float, float] = (1e-5, 1e-2)
    """Within which the step size moves."""
    value_weight: float = 1.0
    """Of the critic's loss, beside that of the actor."""
    entropy_weight: float = 0.01
    """Of the entropy, which keeps exploration up."""
    gradient_limit: float = 1.0
    """Norm to which the gradients of actor and critic are cut, each on its own."""
    normalise_by_minibatch: bool = False
    """Advantages are normalised in each minibatch; else once, over the rollout."""
    time_out: TimeOut = TimeOut.FINAL
    """What follows where time was up."""
    std: float = 1.0
    """Of actions, at the start."""
    actor_widths: tuple[int, ...] = (512, 256, 128)
    """Hidden layers of the actor."""
    critic_widths: tuple[int, ...] = (512, 256, 128)
    """Hidden layers of the critic."""
    activation: Activation = Activation.ELU
    """Between the layers."""
    layer_norm: bool = False
    """Each hidden layer is normalised before its activation (Ba et al. 2016)."""
    image_channels: tuple[int, ...] = (16, 32, 32)
    """Convolutions of each image that is seen; each halves height and width."""
    image_width: int = 64
    """Numbers that an image becomes, which stand beside the others."""
    recurrent: RecurrentKind | None = None
    """Memory of actor and critic, before their layers; none: they see one instant."""
    recurrent_width: int = 256
    """Of the memory; the horizon bounds how far back gradients reach."""
    mirror_samples: bool = False
    """Learn from each sample also as seen in the task's mirrors."""
    mirror_weight: float = 0.0
    """Of the squared difference between mirrored actions and actions in the mirror."""
    capture: bool = True
    """On CUDA: an update is one graph; not with memory, nor over several processes."""

    @property
    def widest_layer(self) -> int:
        return max((*self.actor_widths, *self.critic_widths, 1))

    def build(
        self, environment: Environment, *, seed: int, average: Average | None = None
    ) -> "Ppo":
        return Ppo(environment, self, seed=seed, average=average)


def cpu() -> PpoSettings:
    """About 1,024 worlds on a few cores: a quadruped in minutes."""
    s = PpoSettings()
    s.epochs = 4
    s.actor_widths = s.critic_widths = (128, 128, 64)
    return s


def small() -> PpoSettings:
    """64 to 256 worlds on a few cores: a pendulum in seconds."""
    s = PpoSettings()
    s.horizon = 64
    s.learning_rate = 3e-4
    s.discount = 0.98
    s.entropy_weight = 0.005
    s.activation = Activation.TANH
    s.actor_widths = s.critic_widths = (64, 64)
    return s


@dataclass(frozen=True, kw_only=True, slots=True)
class PpoMetrics:
    """What one update did; losses and divergences are means over its gradient steps."""

    rollout: RolloutMetrics
    """What the worlds brought."""
    actor_loss: float
    value_loss: float
    entropy: float
    """[nat] of the distribution of actions."""
    kl: float
    """[nat] from the policy that played to the current one, before each step."""
    clipped: float
    """Share of samples whose probability ratio left the trusted range."""
    mirror_loss: float
    actor_gradient: float
    """Norm before it was cut."""
    critic_gradient: float
    """Norm before it was cut."""
    learning_rate: float
    """After the update; one that stays at an end of its range has a wrong target."""
    std: float
    """Mean over the actions; far above its start it no longer has an effect."""
    explained_variance: float
    """Of returns by the critic: 1 is perfect, 0 is no better than a constant."""

    @property
    def numbers(self) -> dict[str, float]:
        return {
            "kl": self.kl,
            "step_size": self.learning_rate,
            "std": self.std,
            "value_loss": self.value_loss,
            "explained_variance": self.explained_variance,
        }

    @property
    def is_finite(self) -> bool:
        numbers = (self.actor_loss, self.value_loss, self.kl, self.std)
        return all(map(math.isfinite, numbers))


class Ppo(Learner):
    """One actor, one critic, one generator.

    With `average`, gradients and statistics are averaged over processes
    (`learning.distributed`), which must start from the same weights.
    """

    Settings = PpoSettings
    about = "gradients of an actor and a critic, from rollouts; for every task"
    remedy = (
        "learn in smaller steps: a smaller kl_target, and clip_value=False where "
        "returns are large"
    )

    def __init__(
        self,
        environment: Environment,
        settings: PpoSettings | None = None,
        *,
        seed: int = 0,
        average: Average | None = None,
        network: Callable[[torch.Generator], Network] | None = None,
    ) -> None:
        """`network` builds what acts, from all that it sees; none: layers, as the
        settings say."""
        self.settings = s = settings or PpoSettings()
        self._policy_input = find_policy_input(environment)
        self._critic_input = find_critic_input(environment)
        self._check(environment)
        rates = None if s.kl_target is None else s.learning_rate_range
        self._watch = Watch(std=s.std, rates=rates)
        self.device = environment.device
        self.generator = build_generator(seed, self.device)
        self.average = average
        seen, judged = self._policy_input.width, self._critic_input.width
        action_width = environment.action_width

        def build(
            see: NetworkInput, hidden: tuple[int, ...], out: int, gain: float
        ) -> Network:
            return build_network(
                see.width,
                hidden,
                out,
                activation=s.activation,
                output_gain=gain,
                recurrent=s.recurrent,
                recurrent_width=s.recurrent_width,
                generator=self.generator,
                layer_norm=s.layer_norm,
                images=see.images,
                image_channels=s.image_channels,
                image_width=s.image_width,
            )

        if network is None:
            body = build(self._policy_input, s.actor_widths, action_width, 0.01)
        else:
            body = network(self.generator)
        self.actor = Actor(body, seen, action_width, s.std).to(self.device)
        body = build(self._critic_input, s.critic_widths, 1, 1.0)
        self.critic = Critic(body, judged).to(self.device)
        self.learning_rate = torch.tensor(s.learning_rate, device=self.device)
        self.optimiser = torch.optim.Adam(
            [*self.actor.parameters(), *self.critic.parameters()],
            lr=self.learning_rate,
            fused=True,
            capturable=self.device.type == "cuda",
        )
        self._environment = environment
        self._observations: Observations = {}
        self._has_rollout = False
        self._allocate(environment.world_count)

    # Playing

    def begin(self, environment: Environment) -> None:
        if environment.world_count != self._storage.world_count:
            self._allocate(environment.world_count)
        self._observations = environment.reset(scatter=True)
        self._see(self._observations)
        self._forget_all()

    @torch.no_grad()
    def collect(self, environment: Environment) -> None:
        storage = self._storage
        if not self._observations or environment.world_count != storage.world_count:
            self.begin(environment)
            storage = self._storage
        self._environment = environment
        storage.std.copy_(self.actor.std)
        storage.actor_hidden = self._actor_hidden
        noise = torch.randn(
            storage.action.shape, generator=self.generator, device=self.device
        )
        with spare_threads(environment.world_count):
            for t in range(storage.step_count):
                self._play(environment, t, noise[t])
        if self.average is not None:
            self.actor.normaliser.merge(self.average)
            self.critic.normaliser.merge(self.average)
        self._evaluate()
        self._has_rollout = True

    def _play(self, environment: Environment, t: int, noise: Tensor) -> None:
        """Step `t` of a rollout; `noise` (worlds, action_width) is standard normal."""
        gaussian, hidden = self.actor.distribution(
            self._policy_input.join(self._observations), self._actor_hidden
        )
        action = gaussian.draw(noise)
        step = environment.step(action)
        self._storage.put(t, self._observations, gaussian, action, step)
        self._tally.add(step)
        self._observations = step.observations
        self._actor_hidden = forget(hidden, step.done)
        self._see(step.observations)

    def _evaluate(self) -> None:
        """Values before and after each step of the rollout.

        The critic stays as it is while worlds are played, so it is asked once for all.
        Looking at what followed a step must not become part of what is remembered.
        """
        storage, hidden = self._storage, self._critic_hidden
        storage.critic_hidden = hidden
        seen = self._critic_input.join(storage.seen)
        final = self._critic_input.join(storage.final)
        if self.settings.recurrent is None:
            storage.value, _ = self.critic(seen, hidden)
            storage.next_value, _ = self.critic(final, hidden)
            return
        for t in range(storage.step_count):
            storage.value[t], hidden = self.critic(seen[t], hidden)
            storage.next_value[t], _ = self.critic(final[t], hidden)
            hidden = forget(hidden, storage.done[t])
        self._critic_hidden = hidden

    @torch.no_grad()
    def act(self, observations: Observations, memory: Memory | None = None) -> Tensor:
        x = self._policy_input.join(observations)
        memory = memory or self.remember(len(x))
        action, memory.hidden = self.actor(x, memory.hidden)
        return action

    def remember(self, world_count: int) -> Memory:
        return Memory(self.actor.network.initial_hidden(world_count))

    # Learning

    def update(self) -> PpoMetrics:
        s = self.settings
        if not self._has_rollout:
            raise NothingCollected
        self._has_rollout = False
        samples, explained = self._judge()
        sums = self._passes(samples)
        std = self.actor.std.detach()
        entropy = Gaussian(std, std).entropy()
        ends = torch.stack([self.learning_rate, std.mean(), entropy, explained])
        numbers = torch.cat([sums / (s.epochs * len(samples)), ends]).tolist()
        self._watch.note(rate=numbers[7], std=numbers[8])
        return PpoMetrics(
            rollout=self._tally.read(),
            actor_loss=numbers[0],
            value_loss=numbers[1],
            kl=numbers[2],
            clipped=numbers[3],
            mirror_loss=numbers[4],
            actor_gradient=numbers[5],
            critic_gradient=numbers[6],
            learning_rate=numbers[7],
            std=numbers[8],
            entropy=numbers[9],
            explained_variance=numbers[10],
        )

    @torch.no_grad()
    def _judge(self) -> tuple[list[Samples], Tensor]:
        """Minibatches of the rollout with its worth, and the explained variance.

        The same minibatches serve all passes: shuffling once costs one copy.
        """
        s, storage = self.settings, self._storage
        value, next_value = storage.value, storage.next_value
        if s.time_out is TimeOut.BEFORE:
            next_value = torch.where(storage.truncated, value, next_value)
        advantage = compute_advantages(
            storage.reward,
            value,
            next_value,
            terminated=storage.terminated,
            done=storage.done,
            invalid=storage.invalid,
            discount=s.discount,
            decay=s.decay,
        )
        returns = advantage + value  # R_t = Â_t + V(s_t), TD(λ)'s target
        weight = (~storage.invalid).to(value.dtype)
        # 1 − Var(R − V) / Var(R)
        explained = 1 - compute_variance(returns - value, weight) / compute_variance(
            returns, weight
        )
        if not s.normalise_by_minibatch:
            advantage = self._normalise(advantage, weight)
        old = Gaussian(storage.mean, storage.std)
        numbers = torch.stack(
            [old.log_prob(storage.action), value, returns, advantage, weight], dim=-1
        )
        samples = self._gather(numbers)
        return samples.split(s.minibatches, self.generator), explained

    def _gather(self, numbers: Tensor) -> Samples:
        """The rollout as samples, normalised and mirrored."""
        storage = self._storage
        actor, critic = self.actor.normaliser, self.critic.normaliser
        see, judge = self._policy_input.join, self._critic_input.join
        if self.settings.recurrent is not None:
            return Samples(
                actor=actor(see(storage.seen))[None],
                critic=critic(judge(storage.seen))[None],
                action=storage.action[None],
                mean=storage.mean,
                numbers=numbers,
                actor_hidden=storage.actor_hidden,
                critic_hidden=storage.critic_hidden,
                done=storage.done,
            )
        flat = {name: x.flatten(0, 1) for name, x in storage.seen.items()}
        action, mean = storage.action.flatten(0, 1), storage.mean.flatten(0, 1)
        task, elements = self._environment, range(1, self._element_count)
        mirrored = [
            {name: task.mirror(name, x, k) for name, x in flat.items()}
            for k in elements
        ]
        images = [flat, *mirrored]
        actors, critics = [see(x) for x in images], [judge(x) for x in images]
        actions = [action, *(task.mirror_action(action, k) for k in elements)]
        return Samples(
            actor=actor(torch.stack(actors)),
            critic=critic(torch.stack(critics)),
            action=torch.stack(actions),
            mean=mean,
            numbers=numbers.flatten(0, 1),
        )

    def _descend_all(self, samples: list[Samples]) -> Tensor:
        """All passes over the minibatches; what they saw, added up."""
        sums = torch.zeros(7, device=self.device)
        for _ in range(self.settings.epochs):
            for minibatch in samples:
                sums += self._descend(minibatch)
        return sums

    def _descend(self, batch: Samples) -> Tensor:
        """One gradient step; what it saw, (7,)."""
        s = self.settings
        learned = self._element_count if s.mirror_samples else 1
        log_prob, old_value, returns, advantage, weight = batch.numbers.unbind(-1)
        if s.normalise_by_minibatch:
            advantage = self._normalise(advantage, weight)
        episodes = batch.episodes

        def unroll(network: Network, x: Tensor, hidden: Tensor | None) -> Tensor:
            if episodes is None:
                return network.unroll(x)
            return network.unroll(x[0], hidden, episodes)[None]

        means = unroll(self.actor.network, batch.actor, batch.actor_hidden)
        x = batch.critic[:learned]
        value = unroll(self.critic.network, x, batch.critic_hidden).squeeze(-1)
        new = Gaussian(means[:learned], self.actor.std)

        kl = self._adapt(batch.mean, Gaussian(means[0], new.std), weight)
        # r = π(a|s) / π_old(a|s), from logarithms (Schulman et al. 2017, §3)
        ratio = (new.log_prob(batch.action[:learned]) - log_prob).exp()
        actor_loss = compute_mean(compute_actor_loss(ratio, advantage, s.clip), weight)
        clip = s.clip if s.clip_value else None
        value_loss = compute_mean(
            compute_value_loss(value, old_value, returns, clip), weight
        )
        loss = actor_loss + s.value_weight * value_loss  # eq. 9, to be made small
        loss = loss - s.entropy_weight * new.entropy()
        mirror_loss = torch.zeros_like(kl)
        if s.mirror_weight:
            mirror_loss = self._compute_mirror_loss(means, weight)
            loss = loss + s.mirror_weight * mirror_loss

        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        actor_norm = self._limit(list(self.actor.parameters()))
        critic_norm = self._limit(list(self.critic.parameters()))
        self.optimiser.step()
        with torch.no_grad():
            clipped = compute_mean(((ratio - 1).abs() > s.clip).to(ratio.dtype), weight)
            seen = [actor_loss, value_loss, kl, clipped, mirror_loss]
            return torch.stack([*seen, actor_norm, critic_norm]).detach()

    @torch.no_grad()
    def _adapt(self, old_mean: Tensor, new: Gaussian, weight: Tensor) -> Tensor:
        """Moves the step size, before it is used, by how far the policy has gone."""
        s = self.settings
        kl = compute_mean(Gaussian(old_mean, self._storage.std).kl_to(new), weight)
        if self.average is not None:
            self.average([kl])
        if s.kl_target is not None:
            rate = adapt_learning_rate(
                self.learning_rate, kl, target=s.kl_target, within=s.learning_rate_range
            )
            self.learning_rate.copy_(rate)
        return kl

    def _compute_mirror_loss(self, means: Tensor, weight: Tensor) -> Tensor:
        """Mean over the mirrors; actions as they are count as the truth."""
        count = self._element_count
        plain = means[0].detach()
        wanted = [self._environment.mirror_action(plain, k) for k in range(1, count)]
        return compute_mean((means[1:] - torch.stack(wanted)).square().mean(-1), weight)

    def _limit(self, weights: list[nn.Parameter]) -> Tensor:
        """Averages gradients over processes and cuts their norm, which it returns."""
        if self.average is not None:
            self.average([w.grad for w in weights if w.grad is not None])
        return nn.utils.clip_grad_norm_(weights, self.settings.gradient_limit)

    def _normalise(self, advantage: Tensor, weight: Tensor) -> Tensor:
        """About zero, of unit standard deviation, over the samples of all processes."""
        mean = compute_mean(advantage, weight)
        if self.average is not None:
            self.average([mean])
        variance = compute_mean((advantage - mean).square(), weight)
        if self.average is not None:
            self.average([variance])
        return (advantage - mean) / (variance.sqrt() + 1e-8)  # all equal: 0, not 0/0

    # Keeping

    def export(self) -> Actor:
        return self.actor

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._watch.warnings

    def copy_weights(self) -> State:
        return {
            "actor": _copy(self.actor.state_dict()),
            "critic": _copy(self.critic.state_dict()),
        }

    def load_weights(self, weights: State) -> tuple[str, ...]:
        """A critic with other inputs starts again; with weights of an older version,
        which kept the actor alone, too."""
        actor, critic = (cast(Any, weights.get(x, {})) for x in ("actor", "critic"))
        if (misfit := find_misfit(self.actor, actor)) is not None:
            raise BadWeights(
                f"Weights of another policy: {misfit}.",
                hint="Policies fit where observations, actions and layers are alike.",
            )
        self.actor.load_state_dict(actor)
        if (misfit := find_misfit(self.critic, critic)) is not None:
            return (f"The critic starts with new weights: {misfit}.",)
        self.critic.load_state_dict(critic)
        return ()

    def state_dict(self) -> State:
        return {
            **self.copy_weights(),
            "optimiser": deepcopy(self.optimiser.state_dict()),
            "learning_rate": self.learning_rate.clone(),
            "generator": self.generator.get_state(),
            "actor_hidden": self._actor_hidden.clone(),
            "critic_hidden": self._critic_hidden.clone(),
            "observations": _copy(self._observations),
            "tally": self._tally.state_dict(),
        }

    def load_state_dict(self, state: State) -> None:
        s = cast(dict[str, Any], state)
        self.actor.load_state_dict(s["actor"])
        self.critic.load_state_dict(s["critic"])
        self.optimiser.load_state_dict(deepcopy(s["optimiser"]))
        self.learning_rate.copy_(s["learning_rate"])
        self.optimiser.param_groups[0]["lr"] = self.learning_rate
        self.generator.set_state(s["generator"].cpu())
        self._allocate(s["actor_hidden"].shape[1])
        self._actor_hidden = s["actor_hidden"].to(self.device, copy=True)
        self._critic_hidden = s["critic_hidden"].to(self.device, copy=True)
        self._observations = {
            group: x.to(self.device, copy=True)
            for group, x in s["observations"].items()
        }
        self._tally.load_state_dict(s["tally"])

    def _allocate(self, world_count: int) -> None:
        environment = self._environment
        self._storage = Storage(
            self.settings.horizon,
            world_count,
            policy_groups=self._policy_input.groups,
            critic_groups=self._critic_input.groups,
            action_width=environment.action_width,
            device=self.device,
        )
        self._tally = Tally(world_count, self.device)
        self._has_rollout = False
        self._passes = self._build_passes()
        self._forget_all()

    def _build_passes(self) -> Passes[Samples]:
        s = self.settings
        is_fixed = s.recurrent is None and self.average is None
        if s.capture and is_fixed and self.device.type == "cuda":
            return CapturedPasses(self._descend_all)
        return self._descend_all

    def _forget_all(self) -> None:
        world_count = self._storage.world_count
        self._actor_hidden = self.actor.network.initial_hidden(world_count)
        self._critic_hidden = self.critic.network.initial_hidden(world_count)
        self._tally.restart()

    def _see(self, observations: Observations) -> None:
        self.actor.normaliser.observe(self._policy_input.join(observations))
        self.critic.normaliser.observe(self._critic_input.join(observations))

    @property
    def _element_count(self) -> int:
        """Elements of the symmetry group that are looked at."""
        s = self.settings
        is_used = s.mirror_samples or s.mirror_weight
        return self._environment.mirror_count if is_used else 1

    def _check(self, environment: Environment) -> None:
        s = self.settings
        worlds = environment.world_count
        if s.mirror_samples or s.mirror_weight:
            if environment.mirror_count < 2:
                raise BadSettings(
                    "Mirrored samples were asked for, but the task has no symmetry.",
                    hint="Set mirror_samples=False and mirror_weight=0.",
                )
            seen = {**self._policy_input.groups, **self._critic_input.groups}
            if unmirrored := [k for k, x in seen.items() if not x.has_mirror]:
                raise BadSettings(
                    "Mirrored samples were asked for, but group"
                    f" '{unmirrored[0]}' of observations has no mirror.",
                    hint="Give its TaskGroup `mirror`, or set mirror_samples=False and"
                    " mirror_weight=0.",
                )
            if s.recurrent is not None:
                raise BadSettings(
                    "Mirrored samples and memory were asked for together: what is"
                    " remembered has no mirror image.",
                    hint="Set recurrent=None, or mirror nothing.",
                )
        size = worlds if s.recurrent is not None else worlds * s.horizon
        if not 1 <= s.minibatches <= size:
            raise BadSettings(
                f"{s.minibatches} minibatches were asked of {size}"
                f" {'worlds' if s.recurrent else 'samples'}.",
                hint="Choose fewer minibatches, or more worlds.",
            )


def compute_actor_loss(ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Of each sample: no gain from ratios of probabilities beyond 1 ± clip.

    −min(r Â, clip(r, 1−ε, 1+ε) Â), Schulman et al. 2017, eq. 7.
    """
    return -torch.minimum(
        advantage * ratio, advantage * ratio.clamp(1 - clip, 1 + clip)
    )


def compute_value_loss(
    value: Tensor, old_value: Tensor, returns: Tensor, clip: float | None
) -> Tensor:
    """Of each sample: squared error, with no gain from going beyond old ± clip.

    max((V − R)², (V_old + clip(V − V_old, −ε, ε) − R)²): not in the paper, but in its
    authors' code (Engstrom et al. 2020, §3).
    """
    loss = (value - returns).square()
    if clip is None:
        return loss
    near = old_value + (value - old_value).clamp(-clip, clip)
    return torch.maximum(loss, (near - returns).square())


def adapt_learning_rate(
    rate: Tensor, kl: Tensor, *, target: float, within: tuple[float, float]
) -> Tensor:
    """Smaller after too large a divergence, larger after too small a one.

    The rule is that of PPO's adaptive penalty (Schulman et al. 2017, §4). Here it moves
    the step size, and its numbers (bounds of 2, a factor of 1.5) are rsl_rl's.
    """
    smaller = (rate / 1.5).clamp(min=within[0])
    larger = (rate * 1.5).clamp(max=within[1])
    is_small = (kl > 0) & (kl < target / 2)
    return torch.where(kl > 2 * target, smaller, torch.where(is_small, larger, rate))


def _copy(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: x.clone() for name, x in tensors.items()}
