"""Policies that are told e: the worlds they learn in, their network, their training.

    a = π(x, z),  z = μ(e)

Without an encoder μ the policy sees e itself, which UP-OSI calls a universal policy
(Yu et al. 2017); with one it is the base policy of RMA (Kumar et al. 2021, §III). The
same worlds without e teach the policy that all methods have to beat: domain
randomization.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from realworthy.adaptation.history import History
from realworthy.adaptation.settings import AdaptSettings
from realworthy.errors import RealworthyError
from realworthy.learning.learner import State
from realworthy.learning.networks import Activation, Actor, Mlp, Network
from realworthy.learning.ppo import Ppo, PpoSettings
from realworthy.learning.practice import check_finite
from realworthy.learning.presets import Randomize, choose_randomization, find_preset
from realworthy.learning.recurrent import Episodes
from realworthy.parameters import IndependentBelief, Uniform
from realworthy.parameters.processes import Jump
from realworthy.progress import Progress, ignore
from realworthy.tasks.catalogue import TaskLike, find_task
from realworthy.tasks.definition import TaskDefinition
from realworthy.tasks.environment.environment import (
    Environment,
    ObservationGroup,
    Observations,
    Purpose,
    Step,
)
from realworthy.tasks.environment.evaluate import Act, Evaluation, evaluate
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Task
from realworthy.twins import load_twin

_HELD_OUT, _JUDGED = 1_000_003, 2_000_003
"""Added to the seed for worlds that choose the best weights, and for those that judge.
"""
_LOOKS = 8
"""Times that a policy is evaluated while it learns; the best weights are kept."""
_LOOK_EPISODES = 64
"""Of each look: enough to rank policies, 1/20 of the time of learning."""
_LATENT_WIDTHS = (256, 128)
"""Hidden layers of the encoder (Kumar et al. 2021, §IV)."""


@dataclass(frozen=True, slots=True)
class AdaptProblem:
    """A task whose e is unknown: what builds its worlds, and what students see."""

    definition: TaskDefinition
    settings: AdaptSettings
    randomization: Randomization
    history: History
    learner: PpoSettings

    @classmethod
    def of(cls, task: TaskLike, settings: AdaptSettings) -> "AdaptProblem":
        settings.check()
        definition = find_task(task).with_settings(settings.task_settings)
        built = _build(definition, settings)
        _check_seen(built)
        steps = max(1, round(settings.history / built.period))
        return cls(
            definition,
            settings,
            _choose_randomization(definition, built, settings),
            History.of(built, steps),
            _choose_learner(definition),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Of the numbers of e that are unknown."""
        assert self.randomization.belief is not None
        return self.randomization.belief.space.names

    def build_task(self) -> Task:
        """The task with a history in its terms."""
        task = _build(self.definition, self.settings)
        task.terms = self.history.terms
        return task

    def build_worlds(self, count: int, seed: int) -> TaskWorlds:
        return TaskWorlds(
            self.build_task(), count, randomization=self.randomization, seed=seed
        )

    def build_judged(self) -> TaskWorlds:
        """Worlds in which nothing was learned or chosen; alike at every call."""
        s = self.settings
        return self.build_worlds(s.evaluation_episodes, s.seed + _JUDGED)


class ConditionedWorlds(Environment):
    """Worlds of a problem, in which a policy sees the present and, if told so, e.

    The critic knows e in any case.
    """

    def __init__(self, worlds: TaskWorlds, history: History, *, sees_e: bool) -> None:
        self.worlds, self._present = worlds, history.present
        self.world_count, self.period = worlds.world_count, worlds.period
        self.action_width, self.device = worlds.action_width, worlds.device
        self.step_limit = worlds.step_limit
        purpose = Purpose.DEPLOYABLE if sees_e else Purpose.E
        e = worlds.groups["e"]
        self.groups = {
            **worlds.groups,
            "policy": ObservationGroup((len(history.present),), Purpose.DEPLOYABLE),
            "e": ObservationGroup(e.shape, purpose),
        }
        if sees_e:
            self.groups["critic_e"] = e

    def reset(self, *, scatter: bool = False) -> Observations:
        return self._see(self.worlds.reset(scatter=scatter))

    def step(self, action: Tensor) -> Step:
        step = self.worlds.step(action)
        final = self._see(step.final)
        return replace(step, observations=self._see(step.observations), final=final)

    def _see(self, observations: Observations) -> Observations:
        seen = {**observations, "policy": observations["policy"][:, self._present]}
        return {**seen, "critic_e": observations["e"]}


