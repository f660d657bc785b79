"""Practice: a learner in its worlds, looked at and kept on the way."""

import contextlib
import hashlib
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from math import inf
from typing import Any

import torch

from realworthy.errors import BadFile, RealworthyError, Unwritable
from realworthy.learning.board import Board
from realworthy.learning.catalogue import name_learner
from realworthy.learning.distributed import Team
from realworthy.learning.growth import choose_growth
from realworthy.learning.learner import BadWeights, Learner, Metrics
from realworthy.learning.presets import Grow
from realworthy.learning.runs import BEST, LATEST, RunFolder
from realworthy.learning.training import Look, RunStatus, TrainSettings
from realworthy.policies.measured_signals import check_measurable
from realworthy.progress import Progress
from realworthy.tasks.contract import list_measured
from realworthy.tasks.environment.evaluate import Evaluation, evaluate
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Task

_HELD_OUT = 1_000_003
"""Added to the seed for worlds that choose the best policy."""
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


class Practice:
    """A run under way: worlds, a learner, and how well it goes."""

    def __init__(
        self,
        task: Callable[[], Task],
        folder: RunFolder,
        settings: TrainSettings,
        randomization: Randomization,
        team: Team,
        remarks: tuple[str, ...] = (),
    ) -> None:
        self.task, self.folder, self.settings = task, folder, settings
        self.randomization, self.team = randomization, team
        _prepare_torch(settings)
        seed = settings.seed + _OTHERS * team.rank
        self.growth = choose_growth(settings, randomization)
        self.worlds = self.build(
            settings.world_count, seed, self.growth.now, is_practice=True
        )
        self._check_measurable()
        if settings.grow is not Grow.AT_ONCE:
            self.worlds.on_end = self.growth.record
        self.warnings: list[str] = list(remarks)
        build = settings.learner.build
        self.learner = build(self.worlds, seed=seed, average=team.average)
        if team.count > 1:
            self.learner.load_weights(team.share(self.learner.copy_weights))
        self.step_count = self.update_count = 0
        self.seconds = self.looking = 0.0
        self.best: tuple[float, float] | None = None
        self.newest: Evaluation | None = None
        self.looks: list[Look] = []
        self._next_look, self._look_every = _EARLIEST, 0
        self._first_look: tuple[int, float] | None = None
        self._held_out: TaskWorlds | None = None

    def learn(self, progress: Progress) -> None:
        """Until a bound is met; checkpoints on the way."""
        with contextlib.ExitStack() as stack:
            board = None
            if self.team.is_first:
                board = stack.enter_context(Board(self.folder.metrics))
            if self.learner.memory_plan:
                progress(0.0, self.learner.memory_plan)
            began, kept = time.perf_counter() - self.seconds, -inf
            while not self.team.agree(self._has_ended)[0]:
                if self.growth.advance(self.step_count):
                    self.worlds.randomize(self.growth.now)
                self.learner.collect(self.worlds)
                metrics = self.learner.update()
                self.step_count += metrics.rollout.step_count * self.team.count
                self.update_count += 1
                check_finite(self.learner, metrics, self.update_count)
                self.seconds = time.perf_counter() - began
                is_due = self.update_count >= self._next_look
                is_old = time.perf_counter() - kept > _KEEP
                looks, keeps = self.team.agree(is_due or self._has_ended, is_old)
                if looks:
                    self._look(metrics)
                    self.seconds = time.perf_counter() - began
                if looks or keeps:
                    self._keep()
                    kept = time.perf_counter()
                if board is not None:
                    board.write(self._list_metrics(metrics), self.step_count)
                    status = self._describe(metrics)
                    progress(status.done, status.to_words())
        if board is not None and board.problem:
            self.warnings.append(board.problem)
        self._keep()

    def start_from(self, other: RunFolder) -> None:
        """Begins with the best weights of another run."""
        name, own = other.read_learner(), name_learner(self.settings.learner)
        if name != own:
            raise BadWeights(
                f"'{other.path}' was learned by '{name}': nothing for '{own}' to begin "
                "with.",
                hint=f"Begin with a run of '{own}', or learn with --learner {name}.",
            )
        best, observed = other.load(BEST), self._list_observed()
        if best.get("observed", observed) != observed:
            there, here = (", ".join(x) for x in (best["observed"], observed))
            raise BadWeights(
                f"'{other.path}' does not fit: its policy sees {there}; task "
                f"'{self.worlds.task.name}' shows {here}.",
                hint="Begin with a run whose task observes the same.",
            )
        try:
            left = self.learner.load_weights(best)
        except BadWeights as error:
            raise BadWeights(
                f"'{other.path}' does not fit: {error.problem}", hint=error.hint
            ) from None
        self.warnings += [f"From '{other.path}': {words}" for words in left]

    def restore(self) -> None:
        """Goes on from the last checkpoint."""
        state = self.folder.load(self._latest)
        if "worlds_like" not in state:
            path = self.folder.checkpoint(self._latest)
            raise BadFile(path, "it was written by an older version of Realworthy.")
        if state["worlds_like"] != self._fingerprint():
            raise RealworthyError(
                f"The worlds of '{self.folder.path}' were others: the twin, the task or"
                " what differs between worlds has changed since.",
                hint="Go on with what it began with, or begin a new run.",
            )
        self.step_count = state["step_count"]
        self.growth.load_state_dict(state["growth"])
        self.growth.advance(self.step_count)
        self.worlds.randomize(self.growth.now)
        self.worlds.load_state_dict(state["worlds"])
        self.learner.load_state_dict(state["learner"])
        self.update_count = state["update_count"]
        self._share_learner()
        self.seconds, self.looking = state["seconds"], state["looking"]
        self.best = None if state["best"] is None else tuple(state["best"])
        self.looks = [Look(**look) for look in state["looks"]]
        self._next_look, self._look_every = state["next_look"], state["look_every"]
        self._first_look = state["first_look"]

    def check_unfinished(self) -> None:
        """Raises where a bound is met already."""
        end = self.find_end()
        if end is not None:
            value = getattr(self.settings, end)
            raise RealworthyError(
                f"The run in '{self.folder.path}' has met its {end}, {value:g}: "
                f"{self.step_count} steps in {self.seconds / 60:.1f} minutes.",
                hint="Give more --steps or --minutes, of the whole run; --target 2 "
                "never ends early.",
            )

    def _share_learner(self) -> None:
        """Processes that were stopped between two checkpoints go on from the first's.

        Then the run is not quite the one that was interrupted.
        """
        counts = self.team.gather(self.update_count)
        if len(set(counts)) == 1:
            return
        self.learner.load_state_dict(self.team.share(self.learner.state_dict))
        if not self.team.is_first:  # explores otherwise, in worlds of its own
            seed = self.settings.seed + _OTHERS * self.team.rank + counts[0]
            self.learner.generator.manual_seed(seed)
            self.learner.begin(self.worlds)
        self.update_count = counts[0]
        self.step_count = self.team.share(lambda: self.step_count)
        self.warnings.append(
            f"Processes were stopped after {sorted(set(counts))} updates; all went on "
            "with the weights of the first."
        )

    @property
    def _latest(self) -> str:
        """Each process keeps its own worlds."""
        return LATEST if self.team.is_first else f"{self.team.rank}_{LATEST}"

    @property
    def steps_per_second(self) -> float:
        return self.step_count / max(1e-9, self.seconds - self.looking)

    @property
    def _has_ended(self) -> bool:
        return self.find_end() is not None

    def find_end(self) -> str | None:
        s = self.settings
        if s.target is not None and self.best is not None and self.best[0] >= s.target:
            return "target"
        if s.steps is not None and self.step_count >= s.steps:
            return "steps"
        if s.minutes is not None and self.seconds >= 60 * s.minutes:
            return "minutes"
        return None

    def _look(self, metrics: Metrics) -> None:
        """Plays in held-out worlds, and keeps the policy if it is the best so far.

        The next look comes after so many updates that looking takes its share of the
        time. How many is found at the second, when everything is built and warm, and
        stays, so that a resumed run looks alike.
        """
        began, s = time.perf_counter(), self.settings
        practised = self.seconds - self.looking
        if not self.team.is_first:
            return
        if self._held_out is None:
            count, seed = s.evaluation_episodes, s.seed + _HELD_OUT
            self._held_out = self.build(count, seed, self.randomization)
        found = self.newest = self.evaluate(self._held_out, again=True)
        score = (found.least_success, found.mean_return if len(found.returns) else -inf)
        if (self.best is None or score > self.best) and self._save(
            BEST,
            {
                **self.learner.copy_weights(),
                "growth": self.growth.stage,
                "observed": self._list_observed(),
            },
        ):
            self.best = score
        cost = time.perf_counter() - began
        self.looking += cost
        if self._first_look is None:
            self._first_look = self.update_count, practised
        elif not self._look_every:
            count, then = self._first_look
            update = (practised - then) / (self.update_count - count)
            self._look_every = max(1, round(cost / _SHARE / update))
        self._next_look = self.update_count + (self._look_every or _EARLIEST)
        self.looks.append(
            Look(
                step_count=self.step_count,
                seconds=self.seconds,
                reward=metrics.rollout.reward,
                success=found.least_success,
                mean_return=found.mean_return,
            )
        )

    def evaluate(self, worlds: TaskWorlds, *, again: bool = False) -> Evaluation:
        """The policy as it stands; `again` meets the same worlds every time."""
        if again:
            worlds.rewind()
        memory = self.learner.remember(worlds.world_count)
        return evaluate(worlds, lambda seen: self.learner.act(seen, memory))

    def build(
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
                "looks": [asdict(look) for look in self.looks],
                "next_look": self._next_look,
                "look_every": self._look_every,
                "first_look": self._first_look,
                "growth": self.growth.state_dict(),
                "worlds_like": self._fingerprint(),
            },
        )

    def _save(self, name: str, state: dict[str, Any]) -> bool:
        """Whether it was written: a full disk costs a checkpoint, not the run."""
        try:
            self.folder.save(name, state)
            return True
        except (Unwritable, RuntimeError) as error:
            if name == BEST and not self.folder.has(BEST):
                raise
            message = f"A checkpoint could not be written: {error}"
            if message not in self.warnings:
                self.warnings.append(message)
                warnings.warn(message, stacklevel=2)
            return False

    def _fingerprint(self) -> str:
        """Of what worlds are drawn from: a few draws of e, and the twin's numbers."""
        how, task = self.randomization, self.worlds.task
        told = [type(task).__name__, task.twin.name, how.noise, how.pushes, how.latency]
        told += [
            tuple(self.worlds.groups),
            tuple(how.processes),
            task.terms,
            task.action,
            dict(task.weights),
        ]
        told += [task.twin.spec().to_xml(), task.twin.space.names]
        told += [f"{x:.9g}" for x in task.twin.space.nominal]
        if task.definition is not None and task.definition.file is not None:
            told.append(task.definition.file.sha256)
        if how.belief is not None:
            drawn = how.belief.sample(4, seed=0).ravel()
            told += [how.belief.space.names, *(f"{x:.9g}" for x in drawn)]
        return hashlib.sha256(repr(told).encode()).hexdigest()

    def _list_observed(self) -> list[str]:
        """Name and count of every term, in order."""
        return [f"{x.name} ({x.width * x.history})" for x in self.worlds.task.terms]

    def _check_measurable(self) -> None:
        """Raises now what export would raise in the end."""
        task = self.worlds.task
        inputs = [one.name for one in task.inputs]
        given = [*inputs, *task.action.names]
        check_measurable(task.terms, list_measured(self.worlds), given=given)

    def _describe(self, metrics: Metrics) -> RunStatus:
        s = self.settings
        shares = [0.0]
        if s.minutes is not None:
            shares.append(self.seconds / (60 * s.minutes))
        if s.steps is not None:
            shares.append(self.step_count / s.steps)
        return RunStatus(
            done=min(1.0, max(shares)),
            seconds=self.seconds,
            step_count=self.step_count,
            steps_per_second=self.steps_per_second,
            metrics=metrics,
            evaluation=self.newest,
        )

    def _list_metrics(self, metrics: Metrics) -> dict[str, float]:
        """One row of everything for TensorBoard."""
        rollout = metrics.rollout
        row = {
            "practice/reward": rollout.reward,
            "practice/episode_return": rollout.episode_return,
            "practice/episode_steps": rollout.episode_steps,
            "practice/success": rollout.success,
            "practice/terminated": rollout.terminated,
            "practice/invalid": rollout.invalid_count,
            "speed/steps_per_second": self.steps_per_second,
        }
        row |= {f"learning/{name}": value for name, value in metrics.numbers.items()}
        row |= {f"terms/{name}": value for name, value in rollout.terms.items()}
        if self.newest is not None:
            row["held_out/success"] = self.newest.least_success
            row["held_out/return"] = self.newest.mean_return
        return row


def _prepare_torch(settings: TrainSettings) -> None:
    """Short floats in products on a GPU; one thread for networks of a few neurons."""
    if settings.device.startswith("cuda"):
        torch.set_float32_matmul_precision("high")
    if settings.learner.widest_layer <= _NARROW:
        torch.set_num_threads(1)


def check_finite(learner: Learner, metrics: Metrics, update: int) -> None:
    """Raises where learning has broken down, before anything of it is kept."""
    if not metrics.is_finite:
        raise RealworthyError(
            f"Learning broke down in update {update}: its losses are not finite. "
            "What was kept before it is whole.",
            hint="Look for rewards or observations that can be infinite; or "
            f"{learner.remedy}.",
        )
