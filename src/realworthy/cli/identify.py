"""`realworthy identify`: excite, record and fit on a robot, until it is known."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from realworthy.cli.arguments import (
    Flag,
    JsonFile,
    KeyFile,
    Names,
    Role,
    TwinToUse,
    parse_numbers,
)
from realworthy.cli.numbers import AnyNumber, Seed

if TYPE_CHECKING:
    from realworthy.identification.excitation import Campaign, Excitation, Round
    from realworthy.twins import Twin


@dataclass(frozen=True, slots=True)
class Identify:
    """Designs a motion, records it and fits, again until the numbers are known."""

    twin: TwinToUse
    """A built-in twin, an .xml, .urdf or .twin.yaml file, or menagerie:<robot>."""
    robot: Annotated[
        str, Role.READ, tyro.conf.arg(metavar="ADDRESS", help_behavior_hint="")
    ]
    """sim:REALITY, udp://HOST:PORT or zenoh:NAME."""
    output: Annotated[
        Path,
        Role.WRITTEN,
        tyro.conf.arg(metavar="X.twin.yaml", help_behavior_hint=""),
    ]
    """Where to write the twin, after every round; recordings go into the folder X
    beside it, as round_1.npz …"""
    parameters: Names = ()
    """Parameters to identify; by default those of drives, or of the twin's belief."""
    sd: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="NAME=SD…", help_behavior_hint="")
    ] = ()
    """Wanted standard deviations; a tenth of each parameter's size by default."""
    joints: Names = ()
    """Joints that move; by default the driven ones that have room around home."""
    rounds: int = 4
    """Motions at most."""
    seconds: float = 20.0
    """How long each motion lasts."""
    speed: AnyNumber = None
    """Largest speed [rad/s]; 0.8 of the datasheet's, at most a turn a second."""
    torque: float = 0.8
    """Largest torque, as a share of the twin's limits."""
    seed: Seed = 0
    """Seed of the search for motions."""
    yes: Flag = False
    """Do not ask before each motion: you stand beside the robot."""
    key: KeyFile = None
    """File with the key that a robot on the wire shares."""
    reset_stop: Flag = False
    """A robot in emergency stop may move again: you have looked at it."""
    overwrite: Flag = False
    """Replace existing files."""
    json: JsonFile = None
    """Also write what was found, for programs."""

    def run(self) -> int:
        from realworthy.artefacts import check_free
        from realworthy.cli.calibrate import check_output
        from realworthy.cli.deploy import check_person
        from realworthy.cli.output import json_file
        from realworthy.cli.printing import say
        from realworthy.cli.progress import waiting
        from realworthy.deployment.trial_files import check_recording_free
        from realworthy.identification.excitation import (
            Criterion,
            ExcitationSettings,
            LimitSettings,
            identify,
        )
        from realworthy.identification.excitation.design_task import find_subject
        from realworthy.robots.address import open_robot, parse_address
        from realworthy.twins import load_twin
        from realworthy.twins.files import SUFFIX

        check_output(self.output)
        check_free(self.output, overwrite=self.overwrite)
        folder = self.output.with_name(self.output.name.removesuffix(SUFFIX))
        for k in range(1, self.rounds + 1):
            check_recording_free(folder / f"round_{k}.npz", overwrite=self.overwrite)
        asked = parse_numbers(self.sd, "--sd", value="SD", example="all.delay=0.001")
        limits = LimitSettings(speed=self.speed, torque_share=self.torque)
        settings = ExcitationSettings(
            seconds=self.seconds, criterion=Criterion.A, seed=self.seed
        )
        with json_file(self.json, overwrite=self.overwrite) as save:
            with waiting("Reading"):
                twin = load_twin(self.twin)
            subject = find_subject(
                twin,
                self.parameters or None,
                sd=asked,
                joints=self.joints or None,
                limits=limits,
            )
            names = subject.space.names
            wanted = dict(zip(names, map(float, subject.wanted), strict=True)) | asked
            robot = open_robot(self.robot, key=self.key, reset_stop=self.reset_stop)
            asks = not self.yes and parse_address(self.robot).scheme != "sim"
            if asks:
                check_person()
            say(
                f"Until {len(wanted)} numbers are as precise as asked, in at most "
                f"{self.rounds} motions of {self.seconds:g} s."
            )
            if subject.hangs:
                say("The robot must hang: its base is taken to stand still.")
            kept = _Kept(twin, self.output, wanted, overwrite=self.overwrite)
            try:
                found = identify(
                    twin,
                    robot,
                    names,
                    sd=wanted,
                    rounds=self.rounds,
                    joints=self.joints or None,
                    limits=limits,
                    settings=settings,
                    agree=ask_for if asks else None,
                    after=kept.keep,
                    folder=folder,
                    overwrite=self.overwrite,
                    progress=lambda _, stage: say(f"{stage[0].upper()}{stage[1:]}."),
                )
            except BaseException:
                if kept.is_written:
                    say(f"{self.output} has what was known after the last round.")
                raise
            written = self.output if kept.is_written else None
            save(to_tree(found, wanted, written, folder))
        print_campaign(found, wanted, written, folder)
        good = found.status == "reached" and not found.braked
        return 0 if good else 1


