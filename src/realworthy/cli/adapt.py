"""`realworthy adapt`: a policy that infers what it cannot see, and what it gained."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from realworthy.cli.arguments import (
    Flag,
    JsonFile,
    KeyFile,
    Role,
    TwinName,
    parse_values,
)
from realworthy.cli.numbers import AnyNumber, Seed

if TYPE_CHECKING:
    from realworthy.adaptation import Adaptation, AdaptSettings
    from realworthy.robots import Robot


@dataclass(frozen=True, slots=True)
class Adapt:
    """A policy that infers what it cannot see, or is searched by trials on a robot."""

    method: Annotated[
        str,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="METHOD", help_behavior_hint=""),
    ]
    """teacher_student, rma, up_osi and memory learn from a task, before a robot is
    needed; mppi plans as it runs; strategy goes on with the folder of rma or up_osi,
    simopt with that of any policy, both on a robot."""
    subject: Annotated[
        str,
        Role.READ,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="TASK|FOLDER", help_behavior_hint=""),
    ]
    """A task, as for train; or the folder that another method made."""
    output: Annotated[
        Path, Role.WRITTEN, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")
    ]
    """Made anew: policy.onnx, adaptation.json, and trials where there were some."""
    robot: Annotated[
        str, Role.READ, tyro.conf.arg(metavar="ADDRESS", help_behavior_hint="")
    ] = ""
    """sim:REALITY, udp://HOST:PORT or zenoh:NAME: policies are compared there too."""
    twin: TwinName = ""
    """A twin to learn on; by default the task's own."""
    task_settings: Annotated[
        tuple[str, ...],
        tyro.conf.arg(name="set", metavar="NAME=VALUE…", help_behavior_hint=""),
    ] = ()
    """Settings of the task, such as torque=1.5."""
    unknown: Annotated[
        tuple[str, ...],
        tyro.conf.arg(metavar="NAME=LOWER:UPPER…", help_behavior_hint=""),
    ] = ()
    """Parameters that the policy must cope with; by default as the task randomizes."""
    change_every: float = 0.0
    """Time [s] between changes of each within an episode, on average; 0: none."""
    steps: int = 300_000
    """Control steps of reinforcement learning for each policy that is compared."""
    student_steps: int = 60_000
    """Control steps from which a student learns."""
    worlds: int = 128
    """Worlds to learn in side by side."""
    history: float = 0.5
    """Time [s] of observations and actions that a student sees."""
    latent: int = 8
    """Numbers in the latent of rma."""
    latent_every: int = 1
    """Control steps between two inferences; the policy acts at each."""
    draws: int = 1
    """Draws of p(e) that mppi plans over; 1: at the mean e."""
    trials: int = 30
    """Trials on the robot at most."""
    seconds: AnyNumber = None
    """Time [s] of each trial; by default an episode of the task."""
    search: Literal["cma", "awr", "bayes", "hill"] = "cma"
    """How strategies are searched: evolution, a weighted Gaussian, a Gaussian process
    or hill climbing."""
    repeats: int = 1
    """Trials of each candidate that are averaged."""
    clean_before: int = 0
    """Clean trials that such policies have had on this robot: first ones are slow."""
    seed: Seed = 0
    """Seed of all random numbers."""
    yes: Flag = False
    """Do not ask before trials: you agree to all, and stand beside the robot."""
    key: KeyFile = None
    """File with the key that a robot on the wire shares."""
    reset_stop: Flag = False
    """A robot in emergency stop may move again: you have looked at it."""
    overwrite: Flag = False
    """Replace an existing --json; a folder is never replaced."""
    json: JsonFile = None
    """Also write the result, for programs."""

    def run(self) -> int:
        from realworthy.adaptation import adapt
        from realworthy.cli.deploy import ask, check_person
        from realworthy.cli.output import json_file
        from realworthy.cli.progress import following
        from realworthy.robots.address import parse_address

        settings = self._settings()
        asks = bool(self.robot) and not self.yes
        asks = asks and parse_address(self.robot).scheme != "sim"
        if asks:
            check_person()
        with (
            json_file(self.json, overwrite=self.overwrite) as save,
            following(self.method) as follow,
        ):
            found = adapt(
                self.method,
                self.subject,
                self.output,
                settings=settings,
                robot=self._open(),
                confirm=ask if asks else None,
                progress=follow,
            )
            save(found.to_tree())
        print_adaptation(found)
        return 0 if found.helps else 1

    def _open(self) -> "Robot | None":
        from realworthy.robots.address import open_robot

        if not self.robot:
            return None
        return open_robot(self.robot, key=self.key, reset_stop=self.reset_stop)

    def _settings(self) -> "AdaptSettings":
        from realworthy.adaptation import AdaptSettings

        return AdaptSettings(
            twin=self.twin,
            task_settings=parse_values(self.task_settings),
            unknown=parse_ranges(self.unknown),
            change_every=self.change_every,
            steps=self.steps,
            student_steps=self.student_steps,
            world_count=self.worlds,
            history=self.history,
            latent_width=self.latent,
            latent_every=self.latent_every,
            draws=self.draws,
            trials=self.trials,
            trial_seconds=self.seconds,
            search=self.search,
            repeats=self.repeats,
            clean_before=self.clean_before,
            seed=self.seed,
        )


def parse_ranges(texts: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """`NAME=LOWER:UPPER` … of --unknown."""
    from realworthy.errors import RealworthyError

    found = {}
    for text in texts:
        name, _, ends = text.partition("=")
        lower, _, upper = ends.partition(":")
        try:
            found[name] = (float(lower), float(upper))
        except ValueError:
            raise RealworthyError(
                f"--unknown takes NAME=LOWER:UPPER, not '{text}'.",
                hint="Try: --unknown pendulum.mass=0.4:0.9",
            ) from None
    return found


def print_adaptation(found: "Adaptation") -> None:
    """Every arm, what was gained, what it cost, and when to stop."""
    from realworthy.cli.printing import emit_heading, emit_note, emit_table, span

    low, high = found.gain_interval
    emit_heading(
        str(found.policy),
        f"gain {found.gain:+.3g} in return ({low:.3g} to {high:.3g}) over"
        f" '{found.baseline}'; {found.trial_count} trials, {found.real_seconds:.0f} s"
        " on a robot",
    )
    rows = []
    for arm in found.arms:
        closed = found.close_gap(arm.name)
        rows.append(
            (
                arm.name,
                arm.mean if len(arm.returns) else None,
                span(arm.interval) if len(arm.returns) else "",
                "" if arm.success is None else f"{arm.success:.0%}",
                "" if closed is None else f"{closed[0]:.0%}",
                len(arm.returns),
                arm.about,
            )
        )
    emit_table(
        "Policies in the same episodes",
        ("policy", "return", "95 %", "success", "gap closed", "episodes", "what it is"),
        rows,
    )
    for note in (*found.notes, found.stop):
        emit_note(note, style="")
    if not found.helps:
        emit_note("No gain is shown: keep what you had.", style="yellow")
