"""Forward–backward representations (Touati & Ollivier 2021): one policy for any reward.

*Experimental*. Nothing is learned of a reward. F(o, a, z) and B(o′) learn where policy
π_z gets to: the discounted measure of what follows (o, a) has the density
F(o, a, z)·B(o′). The value of a reward r is then F(o, a, z)·z with z = E[r(o′) B(o′)],
and π_z climbs just that. So a vector z is a prompt: of a reward, of a goal g,
z = B(g), of a motion, the mean of B over its next instants; all on the sphere of radius
√d.

As a learner of a task it is prompted with the task's own rewards, from its replay; what
is judged and exported is the policy of that prompt. Other prompts are asked of it in
Python: `prompt_goal`, `prompt_reward`, `prompt_motion`, `search_prompt`.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

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
from realworthy.learning.networks import Activation, Actor, Mlp, find_misfit
from realworthy.learning.normaliser import Average, Normaliser
from realworthy.learning.replay import (
    ReplayBuffer,
    Transitions,
    count_bytes,
    describe_memory,
)
from realworthy.learning.tally import RolloutMetrics, Tally
from realworthy.tasks.environment.devices import spare_threads
from realworthy.tasks.environment.environment import Environment, Observations


@dataclass(kw_only=True, slots=True)
class FbSettings(LearnerSettings):
    """For 16 to 64 worlds on a core."""

    horizon: int = 4
    """Control steps of each world before an update."""
    updates: int = 8
    """Gradient steps in an update."""
    batch: int = 256
    """Steps in a gradient step; each is compared with each."""
    replay_steps: int = 8192
    """Control steps of each world that are remembered."""
    warm_up: int = 64
    """Control steps of each world with random actions, before anything is learned."""
    latent_width: int = 50
    """d, of prompts and of what F and B say."""
    discount: float = 0.98
    """γ, of the measure of what follows."""
    target_rate: float = 0.01
    """τ: share by which the networks that are aimed at follow those that learn."""
    learning_rate: float = 3e-4
    """Of F and the actor."""
    backward_rate: float = 3e-4
    """Of B, on which all prompts rest."""
    orthonormality: float = 1.0
    """λ: how much E[B Bᵀ] = 1 counts; without it B becomes one vector."""
    goal_share: float = 0.5
    """Of prompts in learning that are goals from the replay; others are drawn from the
    sphere."""
    prompt_steps: int = 150
    """Control steps for which a world keeps a prompt in practice."""
    noise: float = 0.2
    """Standard deviation of what is added to actions, in shares of `action_limit`."""
    noise_clip: float = 0.3
    """Most that it is where actions are foreseen."""
    pessimism: float = 0.5
    """Of the difference of both F's values, taken off their mean for the actor."""
    prompt_samples: int = 4096
    """Steps of the replay from which the prompt of the task's rewards is made."""
    action_limit: float = 1.0
    """Ends of the actions that are tried."""
    weight_decay: float = 0.0
    """Of all weights, in a gradient step of unit size (Loshchilov & Hutter 2019)."""
    gradient_limit: float = 10.0
    """Norm to which gradients are cut, each network's on its own."""
    actor_widths: tuple[int, ...] = (128, 128)
    """Hidden layers of the actor."""
    forward_widths: tuple[int, ...] = (128, 128)
    """Hidden layers of each of two F."""
    backward_widths: tuple[int, ...] = (128, 128)
    """Hidden layers of B."""
    activation: Activation = Activation.SILU
    """Between the layers."""
    layer_norm: bool = True
    """Each hidden layer is normalised before its activation (Ba et al. 2016)."""

    @property
    def widest_layer(self) -> int:
        widths = (*self.actor_widths, *self.forward_widths, *self.backward_widths)
        return max((*widths, 1))

    def build(
        self, environment: Environment, *, seed: int, average: Average | None = None
    ) -> "Fb":
        return Fb(environment, self, seed=seed, average=average)


