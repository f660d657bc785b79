"""Many policies played at once: what searches over weights have in common."""

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn

from realworthy.errors import RealworthyError
from realworthy.learning.learner import BadSettings, BadWeights, State
from realworthy.learning.network_input import check_vectors, find_policy_input
from realworthy.learning.networks import Activation, Actor, Mlp
from realworthy.learning.normaliser import Average, Normaliser
from realworthy.learning.tally import Tally
from realworthy.tasks.environment.environment import Environment, Observations

_LOOK_EVERY = 50
"""Steps between looks at whether any first episode still runs."""


class Normalisation(enum.Enum):
    """What observations are put through before a policy sees them."""

    NONE = "none"
    SCALE = "scale"
    """Divided by their standard deviation: for tasks symmetric about zero."""
    FULL = "full"
    """About their mean too, which early one-sided failures make a constant push."""


@dataclass(frozen=True, slots=True)
class FlatPolicy:
    """A small network of tanh layers whose weights are one vector."""

    widths: tuple[int, ...]
    """From observations to actions; two of them: a linear policy."""
    has_bias: bool

    @property
    def weight_count(self) -> int:
        return sum(a * b + b * self.has_bias for a, b in pairwise(self.widths))

    def draw(self, generator: torch.Generator) -> Tensor:
        """(weights,) normal, so that layers keep the size of what they see."""
        parts = []
        for a, b in pairwise(self.widths):
            shape, device = (b * a,), generator.device
            parts.append(torch.randn(shape, generator=generator, device=device))
            parts[-1] /= math.sqrt(a)
            if self.has_bias:
                parts.append(torch.zeros(b, device=device))
        return torch.cat(parts)

    def act(self, weights: Tensor, x: Tensor) -> Tensor:
        """(candidates, weights) and (candidates, worlds, width) → actions."""
        at = 0
        layers = list(pairwise(self.widths))
        for i, (a, b) in enumerate(layers):
            matrix = weights[:, at : at + a * b].view(-1, b, a)
            at += a * b
            x = x @ matrix.transpose(1, 2)
            if self.has_bias:
                x = x + weights[:, None, at : at + b]
                at += b
            x = x.tanh() if i < len(layers) - 1 else x
        return x

    @torch.no_grad()
    def build(self, weights: Tensor) -> Mlp:
        """The network with (weights,) of one candidate, on the CPU."""
        width_in, *hidden, width_out = self.widths
        network = Mlp(
            width_in,
            tuple(hidden),
            width_out,
            activation=Activation.TANH,
            output_gain=1.0,
            generator=torch.Generator(),
        )
        linears = [x for x in network.layers if isinstance(x, nn.Linear)]
        at = 0
        for linear in linears:
            own = (linear.weight, linear.bias) if self.has_bias else (linear.weight,)
            for x in own:
                x.copy_(weights[at : at + x.numel()].view_as(x))
                at += x.numel()
        return network


@dataclass(frozen=True, slots=True)
class PairScores:
    """What directions brought, (directions,) each."""

    forward: Tensor
    """Mean return of the weights plus the direction."""
    backward: Tensor
    """Mean return of the weights minus the direction."""
    valid: Tensor
    """bool: the physics held in at least one world of each."""

    @property
    def mean(self) -> Tensor:
        """Over both sides of valid directions; NaN if there are none."""
        total = torch.where(self.valid, self.forward + self.backward, 0.0).sum()
        return total / (2 * self.valid.sum())

    @property
    def best(self) -> Tensor:
        """Of both sides of valid directions; NaN if there are none."""
        best = torch.maximum(self.forward, self.backward)
        best = torch.where(self.valid, best, -torch.inf).max()
        return torch.where(self.valid.any(), best, torch.nan)


