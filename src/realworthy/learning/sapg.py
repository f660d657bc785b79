"""Split and aggregate policy gradients (Singla et al. 2024).

PPO's samples grow alike as worlds grow many. Here worlds are split into blocks that
differ: one network acts in all of them, told by a learned vector φ which block it is
in, and the blocks before the last are paid for entropy. The last block leads: it is
what is deployed, and it also learns from the samples of one other block. With one block
this is PPO, bit for bit.
"""

import math
from copy import deepcopy
from dataclasses import dataclass, fields
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
    check_vectors,
    find_critic_input,
    find_policy_input,
)
from realworthy.learning.networks import Activation, Actor, Mlp, find_misfit
from realworthy.learning.normaliser import Average, Normaliser
from realworthy.learning.ppo import (
    adapt_learning_rate,
    compute_actor_loss,
    compute_value_loss,
)
from realworthy.learning.storage import Storage, compute_advantages
from realworthy.learning.tally import RolloutMetrics, Tally
from realworthy.learning.watch import Watch
from realworthy.learning.weighted import compute_mean, compute_variance
from realworthy.tasks.environment.devices import spare_threads
from realworthy.tasks.environment.environment import Environment, Observations

_MIN_STD = 1e-6


@dataclass(kw_only=True, slots=True)
class SapgSettings(LearnerSettings):
    """For many thousands of worlds on a GPU, and tasks that are hard to explore."""

    blocks: int = 4
    """Of worlds, equally many in each; divides the number of worlds. 1 is PPO."""
    latent_width: int = 32
    """Of φ, by which networks know the block."""
    entropy_scale: float = 0.005
    """Entropy is worth half of this in the first block, falling to zero in the last."""
    entropy_weight: float = 0.0
    """Of the entropy in all blocks, beside that."""
    borrow_after: int = 20
    """Updates before the leader learns from others: its critic must know something."""
    is_centred: bool = True
    """Borrowed samples are trusted near the leader that was; else near the block that
    played, as the authors' code does."""
    borrowed_limit: float = 4.0
    """Most that a borrowed sample weighs (μ): how much likelier the leader did it."""
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
    gradient_limit: float = 1.0
    """Norm to which the gradients of actor and critic are cut, each on its own."""
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
    capture: bool = True
    """On CUDA: an update is one graph; not over several processes."""

    @property
    def widest_layer(self) -> int:
        return max((*self.actor_widths, *self.critic_widths, 1))

    def build(
        self, environment: Environment, *, seed: int, average: Average | None = None
    ) -> "Sapg":
        return Sapg(environment, self, seed=seed, average=average)


@dataclass(frozen=True, slots=True)
class BlockSamples:
    """Samples of one rollout, borrowed ones among them; (samples, …) each."""

    actor: Tensor
    """Normalised, as is what the critic sees."""
    critic: Tensor
    action: Tensor
    mean: Tensor
    """Of the distribution that the action came from."""
    numbers: Tensor
    """(samples, 7) log probability about which it is trusted, value, return, advantage,
    weight, the same of what was not borrowed, μ of what was."""
    block: Tensor
    """(samples,) whose sample it is to be; that of borrowed ones is the leader's."""

    def split(self, count: int, generator: torch.Generator) -> list["BlockSamples"]:
        """`count` random minibatches."""
        size, device = len(self.mean), self.mean.device
        order = torch.randperm(size, generator=generator, device=device)
        dealt = [
            getattr(self, field.name).index_select(0, order).tensor_split(count)
            for field in fields(self)
        ]
        return [BlockSamples(*parts) for parts in zip(*dealt, strict=True)]


@dataclass(frozen=True, kw_only=True, slots=True)
class SapgMetrics:
    """What one update did; means over its gradient steps."""

    rollout: RolloutMetrics
    """What the worlds brought, in all blocks."""
    actor_loss: float
    value_loss: float
    kl: float
    """[nat] from the policies that played to the current ones, before each step."""
    borrowed: float
    """Mean weight of borrowed samples; 0 while none are."""
    learning_rate: float
    """After the update."""
    std: float
    """Of the leader; mean over the actions."""
    explained_variance: float
    """Of returns by the critic."""

    @property
    def numbers(self) -> dict[str, float]:
        return {
            "kl": self.kl,
            "step_size": self.learning_rate,
            "std": self.std,
            "value_loss": self.value_loss,
            "explained_variance": self.explained_variance,
            "borrowed": self.borrowed,
        }

    @property
    def is_finite(self) -> bool:
        numbers = (self.actor_loss, self.value_loss, self.kl, self.std)
        return all(map(math.isfinite, numbers))