@dataclass(frozen=True, kw_only=True, slots=True)
class FbMetrics:
    """What one update did; means over its gradient steps."""

    rollout: RolloutMetrics
    """What the worlds brought, under many prompts."""
    fb_loss: float
    orthonormality: float
    """Loss of E[B Bᵀ] against the identity."""
    value: float
    """F·z of the actor, mean."""

    @property
    def numbers(self) -> dict[str, float]:
        return {
            "fb_loss": self.fb_loss,
            "orthonormality": self.orthonormality,
            "value": self.value,
        }

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.fb_loss) and math.isfinite(self.value)


class PromptedActor(nn.Module):
    """Observations and a prompt → actions; the prompt that is exported is kept."""

    prompt: Tensor

    def __init__(self, network: Mlp, input_width: int, prompt: Tensor) -> None:
        super().__init__()
        self.normaliser = Normaliser(input_width)
        self.network = network
        self.register_buffer("prompt", prompt)


class Representation(nn.Module):
    """Two F and one B, and the statistics of what they see."""

    def __init__(self, forward: list[Mlp], backward: Mlp, width: int) -> None:
        super().__init__()
        self.normaliser = Normaliser(width)
        self.forward_networks = nn.ModuleList(forward)
        self.backward_network = backward

    def lead(self, seen: Tensor, action: Tensor, prompt: Tensor) -> Tensor:
        """(2, samples, d) F(o, a, z) of normalised observations."""
        x = torch.cat([seen, action, prompt], dim=-1)
        return torch.stack([cast(Mlp, f).unroll(x) for f in self.forward_networks])

    def trace(self, seen: Tensor) -> Tensor:
        """(…, d) B(o′) of normalised observations, on the sphere."""
        return project(self.backward_network.unroll(seen))


def project(x: Tensor) -> Tensor:
    """(…, d) onto the sphere of radius √d."""
    return math.sqrt(x.shape[-1]) * nn.functional.normalize(x, dim=-1)


def compute_fb_loss(
    measure: Tensor, following: Tensor, discount: Tensor, weight: Tensor
) -> Tensor:
    """½ E[(M − γ M̄)²] over pairs of different samples − E[M] of the same.

    (n, n) each: row i is what follows step i, column j how much of it is near the
    observation after step j. The loss is Bellman's for the measure, whose first part is
    a point at the observation that did follow (Touati & Ollivier 2021, eq. 12).
    """
    count = len(measure)
    pairs = weight[:, None] * weight[None, :]
    off = pairs - torch.diag(pairs.diagonal())
    error = measure - discount[:, None] * following
    apart = 0.5 * (off * error.square()).sum() / max(1, count * (count - 1))
    return apart - (weight * error.diagonal()).sum() / count


def compute_orthonormality_loss(traced: Tensor) -> Tensor:
    """½ E[(B·B′)²] over pairs of different samples − E[B·B] of the same: least where
    E[B Bᵀ] is the identity."""
    products = traced @ traced.T
    count = len(products)
    same = products.diagonal()
    apart = products.square().sum() - same.square().sum()
    return 0.5 * apart / max(1, count * (count - 1)) - same.mean()