class ConditionedNetwork(Network):
    """(x, e), normalised, → actions by way of z = μ(e)."""

    def __init__(self, encoder: Mlp | None, body: Mlp, observation_width: int) -> None:
        super().__init__()
        self.encoder, self.body = encoder, body
        self.observation_width = observation_width

    def encode(self, e: Tensor) -> Tensor:
        """(…, latent) of normalised (…, d); without an encoder e itself."""
        return e if self.encoder is None else self.encoder.unroll(e)

    def decide(self, x: Tensor, z: Tensor) -> Tensor:
        """(…, actions) of normalised observations, told z."""
        return self.body.unroll(torch.cat([x, z], dim=-1))

    def initial_hidden(self, world_count: int) -> Tensor:
        return self.body.initial_hidden(world_count)

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        return self.unroll(x), hidden

    def unroll(
        self, x: Tensor, hidden: Tensor | None = None, episodes: Episodes | None = None
    ) -> Tensor:
        seen, e = x.tensor_split([self.observation_width], dim=-1)
        return self.decide(seen, self.encode(e))


@dataclass(frozen=True, slots=True)
class Teacher:
    """A policy that is told e."""

    actor: Actor
    history: History

    @property
    def network(self) -> ConditionedNetwork:
        found = self.actor.network
        assert isinstance(found, ConditionedNetwork)
        return found

    def observe(self, observations: Observations) -> tuple[Tensor, Tensor]:
        """(worlds, width) present and (worlds, d) e, both normalised."""
        x = observations["policy"][:, self.history.present]
        both = self.actor.normaliser(torch.cat([x, observations["e"]], dim=1))
        return both[:, : x.shape[1]], both[:, x.shape[1] :]

    def encode(self, observations: Observations) -> Tensor:
        """(worlds, latent) z of the true e."""
        return self.network.encode(self.observe(observations)[1])

    def act(self, observations: Observations) -> Tensor:
        """(worlds, actions) as one who sees e."""
        x, e = self.observe(observations)
        return self.network.decide(x, self.network.encode(e))

    def act_on(self, observations: Observations, z: Tensor) -> Tensor:
        """(worlds, actions) for another z, (worlds, latent) or (latent,)."""
        x, _ = self.observe(observations)
        return self.network.decide(x, z.expand(len(x), -1))


def train_teacher(
    problem: AdaptProblem, *, latent_width: int | None, progress: Progress = ignore
) -> Teacher:
    """By PPO, jointly with its encoder where there is a latent; None: z is e."""
    learner = problem.learner
    width, count = len(problem.history.present), len(problem.names)

    def build(generator: torch.Generator) -> Network:
        encoder = None
        if latent_width is not None:
            encoder = _build_mlp(count, _LATENT_WIDTHS, latent_width, generator)
        told = count if latent_width is None else latent_width
        actions = problem.build_task().action.width
        body = _build_mlp(
            width + told,
            learner.actor_widths,
            actions,
            generator,
            activation=learner.activation,
            gain=0.01,
        )
        return ConditionedNetwork(encoder, body, width)

    found = _train(problem, sees_e=True, network=build, progress=progress)
    return Teacher(found.actor.requires_grad_(False), problem.history)