class BlockNetwork(nn.Module):
    """A network told by φ which block it is in, and the statistics of what it sees.

    Of one block there is no φ.
    """

    def __init__(self, network: Mlp, input_width: int, latents: Tensor) -> None:
        super().__init__()
        self.latents = nn.Parameter(latents) if latents.numel() else None
        """(blocks, width) φ."""
        self.normaliser = Normaliser(input_width)
        self.network = network

    def forward(self, seen: Tensor, block: Tensor) -> Tensor:
        """Of normalised (…, width) observations of worlds in blocks (…)."""
        if self.latents is not None:
            seen = torch.cat([seen, self.latents[block]], dim=-1)
        return self.network.unroll(seen)


class BlockActor(nn.Module):
    """Observations → a Gaussian of actions, of a width that each block learns."""

    def __init__(self, body: BlockNetwork, std: float, shape: tuple[int, int]) -> None:
        """`shape` is (blocks, action_width)."""
        super().__init__()
        self.log_std = nn.Parameter(torch.full(shape, math.log(std)))
        self.body = body

    @property
    def std(self) -> Tensor:
        """(blocks, action_width)."""
        return self.log_std.exp().clamp(min=_MIN_STD)

    def distribution(self, seen: Tensor, block: Tensor) -> Gaussian:
        return Gaussian(self.body(seen, block), pick(self.std, block))


def pick(std: Tensor, block: Tensor) -> Tensor:
    """(blocks, width) as (…, width) of samples; of one block as (width,)."""
    return std[0] if len(std) == 1 else std[block]


