"""From a task to a policy: practise, look how well it goes, keep the best, export."""

import contextlib
import datetime
import hashlib
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import torch

from realworthy.errors import RealworthyError, Unwritable
from realworthy.gap.intervals import Interval
from realworthy.learning.distributed import Team, join_team, share_weights
from realworthy.learning.export import export_policy
from realworthy.learning.ppo import Ppo, PpoMetrics, PpoSettings
from realworthy.learning.presets import Randomize, choose_randomization
from realworthy.learning.runs import (
    BEST,
    LATEST,
    RunFolder,
    find_commit,
    list_versions,
)
from realworthy.policies import contract as policies
from realworthy.tasks.catalogue import build_task
from realworthy.tasks.contract import build_contract, list_measured
from realworthy.tasks.curriculum import ease, ramp
from realworthy.tasks.devices import find_device
from realworthy.tasks.evaluate import Evaluation, evaluate
from realworthy.tasks.randomization import Randomization
from realworthy.tasks.task import Task
from realworthy.tasks.variety import Variety, describe_variety
from realworthy.tasks.worlds import TaskWorlds
from realworthy.twins import load_twin

_HELD_OUT, _UNSEEN = 1_000_003, 2_000_003
"""Added to the seed for worlds that choose the best policy, and that judge it."""
_OTHERS = 7_919
"""Added to the seed for each further process."""
_SHARE = 0.15
"""Of the time that looking at the policy may take."""
_EARLIEST = 10
"""Updates before the policy is looked at first."""
_NARROW = 64
"""Neurons of a layer up to which a second thread costs more than it gives."""
_KEEP = 60.0
"""[s] between checkpoints at most."""
Follow = Callable[["Progress"], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainSettings:
    """What is learned, how long, and in which worlds."""

    task: str
    """By name; see `TASKS`."""
    twin: str = ""
    """As `load_twin` takes it; empty: the task's own."""
    randomize: Randomize = Randomize.PRESET
    ppo: PpoSettings = field(default_factory=PpoSettings)
    world_count: int = 1024
    minutes: float | None = None
    """[min] of training, looking included; none: until another bound is met."""
    steps: int | None = None
    """Control steps of all worlds together; none: until another bound is met."""
    target: float | None = None
    """Share of successes in held-out worlds at which to stop; none: never early."""
    evaluation_episodes: int = 256
    """Held-out worlds in which the policy is looked at, and judged in the end."""
    coarse: bool = False
    """Practise with twice the twin's time step, where the control period allows it;
    policies are looked at and judged with its own."""
    ease_steps: int = 0
    """Control steps over which worlds grow from a tenth as different, noisy and pushed
    as asked to the whole of it; 0: all of it at once. On a GPU always so."""
    seed: int = 0
    device: str = "cpu"
    thread_count: int = 0
    """Of the physics; 0: all cores."""

    def check(self) -> None:
        """Raises where training would never end or could not begin."""
        if self.minutes is None and self.steps is None and self.target is None:
            raise RealworthyError(
                "Training has no end: neither minutes, nor steps, nor a target."
            )
        for name in ("minutes", "steps", "world_count", "evaluation_episodes"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise RealworthyError(f"{name} should be above zero, not {value}.")
        if self.target is not None and not self.target >= 0:
            raise RealworthyError(
                f"A target is a share of successes, 0 or more, not {self.target:g}."
            )
        find_device(self.device)


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Where training stands, after each update."""

    done: float
    """Share of what bounds it, 0 … 1."""
    seconds: float
    step_count: int
    steps_per_second: float
    """While practising and learning; looking apart."""
    metrics: PpoMetrics
    evaluation: Evaluation | None
    """The newest look at the policy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """How a policy did in held-out worlds, on the way."""

    step_count: int
    seconds: float
    """[s] of training until then, looking included."""
    reward: float
    """Mean of a step in practice, in the update before."""
    success: float
    """Share of all episodes; those whose physics diverged count as failed."""
    mean_return: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """What came of a run."""

    folder: RunFolder
    task: str
    twin: str
    variety: Variety
    """How the worlds differ in which it was judged, and practised in the end."""
    looks: tuple[Look, ...]
    """At the policy on the way, the last one included."""
    step_count: int
    seconds: float
    steps_per_second: float
    evaluation: Evaluation
    """Of the best policy, in worlds that nobody has chosen by."""
    at_nominal: Evaluation
    """The same policy on the twin as it is: what randomization cost there."""
    invalid_count: int
    """Steps in which the physics diverged; nothing was learned from them."""
    update_count: int
    stopped_by: str
    """`minutes`, `steps` or `target`."""
    warnings: tuple[str, ...] = ()


def train(
    settings: TrainSettings,
    *,
    output: Path | str,
    task: Callable[[], Task] | None = None,
    randomization: Randomization | None = None,
    follow: Follow | None = None,
) -> Training:
    """Trains with PPO into the folder `output`, and exports the best policy there.

    `task` builds a task of one's own, once for each set of worlds; `randomization` says
    how they differ where no name does. The best is chosen in held-out worlds: other
    starts, other samples of e.
    """
    settings.check()
    build, spread = _prepare(settings, task, randomization)
    folder, team = RunFolder(output), join_team(settings.device)
    team.share(lambda: folder.begin(settings))
    run = _Run(build, folder, settings, spread, team)
    run.learn(follow or _ignore)
    return team.share(run.finish)


def resume(
    output: Path | str,
    *,
    task: Callable[[], Task] | None = None,
    randomization: Randomization | None = None,
    follow: Follow | None = None,
) -> Training:
    """Goes on with the run in the folder `output` from its last checkpoint.

    On the CPU it ends with the same weights as if nothing had interrupted it.
    """
    folder = RunFolder(output)
    settings = folder.read_settings(TrainSettings)
    settings.check()
    build, spread = _prepare(settings, task, randomization)
    team = join_team(settings.device)
    run = _Run(build, folder, settings, spread, team)
    run.restore()
    run.learn(follow or _ignore)
    return team.share(run.finish)


def _prepare(
    settings: TrainSettings,
    task: Callable[[], Task] | None,
    randomization: Randomization | None,
) -> tuple[Callable[[], Task], Randomization]:
    twin = load_twin(settings.twin) if settings.twin else None

    def build() -> Task:
        return build_task(settings.task, twin)

    make = task or build
    if randomization is not None:
        return make, randomization
    return make, choose_randomization(settings.task, make().twin, settings.randomize)


class _Run:
    """A run under way."""

    def __init__(
        self,
        task: Callable[[], Task],
        folder: RunFolder,
        settings: TrainSettings,
        randomization: Randomization,
        team: Team,
    ) -> None:
        self.task, self.folder, self.settings = task, folder, settings
        self.randomization, self.team = randomization, team
        _prepare_torch(settings)
        seed = settings.seed + _OTHERS * team.rank
        self.worlds = self._build(
            settings.world_count, seed, randomization, is_practice=True
        )
        self.warnings: list[str] = []
        self.learner = Ppo(self.worlds, settings.ppo, seed=seed, average=team.average)
        if team.count > 1:
            share_weights(self.learner.actor, self.learner.critic)
        self.step_count = self.update_count = 0
        self.seconds = self.looking = 0.0
        self.best: tuple[float, float] | None = None
        self.newest: Evaluation | None = None
        self._held_out: TaskWorlds | None = None
        self._eased = 1.0

    def learn(self, follow: Follow) -> None:
        """Until a bound is met; checkpoints on the way."""
        from torch.utils.tensorboard import SummaryWriter

        with contextlib.ExitStack() as stack:
            writer = None
            if self.team.is_first:
                writer = stack.enter_context(SummaryWriter(str(self.folder.metrics)))
            began, kept = time.perf_counter() - self.seconds, time.perf_counter()
            looked, cost = self.seconds, 0.0
            while not self.team.agree(self._has_ended)[0]:
                self._ease()
                self.learner.collect(self.worlds)
                metrics = self.learner.update()
                self.step_count += metrics.rollout.step_count * self.team.count
                self.update_count += 1
                self.seconds = time.perf_counter() - began
                is_due = self.seconds - looked >= cost / _SHARE
                is_due = is_due and self.update_count >= _EARLIEST
                is_old = time.perf_counter() - kept > _KEEP
                looks, keeps = self.team.agree(is_due or self._has_ended, is_old)
                if looks:
                    cost = self._look()
                    self.seconds = looked = time.perf_counter() - began
                if looks or keeps:
                    self._keep()
                    kept = time.perf_counter()
                if writer is not None:
                    self._write(writer, metrics)
                    follow(self._describe(metrics))
        self._keep()

    def finish(self) -> Training:
        """Judges the best policy in worlds nobody has chosen by, and exports it."""
        s = self.settings
        self.learner.actor.load_state_dict(self.folder.load(BEST)["actor"])
        worlds = self._build(
            s.evaluation_episodes, s.seed + _UNSEEN, self.randomization
        )
        found = self._evaluate(worlds)
        nominal = self._build(s.evaluation_episodes, s.seed + _UNSEEN, Randomization())
        at_nominal = self._evaluate(nominal)
        self._export(found)
        stopped_by = self._find_end()
        assert stopped_by is not None
        if self.worlds.invalid_count:
            share = self.worlds.invalid_count / max(1, self.step_count)
            self.warnings.append(
                f"The physics diverged in {self.worlds.invalid_count} steps "
                f"({share:.2g} of all), from which nothing was learned. Try a narrower "
                "belief, or a twin with a shorter time step."
            )
        return Training(
            folder=self.folder,
            step_count=self.step_count,
            seconds=self.seconds,
            steps_per_second=self._speed,
            evaluation=found,
            at_nominal=at_nominal,
            invalid_count=self.worlds.invalid_count,
            update_count=self.update_count,
            stopped_by=stopped_by,
            warnings=tuple(self.warnings),
        )

    def restore(self) -> None:
        """Goes on from the last checkpoint."""
        state = self.folder.load(self._latest)
        self.step_count = state["step_count"]
        self._ease()
        self.worlds.load_state_dict(state["worlds"])
        self.learner.load_state_dict(state["learner"])
        self.update_count = state["update_count"]
        self.seconds, self.looking = state["seconds"], state["looking"]
        self.best = None if state["best"] is None else tuple(state["best"])

    @property
    def _latest(self) -> str:
        """Each process keeps its own worlds."""
        return LATEST if self.team.is_first else f"{self.team.rank}_{LATEST}"

    @property
    def _speed(self) -> float:
        return self.step_count / max(1e-9, self.seconds - self.looking)

    def _ease(self) -> None:
        """Lets worlds differ as much as they should by now."""
        steps = self.settings.ease_steps
        if not steps or self.settings.device != "cpu":
            return
        factor = round(ramp(self.step_count / steps, end=1.0), 1)
        if factor != self._eased:
            self._eased = factor
            self.worlds.randomize(ease(self.randomization, factor))

    @property
    def _has_ended(self) -> bool:
        return self._find_end() is not None

    def _find_end(self) -> str | None:
        s = self.settings
        if s.target is not None and self.best is not None and self.best[0] >= s.target:
            return "target"
        if s.steps is not None and self.step_count >= s.steps:
            return "steps"
        if s.minutes is not None and self.seconds >= 60 * s.minutes:
            return "minutes"
        return None

    def _look(self) -> float:
        """Plays in held-out worlds, and keeps the policy if it is the best so far.

        Returns how long that took [s].
        """
        began = time.perf_counter()
        s = self.settings
        if not self.team.is_first:
            return 0.0
        if self._held_out is None:
            count, seed = s.evaluation_episodes, s.seed + _HELD_OUT
            self._held_out = self._build(count, seed, self.randomization)
        found = self.newest = self._evaluate(self._held_out, again=True)
        score = (found.success, found.mean_return)
        if self.best is None or score > self.best:
            self.best = score
            self._save(BEST, {"actor": self.learner.actor.state_dict()})
        cost = time.perf_counter() - began
        self.looking += cost
        return cost

    def _evaluate(self, worlds: TaskWorlds, *, again: bool = False) -> Evaluation:
        """The policy as it stands; `again` meets the same worlds every time."""
        if again:
            worlds.chance.rewind()
        memory = self.learner.remember(worlds.world_count)
        return evaluate(worlds, lambda seen: self.learner.act(seen, memory))

    def _build(
        self,
        count: int,
        seed: int,
        randomization: Randomization,
        *,
        is_practice: bool = False,
    ) -> TaskWorlds:
        s = self.settings
        return TaskWorlds(
            self.task(),
            count,
            randomization=randomization,
            seed=seed,
            device=self.team.choose_device(s.device),
            thread_count=s.thread_count,
            coarse=is_practice and s.coarse,
            is_practice=is_practice,
        )

    def _keep(self) -> None:
        self._save(
            self._latest,
            {
                "worlds": self.worlds.state_dict(),
                "learner": self.learner.state_dict(),
                "step_count": self.step_count,
                "update_count": self.update_count,
                "seconds": self.seconds,
                "looking": self.looking,
                "best": self.best,
            },
        )

    def _save(self, name: str, state: dict[str, Any]) -> None:
        """A full disk costs a checkpoint, not the run."""
        try:
            self.folder.save(name, state)
        except (Unwritable, RuntimeError) as error:
            if name == BEST and not self.folder.checkpoint(BEST).exists():
                raise
            message = f"A checkpoint could not be written: {error}"
            if message not in self.warnings:
                self.warnings.append(message)
                warnings.warn(message, stacklevel=2)

    def _export(self, found: Evaluation) -> None:
        s, worlds = (
            self.settings,
            self._build(1, self.settings.seed, self.randomization),
        )
        text = msgspec.json.encode(s)
        contract = msgspec.structs.replace(
            build_contract(worlds),
            evaluation=policies.Evaluation(
                episode_count=max(1, found.episode_count),
                success=found.success,
                success_interval=_pair(found.success_interval),
                mean_return=found.mean_return,
                return_interval=_pair(found.return_interval),
            ),
            provenance=policies.PolicyProvenance(
                created=datetime.datetime.now(datetime.UTC).isoformat(
                    timespec="seconds"
                ),
                versions=list_versions(),
                settings_hash=hashlib.sha256(text).hexdigest(),
                git=find_commit(),
            ),
        )
        export_policy(
            self.folder.policy,
            self.learner.actor,
            contract,
            measured=list_measured(worlds),
            rollout=_play_one(worlds, self.learner),
            overwrite=True,
        )

    def _describe(self, metrics: PpoMetrics) -> Progress:
        s = self.settings
        shares = [0.0]
        if s.minutes is not None:
            shares.append(self.seconds / (60 * s.minutes))
        if s.steps is not None:
            shares.append(self.step_count / s.steps)
        return Progress(
            done=min(1.0, max(shares)),
            seconds=self.seconds,
            step_count=self.step_count,
            steps_per_second=self._speed,
            metrics=metrics,
            evaluation=self.newest,
        )

    def _write(self, writer: Any, metrics: PpoMetrics) -> None:
        """One row of everything for TensorBoard, by the number of steps."""
        rollout = metrics.rollout
        row = {
            "practice/reward": rollout.reward,
            "practice/episode_return": rollout.episode_return,
            "practice/episode_steps": rollout.episode_steps,
            "practice/success": rollout.success,
            "practice/terminated": rollout.terminated,
            "practice/invalid": rollout.invalid_count,
            "learning/kl": metrics.kl,
            "learning/step_size": metrics.learning_rate,
            "learning/std": metrics.std,
            "learning/value_loss": metrics.value_loss,
            "learning/explained_variance": metrics.explained_variance,
            "speed/steps_per_second": self._speed,
        }
        row |= {f"terms/{name}": value for name, value in rollout.terms.items()}
        if self.newest is not None:
            row["held_out/success"] = self.newest.success
            row["held_out/return"] = self.newest.mean_return
        for name, value in row.items():
            if math.isfinite(value):
                writer.add_scalar(name, value, self.step_count)


def _prepare_torch(settings: TrainSettings) -> None:
    """Short floats in products on a GPU; one thread for networks of a few neurons."""
    if settings.device.startswith("cuda"):
        torch.set_float32_matmul_precision("high")
    widest = max((*settings.ppo.actor_widths, *settings.ppo.critic_widths))
    if widest <= _NARROW:
        torch.set_num_threads(1)


@torch.no_grad()
def _play_one(worlds: TaskWorlds, learner: Ppo) -> torch.Tensor:
    """(steps, width) observations of the actor over one episode of one world."""
    memory, seen = learner.remember(1), []
    observations = worlds.reset()
    for _ in range(worlds.step_limit):
        seen.append(observations["actor"][0])
        step = worlds.step(learner.act(observations, memory))
        if bool(step.done[0]):
            break
        observations = step.observations
    return torch.stack(seen)


def _pair(interval: Interval) -> tuple[float, float]:
    return interval.lower, interval.upper


def _ignore(progress: Progress) -> None:
    """Nobody is looking."""
