"""`realworthy train`: a policy for a task, learned in worlds that differ."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from realworthy.cli.arguments import Flag, JsonFile, ReportFile, TwinName
from realworthy.cli.numbers import AnyCount, AnyNumber, Seed

if TYPE_CHECKING:
    from collections.abc import Callable

    from realworthy.learning.training import Progress, Training, TrainSettings
    from realworthy.tasks.evaluate import Evaluation
    from realworthy.tasks.variety import Variety

_SHOWN = 12
"""Numbers that differ between worlds, of which the terminal tells."""


@dataclass(frozen=True, slots=True)
class Train:
    """Learn a task: a run folder with policy.onnx, judged in worlds it has not seen."""

    task: Annotated[
        str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK", help_behavior_hint="")
    ]
    """A task; realworthy show tasks lists them."""
    output: Annotated[Path, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")]
    """The run's folder, made anew; with --resume, the one to go on with."""
    twin: TwinName = ""
    """A twin to learn on; by default the task's own."""
    minutes: AnyNumber = None
    """Stop after so many minutes; by default as the task's preset says."""
    steps: AnyCount = None
    """Stop after so many control steps of all worlds together."""
    target: AnyNumber = None
    """Stop once this share of held-out episodes succeeds; 2: never early."""
    randomize: Annotated[
        Literal["preset", "belief", "none"], tyro.conf.arg(help_behavior_hint="")
    ] = "preset"
    """How worlds differ: as the preset says, by the twin's belief, or not at all."""
    table: str = ""
    """Published ranges in place of the preset's; realworthy show tables lists them."""
    grow: Annotated[
        Literal["at_once", "success", "automatic"],
        tyro.conf.arg(help_behavior_hint=""),
    ] = "at_once"
    """How worlds come to differ so: from the start; as episodes succeed; or each number
    by itself, as far as the policy copes."""
    worlds: AnyCount = None
    """Worlds that practise at once; by default as the preset says."""
    seed: Seed = 0
    """Of everything random."""
    seeds: int = 1
    """Runs from as many seeds, each in a folder of its own."""
    ray: Flag = False
    """Make several runs side by side through Ray; else one after the other."""
    device: str = "cpu"
    """Where to learn and simulate: cpu, cuda, cuda:1."""
    resume: Flag = False
    """Go on with an interrupted run as it was, or further: --minutes and --steps, of
    the whole run, and --target take the place of its own."""
    json: JsonFile = None
    """Also write the result, for programs."""
    report: ReportFile = None
    """Also write a page with plots, for people; of one run."""
    overwrite: Flag = False
    """Replace existing files; a run's folder is never replaced."""

    def run(self) -> int:
        from realworthy.cli.output import check_report, json_file

        self._check()
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
        from realworthy.reports.training import write_training

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
        if self.resume and (self.seeds > 1 or self.ray):
            raise RealworthyError(
                "--resume goes on with one run, here.",
                hint="Resume one folder at a time, without --seeds and --ray.",
            )
        if self.report is not None and self.seeds > 1:
            raise RealworthyError(
                f"--report is the page of one run, and --seeds {self.seeds} makes "
                f"{self.seeds}.",
                hint="Leave --report or --seeds out; --json tells of all runs.",
            )

    def _train(self) -> "list[Training]":
        from realworthy.cli.progress import following
        from realworthy.learning.sweep import train_many
        from realworthy.learning.train import train

        with following(f"Training {self.task}") as show:

            def follow(progress: "Progress") -> None:
                show(progress.done, describe(progress))

            if self.resume:
                return [self._resume(follow)]
            if self.seeds == 1:
                settings = self._settings(self.seed)
                return [train(settings, output=self.output, follow=follow)]
            seeds = range(self.seed, self.seed + self.seeds)
            found = train_many(
                {f"seed_{seed}": self._settings(seed) for seed in seeds},
                output=self.output,
                with_ray=self.ray,
                follow=lambda name, progress: follow(progress),
            )
            return list(found.values())

    def _resume(self, follow: "Callable[[Progress], None]") -> "Training":
        from realworthy.errors import RealworthyError
        from realworthy.learning.runs import RunFolder
        from realworthy.learning.train import resume
        from realworthy.learning.training import TrainSettings

        began = RunFolder(self.output).read_settings(TrainSettings)
        if began.task != self.task:
            raise RealworthyError(
                f"'{self.output}' is a run of task '{began.task}', not '{self.task}'.",
                hint=f"realworthy train {began.task} --resume --output {self.output}",
            )
        self._check_same(began)
        return resume(
            self.output,
            minutes=self.minutes,
            steps=self.steps,
            target=self.target,
            follow=follow,
        )

    def _check_same(self, began: "TrainSettings") -> None:
        """Raises where something was asked for that a run cannot change."""
        from realworthy.errors import RealworthyError

        asked = {
            "--twin": (self.twin, "", began.twin),
            "--randomize": (self.randomize, "preset", began.randomize.value),
            "--table": (self.table, "", began.table),
            "--grow": (self.grow, "at_once", began.grow.value),
            "--worlds": (self.worlds, None, began.world_count),
            "--seed": (self.seed, 0, began.seed),
            "--device": (self.device, "cpu", began.device),
        }
        for option, (value, default, old) in asked.items():
            if value not in (default, old):
                kept = "none" if old == "" else old
                raise RealworthyError(
                    f"{option} {value} was asked for, but the run in '{self.output}' "
                    f"has {kept}, and goes on as it was.",
                    hint=f"Leave {option} out, or begin another run.",
                )

    def _settings(self, seed: int) -> "TrainSettings":
        from realworthy.learning.presets import Grow, Randomize, find_preset
        from realworthy.learning.training import TrainSettings
        from realworthy.tasks.catalogue import check_task

        check_task(self.task)
        preset = find_preset(self.task).on(self.device)
        bounded = self.minutes is not None or self.steps is not None
        return TrainSettings(
            task=self.task,
            twin=self.twin,
            randomize=Randomize(self.randomize),
            table=self.table,
            grow=Grow(self.grow),
            ppo=preset.ppo(),
            world_count=self.worlds or preset.world_count,
            minutes=self.minutes if bounded else preset.minutes,
            steps=self.steps,
            target=preset.target if self.target is None else self.target,
            ease_steps=preset.ease_steps,
            coarse=preset.coarse,
            seed=seed,
            device=self.device,
        )


def describe(progress: "Progress") -> str:
    """Where training stands, in a line."""
    parts = [f"reward {progress.metrics.rollout.reward:.3g}"]
    if progress.evaluation is not None:
        parts.append(f"success {progress.evaluation.least_success:.0%}")
    parts.append(f"{progress.step_count:,} steps, {progress.steps_per_second:,.0f}/s")
    if 0 < progress.done < 1:
        left = progress.seconds * (1 - progress.done) / progress.done
        parts.append(f"{int(left // 60)}:{int(left % 60):02d} left")
    return " · ".join(parts)


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
        "policy": str(training.folder.policy),
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
                "the twin itself",
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
        f"({training.steps_per_second:,.0f} steps/s); stopped by "
        f"{training.stopped_by}.",
        style="",
    )


def print_variety(variety: "Variety") -> None:
    """What differs between worlds: the first numbers of e, then all the rest."""
    from realworthy.cli.printing import emit_note, emit_table, number, span
    from realworthy.reports.numbers import SPACE
    from realworthy.reports.training_words import list_chances

    if variety.is_none:
        emit_note("Worlds do not differ: all are the twin itself.", style="")
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
        emit_note(f"and {more} more: --json")
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