class PairPlayer:
    """Plays weights plus and minus directions: world i plays direction i // k.

    Both sides of a pair meet the same chance where the environment can be wound back:
    what differs between them is then the direction alone.
    """

    def __init__(
        self,
        environment: Environment,
        policy: FlatPolicy,
        normalisation: Normalisation,
        *,
        average: Average | None = None,
    ) -> None:
        self.policy = policy
        seen = find_policy_input(environment)
        check_vectors(seen)
        self.see = seen.join
        self.normalisation = normalisation
        self.normaliser = Normaliser(policy.widths[0]).to(environment.device)
        self.tally = Tally(environment.world_count, environment.device)
        self._is_warm = normalisation is Normalisation.NONE
        self._average = average

    def warm_up(
        self, environment: Environment, step_count: int, generator: torch.Generator
    ) -> None:
        """Statistics of what random policies see, one in each world; once."""
        if self._is_warm:
            return
        self._is_warm = True
        worlds = environment.world_count
        weights = torch.stack([self.policy.draw(generator) for _ in range(worlds)])
        observations = environment.reset(scatter=True)
        for _ in range(step_count):
            seen = self.see(observations)
            self.normaliser.observe(seen)
            x = self.normalise(seen)[:, None]
            action = self.policy.act(weights, x)[:, 0]
            observations = environment.step(action).observations
        if self._average is not None:
            self.normaliser.merge(self._average)

    def normalise(self, x: Tensor) -> Tensor:
        """(…, width) as policies see it."""
        match self.normalisation:
            case Normalisation.NONE:
                return x
            case Normalisation.SCALE:
                return x / self.normaliser.scale
            case Normalisation.FULL:
                return self.normaliser(x)

    def state_dict(self) -> State:
        """What it has seen."""
        seen = self.normaliser.state_dict()
        return {
            "normaliser": {name: x.clone() for name, x in seen.items()},
            "is_warm": self._is_warm,
        }

    def load_state_dict(self, state: State) -> None:
        """Goes on from `state_dict`."""
        s = cast(dict[str, Any], state)
        self.normaliser.load_state_dict(s["normaliser"])
        self._is_warm = s["is_warm"]

    def check_weights(self, weights: object) -> Tensor:
        """(weights,) of another one, if they fit."""
        count = self.policy.weight_count
        if not isinstance(weights, Tensor) or weights.shape != (count,):
            given = len(weights) if isinstance(weights, Tensor) else "no"
            raise BadWeights(
                f"Weights of another policy: there are {given} numbers, not {count}.",
                hint="Policies fit where observations, actions and layers are alike.",
            )
        return weights

    def export(self, weights: Tensor) -> Actor:
        """One policy as a module, on the CPU."""
        width_in, *_, width_out = self.policy.widths
        actor = Actor(self.policy.build(weights), width_in, width_out, std=1.0)
        mean, scale = self.normaliser.mean.cpu(), self.normaliser.scale.cpu()
        if self.normalisation is not Normalisation.FULL:
            mean = torch.zeros_like(mean)
        if self.normalisation is Normalisation.NONE:
            scale = torch.ones_like(scale)
        actor.normaliser.fix(mean, scale)
        return actor

    def act(self, weights: Tensor, observations: Observations) -> Tensor:
        """(worlds, action_width) actions of one policy."""
        x = self.normalise(self.see(observations))
        return self.policy.act(weights[None], x[None])[0]

    @torch.no_grad()
    def play(
        self, environment: Environment, weights: Tensor, directions: Tensor
    ) -> PairScores:
        """One episode of each world on each side of (directions, weights) steps."""
        count = len(directions)
        check_shares(environment, count)

        def use(candidates: Tensor) -> Callable[[Observations], Tensor]:
            def act(observations: Observations) -> Tensor:
                x = self.normalise(self.see(observations)).unflatten(0, (count, -1))
                return self.policy.act(candidates, x).flatten(0, 1)

            return act

        observations = environment.reset()
        start = _save(environment)
        forward = self._score(environment, observations, use(weights + directions))
        if start is None:
            observations = environment.reset()
        else:
            environment.load_state_dict(start)
        backward = self._score(environment, observations, use(weights - directions))
        totals, held = zip(forward, backward, strict=True)
        sides = [
            (total * good).view(count, -1).sum(1)
            / good.view(count, -1).sum(1).clamp(min=1)
            for total, good in zip(totals, held, strict=True)
        ]
        valid = [good.view(count, -1).any(1) for good in held]
        return PairScores(sides[0], sides[1], valid[0] & valid[1])

    def _score(
        self,
        environment: Environment,
        observations: Observations,
        act: Callable[[Observations], Tensor],
    ) -> tuple[Tensor, Tensor]:
        """(worlds,) returns of one episode each, and whether the physics held."""
        self.tally.restart()
        alive = torch.ones(
            environment.world_count, dtype=torch.bool, device=environment.device
        )
        total, held = torch.zeros_like(self.tally.returns), alive
        for t in range(environment.step_limit):
            step = environment.step(act(observations))
            self.tally.add(step)
            total = total + torch.where(alive & ~step.invalid, step.reward, 0.0)
            held = held & ~(alive & step.invalid)
            alive = alive & ~step.done
            observations = step.observations
            if t % _LOOK_EVERY == _LOOK_EVERY - 1 and not alive.any():
                break
        return total, held


def check_shares(environment: Environment, count: int) -> None:
    """Raises where directions would have unequally many worlds."""
    worlds = environment.world_count
    if count < 1 or worlds % count:
        raise BadSettings(
            f"{worlds} worlds cannot be shared by {count} directions.",
            hint=f"Choose a multiple of {max(1, count)} worlds, or other directions.",
        )


def _save(environment: Environment) -> dict[str, Tensor] | None:
    try:
        return environment.state_dict()
    except RealworthyError:
        return None
