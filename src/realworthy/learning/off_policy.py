"""What learners have in common that learn from a replay: FastTD3 and FastSAC.

Worlds are played a few steps, all of which go into a replay (`replay.py`); then the
critics, and now and then the actor, take gradient steps on windows drawn from it. Two
critics give distributions of values (`categorical.py`) and see what the robot cannot.
What the actor is, how it explores, what critics aim at and what the actor goes up are
in `fast_td3.py` and `fast_sac.py`.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, cast

import torch
from torch import Tensor, nn

from realworthy.learning.capture import CapturedPasses, Passes
from realworthy.learning.categorical import (
    Support,
    SupportWatch,
    compute_cross_entropy,
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

A = TypeVar("A", bound=nn.Module)
"""What acts, with a `normaliser` of what it sees."""
_REHEARSAL = 25
"""Steps of random actions whose rewards the support is held against, before learning:
a second of a robot, in which rewards of a known kind show their size."""


@dataclass(kw_only=True, slots=True)
class OffPolicySettings(LearnerSettings):
    """For 16 to 64 worlds on a core; `on_gpu` of each learner is for thousands."""

    horizon: int = 8
    """Control steps of each world before an update."""
    updates: int = 8
    """Gradient steps of the critics in an update."""
    batch: int = 256
    """Windows of steps in a gradient step, mirrored ones included."""
    actor_every: int = 2
    """The actor takes a gradient step with every so many of the critics'."""
    replay_steps: int = 8192
    """Control steps of each world that are remembered."""
    warm_up: int = 32
    """Control steps of each world with random actions, before anything is learned."""
    window: int = 3
    """Rewards in a row that critics look at before they ask themselves (n-step)."""
    discount: float = 0.98
    """What a reward is worth one control step later."""
    support: tuple[float, float] = (-10.0, 10.0)
    """Ends of what discounted returns may be; beyond them they count as the end."""
    atoms: int = 51
    """Values between those ends to which critics give probabilities."""
    target_rate: float = 0.01
    """τ: share by which the critics that are aimed at follow those that learn."""
    actor_rate: float = 1e-3
    """Step size of the actor."""
    critic_rate: float = 1e-3
    """Step size of the critics."""
    weight_decay: float = 1e-3
    """Of all weights, in a gradient step of unit size (Loshchilov & Hutter 2019)."""
    betas: tuple[float, float] = (0.9, 0.95)
    """Memory of the optimisers for gradients and for their squares."""
    gradient_limit: float = 10.0
    """Norm to which the gradients of actor and critics are cut, each on its own."""
    action_limit: float = 1.0
    """Ends of the actions that are tried: what the task's action of ± 1 does, times
    this."""
    actor_widths: tuple[int, ...] = (128, 128)
    """Hidden layers of the actor."""
    critic_widths: tuple[int, ...] = (128, 128)
    """Hidden layers of each critic."""
    activation: Activation = Activation.SILU
    """Between the layers."""
    layer_norm: bool = True
    """Each hidden layer is normalised before its activation (Ba et al. 2016)."""
    mirror_samples: bool = False
    """Of what is drawn from the replay, an equal share is seen in the task's mirrors.
    """
    capture: bool = True
    """On CUDA: an update is one graph; not over several processes."""

    @property
    def widest_layer(self) -> int:
        return max((*self.actor_widths, *self.critic_widths, 1))


@dataclass(frozen=True, slots=True)
class Batch:
    """What one gradient step sees; (samples, …) each, observations normalised."""

    actor: Tensor
    critic: Tensor
    action: Tensor
    reward: Tensor
    discount: Tensor
    """γᵐ, or 0 after an end."""
    next_actor: Tensor
    next_critic: Tensor
    weight: Tensor
    noise: Tensor
    """(samples, action_width) standard normal, for actions after the window."""
    actor_noise: Tensor
    """(samples, action_width) standard normal, for actions of the actor's step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OffPolicyMetrics:
    """What one update did; means over its gradient steps."""

    rollout: RolloutMetrics
    """What the worlds brought."""
    critic_loss: float
    """Cross entropy [nat], of both critics together."""
    value: float
    """Of what was drawn, by the critics."""
    saturated: float
    """Share of what the critics aim at that lies at the ends of the support."""
    actor_loss: float
    more: dict[str, float]
    """The learner's own."""

    @property
    def numbers(self) -> dict[str, float]:
        return {
            "critic_loss": self.critic_loss,
            "value": self.value,
            "saturated": self.saturated,
            **self.more,
        }

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.critic_loss) and math.isfinite(self.actor_loss)