class Sapg(Learner):
    """One actor, one critic, several blocks; processes average gradients."""

    Settings = SapgSettings
    about = "PPO in blocks of worlds that explore apart; for what is hard to find"
    remedy = (
        "learn in smaller steps: a smaller kl_target, and clip_value=False where "
        "returns are large"
    )

    def __init__(
        self,
        environment: Environment,
        settings: SapgSettings | None = None,
        *,
        seed: int = 0,
        average: Average | None = None,
    ) -> None:
        self.settings = s = settings or SapgSettings()
        self._policy_input = find_policy_input(environment)
        self._critic_input = find_critic_input(environment)
        self._check(environment.world_count)
        rates = None if s.kl_target is None else s.learning_rate_range
        self._watch = Watch(std=s.std, rates=rates)
        self.device, self.average = environment.device, average
        self.generator = build_generator(seed, self.device)
        self._action_width = environment.action_width
        seen, judged = self._policy_input.width, self._critic_input.width
        bodies = [
            self._build_layers(width, hidden, out, gain)
            for width, hidden, out, gain in (
                (seen, s.actor_widths, self._action_width, 0.01),
                (judged, s.critic_widths, 1, 1.0),
            )
        ]
        actor, critic = (
            BlockNetwork(body, width, self._draw_latents())
            for body, width in zip(bodies, (seen, judged), strict=True)
        )
        shape = (s.blocks, self._action_width)
        self.actor = BlockActor(actor, s.std, shape).to(self.device)
        self.critic = critic.to(self.device)
        self.learning_rate = torch.tensor(s.learning_rate, device=self.device)
        self.optimiser = torch.optim.Adam(
            [*self.actor.parameters(), *self.critic.parameters()],
            lr=self.learning_rate,
            fused=True,
            capturable=self.device.type == "cuda",
        )
        places = torch.arange(s.blocks, device=self.device)
        # σ/2 · (1 − j/(m − 1)): the leader, j = m − 1, is paid nothing.
        share = 1 - places / (s.blocks - 1) if s.blocks > 1 else 0.0 * places
        self._entropy_weights = s.entropy_weight + 0.5 * s.entropy_scale * share
        self._observations: Observations = {}
        self._has_rollout = False
        self._update_count = 0
        self._allocate(environment.world_count)

    # Playing

    def begin(self, environment: Environment) -> None:
        if environment.world_count != self._storage.world_count:
            self._check(environment.world_count)
            self._allocate(environment.world_count)
        self._observations = environment.reset(scatter=True)
        self._see(self._observations)
        self._tally.restart()

    @torch.no_grad()
    def collect(self, environment: Environment) -> None:
        count = environment.world_count
        if not self._observations or count != self._storage.world_count:
            self.begin(environment)
        storage = self._storage
        self._old_std.copy_(self.actor.std)
        noise = torch.randn(
            storage.action.shape, generator=self.generator, device=self.device
        )
        with spare_threads(count):
            for t in range(storage.step_count):
                self._play(environment, t, noise[t])
        if self.average is not None:
            for body in (self.actor.body, self.critic):
                body.normaliser.merge(self.average)
        seen, final = (self._judge_all(x) for x in (storage.seen, storage.final))
        storage.value, storage.next_value = seen, final
        self._has_rollout = True

    def _play(self, environment: Environment, t: int, noise: Tensor) -> None:
        """Step `t` of a rollout; `noise` (worlds, action_width) is standard normal."""
        seen = self._policy_input.join(self._observations)
        normalised = self.actor.body.normaliser(seen)
        gaussian = self.actor.distribution(normalised, self._block)
        action = gaussian.draw(noise)
        step = environment.step(action)
        self._storage.put(t, self._observations, gaussian, action, step)
        self._tally.add(step)
        self._observations = step.observations
        self._see(step.observations)

    def _judge_all(self, observations: Observations) -> Tensor:
        """(steps, worlds) values, of each block by itself."""
        seen = self.critic.normaliser(self._critic_input.join(observations))
        block = self._block.expand(seen.shape[:-1])
        return self.critic(seen, block).squeeze(-1)

    @torch.no_grad()
    def act(self, observations: Observations, memory: Memory | None = None) -> Tensor:
        """What the leader does."""
        seen = self.actor.body.normaliser(self._policy_input.join(observations))
        return self.actor.body(seen, self._lead(seen))

    def remember(self, world_count: int) -> Memory:
        return Memory(torch.zeros(0, world_count, 0, device=self.device))

    # Learning

    def update(self) -> SapgMetrics:
        s = self.settings
        if not self._has_rollout:
            raise NothingCollected
        self._has_rollout = False
        samples, explained, borrowed = self._judge()
        sums = self._passes(samples)
        self._update_count += 1
        std = self.actor.std.detach()[-1].mean()
        ends = torch.stack([self.learning_rate, std, explained, borrowed])
        numbers = torch.cat([sums / (s.epochs * len(samples)), ends]).tolist()
        self._watch.note(rate=numbers[3], std=numbers[4])
        return SapgMetrics(
            rollout=self._tally.read(),
            actor_loss=numbers[0],
            value_loss=numbers[1],
            kl=numbers[2],
            learning_rate=numbers[3],
            std=numbers[4],
            explained_variance=numbers[5],
            borrowed=numbers[6],
        )

    @torch.no_grad()
    def _judge(self) -> tuple[list[BlockSamples], Tensor, Tensor]:
        """Minibatches, the explained variance and the mean weight of what is lent."""
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
        old = Gaussian(storage.mean, pick(self._old_std, self._block))
        log_prob = old.log_prob(storage.action)
        numbers = [log_prob, value, returns, advantage, weight, weight]
        actor, critic = self.actor.body.normaliser, self.critic.normaliser
        own = BlockSamples(
            actor=actor(self._policy_input.join(storage.seen)).flatten(0, 1),
            critic=critic(self._critic_input.join(storage.seen)).flatten(0, 1),
            action=storage.action.flatten(0, 1),
            mean=storage.mean.flatten(0, 1),
            numbers=torch.stack([*numbers, torch.ones_like(value)], -1).flatten(0, 1),
            block=self._block.expand(value.shape).flatten(),
        )
        borrowed = torch.zeros((), device=self.device)
        samples = own
        if s.blocks > 1:
            lent = self._borrow(log_prob)
            borrowed = lent.numbers[:, 4::2].prod(1).mean()
            pairs = [(getattr(own, x.name), getattr(lent, x.name)) for x in fields(own)]
            samples = BlockSamples(*(torch.cat(pair) for pair in pairs))
        advantage, weight = samples.numbers[:, 3:5].T.contiguous()
        samples.numbers[:, 3] = self._normalise(advantage, weight)
        return samples.split(s.minibatches, self.generator), explained, borrowed

    def _borrow(self, log_prob: Tensor) -> BlockSamples:
        """Samples of one block, drawn anew for each update, as the leader sees them.

        Its value after one step is all that is trusted: R = r + γ (1 − d) V(s′). Before
        `borrow_after` updates they weigh nothing.
        """
        s, storage = self.settings, self._storage
        lender = torch.randint(
            s.blocks - 1, (), generator=self.generator, device=self.device
        )
        width = storage.world_count // s.blocks
        worlds = lender * width + torch.arange(width, device=self.device)

        def lend(x: Tensor) -> Tensor:
            return x.index_select(1, worlds).flatten(0, 1)

        seen, judged, after = (
            lend(x)
            for x in (
                self.actor.body.normaliser(self._policy_input.join(storage.seen)),
                self.critic.normaliser(self._critic_input.join(storage.seen)),
                self.critic.normaliser(self._critic_input.join(storage.final)),
            )
        )
        block, action, played = self._lead(seen), lend(storage.action), lend(log_prob)
        value, following = (self.critic(x, block).squeeze(-1) for x in (judged, after))
        ended = lend(storage.terminated)
        returns = lend(storage.reward) + s.discount * following.masked_fill(ended, 0.0)
        # μ = π_leader,old / π_lender,old at what the lender did, at most the limit
        led = self.actor.distribution(seen, block).log_prob(action)
        centre = (led - played).clamp(max=math.log(s.borrowed_limit)).exp()
        weight = (~lend(storage.invalid)).to(value.dtype)
        trusted = led
        if not s.is_centred:  # ρ begins at π_leader,old / π_lender,old
            weight = weight * (centre / (led - played).exp())
            trusted, centre = played, torch.ones_like(centre)
        weight = weight * float(self._update_count >= s.borrow_after)
        columns = [trusted, value, returns, returns - value, weight, 0 * weight, centre]
        return BlockSamples(
            actor=seen,
            critic=judged,
            action=action,
            mean=lend(storage.mean),
            numbers=torch.stack(columns, dim=-1),
            block=block,
        )

    def _descend_all(self, samples: list[BlockSamples]) -> Tensor:
        """All passes over the minibatches; what they saw, added up."""
        sums = torch.zeros(3, device=self.device)
        for _ in range(self.settings.epochs):
            for minibatch in samples:
                sums += self._descend(minibatch)
        return sums

    def _descend(self, batch: BlockSamples) -> Tensor:
        """One gradient step; what it saw, (3,)."""
        s = self.settings
        log_prob, old_value, returns, advantage, weight, own, centre = (
            batch.numbers.unbind(-1)
        )
        std = self.actor.std
        mean = self.actor.body(batch.actor, batch.block)
        new = Gaussian(mean, pick(std, batch.block))
        value = self.critic(batch.critic, batch.block).squeeze(-1)

        kl = self._adapt(batch, new, own)
        # min(ρ Â, clip(ρ, μ(1 − ε), μ(1 + ε)) Â), with ρ = π/π_played: μ times PPO's
        # loss of ρ/μ, as μ > 0, and ρ/μ = π/π_leader,old. Of own samples μ is 1.
        ratio = (new.log_prob(batch.action) - log_prob).exp()
        losses = centre * compute_actor_loss(ratio, advantage, s.clip)
        actor_loss = compute_mean(losses, weight)
        clip = s.clip if s.clip_value else None
        errors = compute_value_loss(value, old_value, returns, clip)
        value_loss = compute_mean(errors, weight)
        loss = actor_loss + s.value_weight * value_loss
        entropy = new.entropy() if len(std) == 1 else Gaussian(std, std).entropy()
        loss = loss - (self._entropy_weights * entropy).mean()  # of all blocks

        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        for module in (self.actor, self.critic):
            weights = list(module.parameters())
            if self.average is not None:
                self.average([w.grad for w in weights if w.grad is not None])
            nn.utils.clip_grad_norm_(weights, s.gradient_limit)
        self.optimiser.step()
        return torch.stack([actor_loss, value_loss, kl]).detach()

    @torch.no_grad()
    def _adapt(self, batch: BlockSamples, new: Gaussian, weight: Tensor) -> Tensor:
        """Moves the step size by how far policies have gone from those that played."""
        s = self.settings
        old = Gaussian(batch.mean, pick(self._old_std, batch.block))
        kl = compute_mean(old.kl_to(new), weight)
        if self.average is not None:
            self.average([kl])
        if s.kl_target is not None:
            rate = adapt_learning_rate(
                self.learning_rate, kl, target=s.kl_target, within=s.learning_rate_range
            )
            self.learning_rate.copy_(rate)
        return kl

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
        """The leader, its φ a constant of the first layer."""
        body, width = self.actor.body, self._policy_input.width
        network = body.network
        if body.latents is not None:
            network = network.fix_inputs(body.latents[-1].detach())
        actor = Actor(network, width, self._action_width, std=1.0).to(self.device)
        actor.normaliser = body.normaliser
        return actor

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._watch.warnings

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
                hint="Policies fit where observations, actions, layers and blocks are "
                "alike.",
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
            "learning_rate": self.learning_rate.clone(),
            "generator": self.generator.get_state(),
            "update_count": self._update_count,
            "world_count": self._storage.world_count,
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
        self._update_count = s["update_count"]
        self._allocate(s["world_count"])
        self._observations = {
            group: x.to(self.device, copy=True)
            for group, x in s["observations"].items()
        }
        self._tally.load_state_dict(s["tally"])

    # Building

    def _build_layers(
        self, width: int, hidden: tuple[int, ...], out: int, gain: float
    ) -> Mlp:
        s = self.settings
        return Mlp(
            width + (s.latent_width if s.blocks > 1 else 0),
            hidden,
            out,
            activation=s.activation,
            output_gain=gain,
            generator=self.generator,
            layer_norm=s.layer_norm,
        )

    def _draw_latents(self) -> Tensor:
        """(blocks, width) φ, standard normal; empty for one block."""
        s = self.settings
        if s.blocks == 1:
            return torch.empty(0)
        shape = (s.blocks, s.latent_width)
        return torch.randn(shape, generator=self.generator, device=self.device)

    def _lead(self, rows: Tensor) -> Tensor:
        """(…) the leader's number, for (…, width) rows."""
        last = self.settings.blocks - 1
        return torch.full(rows.shape[:-1], last, device=self.device)

    def _see(self, observations: Observations) -> None:
        self.actor.body.normaliser.observe(self._policy_input.join(observations))
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
        places = torch.arange(world_count, device=self.device)
        self._block = places // (world_count // self.settings.blocks)
        self._old_std = self.actor.std.detach().clone()
        self._tally = Tally(world_count, self.device)
        self._has_rollout = False
        self._passes: Passes[BlockSamples] = self._descend_all
        alone = self.average is None and self.device.type == "cuda"
        if self.settings.capture and alone:
            self._passes = CapturedPasses(self._descend_all)

    def _check(self, world_count: int) -> None:
        s = self.settings
        check_vectors(self._policy_input)
        check_vectors(self._critic_input)
        if s.blocks < 1 or world_count % s.blocks:
            raise BadSettings(
                f"{world_count} worlds cannot be split into {s.blocks} blocks.",
                hint=f"Choose a multiple of {max(1, s.blocks)} worlds, or other "
                "--blocks.",
            )
        if s.blocks > 1 and s.latent_width < 1:
            raise BadSettings(
                f"{s.blocks} blocks cannot differ by {s.latent_width} numbers.",
                hint="Choose a --latent-width of one or more.",
            )
        size = world_count * s.horizon
        if not 1 <= s.minibatches <= size:
            raise BadSettings(
                f"{s.minibatches} minibatches were asked of {size} samples.",
                hint="Choose fewer minibatches, or more worlds.",
            )


def _copy(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: x.clone() for name, x in tensors.items()}