def train_randomized(problem: AdaptProblem, *, progress: Progress = ignore) -> Ppo:
    """The same worlds, steps and layers, without e: domain randomization alone."""
    return _train(problem, sees_e=False, network=None, progress=progress)


def play(worlds: TaskWorlds, act: Act) -> Evaluation:
    """One episode in each world; the same ones at every call."""
    worlds.rewind()
    return evaluate(worlds, act)


def _train(
    problem: AdaptProblem,
    *,
    sees_e: bool,
    network: Callable[[torch.Generator], Network] | None,
    progress: Progress,
) -> Ppo:
    """The best of a few looks in worlds that are held out."""
    s = problem.settings
    torch.set_num_threads(1)

    def build(count: int, seed: int) -> ConditionedWorlds:
        worlds = problem.build_worlds(count, seed)
        return ConditionedWorlds(worlds, problem.history, sees_e=sees_e)

    worlds = build(s.world_count, s.seed)
    held_out = build(_LOOK_EPISODES, s.seed + _HELD_OUT)
    learner = Ppo(worlds, problem.learner, seed=s.seed, network=network)
    updates = max(1, round(s.steps / (s.world_count * problem.learner.horizon)))
    looks = {round(updates * (k + 1) / _LOOKS) for k in range(_LOOKS)} | {updates}
    best: tuple[float, State] | None = None
    for update in range(1, updates + 1):
        learner.collect(worlds)
        check_finite(learner, learner.update(), update)
        if update in looks:
            held_out.worlds.rewind()
            found = evaluate(held_out, learner.act)
            if best is None or found.mean_return > best[0]:
                best = found.mean_return, learner.copy_weights()
        progress(update / updates, "learning with e" if sees_e else "randomization")
    assert best is not None
    learner.load_weights(best[1])
    return learner


def _build(definition: TaskDefinition, settings: AdaptSettings) -> Task:
    return definition.build(load_twin(settings.twin) if settings.twin else None)


def _check_seen(task: Task) -> None:
    """Raises where a policy sees what no history of terms holds."""
    for group in task.groups:
        if group.purpose is Purpose.DEPLOYABLE:
            raise RealworthyError(
                f"Policies of task '{task.name}' see '{group.name}' beside its terms: a"
                " teacher could know from it what its student cannot learn.",
                hint="Students read a history of terms. Leave the group out, or make it"
                " privileged.",
            )


def _choose_randomization(
    definition: TaskDefinition, task: Task, settings: AdaptSettings
) -> Randomization:
    preset = choose_randomization(definition, task.twin, Randomize.PRESET)
    if not settings.unknown:
        if preset.belief is None or not len(preset.belief.space):
            raise RealworthyError(
                f"Nothing of task '{task.name}' is unknown: adapt to what?",
                hint="Name what is: --unknown NAME=LOWER:UPPER; realworthy show"
                f" parameters --twin {task.twin.name}",
            )
        return preset
    ranges = {name: Uniform(*ends) for name, ends in settings.unknown.items()}
    belief = IndependentBelief(task.twin.space.select(list(ranges)), ranges)
    rate = 1 / settings.change_every if settings.change_every else 0.0
    jumps = [Jump(name, rate=rate, to=ends) for name, ends in ranges.items() if rate]
    return replace(preset, belief=belief, processes=jumps)


def _choose_learner(definition: TaskDefinition) -> PpoSettings:
    """The task's preset of PPO, without mirrors: a told e has none here."""
    learner = find_preset(definition, "ppo").learner()
    assert isinstance(learner, PpoSettings)
    learner.mirror_samples, learner.mirror_weight = False, 0.0
    return learner


def _build_mlp(
    inputs: int,
    hidden: tuple[int, ...],
    outputs: int,
    generator: torch.Generator,
    *,
    activation: Activation = Activation.ELU,
    gain: float = 1.0,
) -> Mlp:
    return Mlp(
        inputs,
        hidden,
        outputs,
        activation=activation,
        output_gain=gain,
        generator=generator,
    )