class Critics(nn.Module):
    """Two networks, of observations and actions, and the statistics that they share."""

    def __init__(self, networks: Iterable[Mlp], input_width: int) -> None:
        super().__init__()
        self.normaliser = Normaliser(input_width)
        self.networks = nn.ModuleList(networks)
        self.targets = deepcopy(self.networks).requires_grad_(False)
        """That follow slowly and are aimed at."""

    def judge(self, seen: Tensor, action: Tensor) -> Tensor:
        """(2, samples, atoms) logits for normalised (samples, width) observations."""
        return self._ask(self.networks, seen, action)

    def foresee(self, seen: Tensor, action: Tensor) -> Tensor:
        """(2, samples, atoms) probabilities, of those that are aimed at."""
        return self._ask(self.targets, seen, action).softmax(-1)

    @torch.no_grad()
    def follow(self, rate: float) -> None:
        """θ̄ ← θ̄ + τ (θ − θ̄)."""
        targets, weights = self.targets.parameters(), self.networks.parameters()
        lerp = torch._foreach_lerp_  # pyright: ignore[reportPrivateImportUsage]
        lerp(list(targets), list(weights), rate)

    @staticmethod
    def _ask(networks: nn.ModuleList, seen: Tensor, action: Tensor) -> Tensor:
        x = torch.cat([seen, action], dim=-1)
        return torch.stack([cast(Mlp, network).layers(x) for network in networks])


