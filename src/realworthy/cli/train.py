"""`realworthy train`: a policy for a task, learned in worlds that differ."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from realworthy.cli.arguments import Flag, JsonFile, TwinName
from realworthy.cli.numbers import AnyCount, AnyNumber, Seed

if TYPE_CHECKING:
    from realworthy.learning.train import Progress, Training, TrainSettings


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
    """Go on with an interrupted run; other options are as they were."""
    json: JsonFile = None
    """Also write the result, for programs."""
    overwrite: Flag = False
    """Replace an existing JSON file; a run's folder is never replaced."""

    def run(self) -> int:
        from realworthy.cli.output import json_file

        self._check()
        with json_file(self.json, overwrite=self.overwrite) as save:
            found = self._train()
            trees = [to_tree(training) for training in found]
            save(trees[0] if len(trees) == 1 else _summarise(trees))
        for training in found:
            print_training(training)
        return 0

    def _check(self) -> None:
        from realworthy.errors import RealworthyError

        if self.seeds < 1:
            raise RealworthyError(f"--seeds {self.seeds} makes no run.")
        if self.resume and (self.seeds > 1 or self.ray):
            raise RealworthyError(
                "--resume goes on with one run, here.",
                hint="Resume one folder at a time, without --seeds and --ray.",
            )

    def _train(self) -> "list[Training]":
        from realworthy.cli.progress import following
        from realworthy.learning.sweep import train_many
        from realworthy.learning.train import resume, train

        with following(f"Training {self.task}") as show:

            def follow(progress: "Progress") -> None:
                show(progress.done, describe(progress))

            if self.resume:
                return [resume(self.output, follow=follow)]
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

    def _settings(self, seed: int) -> "TrainSettings":
        from realworthy.learning.presets import Randomize, find_preset
        from realworthy.learning.train import TrainSettings
        from realworthy.tasks.catalogue import check_task

        check_task(self.task)
        preset = find_preset(self.task).on(self.device)
        bounded = self.minutes is not None or self.steps is not None
        return TrainSettings(
            task=self.task,
            twin=self.twin,
            randomize=Randomize(self.randomize),
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
        parts.append(f"success {progress.evaluation.success:.0%}")
    parts.append(f"{progress.step_count:,} steps, {progress.steps_per_second:,.0f}/s")
    if 0 < progress.done < 1:
        left = progress.seconds * (1 - progress.done) / progress.done
        parts.append(f"{int(left // 60)}:{int(left % 60):02d} left")
    return " · ".join(parts)


def to_tree(training: "Training") -> dict[str, object]:
    """What programs may rely on."""
    judged = training.evaluation
    return {
        "steps": training.step_count,
        "seconds": training.seconds,
        "steps_per_second": training.steps_per_second,
        "updates": training.update_count,
        "evaluation": {
            "episodes": judged.episode_count,
            "success": judged.success,
            "interval": list(judged.success_interval),
            "return": judged.mean_return,
            "return_interval": list(judged.return_interval),
            "failures": {code.name.lower(): n for code, n in judged.failures.items()},
        },
        "at_nominal": {
            "success": training.at_nominal.success,
            "interval": list(training.at_nominal.success_interval),
            "return": training.at_nominal.mean_return,
        },
        "invalid_steps": training.invalid_count,
        "stopped_by": training.stopped_by,
        "policy": str(training.folder.policy),
        "warnings": list(training.warnings),
    }


def print_training(training: "Training") -> None:
    """The policy, how well it did, and in how long."""
    from realworthy.cli.printing import emit_heading, emit_note, emit_table

    for warning in training.warnings:
        emit_note(f"Warning: {warning}", style="yellow")
    judged = training.evaluation
    low, high = judged.success_interval
    emit_heading(
        str(training.folder.policy),
        f"Succeeds in {judged.success:.1%} of {judged.episode_count} unseen episodes "
        f"({low:.1%} … {high:.1%}).",
    )
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
    emit_note(
        f"{training.step_count:,} steps in {training.seconds:.0f} s "
        f"({training.steps_per_second:,.0f} steps/s); stopped by "
        f"{training.stopped_by}.",
        style="",
    )


def _summarise(trees: list[dict[str, object]]) -> dict[str, object]:
    """Several seeds: each, and the median beside the worst."""
    import statistics

    successes = [float(tree["evaluation"]["success"]) for tree in trees]  # pyright: ignore
    return {
        "runs": trees,
        "success": {"median": statistics.median(successes), "worst": min(successes)},
    }
