"""`realworthy train`: a policy for a task, learned in worlds that differ."""

import contextlib
import os
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from realworthy.cli.arguments import (
    Flag,
    JsonFile,
    ReportFile,
    Role,
    RoleNames,
    TwinName,
    parse_numbers,
    parse_values,
)
from realworthy.cli.learner_options import parse_settings
from realworthy.cli.numbers import AnyCount, AnyNumber, AnySeed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from realworthy.learning.learner import LearnerSettings
    from realworthy.learning.training import Training, TrainSettings
    from realworthy.progress import Progress
    from realworthy.tasks.environment.evaluate import Evaluation
    from realworthy.tasks.environment.variety import Variety

_PLAN = "Replay of "
"""With which learners begin to say what memory they will take."""
_SHOWN = 12
"""Numbers that differ between worlds, of which the terminal tells."""


@dataclass(frozen=True, slots=True)
class Train:
    """Learn a task: a run folder with policy.onnx, judged in worlds it has not seen."""

    task: Annotated[
        str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK", help_behavior_hint="")
    ]
    """A task; realworthy show tasks lists them. Or a class of your own:
    my_file.py:MyTask."""
    output: Annotated[
        Path,
        Role.WRITTEN,
        tyro.conf.arg(metavar="FOLDER", help_behavior_hint=""),
    ]
    """The run's folder, made anew; with --resume, the one to go on with."""
    learner: Annotated[
        str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")
    ] = None
    """Who learns: ppo (default), sapg, fastsac, fasttd3, fpo, fb, ars, es; realworthy
    show learners. Or a class of your own: my_file.py:MyLearner. Its settings are
    options as well: with --learner NAME, --help lists them."""
    start_from: Annotated[
        str, Role.READ, tyro.conf.arg(name="from", metavar="RUN", help_behavior_hint="")
    ] = ""
    """The folder of a run, whose weights are the first ones."""
    twin: TwinName = ""
    """A twin to learn on; by default the task's own."""
    role: RoleNames = ()
    """A part of the twin for a role of the task, where the one proposed is not meant:
    tip=SITE, feet=A,B,C,D; realworthy show tasks --twin TWIN lists them."""
    task_settings: Annotated[
        tuple[str, ...],
        tyro.conf.arg(name="set", metavar="NAME=VALUE…", help_behavior_hint=""),
    ] = ()
    """Settings of the task, such as torque=1.5: keyword arguments of its class."""
    minutes: AnyNumber = None
    """Stop after so many minutes; by default as the task's preset says."""
    steps: AnyCount = None
    """Stop after so many control steps of all worlds together."""
    target: AnyNumber = None
    """Stop once this share of held-out episodes succeeds; 2: never early."""
    randomize: Annotated[
        Literal["preset", "belief", "none"] | None,
        tyro.conf.arg(help_behavior_hint="", metavar="{preset,belief,none}"),
    ] = None
    """What randomizes worlds: the preset (default), the twin's belief, or nothing."""
    table: Annotated[str, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = ""
    """Published ranges in place of the preset's; realworthy show tables lists them."""
    grow: Annotated[
        Literal["at_once", "success", "automatic"] | None,
        tyro.conf.arg(help_behavior_hint="", metavar="{at_once,success,automatic}"),
    ] = None
    """How randomization grows: at once (default), as episodes succeed, or each
    parameter by itself as far as the policy still succeeds (automatic)."""
    terrain: AnyNumber = None
    """Uneven ground for legged tasks: 1 has stairs of 12 cm and slopes of 40 %."""
    payload: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="BODY=KG…", help_behavior_hint="")
    ] = ()
    """Loads up to this mass that come and go within an episode."""
    worlds: AnyCount = None
    """Worlds to train in side by side; by default as the preset says."""
    seed: AnySeed = None
    """Seed of all random numbers; by default 0."""
    seeds: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Runs from as many seeds, each in a folder of its own."""
    ray: Flag = False
    """Make several runs side by side through Ray; else one after the other."""
    device: Annotated[
        str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")
    ] = None
    """Where to learn and simulate: cpu (default), cuda, cuda:1."""
    resume: Flag = False
    """Go on with an interrupted run as it was, or further: --minutes and --steps, of
    the whole run, and --target take the place of its own. With --seeds, with all."""
    json: JsonFile = None
    """Also write the result, for programs."""
    report: ReportFile = None
    """Also write a page with plots, for people; of one run."""
    overwrite: Flag = False
    """Replace existing files; a run's folder is never replaced."""
    options: Annotated[tuple[str, ...], tyro.conf.Suppress] = ()
    """Words that are settings of the learner; see `split_options`."""

    @classmethod
    def list_options(cls) -> set[str]:
        """Names of its own options, without those of learners."""
        names = {field.name.replace("_", "-") for field in fields(cls)}
        return {"from", "set", *names} - {"start-from", "task-settings", "options"}

    def run(self) -> int:
        from realworthy.cli.output import check_report, json_file

        self._check()
        if not self.resume:
            self._settings(self.seed or 0)  # mistakes before anything is written
        if os.environ.get("RANK", "0") != "0":  # of torchrun; the first one reports
            self._train()
            return 0
        check_report(self.report, self.json, overwrite=self.overwrite)
        with json_file(self.json, overwrite=self.overwrite) as save:
            found = self._train()
            trees = [to_tree(training) for training in found]
            save(trees[0] if len(trees) == 1 else _summarise(trees))
        for training in found:
            print_training(training)
        if len(found) > 1:
            print_seeds(found)
        self._write_pages(found)
        return 0

    def _write_pages(self, found: "list[Training]") -> None:
        """In the folder of each run, and where it was asked for."""
        from realworthy.cli.printing import emit_note
        from realworthy.errors import Unwritable
        from realworthy.reports.training.page import write_training

        asked = None if self.report is None else self.report.resolve()
        for training in found:
            own = training.folder.report
            try:
                write_training(training, own, overwrite=True)
            except Unwritable as error:
                if own.resolve() == asked:
                    raise
                emit_note(f"Warning: {error.problem}", style="yellow")
        if asked is not None and asked != found[0].folder.report.resolve():
            write_training(found[0], asked, overwrite=self.overwrite)

    def _check(self) -> None:
        from realworthy.errors import RealworthyError

        if self.worlds is not None and self.worlds < 1:
            raise RealworthyError(f"--worlds {self.worlds} leaves none to practise in.")
        if self.seeds < 1:
            raise RealworthyError(f"--seeds {self.seeds} makes no run.")
        if self.ray and (self.resume or self.seeds == 1):
            raise RealworthyError(
                "--ray makes several new runs side by side.",
                hint="Give --seeds with it, and no --resume; or leave --ray out.",
            )
        if self.report is not None and self.seeds > 1:
            raise RealworthyError(
                f"--report is the page of one run, and --seeds {self.seeds} makes "
                f"{self.seeds}.",
                hint="Leave --report or --seeds out; --json covers all runs.",
            )

    def _train(self) -> "list[Training]":
        from realworthy.cli.progress import following
        from realworthy.learning.sweep import train_many
        from realworthy.learning.train import train

        first = self.seed or 0
        seeds = range(first, first + self.seeds)
        with following(self.task) as follow, self._saying_what_is_kept():
            show = _keep_plans(follow)
            if self.resume:
                return [self._resume(seed, show) for seed in seeds]
            if self.seeds == 1:
                settings = self._settings(first)
                return [train(settings, output=self.output, progress=show)]
            found = train_many(
                {_name(seed): self._settings(seed) for seed in seeds},
                output=self.output,
                with_ray=self.ray,
                progress=show,
            )
            return list(found.values())

    @contextlib.contextmanager
    def _saying_what_is_kept(self) -> "Iterator[None]":
        """Where somebody stops it."""
        from realworthy.learning.runs import LATEST

        try:
            yield
        except KeyboardInterrupt:
            if any(self.output.rglob(LATEST)):
                print(
                    f"'{self.output}' has what was learned until its last checkpoint. "
                    "Go on with it: the same command and --resume.",
                    file=sys.stderr,
                )
            raise

    def _resume(self, seed: int, show: "Progress") -> "Training":
        from realworthy.artefacts import is_vacant
        from realworthy.errors import RealworthyError
        from realworthy.learning.catalogue import find_learner
        from realworthy.learning.runs import RunFolder
        from realworthy.learning.train import resume, train
        from realworthy.learning.training import TrainSettings
        from realworthy.tasks.catalogue import find_task

        is_one = self.seeds == 1
        folder = self.output if is_one else self.output / _name(seed)
        is_missing = not is_one and self.output.is_dir() and not folder.exists()
        if is_missing or (folder.is_dir() and is_vacant(folder)):  # killed at once
            return train(self._settings(seed), output=folder, progress=show)
        find_task(self.task)  # files that are named here may be run again
        if self.learner:
            find_learner(self.learner)
        began = RunFolder(folder).read_settings(TrainSettings)
        if began.task != self.task:
            raise RealworthyError(
                f"'{folder}' is a run of task '{began.task}', not '{self.task}'.",
                hint=f"realworthy train {began.task} --resume --output {folder}",
            )
        self._check_same(began, seed if self.seed is not None or not is_one else None)
        return resume(
            folder,
            minutes=self.minutes,
            steps=self.steps,
            target=self.target,
            progress=show,
        )

    def _check_same(self, began: "TrainSettings", seed: int | None) -> None:
        """Raises where something was asked for that a run cannot change."""
        import msgspec

        from realworthy.errors import RealworthyError
        from realworthy.learning.catalogue import name_learner
        from realworthy.robots.roles import parse_roles

        name = name_learner(began.learner)
        asked = {
            "--learner": (self.learner, name),
            "--from": (self.start_from or None, began.start_from),
            "--twin": (self.twin or None, began.twin),
            "--set": (parse_values(self.task_settings) or None, began.task_settings),
            "--role": (parse_roles(self.role).words or None, began.roles.words),
            "--randomize": (self.randomize, began.randomize.value),
            "--table": (self.table or None, began.table),
            "--grow": (self.grow, began.grow.value),
            "--terrain": (self.terrain, began.terrain),
            "--payload": (self._payload() or None, began.payload),
            "--worlds": (self.worlds, began.world_count),
            "--seed": (seed, began.seed),
            "--device": (self.device, began.device),
        }
        if self.learner in (None, name):
            old = msgspec.to_builtins(began.learner)
            new = msgspec.to_builtins(self._change(began.learner))
            for key in (key for key in old if new[key] != old[key]):
                asked[f"--{key.replace('_', '-')}"] = (f"{new[key]}", f"{old[key]}")
        for option, (value, old) in asked.items():
            if value not in (None, old):
                kept = "none" if old == "" else old
                raise RealworthyError(
                    f"{option} {value} was asked for, but the run in '{self.output}' "
                    f"has {kept}; a resumed run keeps its settings.",
                    hint=f"Leave {option} out, or begin another run.",
                )

    def _settings(self, seed: int) -> "TrainSettings":
        from realworthy.learning.presets import Grow, Randomize
        from realworthy.learning.training import choose_settings
        from realworthy.robots.roles import parse_roles

        settings = choose_settings(
            self.task,
            learner=self.learner or "",
            start_from=self.start_from,
            task_settings=parse_values(self.task_settings),
            twin=self.twin,
            roles=parse_roles(self.role),
            randomize=Randomize(self.randomize or "preset"),
            table=self.table,
            grow=Grow(self.grow or "at_once"),
            terrain=self.terrain or 0.0,
            payload=self._payload(),
            world_count=self.worlds,
            minutes=self.minutes,
            steps=self.steps,
            target=self.target,
            seed=seed,
            device=self.device or "cpu",
        )
        return replace(settings, learner=self._change(settings.learner))

    def _payload(self) -> dict[str, float]:
        return parse_numbers(self.payload, "--payload", value="KG", example="trunk=2")

    def _change(self, learner: "LearnerSettings") -> "LearnerSettings":
        """A learner's settings with those that were given."""
        from realworthy.learning.catalogue import name_learner

        if not self.options:
            return learner
        program = f"realworthy train {self.task} --learner {name_learner(learner)}"
        return parse_settings(learner, self.options, program=program)