class OffPolicy(Learner, Generic[A]):
    """Trunk of both learners; processes average gradients and statistics.

    Building one plays a few steps of random actions, to see that the support holds the
    rewards. On the CPU the replay is part of the learner's state, so that a resumed run
    is the interrupted one; on a GPU, where it takes gigabytes, a resumed run fills it
    anew with what its actor does.
    """

    more: ClassVar[tuple[str, ...]]
    """Names of the learner's own numbers, which `_aim` and `_climb` add to metrics."""

    def __init__(
        self,
        environment: Environment,
        settings: OffPolicySettings,
        *,
        seed: int,
        average: Average | None,
    ) -> None:
        s = self._shared = settings
        self._policy_input = find_policy_input(environment)
        self._critic_input = find_critic_input(environment)
        check_vectors(self._policy_input)
        check_vectors(self._critic_input)
        self._groups = {**self._policy_input.groups, **self._critic_input.groups}
        self._support = Support(*s.support, s.atoms)
        self._check(environment)
        self.device, self.average = environment.device, average
        self.memory_plan = self._plan_memory(environment.world_count)
        self._check_rewards(environment, seed)
        self._watch = SupportWatch(self._support)
        self.generator = build_generator(seed, self.device)
        self.actor: A = self._build_actor().to(self.device)
        width = self._critic_input.width + environment.action_width
        self.critics = Critics(
            [self._build_layers(width, s.critic_widths, s.atoms) for _ in range(2)],
            self._critic_input.width,
        ).to(self.device)
        self._actor_optimiser = self._build_optimiser(
            self._list_actor_weights(), s.actor_rate
        )
        self._critic_optimiser = self._build_optimiser(
            self.critics.networks.parameters(), s.critic_rate
        )
        self._observations: Observations = {}
        self._has_new = False
        self._update_count = 0
        self._replay: ReplayBuffer | None = None
        self._tally = Tally(environment.world_count, self.device)
        self._passes: Passes[Batch] = self._descend_all
        if s.capture and average is None and self.device.type == "cuda":
            self._passes = CapturedPasses(self._descend_all)

    # What the two learners differ in

    @abstractmethod
    def _build_actor(self) -> A:
        """What acts, untrained."""

    @abstractmethod
    def _list_actor_weights(self) -> list[nn.Parameter]:
        """What the actor's optimiser moves."""

    @abstractmethod
    def _explore(self, seen: Tensor) -> Tensor:
        """(worlds, action_width) actions to try, from normalised observations."""

    @abstractmethod
    def _aim(self, batch: Batch) -> Tensor:
        """(2, samples, atoms) what each critic learns, without gradients."""

    @abstractmethod
    def _climb(self, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """The actor's loss, and the learner's own numbers (`more`)."""

    def _forget_episodes(self, done: Tensor) -> None:
        """Worlds (worlds,) bool have begun a new episode."""

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
        self._forget_episodes(torch.ones(count, dtype=torch.bool, device=self.device))

    @torch.no_grad()
    def collect(self, environment: Environment) -> None:
        replay, count = self._replay, environment.world_count
        if not self._observations or replay is None or replay.world_count != count:
            self.begin(environment)
        assert self._replay is not None
        s = self._shared
        warm_up = max(0, min(s.warm_up, s.replay_steps) - self._replay.used)
        with spare_threads(count):
            for _ in range(warm_up):
                is_first = self._update_count == 0
                self._play(environment, is_random=is_first)
            for _ in range(s.horizon):
                self._play(environment, is_random=False)
        if self.average is not None:
            for normaliser in self._normalisers:
                normaliser.merge(self.average)
        self._has_new = True

    def _play(self, environment: Environment, *, is_random: bool) -> None:
        assert self._replay is not None
        if is_random:
            action = self._draw_uniformly(environment, self.generator)
        else:
            seen = self._policy_input.join(self._observations)
            action = self._explore(self._normalisers[0](seen))
        step = environment.step(action)
        self._replay.put(self._observations, action, step)
        self._tally.add(step)
        self._forget_episodes(step.done)
        self._observations = step.observations
        self._see(step.observations)

    def _draw_uniformly(
        self, environment: Environment, generator: torch.Generator
    ) -> Tensor:
        shape = (environment.world_count, environment.action_width)
        u = torch.rand(shape, generator=generator, device=self.device)
        return self._shared.action_limit * (2 * u - 1)

    def _see(self, observations: Observations) -> None:
        actor, critic = self._normalisers
        actor.observe(self._policy_input.join(observations))
        critic.observe(self._critic_input.join(observations))

    @property
    def _normalisers(self) -> tuple[Normaliser, Normaliser]:
        """Of what the actor and of what the critics see."""
        return cast(Normaliser, self.actor.normaliser), self.critics.normaliser

    @torch.no_grad()
    def act(self, observations: Observations, memory: Memory | None = None) -> Tensor:
        x = self._policy_input.join(observations)
        actor = self.export()
        return actor(x, actor.network.initial_hidden(len(x)))[0]

    def remember(self, world_count: int) -> Memory:
        return Memory(torch.zeros(0, world_count, 0, device=self.device))

    # Learning

    def update(self) -> OffPolicyMetrics:
        if not self._has_new or self._replay is None:
            raise NothingCollected
        self._has_new = False
        s = self._shared
        with torch.no_grad():
            batches = [self._draw(self._replay) for _ in range(s.updates)]
        sums = self._passes(batches)
        self._update_count += 1
        counts = [s.updates] * 3 + [s.updates // s.actor_every] * (1 + len(self.more))
        numbers = (sums / torch.tensor(counts, device=self.device)).tolist()
        self._watch.note(numbers[2])
        return OffPolicyMetrics(
            rollout=self._tally.read(),
            critic_loss=numbers[0],
            value=numbers[1],
            saturated=numbers[2],
            actor_loss=numbers[3],
            more=dict(zip(self.more, numbers[4:], strict=True)),
        )

    def _draw(self, replay: ReplayBuffer) -> Batch:
        """Windows of the replay, normalised; mirrored ones behind those that were."""
        s, count = self._shared, self._element_count
        drawn = replay.draw(
            s.batch // count,
            step_count=s.window,
            discount=s.discount,
            generator=self.generator,
        )
        images = [drawn, *(self._mirror(drawn, k) for k in range(1, count))]
        see, judge = self._policy_input.join, self._critic_input.join
        actor, critic = self._normalisers
        action = torch.cat([x.action for x in images])

        def draw_noise() -> Tensor:
            return torch.randn(
                action.shape, generator=self.generator, device=self.device
            )

        return Batch(
            actor=actor(torch.cat([see(x.seen) for x in images])),
            critic=critic(torch.cat([judge(x.seen) for x in images])),
            action=action,
            reward=drawn.reward.repeat(count),
            discount=drawn.discount.repeat(count),
            next_actor=actor(torch.cat([see(x.following) for x in images])),
            next_critic=critic(torch.cat([judge(x.following) for x in images])),
            weight=drawn.weight.repeat(count),
            noise=draw_noise(),
            actor_noise=draw_noise(),
        )

    def _mirror(self, drawn: Transitions, element: int) -> Transitions:
        task = self._environment

        def mirror(groups: Observations) -> Observations:
            return {name: task.mirror(name, x, element) for name, x in groups.items()}

        return Transitions(
            seen=mirror(drawn.seen),
            action=task.mirror_action(drawn.action, element),
            reward=drawn.reward,
            discount=drawn.discount,
            following=mirror(drawn.following),
            weight=drawn.weight,
        )

    def _descend_all(self, batches: list[Batch]) -> Tensor:
        """One gradient step with each; what they saw, added up."""
        s = self._shared
        sums = torch.zeros(4 + len(self.more), device=self.device)
        for i, batch in enumerate(batches):
            sums[:3] += self._descend_critics(batch)
            if (i + 1) % s.actor_every == 0:
                sums[3:] += self._descend_actor(batch)
            self.critics.follow(s.target_rate)
        return sums

    def _descend_critics(self, batch: Batch) -> Tensor:
        """A step towards what is aimed at: loss, value, saturated."""
        with torch.no_grad():
            target = self._aim(batch)
        logits = self.critics.judge(batch.critic, batch.action)
        losses = compute_cross_entropy(logits, target)  # (2, samples)
        loss = compute_mean(losses, batch.weight).sum()
        weights = list(self.critics.networks.parameters())
        self._step(self._critic_optimiser, loss, weights)
        with torch.no_grad():
            value = self._support.expect(logits.softmax(-1))
            ends = self._support.measure_ends(target)
            seen = [compute_mean(x, batch.weight).mean() for x in (value, ends)]
            return torch.stack([loss, *seen])

    def _descend_actor(self, batch: Batch) -> Tensor:
        """A step up what the critics say: loss and the learner's own numbers."""
        loss, more = self._climb(batch)
        self._step(self._actor_optimiser, loss, self._list_actor_weights())
        return torch.stack([loss, *more]).detach()

    def _step(
        self,
        optimiser: torch.optim.Optimizer,
        loss: Tensor,
        weights: list[nn.Parameter],
    ) -> None:
        """Only these weights get gradients: critics stay where the actor climbs."""
        optimiser.zero_grad(set_to_none=True)
        loss.backward(inputs=weights)
        if self.average is not None:
            self.average([w.grad for w in weights if w.grad is not None])
        nn.utils.clip_grad_norm_(weights, self._shared.gradient_limit)
        optimiser.step()

    # Keeping

    @abstractmethod
    def export(self) -> Actor: ...

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._watch.warnings

    def copy_weights(self) -> State:
        return {
            "actor": _copy(self.actor.state_dict()),
            "critic": _copy(self.critics.state_dict()),
        }

    def load_weights(self, weights: State) -> tuple[str, ...]:
        """Critics that see other numbers start again."""
        actor, critic = (cast(Any, weights.get(x, {})) for x in ("actor", "critic"))
        if (misfit := find_misfit(self.actor, actor)) is not None:
            raise BadWeights(
                f"Weights of another policy: {misfit}.",
                hint="Policies fit where observations, actions and layers are alike.",
            )
        self.actor.load_state_dict(actor)
        if (misfit := find_misfit(self.critics, critic)) is not None:
            return (f"The critics start again: {misfit}.",)
        self.critics.load_state_dict(critic)
        return ()

    def state_dict(self) -> State:
        keeps = self._replay is not None and self.device.type == "cpu"
        return {
            **self.copy_weights(),
            "actor_optimiser": deepcopy(self._actor_optimiser.state_dict()),
            "critic_optimiser": deepcopy(self._critic_optimiser.state_dict()),
            "generator": self.generator.get_state(),
            "update_count": self._update_count,
            "observations": _copy(self._observations),
            "tally": self._tally.state_dict(),
            "world_count": self._replay.world_count if self._replay else 0,
            "replay": self._replay.state_dict() if keeps and self._replay else None,
        }

    def load_state_dict(self, state: State) -> None:
        s = cast(dict[str, Any], state)
        self.actor.load_state_dict(s["actor"])
        self.critics.load_state_dict(s["critic"])
        self._actor_optimiser.load_state_dict(deepcopy(s["actor_optimiser"]))
        self._critic_optimiser.load_state_dict(deepcopy(s["critic_optimiser"]))
        self.generator.set_state(s["generator"].cpu())
        self._update_count = s["update_count"]
        if s["world_count"]:
            self._allocate(s["world_count"])
        if s["replay"] is not None and self._replay is not None:
            self._replay.load_state_dict(s["replay"])
        self._observations = {
            group: x.to(self.device, copy=True)
            for group, x in s["observations"].items()
        }
        self._tally.load_state_dict(s["tally"])

    # Building

    def _build_layers(
        self,
        input_width: int,
        hidden_widths: tuple[int, ...],
        output_width: int,
        *,
        limit: float | None = None,
    ) -> Mlp:
        s = self._shared
        return Mlp(
            input_width,
            hidden_widths,
            output_width,
            activation=s.activation,
            output_gain=0.01,
            generator=self.generator,
            layer_norm=s.layer_norm,
            limit=limit,
        )

    def _build_optimiser(
        self, weights: Iterable[nn.Parameter], rate: float
    ) -> torch.optim.Optimizer:
        s = self._shared
        return torch.optim.AdamW(
            weights,
            lr=rate,
            betas=s.betas,
            weight_decay=s.weight_decay,
            fused=True,
            capturable=self.device.type == "cuda",
        )

    def _allocate(self, world_count: int) -> None:
        self.memory_plan = self._plan_memory(world_count)
        self._replay = None  # before another one is made
        self._replay = ReplayBuffer(
            self._shared.replay_steps,
            world_count,
            groups=self._groups,
            action_width=self._environment.action_width,
            device=self.device,
        )
        self._tally = Tally(world_count, self.device)

    def _plan_memory(self, world_count: int) -> str:
        """Of the replay, in words; raises where there is not so much."""
        s = self._shared
        width = self._environment.action_width
        size = count_bytes(
            s.replay_steps, world_count, groups=self._groups, action_width=width
        )
        kept = f"{s.replay_steps * world_count:,} steps of {world_count} worlds"
        return f"Replay of {kept}: {describe_memory(size, self.device)}."

    @property
    def _element_count(self) -> int:
        """Elements of the symmetry group that are looked at."""
        is_used = self._shared.mirror_samples
        return self._environment.mirror_count if is_used else 1

    def _check(self, environment: Environment) -> None:
        s = self._shared
        self._environment = environment
        self._support.check()
        for name in (
            *("horizon", "updates", "batch", "actor_every", "replay_steps", "window"),
            *("actor_rate", "critic_rate", "gradient_limit", "action_limit"),
        ):
            if not getattr(s, name) > 0:
                option = f"--{name.replace('_', '-')}"
                raise BadSettings(
                    f"{option} should be above zero, not {getattr(s, name):g}."
                )
        if s.updates % s.actor_every:
            raise BadSettings(
                f"The actor cannot learn with every {s.actor_every} of {s.updates} "
                "gradient steps.",
                hint="Choose updates that actor_every divides.",
            )
        if s.mirror_samples:
            if environment.mirror_count < 2:
                raise BadSettings(
                    "Mirrored samples were asked for, but the task has no symmetry.",
                    hint="Set mirror_samples=False.",
                )
            if unmirrored := [k for k, x in self._groups.items() if not x.has_mirror]:
                raise BadSettings(
                    "Mirrored samples were asked for, but group"
                    f" '{unmirrored[0]}' of observations has no mirror.",
                    hint="Give its TaskGroup `mirror`, or set mirror_samples=False.",
                )
        if s.batch < self._element_count:
            raise BadSettings(
                f"A batch of {s.batch} has no place for {self._element_count} mirror "
                "images.",
                hint="Choose a larger batch.",
            )

    @torch.no_grad()
    def _check_rewards(self, environment: Environment, seed: int) -> None:
        """Raises where rewards of random actions alone go beyond the support."""
        s = self._shared
        generator = build_generator(seed, environment.device)
        environment.reset()
        total, worth = torch.zeros(environment.world_count, device=self.device), 1.0
        playing = torch.ones_like(total).bool()
        for _ in range(min(_REHEARSAL, environment.step_limit)):
            step = environment.step(self._draw_uniformly(environment, generator))
            counts = playing & ~step.invalid
            total += worth * torch.where(counts, step.reward, 0.0)
            playing = playing & ~step.done
            worth *= s.discount
        mean = float(total.mean())
        if not s.support[0] <= mean <= s.support[1]:
            largest = max(map(abs, (mean, *s.support)))
            size = 10.0 ** math.ceil(math.log10(4 * largest))
            raise BadSettings(
                f"Rewards of {_REHEARSAL} steps of random actions come to {mean:.4g}, "
                f"discounted by {s.discount:g}; a support of {s.support[0]:g} … "
                f"{s.support[1]:g} cannot hold that.",
                hint=f"Give a wider one, such as --support {-size:g} {size:g}.",
            )


def compute_mean(x: Tensor, weight: Tensor) -> Tensor:
    """(…, samples) → (…) weighted means."""
    return (x * weight).sum(-1) / weight.sum().clamp(min=1.0)


def _copy(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: x.clone() for name, x in tensors.items()}