class Fb(Learner):
    """Two F, one B, an actor of prompts, one generator; processes average gradients.

    Privileged observations go to F and B, deployable ones to the actor. B sees what
    follows a step and no action; what a task shows to critics should have no memory of
    actions either, or goals cannot be named.
    """

    Settings = FbSettings
    about = "forward–backward representations: one policy that rewards or goals prompt"
    remedy = "learn in smaller steps: a smaller learning_rate and backward_rate"

    def __init__(
        self,
        environment: Environment,
        settings: FbSettings | None = None,
        *,
        seed: int = 0,
        average: Average | None = None,
    ) -> None:
        self.settings = s = settings or FbSettings()
        self._policy_input = find_policy_input(environment)
        self._critic_input = find_critic_input(environment)
        self._groups = {**self._policy_input.groups, **self._critic_input.groups}
        self._check()
        self._environment = environment
        self.device, self.average = environment.device, average
        self._action_width = environment.action_width
        self.memory_plan = self._plan_memory(environment.world_count)
        self.generator = build_generator(seed, self.device)
        seen, judged, d = (
            self._policy_input.width,
            self._critic_input.width,
            s.latent_width,
        )
        network = self._build_layers(
            seen + d, s.actor_widths, self._action_width, limit=s.action_limit
        )
        self.actor = PromptedActor(network, seen, self._draw_sphere(1)[0])
        self.actor.to(self.device)
        width = judged + self._action_width + d
        self.representation = Representation(
            [self._build_layers(width, s.forward_widths, d) for _ in range(2)],
            self._build_layers(judged, s.backward_widths, d),
            judged,
        ).to(self.device)
        self.targets = deepcopy(self.representation).requires_grad_(False)
        r = self.representation
        self._parts = [
            list(x.parameters())
            for x in (r.forward_networks, r.backward_network, self.actor.network)
        ]
        rates = (s.learning_rate, s.backward_rate, s.learning_rate)
        self._optimisers = [
            torch.optim.AdamW(
                part,
                lr=rate,
                weight_decay=s.weight_decay,
                fused=True,
            )
            for part, rate in zip(self._parts, rates, strict=True)
        ]
        self._observations: Observations = {}
        self._has_new = False
        self._update_count = 0
        self._replay: ReplayBuffer | None = None
        self._tally = Tally(environment.world_count, self.device)

    # Playing

    def begin(self, environment: Environment) -> None:
        replay, count = self._replay, environment.world_count
        if replay is None or replay.world_count != count:
            self._allocate(count)
        else:
            replay.cut()
        self._environment = environment
        self._observations = environment.reset(scatter=True)
        self._see(self._observations)
        self._tally.restart()

    @torch.no_grad()
    def collect(self, environment: Environment) -> None:
        replay, count = self._replay, environment.world_count
        if not self._observations or replay is None or replay.world_count != count:
            self.begin(environment)
        assert self._replay is not None
        s = self.settings
        warm_up = max(0, min(s.warm_up, s.replay_steps) - self._replay.used)
        with spare_threads(count):
            for _ in range(warm_up):
                self._play(environment, is_random=self._update_count == 0)
            for _ in range(s.horizon):
                self._play(environment, is_random=False)
        if self.average is not None:
            self.actor.normaliser.merge(self.average)
            self.representation.normaliser.merge(self.average)
        self._has_new = True

    def _play(self, environment: Environment, *, is_random: bool) -> None:
        assert self._replay is not None
        count, limit = environment.world_count, self.settings.action_limit
        shape = (count, self._action_width)
        if is_random:
            u = torch.rand(shape, generator=self.generator, device=self.device)
            action = limit * (2 * u - 1)
        else:
            seen = self.actor.normaliser(self._policy_input.join(self._observations))
            noise = self.settings.noise * self._draw_normal(shape)
            action = self._ask(seen, self._prompts) + limit * noise
            action = action.clamp(-limit, limit)
        step = environment.step(action)
        self._replay.put(self._observations, action, step)
        self._tally.add(step)
        self._age = torch.where(step.done, 0, self._age + 1)
        is_old = self._age % self.settings.prompt_steps == 0
        fresh = self._draw_sphere(count)
        self._prompts = torch.where(is_old[:, None], fresh, self._prompts)
        self._observations = step.observations
        self._see(step.observations)

    def _ask(self, seen: Tensor, prompt: Tensor) -> Tensor:
        """π(o, z) of normalised observations."""
        return self.actor.network.unroll(torch.cat([seen, prompt], dim=-1))

    @torch.no_grad()
    def act(self, observations: Observations, memory: Memory | None = None) -> Tensor:
        """By the prompt that is exported."""
        seen = self.actor.normaliser(self._policy_input.join(observations))
        return self._ask(seen, self.actor.prompt.expand(len(seen), -1))

    def remember(self, world_count: int) -> Memory:
        return Memory(torch.zeros(0, world_count, 0, device=self.device))

    # Prompting

    @torch.no_grad()
    def trace(self, observations: Observations) -> Tensor:
        """(…, d) B of what critics see, by which goals and rewards are named."""
        r = self.representation
        return r.trace(r.normaliser(self._critic_input.join(observations)))

    def prompt_goal(self, observations: Observations) -> Tensor:
        """(…, d) prompts to get to observations and stay there."""
        return self.trace(observations)

    def prompt_reward(self, observations: Observations, reward: Tensor) -> Tensor:
        """(d,) prompt for a reward, given as (n,) numbers at n observations that were
        drawn as the replay is: z ∝ Σ r(o) B(o)."""
        return project((reward[:, None] * self.trace(observations)).mean(0))

    def prompt_motion(self, observations: Observations, ahead: int = 8) -> Tensor:
        """(instants, d) prompts that follow a motion of (instants, …) observations:
        of each instant by those of the `ahead` next."""
        traced = self.trace(observations)
        last = len(traced)
        means = [traced[t : min(t + ahead, last)].mean(0) for t in range(last)]
        return project(torch.stack(means))

    def search_prompt(
        self,
        evaluate: Callable[[Tensor], Tensor],
        *,
        start: Tensor | None = None,
        rounds: int = 5,
        count: int = 32,
        elite: int = 8,
    ) -> Tensor:
        """(d,) the prompt of the highest return, by the cross-entropy method from
        `start`; `evaluate` plays (count, d) prompts and tells (count,) returns."""
        mean = self.actor.prompt if start is None else start
        std = torch.full_like(mean, 0.5)
        best, highest = mean, -math.inf
        for _ in range(rounds):
            drawn = mean + std * self._draw_normal((count, len(mean)))
            prompts = project(torch.cat([project(mean)[None], drawn[1:]]))
            returns = evaluate(prompts)
            top = prompts[returns.topk(elite).indices]
            mean, std = top.mean(0), top.std(0) + 0.05
            if float(returns.max()) > highest:
                highest, best = float(returns.max()), prompts[returns.argmax()]
        return best

    @torch.no_grad()
    def use_prompt(self, prompt: Tensor) -> None:
        """What `act` and `export` do from now on, until the next update."""
        self.actor.prompt.copy_(project(prompt))

    # Learning

    def update(self) -> FbMetrics:
        if not self._has_new or self._replay is None:
            raise NothingCollected
        self._has_new = False
        s = self.settings
        sums = torch.zeros(3, device=self.device)
        for _ in range(s.updates):
            drawn = self._draw(self._replay, s.batch)
            sums += self._descend(drawn)
        self._update_count += 1
        many = self._draw(self._replay, s.prompt_samples)
        reward = many.weight * many.reward
        if bool(reward.any()):  # of a task that pays nothing, the prompt stays
            self.use_prompt(self.prompt_reward(many.following, reward))
        loss, orthonormality, value = (sums / s.updates).tolist()
        return FbMetrics(
            rollout=self._tally.read(),
            fb_loss=loss,
            orthonormality=orthonormality,
            value=value,
        )

    def _draw(self, replay: ReplayBuffer, count: int) -> Transitions:
        return replay.draw(
            count,
            step_count=1,
            discount=self.settings.discount,
            generator=self.generator,
        )

    def _descend(self, drawn: Transitions) -> Tensor:
        """A gradient step of F, B and the actor; what it saw, (3,)."""
        s, r = self.settings, self.representation
        with torch.no_grad():
            see, judge = self._policy_input.join, self._critic_input.join
            actor, critic = self.actor.normaliser, r.normaliser
            seen, next_seen = actor(see(drawn.seen)), actor(see(drawn.following))
            judged = critic(judge(drawn.seen))
            after = critic(judge(drawn.following))
            prompt = self._draw_prompts(after)
            noise = s.noise * self._draw_normal(drawn.action.shape)
            noise = s.action_limit * noise.clamp(-s.noise_clip, s.noise_clip)
            limit = s.action_limit
            foreseen = (self._ask(next_seen, prompt) + noise).clamp(-limit, limit)
            lead = self.targets.lead(after, foreseen, prompt).mean(0)
            following = lead @ self.targets.trace(after).T  # M̄
        leads = r.lead(judged, drawn.action, prompt)
        traced = r.trace(after)
        loss = torch.stack(
            [
                compute_fb_loss(x @ traced.T, following, drawn.discount, drawn.weight)
                for x in leads
            ]
        ).sum()
        orthonormality = compute_orthonormality_loss(traced)
        self._step(slice(0, 2), loss + s.orthonormality * orthonormality)

        action = (self._ask(seen, prompt) + noise).clamp(-limit, limit)
        values = (r.lead(judged, action, prompt) * prompt).sum(-1)  # F·z
        value = values.mean(0) - s.pessimism * (values[0] - values[1]).abs()
        value = (drawn.weight * value).mean()
        self._step(slice(2, 3), -value)
        self._follow()
        return torch.stack([loss, orthonormality, value]).detach()

    def _draw_prompts(self, after: Tensor) -> Tensor:
        """(samples, d): goals from elsewhere in the batch, others from the sphere."""
        count = len(after)
        order = torch.randperm(count, generator=self.generator, device=self.device)
        goals = self.representation.trace(after)[order]
        u = torch.rand(count, generator=self.generator, device=self.device)
        is_goal = (u < self.settings.goal_share)[:, None]
        return torch.where(is_goal, goals, self._draw_sphere(count))

    def _step(self, which: slice, loss: Tensor) -> None:
        """Only these parts get gradients."""
        parts, optimisers = self._parts[which], self._optimisers[which]
        for optimiser in optimisers:
            optimiser.zero_grad(set_to_none=True)
        loss.backward(inputs=[weights for part in parts for weights in part])
        for part, optimiser in zip(parts, optimisers, strict=True):
            if self.average is not None:
                self.average([w.grad for w in part if w.grad is not None])
            nn.utils.clip_grad_norm_(part, self.settings.gradient_limit)
            optimiser.step()

    @torch.no_grad()
    def _follow(self) -> None:
        """θ̄ ← θ̄ + τ (θ − θ̄)."""
        pairs = zip(
            self.targets.parameters(), self.representation.parameters(), strict=True
        )
        for slow, quick in pairs:
            slow.lerp_(quick, self.settings.target_rate)

    # Keeping

    def export(self) -> Actor:
        """The policy of the prompt in use, which is a constant of its first layer."""
        network = self.actor.network.fix_inputs(self.actor.prompt)
        width = self._policy_input.width
        actor = Actor(network, width, self._action_width, std=1.0).to(self.device)
        actor.normaliser = self.actor.normaliser
        return actor

    def copy_weights(self) -> State:
        return {
            "actor": _copy(self.actor.state_dict()),
            "critic": _copy(self.representation.state_dict()),
        }

    def load_weights(self, weights: State) -> tuple[str, ...]:
        """F and B that see other numbers start again."""
        actor, critic = (cast(Any, weights.get(x, {})) for x in ("actor", "critic"))
        if (misfit := find_misfit(self.actor, actor)) is not None:
            raise BadWeights(
                f"Weights of another policy: {misfit}.",
                hint="Policies fit where observations, actions, layers and prompts are "
                "alike.",
            )
        self.actor.load_state_dict(actor)
        if (misfit := find_misfit(self.representation, critic)) is not None:
            return (f"F and B start again: {misfit}.",)
        self.representation.load_state_dict(critic)
        self.targets.load_state_dict(critic)
        return ()

    def state_dict(self) -> State:
        keeps = self._replay is not None and self.device.type == "cpu"
        return {
            **self.copy_weights(),
            "targets": _copy(self.targets.state_dict()),
            "optimisers": [deepcopy(x.state_dict()) for x in self._optimisers],
            "generator": self.generator.get_state(),
            "update_count": self._update_count,
            "observations": _copy(self._observations),
            "tally": self._tally.state_dict(),
            "world_count": self._replay.world_count if self._replay else 0,
            "prompts": self._prompts.clone() if self._replay else None,
            "age": self._age.clone() if self._replay else None,
            "replay": self._replay.state_dict() if keeps and self._replay else None,
        }

    def load_state_dict(self, state: State) -> None:
        s = cast(dict[str, Any], state)
        self.actor.load_state_dict(s["actor"])
        self.representation.load_state_dict(s["critic"])
        self.targets.load_state_dict(s["targets"])
        for optimiser, kept in zip(self._optimisers, s["optimisers"], strict=True):
            optimiser.load_state_dict(deepcopy(kept))
        if s["world_count"]:
            self._allocate(s["world_count"])
            self._prompts = s["prompts"].to(self.device, copy=True)
            self._age = s["age"].to(self.device, copy=True)
        if s["replay"] is not None and self._replay is not None:
            self._replay.load_state_dict(s["replay"])
        self.generator.set_state(s["generator"].cpu())
        self._update_count = s["update_count"]
        self._observations = {
            group: x.to(self.device, copy=True)
            for group, x in s["observations"].items()
        }
        self._tally.load_state_dict(s["tally"])

    # Building

    def _build_layers(
        self, width: int, hidden: tuple[int, ...], out: int, limit: float | None = None
    ) -> Mlp:
        s = self.settings
        return Mlp(
            width,
            hidden,
            out,
            activation=s.activation,
            output_gain=0.01 if limit else 1.0,
            generator=self.generator,
            layer_norm=s.layer_norm,
            limit=limit,
        )

    def _draw_normal(self, shape: tuple[int, ...] | torch.Size) -> Tensor:
        return torch.randn(shape, generator=self.generator, device=self.device)

    def _draw_sphere(self, count: int) -> Tensor:
        """(count, d) prompts, none likelier than another."""
        return project(self._draw_normal((count, self.settings.latent_width)))

    def _see(self, observations: Observations) -> None:
        self.actor.normaliser.observe(self._policy_input.join(observations))
        judged = self._critic_input.join(observations)
        self.representation.normaliser.observe(judged)

    def _allocate(self, world_count: int) -> None:
        self.memory_plan = self._plan_memory(world_count)
        self._replay = None  # before another one is made
        self._replay = ReplayBuffer(
            self.settings.replay_steps,
            world_count,
            groups=self._groups,
            action_width=self._action_width,
            device=self.device,
        )
        self._tally = Tally(world_count, self.device)
        self._prompts = self._draw_sphere(world_count)
        self._age = torch.zeros(world_count, dtype=torch.int64, device=self.device)

    def _plan_memory(self, world_count: int) -> str:
        """Of the replay, in words; raises where there is not so much."""
        s = self.settings
        size = count_bytes(
            s.replay_steps,
            world_count,
            groups=self._groups,
            action_width=self._action_width,
        )
        kept = f"{s.replay_steps * world_count:,} steps of {world_count} worlds"
        return f"Replay of {kept}: {describe_memory(size, self.device)}."

    def _check(self) -> None:
        s = self.settings
        check_vectors(self._policy_input)
        check_vectors(self._critic_input)
        for name in (
            *("horizon", "updates", "batch", "replay_steps", "latent_width"),
            *("prompt_steps", "prompt_samples", "learning_rate", "backward_rate"),
            *("gradient_limit", "action_limit"),
        ):
            if not getattr(s, name) > 0:
                option = f"--{name.replace('_', '-')}"
                raise BadSettings(
                    f"{option} should be above zero, not {getattr(s, name):g}."
                )
        if not 0 <= s.discount < 1:
            raise BadSettings(
                f"--discount {s.discount:g}: what follows for ever has no measure "
                "unless it is below 1."
            )
        if s.batch < 2:
            raise BadSettings("A batch of one step has no other to compare it with.")


def _copy(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: x.clone() for name, x in tensors.items()}