def _name(seed: int) -> str:
    return f"seed_{seed}"


def _keep_plans(show: "Progress") -> "Progress":
    """What is said before any work, such as the memory it will take, stays a line."""

    def tell(fraction: float, stage: str, /) -> None:
        if fraction == 0 and stage.startswith(_PLAN):
            print(stage, file=sys.stderr)
        show(fraction, stage)

    return tell


def to_tree(training: "Training") -> dict[str, object]:
    """What programs may rely on."""
    return {
        "task": training.task,
        "twin": training.twin,
        "steps": training.step_count,
        "seconds": training.seconds,
        "steps_per_second": training.steps_per_second,
        "updates": training.update_count,
        "evaluation": _judge_tree(training.evaluation),
        "at_nominal": _judge_tree(training.at_nominal),
        "variety": _variety_tree(training.variety),
        "grown": training.grown,
        "looks": [
            {
                "steps": look.step_count,
                "seconds": look.seconds,
                "success": look.success,
                "return": look.mean_return,
                "reward": look.reward,
            }
            for look in training.looks
        ],
        "invalid_steps": training.invalid_count,
        "stopped_by": training.stopped_by,
        "inference_us": training.inference_us,
        "policy": str(training.folder.policy),
        "added": list(training.added),
        "warnings": list(training.warnings),
    }


