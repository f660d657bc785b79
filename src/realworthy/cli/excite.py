"""`realworthy excite`: a motion that tells what nobody knows of a twin, safely."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from realworthy.cli.arguments import (
    BaseName,
    Flag,
    JsonFile,
    Names,
    Role,
    TwinToUse,
    parse_numbers,
)
from realworthy.cli.numbers import AnyNumber, Seed

if TYPE_CHECKING:
    from realworthy.identification.excitation import Excitation


@dataclass(frozen=True, slots=True)
class Excite:
    """An informative, safe motion for a twin's robot, with its expected precision."""

    twin: TwinToUse
    """A built-in twin, an .xml, .urdf or .twin.yaml file, or menagerie:<robot>."""
    output: Annotated[Path, Role.WRITTEN, tyro.conf.arg(metavar="FILE")] = Path(
        "motion.csv"
    )
    """Where to write the motion."""
    seconds: float = 20.0
    """How long it lasts."""
    parameters: Names = ()
    """Parameters to identify; by default those of drives, or of the twin's belief."""
    sd: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="NAME=SD…", help_behavior_hint="")
    ] = ()
    """Wanted standard deviations; a tenth of each parameter's size by default."""
    joints: Names = ()
    """Joints that move; by default the driven ones that have room around home."""
    criterion: Literal["d", "a", "e"] = "d"
    """What to make small: all sd by ratio, their squares' sum, or the worst."""
    speed: AnyNumber = None
    """Largest speed [rad/s]; 0.8 of the datasheet's, at most a turn a second."""
    acceleration: AnyNumber = None
    """Largest acceleration [rad/s²]; ten times the speed, per second."""
    torque: float = 0.8
    """Largest torque, as a share of the twin's limits."""
    clearance: float = 0.01
    """Distance [m] that parts keep from each other and from the floor."""
    noise: float = 1e-3
    """Standard deviation of measured positions [rad]."""
    base: BaseName = ""
    """What of the robot floats, where the twin does not know: free lets go a robot
    that its model fixes to the world, such as a URDF's."""
    seed: Seed = 0
    """Seed of the search."""
    overwrite: Flag = False
    """Replace existing files."""
    json: JsonFile = None
    """Also write the figures, for programs."""

    def run(self) -> int:
        from realworthy.artefacts import check_free
        from realworthy.cli.output import json_file
        from realworthy.cli.progress import following, waiting
        from realworthy.identification.excitation import (
            Criterion,
            ExcitationSettings,
            LimitSettings,
            excite,
        )
        from realworthy.recordings.motion import check_name
        from realworthy.twins import load_twin

        check_name(self.output)
        check_free(self.output, overwrite=self.overwrite)
        wanted = parse_numbers(self.sd, "--sd", value="SD", example="all.delay=0.001")
        settings = ExcitationSettings(
            seconds=self.seconds,
            criterion=Criterion(self.criterion),
            noise=self.noise,
            seed=self.seed,
        )
        limits = LimitSettings(
            speed=self.speed,
            acceleration=self.acceleration,
            torque_share=self.torque,
            clearance=self.clearance,
        )
        with json_file(self.json, overwrite=self.overwrite) as save:
            with waiting("Reading"):
                twin = load_twin(self.twin, base=self.base)
            with following("Designing") as show:
                found = excite(
                    twin,
                    self.parameters or None,
                    sd=wanted,
                    joints=self.joints or None,
                    limits=limits,
                    settings=settings,
                    output=self.output,
                    overwrite=self.overwrite,
                    progress=show,
                )
            save(to_tree(found, self.output))
        print_excitation(found, self.output)
        missed = [f for f in found.forecasts if f.name in wanted and not f.is_met]
        return 1 if missed else 0


def to_tree(found: "Excitation", path: Path) -> dict[str, object]:
    """What programs may rely on: `motion`, `parameters`, `peaks`, `clearance`."""
    limits = found.limits
    return {
        "motion": str(path),
        "seconds": found.motion.duration,
        "parameters": to_forecast_tree(found),
        "peaks": {peak.joint: peak for peak in found.peaks},
        "limits": {
            joint: {
                "lower": limits.lower[j],
                "upper": limits.upper[j],
                "speed": limits.speed[j],
                "acceleration": limits.acceleration[j],
                "torque": limits.torque[j],
            }
            for j, joint in enumerate(limits.joints)
        },
        "clearance": found.clearance,
        "left_out": dict(found.subject.left_out),
        "checked_draws": found.check_count,
        "design_seconds": found.seconds,
    }


def to_forecast_tree(found: "Excitation") -> dict[str, object]:
    """Parameter → how well a recording of the motion would identify it."""
    return {
        f.name: {
            "value": f.value,
            "sd": f.sd,
            "wanted": f.wanted,
            "met": f.is_met,
            "reason": "" if f.is_met else f.to_reason(),
        }
        for f in found.forecasts
    }


def print_excitation(found: "Excitation", path: Path) -> None:
    """Predicted peaks beside their limits, then the expected precision."""
    from realworthy.cli.printing import (
        counted,
        emit_heading,
        emit_note,
        emit_table,
        span,
    )

    motion, limits = found.motion, found.limits
    emit_heading(
        str(path),
        f"{motion.duration:g} s for {counted(len(motion.joints), 'joint')}, designed "
        f"in {found.seconds:.0f} s",
    )
    emit_table(
        f"Predicted peaks, over {found.check_count} draws of the belief",
        (
            "joint",
            "position [rad]",
            "of [rad]",
            "speed [rad/s]",
            "of [rad/s]",
            "acceleration [rad/s²]",
            "of [rad/s²]",
            "torque [N·m]",
            "of [N·m]",
        ),
        [
            (
                peak.joint,
                span((round(peak.lowest, 3), round(peak.highest, 3))),
                span((round(limits.lower[j], 3), round(limits.upper[j], 3))),
                peak.speed,
                float(limits.speed[j]),
                peak.acceleration,
                float(limits.acceleration[j]),
                peak.torque,
                float(limits.torque[j]),
            )
            for j, peak in enumerate(found.peaks)
        ],
    )
    emit_table(
        "Expected precision from one recording",
        ("parameter", "value", "sd", "wanted", "unit", "if not, why"),
        [
            (f.name, f.value, f.sd, f.wanted, f.unit, "" if f.is_met else f.to_reason())
            for f in found.forecasts
        ],
    )
    for joint, why in found.subject.left_out.items():
        emit_note(f"Left out, {joint} stays at home: {why}.", "yellow")
    if found.subject.hangs:
        emit_note("The robot must hang: its base is taken to stand still.", "yellow")
    emit_note("Look at the peaks before a robot plays this.", style="")