class _Kept:
    """The twin after every round, on the disk and on the terminal."""

    def __init__(
        self, twin: "Twin", output: Path, wanted: dict[str, float], *, overwrite: bool
    ) -> None:
        self._twin, self._output, self._wanted = twin, output, wanted
        self._overwrite = overwrite
        self.is_written = False

    def keep(self, done: "Round") -> None:
        from realworthy.cli.printing import say
        from realworthy.identification.calibration.provenance import describe_provenance
        from realworthy.twins import save_twin

        seconds = sum(recording.duration for recording in done.recordings)
        origin = describe_provenance(
            self._twin,
            done.recordings,
            notes=f"{done.number} rounds on a robot",
        )
        twin = replace(done.twin, provenance=origin)
        overwrite = self._overwrite or self.is_written
        save_twin(twin, self._output, overwrite=overwrite)
        self.is_written = True
        met = sum(done.fit.sd[name] <= sd for name, sd in self._wanted.items())
        say(
            f"Round {done.number}: {met} of {len(self._wanted)} numbers are as precise "
            f"as asked, after {seconds:.0f} s of motion."
        )


def ask_for(number: int, excitation: "Excitation") -> bool:
    """Shows how far the next motion goes, and asks."""
    from realworthy.cli.deploy import ask
    from realworthy.cli.printing import emit_table, span

    emit_table(
        f"Motion {number}, at most",
        ("joint", "position [rad]", "speed [rad/s]", "torque [N·m]"),
        [
            (
                peak.joint,
                span((round(peak.lowest, 3), round(peak.highest, 3))),
                peak.speed,
                peak.torque,
            )
            for peak in excitation.peaks
        ],
    )
    seconds = excitation.motion.duration
    return ask(f"The robot will move for {seconds:.0f} s. Go on?")


def to_tree(
    found: "Campaign", wanted: dict[str, float], path: Path | None, folder: Path
) -> dict[str, object]:
    """What programs may rely on: `status`, `parameters`, `rounds`, `robot_seconds`."""
    fit = found.fit
    ends = {} if fit is None else fit.interval(0.95)
    return {
        "status": found.status.value,
        "summary": found.to_words(),
        "twin": path,
        "parameters": {
            name: {
                "mean": None if fit is None else fit.e[name],
                "sd": None if fit is None else fit.sd[name],
                "interval": ends.get(name),
                "wanted": sd,
                "met": fit is not None and fit.sd[name] <= sd,
                "reason": found.reasons.get(name, ""),
            }
            for name, sd in wanted.items()
        },
        "rounds": len(found.recordings),
        "robot_seconds": found.robot_seconds,
        "recordings": list_recordings(found, folder),
        "braked": found.braked,
        "reduced_chi2": None if fit is None else fit.reduced_chi2,
        "warnings": () if fit is None else fit.warnings,
    }


def list_recordings(found: "Campaign", folder: Path) -> list[Path]:
    return [folder / f"round_{k + 1}.npz" for k in range(len(found.recordings))]


def print_campaign(
    found: "Campaign", wanted: dict[str, float], path: Path | None, folder: Path
) -> None:
    """Every number with its interval, why some are not known, and where things are."""
    from realworthy.cli.printing import (
        counted,
        emit_heading,
        emit_note,
        emit_table,
        number,
        span,
    )
    from realworthy.cli.record import tell_braking

    rounds = counted(len(found.recordings), "motion")
    summary = {
        "reached": "all numbers are as precise as asked",
        "unreachable": "some parameters cannot be identified that precisely",
        "stopped": f"stopped by the guard: {found.reasons.get('robot', '')}",
        "declined": "not started: the operator said no",
    }[found.status]
    emit_heading(
        str(path or "Not written."),
        f"{summary}; {rounds}, {found.robot_seconds:.0f} s",
    )
    if (fit := found.fit) is not None:
        ends = fit.interval(0.95)
        emit_table(
            "Parameters",
            (
                "parameter",
                "mean",
                "sd",
                "95 % interval",
                "wanted sd",
                "unit",
                "why not",
            ),
            [
                (
                    name,
                    number(fit.e[name], fit.sd[name]),
                    fit.sd[name],
                    span(ends[name]),
                    sd,
                    fit.space[name].unit,
                    found.reasons.get(name, ""),
                )
                for name, sd in wanted.items()
            ],
        )
        for warning in fit.warnings:
            emit_note(f"Warning: {warning}", style="yellow")
    elif found.status == "unreachable":
        emit_note(found.to_words(), style="")
    if found.braked:
        emit_note(tell_braking(found.braked), style="yellow")
    if found.recordings:
        emit_note(f"Recordings: {folder}", style="")