def _judge_tree(judged: "Evaluation") -> dict[str, object]:
    return {
        "episodes": judged.episode_count,
        "success": judged.success,
        "interval": list(judged.success_interval),
        "return": judged.mean_return,
        "return_interval": list(judged.return_interval),
        "failures": {code.name.lower(): n for code, n in judged.failures.items()},
        "invalid": judged.invalid_count,
    }


def _variety_tree(variety: "Variety") -> dict[str, object]:
    pushes = variety.pushes
    return {
        "ranges": {
            one.name: {
                "unit": one.unit,
                "nominal": one.nominal,
                "lower": one.lower,
                "median": one.middle,
                "upper": one.upper,
            }
            for one in variety.ranges
        },
        "moving": list(variety.moving),
        "noise": dict(variety.noise),
        "pushes": None
        if pushes is None
        else {
            "speed": pushes.speed,
            "every": list(pushes.every),
            "start": pushes.start,
        },
        "latency": list(variety.latency),
    }


def print_training(training: "Training") -> None:
    """The policy, how well it did, and in how long."""
    from realworthy.cli.printing import emit_heading, emit_note, emit_table

    for line in training.added:
        emit_note(f"Added: {line}.", style="")
    for warning in training.warnings:
        emit_note(f"Warning: {warning}", style="yellow")
    judged = training.evaluation
    low, high = judged.success_interval
    said = "No unseen episode could be judged: the physics diverged in all."
    if judged.episode_count:
        said = (
            f"Succeeds in {judged.success:.1%} of {judged.episode_count} unseen "
            f"episodes ({low:.1%} … {high:.1%})."
        )
        if judged.invalid_count:
            said += f" The physics of {judged.invalid_count} more diverged."
    emit_heading(str(training.folder.policy), said)
    emit_table(
        "Judged",
        ("worlds", "success", "return"),
        [
            ("as randomized", f"{judged.success:.1%}", judged.mean_return),
            (
                "nominal model",
                f"{training.at_nominal.success:.1%}",
                training.at_nominal.mean_return,
            ),
        ],
    )
    failures = ", ".join(
        f"{count} × {code.name.lower().replace('_', ' ')}"
        for code, count in judged.failures.items()
    )
    if failures:
        emit_note(f"Failed: {failures}.", style="")
    print_variety(training.variety)
    if training.grown:
        emit_note(training.grown, style="")
    emit_note(
        f"{training.step_count:,} steps in {training.seconds:.0f} s "
        f"({training.steps_per_second:,.0f} steps/s while practising); stopped by "
        f"{training.stopped_by}.",
        style="",
    )
    if training.inference_us is not None:
        emit_note(
            f"The policy answers in {training.inference_us:,.0f} µs on one core of "
            "this machine.",
            style="",
        )


