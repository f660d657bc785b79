"""`realworthy deploy`: a policy on a robot, guarded, one recording per trial."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from realworthy.cli.arguments import (
    Flag,
    JsonFile,
    KeyFile,
    Names,
    Role,
    TwinName,
    parse_numbers,
)
from realworthy.cli.numbers import AnyCount, AnyNumber

Judged = tuple[bool | None, str]
"""Whether a trial succeeded, and why that cannot be seen where it cannot."""

if TYPE_CHECKING:
    from realworthy.deployment import AdaptiveSettings, Deployment
    from realworthy.policies import Policy


@dataclass(frozen=True, slots=True)
class Deploy:
    """Guarded trials of a policy on a robot; the robot brakes in every way out."""

    policy: Annotated[
        Path,
        Role.READ,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="POLICY", help_behavior_hint=""),
    ]
    """A .onnx file with its contract inside, or beside it; or a .planner.yaml."""
    robot: Annotated[
        str, Role.READ, tyro.conf.arg(metavar="ADDRESS", help_behavior_hint="")
    ]
    """sim:REALITY, udp://HOST:PORT or zenoh:NAME."""
    output: Annotated[Path, Role.WRITTEN, tyro.conf.arg(metavar="FOLDER")] = Path(
        "trials"
    )
    """Where recordings go: trial_1.npz and, beside it, trial_1.log.npz."""
    trials: int = 1
    """Number of trials."""
    seconds: float = 10.0
    """Time [s] for which the policy runs in each trial."""
    input: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE…", help_behavior_hint="")
    ] = ()
    """Inputs of the policy, such as goal.x=1.5."""
    speed: AnyNumber = None
    """Largest speed of every joint [rad/s], where it is less than the contract's."""
    adaptive: Names = ()
    """Joints of position drives that adapt to their load, inside the guards."""
    adaptive_rate: float = 1.0
    """How fast adaptive joints learn [1/s]."""
    twin: TwinName = ""
    """The twin with the first inertias of adaptive joints; by default the policy's."""
    clean_before: int = 0
    """Trials without a fault that it has had on this robot: first ones are slow."""
    yes: Flag = False
    """Do not ask before trials: you agree to all, and stand beside the robot."""
    no_wiggle: Flag = False
    """Do not move each joint alone first."""
    engine: Annotated[
        Literal["onnxruntime", "numpy"] | None,
        tyro.conf.arg(metavar="{onnxruntime,numpy}", help_behavior_hint=""),
    ] = None
    """What runs the network; onnxruntime where it is installed."""
    key: KeyFile = None
    """File with the key that a robot on the wire shares."""
    reset_stop: Flag = False
    """A robot in emergency stop may move again: you have looked at it."""
    fifo: int = 0
    """Real-time priority, 1 … 99; needs rights."""
    core: AnyCount = None
    """Processor to stay on."""
    lock_memory: Flag = False
    """Keep all memory resident."""
    notes: str = ""
    """Kept with every recording: payload, firmware, who."""
    overwrite: Flag = False
    """Replace existing files."""
    json: JsonFile = None
    """Also write what was done, for programs."""

    def run(self) -> int:
        from realworthy.cli.output import json_file
        from realworthy.cli.printing import say
        from realworthy.deployment import (
            DeploySettings,
            RealTimeSettings,
            StagingSettings,
            TrialSettings,
            deploy,
        )
        from realworthy.policies import load_policy
        from realworthy.robots.address import open_robot, parse_address

        inputs = parse_numbers(
            self.input, "--input", value="VALUE", example="goal.x=1.5"
        )
        policy = load_policy(self.policy, engine=self.engine)
        settings = DeploySettings(
            trials=self.trials,
            trial=TrialSettings(seconds=self.seconds),
            staging=StagingSettings(clean_before=self.clean_before),
            wiggles=not self.no_wiggle,
            real_time=RealTimeSettings(
                fifo_priority=self.fifo, core=self.core, lock_memory=self.lock_memory
            ),
            speed=self.speed,
            notes=self.notes,
            adaptive=self._choose_adaptive(policy),
        )
        with json_file(self.json, overwrite=self.overwrite) as save:
            robot = open_robot(self.robot, key=self.key, reset_stop=self.reset_stop)
            asks = not self.yes and parse_address(self.robot).scheme != "sim"
            if asks:
                check_person()
            found = deploy(
                policy,
                robot,
                self.output,
                settings=settings,
                inputs=inputs,
                confirm=ask if asks else None,
                progress=lambda _, stage: say(stage),
                overwrite=self.overwrite,
            )
            judged = judge_trials(policy, found, inputs)
            save(to_tree(found, judged))
        print_deployment(found, judged)
        return 0 if found.is_clean else 1

    def _choose_adaptive(self, policy: "Policy") -> "AdaptiveSettings | None":
        """Joints that adapt, with their inertias by the twin; None: no joint does."""
        from realworthy.deployment import AdaptiveSettings
        from realworthy.errors import RealworthyError, UnknownName
        from realworthy.identification.excitation.twin_limits import stand
        from realworthy.simulators.inverse_dynamics import find_joint_inertia
        from realworthy.twins import load_twin

        if not self.adaptive:
            if self.twin:
                raise RealworthyError(
                    "--twin gives the initial inertias of adaptive joints, and no "
                    "joint is adaptive.",
                    hint="Name joints with --adaptive, or leave --twin out.",
                )
            return None
        contract = policy.contract
        for joint in self.adaptive:
            if joint not in contract.joints:
                raise UnknownName("joint", joint, contract.joints, owner="the policy")
        twin = stand(load_twin(self.twin or contract.twin.reference))
        return AdaptiveSettings(
            inertia={name: find_joint_inertia(twin, name) for name in self.adaptive},
            rate=self.adaptive_rate,
        )