def print_variety(variety: "Variety") -> None:
    """What differs between worlds: the first numbers of e, then all the rest."""
    from realworthy.cli.printing import emit_note, emit_table, number, span
    from realworthy.reports.elements.numbers import SPACE
    from realworthy.reports.training.progress import list_chances

    if variety.is_none:
        emit_note("Worlds do not differ: all are the nominal model.", style="")
        return
    emit_table(
        "Worlds differ in",
        ("number", "twin", "5 % … 95 %", "unit"),
        [
            (
                one.name,
                number(one.nominal, one.upper - one.lower),
                span((one.lower, one.upper)),
                one.unit,
            )
            for one in variety.ranges[:_SHOWN]
        ],
    )
    if (more := len(variety.ranges) - _SHOWN) > 0:
        emit_note(f"and {more} more: report.html, --json")
    for what, parts in list_chances(variety):
        words = "".join(map(str, parts)).replace(SPACE, " ")
        emit_note(f"{what.capitalize()}: {words}.", style="")


def print_seeds(found: "list[Training]") -> None:
    """Several seeds in a line."""
    import statistics

    from realworthy.cli.printing import emit_note

    shares = [training.evaluation.success for training in found]
    emit_note(
        f"Success over {len(found)} seeds: median {statistics.median(shares):.1%}, "
        f"worst {min(shares):.1%}.",
        style="bold",
    )


def _summarise(trees: list[dict[str, object]]) -> dict[str, object]:
    """Several seeds: each, and the median beside the worst."""
    import statistics

    successes = [float(tree["evaluation"]["success"]) for tree in trees]  # pyright: ignore
    return {
        "runs": trees,
        "success": {"median": statistics.median(successes), "worst": min(successes)},
    }