def ask(question: str) -> bool:
    """Asks at the terminal; anything but yes is no."""
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def check_person() -> None:
    """Raises where nobody could answer."""
    from realworthy.errors import RealworthyError

    if not sys.stdin.isatty():
        raise RealworthyError(
            "A person must agree to the first trials, and there is no terminal to ask.",
            hint="Where you stand beside the robot and agree to all: --yes",
        )


def judge_trials(
    policy: "Policy", found: "Deployment", inputs: Mapping[str, float]
) -> list[Judged]:
    """Of each trial whether it succeeded, or why that cannot be seen on the robot."""
    from importlib.util import find_spec

    from realworthy.recordings import load_recording

    judged: list[Judged] = []
    for trial in found.trials:
        if trial.recording is None:
            judged.append((None, "it was not recorded"))
        elif find_spec("torch") is None:
            judged.append((None, "tasks need pip install 'realworthy[train]'"))
        else:
            from realworthy.tasks.trial_judgement import judge_trial

            said = judge_trial(policy, load_recording(trial.recording), inputs)
            judged.append((said.success, said.reason))
    return judged


def to_tree(found: "Deployment", judged: Sequence[Judged]) -> dict[str, object]:
    """What programs may rely on: `trials`, `loop`, `checks`."""
    return {
        "trials": [
            {
                "recording": trial.recording,
                "outcome": trial.outcome.value,
                "reason": trial.reason,
                "success": success,
                "success_unseen": unseen,
                "interventions": trial.interventions,
                "seconds": trial.seconds,
                "speed_share": trial.speed_share,
                "retreated": trial.retreated,
                "braked": trial.braked,
            }
            for trial, (success, unseen) in zip(found.trials, judged, strict=True)
        ],
        "loop": found.loop,
        "checks": list(found.checks),
        "declined": found.declined,
        "refused": list(found.refused),
    }


def print_deployment(found: "Deployment", judged: Sequence[Judged]) -> None:
    """Trials, what guards did, and how punctual the loop was."""
    from realworthy.cli.printing import emit_note, emit_table
    from realworthy.cli.record import tell_braking

    emit_table(
        "Trials",
        ("recording", "outcome", "speed", "seconds [s]", "task", "guards", "why"),
        [
            (
                str(trial.recording or ""),
                trial.outcome.value,
                f"{trial.speed_share:.0%}",
                trial.seconds,
                {True: "done", False: "not done", None: "unseen"}[success],
                ", ".join(f"{k} {n}" for k, n in trial.interventions.items()) or "none",
                trial.reason,
            )
            for trial, (success, _) in zip(found.trials, judged, strict=True)
        ],
    )
    for reason in dict.fromkeys(reason for _, reason in judged if reason):
        emit_note(
            f"Whether the task was done cannot be seen on the robot: {reason}.",
            style="",
        )
    loop = found.loop
    if loop.beats:
        print(
            f"Loop: {loop.beats} steps, latency {loop.p50_us:.0f} µs (p50), "
            f"{loop.p99_us:.0f} µs (p99), {loop.max_us:.0f} µs (max); "
            f"{loop.overruns} overruns, {loop.skipped} steps skipped"
        )
    if braked := sum(trial.braked for trial in found.trials):
        emit_note(tell_braking(braked), style="yellow")
    for text in found.refused:
        emit_note(f"The system refused {text}.", style="yellow")
    if failed := [check for check in found.checks if not check.passed]:
        emit_note(f"Not started: {failed[0].name}: {failed[0].text}.", style="yellow")
    if found.declined:
        emit_note("Not started: the operator said no.", style="yellow")
