"""`realworthy experiment`: one number of one joint on a robot, with an interval."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from realworthy.cli.arguments import Flag, JsonFile, KeyFile, ReportFile, Role, TwinName
from realworthy.cli.numbers import AnyCount, AnyNumber

if TYPE_CHECKING:
    from realworthy.identification.experiments.bench import (
        BenchFinding,
        BenchOptions,
        BenchPlan,
    )
    from realworthy.recordings import Recording
    from realworthy.robots import Robot
    from realworthy.twins import Twin

Numbers = Annotated[
    tuple[float, ...], tyro.conf.arg(metavar="NUMBER…", help_behavior_hint="")
]
_OPTIONS = {
    "friction": ("centre", "span", "speeds"),
    "inertia": ("torques", "hold", "repeats"),
    "delay": ("centre", "sizes", "repeats"),
    "torque_constant": ("centre", "torques"),
}
"""Which options each experiment reads."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One number of one joint on a bench: friction, inertia, delay, torque constant."""

    experiment: Annotated[
        Literal["friction", "inertia", "delay", "torque_constant"],
        tyro.conf.Positional,
        tyro.conf.arg(help_behavior_hint=""),
    ]
    """What to find."""
    robot: Annotated[
        str, Role.READ, tyro.conf.arg(metavar="ADDRESS", help_behavior_hint="")
    ]
    """sim:REALITY, udp://HOST:PORT or zenoh:NAME."""
    joint: Annotated[str, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = ""
    """The joint; may be left out where the robot has one."""
    twin: TwinName = ""
    """The twin that gives limits and names of parameters; by default the one the robot
    names."""
    output: Annotated[
        Path | None, Role.WRITTEN, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
    ] = None
    """Where to write the recording; EXPERIMENT_JOINT.npz by default. One per load for
    torque_constant: X_1.npz, X_2.npz …"""
    centre: AnyNumber = None
    """Position [rad] around which the joint moves; where it stands by default. The
    lever of torque_constant is level there."""
    span: AnyNumber = None
    """Length of the ramps of friction [rad]; 0.6 by default, or what fits."""
    speeds: Numbers = ()
    """Speeds of the ramps of friction [rad/s]; 12 from 0.03 to 2 by default."""
    sizes: Numbers = ()
    """Sizes of the steps of delay [rad]; 0.1, 0.2 and 0.3 by default, or what fits."""
    torques: Numbers = ()
    """Of inertia: pulses [N·m], by the twin's inertia by default. Of torque_constant:
    what each load weighs on the joint [N·m]."""
    hold: AnyNumber = None
    """Torque [N·m] that keeps the joint at its pose, of inertia; 0 by default."""
    repeats: AnyCount = None
    """How often steps (2) or pulses (4) are repeated."""
    yes: Flag = False
    """Do not ask before the robot moves: you stand beside it."""
    key: KeyFile = None
    """File with the key that a robot on the wire shares."""
    reset_stop: Flag = False
    """A robot in emergency stop may move again: you have looked at it."""
    overwrite: Flag = False
    """Replace existing files."""
    report: ReportFile = None
    """Also write a page with the curve."""
    json: JsonFile = None
    """Also write the result, for programs."""

    def run(self) -> int:
        from realworthy.cli.output import check_report, json_file
        from realworthy.identification.excitation.twin_limits import find_limits, stand
        from realworthy.identification.experiments.bench import plan_experiment
        from realworthy.realities.stand_in import find_twin
        from realworthy.robots.address import open_robot, parse_address

        self._check_options()
        check_report(self.report, self.json, overwrite=self.overwrite)
        robot = open_robot(self.robot, key=self.key, reset_stop=self.reset_stop)
        with json_file(self.json, overwrite=self.overwrite) as save:
            twin = stand(find_twin(robot, self.twin))
            joint = self._choose_joint(robot)
            plan = plan_experiment(
                robot,
                twin,
                find_limits(twin),
                self.experiment,
                joint,
                self._options(),
            )
            asks = not self.yes and parse_address(self.robot).scheme != "sim"
            done = self._record(robot, plan, asks=asks)
            finding, reason = self._analyse(done, joint, twin)
            save(to_tree(self.experiment, joint, done, finding, reason, twin))
        if finding is not None:
            print_finding(finding, joint, twin)
            if self.report is not None:
                self._write_report(finding, done, joint, twin, robot.info.name)
        self._print_end(done, reason)
        return 0 if finding is not None and not done.braked else 1

    def _check_options(self) -> None:
        """Raises where an option is of another experiment, or is missing."""
        from realworthy.errors import RealworthyError

        known = _OPTIONS[self.experiment]
        for name in sorted({name for names in _OPTIONS.values() for name in names}):
            if name not in known and getattr(self, name) not in (None, ()):
                raise RealworthyError(
                    f"--{name} means nothing to the experiment {self.experiment}.",
                    hint=f"It takes {', '.join(f'--{one}' for one in known)}.",
                )
        if self.experiment == "torque_constant" and len(set(self.torques)) < 3:
            raise RealworthyError(
                f"{len(set(self.torques))} different loads were given; the experiment "
                "torque_constant needs three or more.",
                hint="Say what each weighs on the joint [N·m]: --torques 0 0.5 1.0",
            )

    def _choose_joint(self, robot: "Robot") -> str:
        from realworthy.errors import RealworthyError

        joints = robot.info.joints
        if self.joint:
            return self.joint
        if len(joints) != 1:
            raise RealworthyError(
                f"Robot '{robot.info.name}' has {len(joints)} joints; an experiment is "
                "about one.",
                hint=f"Choose with --joint: {', '.join(joints)}.",
            )
        return joints[0]

    def _options(self) -> "BenchOptions":
        from realworthy.identification.experiments.bench import BenchOptions

        return BenchOptions(
            centre=self.centre,
            span=self.span,
            speeds=self.speeds,
            sizes=self.sizes,
            torques=self.torques,
            hold=self.hold,
            repeats=self.repeats,
        )

    def _outputs(self, joint: str) -> tuple[Path, ...]:
        """One file, or one per load."""
        from realworthy.recordings.sidecar import plain_name

        output = self.output or Path(f"{self.experiment}_{joint}.npz")
        if self.experiment != "torque_constant":
            return (output,)
        stem = plain_name(output)
        suffix = output.name.removeprefix(stem)
        return tuple(
            output.with_name(f"{stem}_{k}{suffix}")
            for k in range(1, len(self.torques) + 1)
        )

    def _record(self, robot: "Robot", plan: "BenchPlan", *, asks: bool) -> "Done":
        from realworthy.cli.deploy import ask, check_person
        from realworthy.cli.printing import say
        from realworthy.cli.progress import waiting
        from realworthy.deployment import GuardStop
        from realworthy.deployment.trial_files import check_recording_free
        from realworthy.identification.experiments import JointBench
        from realworthy.identification.experiments.bench import record_experiment

        outputs = self._outputs(plan.joint)
        for output in outputs:
            check_recording_free(output, overwrite=self.overwrite)
        loads = self.experiment == "torque_constant"
        if asks or loads:
            check_person()
        say(describe_plan(plan, len(outputs)))
        files: list[Path] = []
        recordings: list[Recording] = []
        for k, output in enumerate(outputs):
            wish = "The robot will move now."
            if loads:
                wish = f"Hang the load of {self.torques[k]:g} N·m on {plan.joint}."
            if (asks or loads) and not ask(f"{wish} Go on?"):
                return Done(tuple(files), tuple(recordings), "the operator said no")
            bench = JointBench(
                limits=plan.limits, output=output, overwrite=self.overwrite
            )
            try:
                with waiting("Recording"):
                    recordings.append(record_experiment(robot, plan, bench))
                files.append(output)
            except GuardStop as stop:
                if stop.recording is not None:
                    recordings.append(stop.recording)
                    files.append(output)
                reason = f"stopped by a guard: {stop.reason}"
                return Done(tuple(files), tuple(recordings), reason)
        return Done(tuple(files), tuple(recordings), "")

    def _analyse(
        self, done: "Done", joint: str, twin: "Twin"
    ) -> "tuple[BenchFinding | None, str]":
        """What was found, or why nothing was."""
        from realworthy.errors import RealworthyError
        from realworthy.identification.experiments.bench import analyse_experiment

        if done.reason or done.braked:
            return None, done.reason or "the robot braked by itself"
        try:
            finding = analyse_experiment(
                self.experiment, joint, done.recordings, twin, self.torques
            )
        except RealworthyError as error:
            return None, f"{error.problem} {error.hint}".strip()
        return finding, ""

    def _write_report(
        self,
        finding: "BenchFinding",
        done: "Done",
        joint: str,
        twin: "Twin",
        robot: str,
    ) -> None:
        from realworthy.reports.experiment import (
            ExperimentView,
            draw_finding,
            write_experiment,
        )

        view = ExperimentView(
            experiment=self.experiment,
            joint=joint,
            robot=robot,
            quantities=finding.quantities,
            warnings=finding.warnings,
            parameters=write_lines(finding, joint, twin),
            recordings=tuple(str(path) for path in done.files),
            chart=draw_finding(finding.result, done.recordings, joint, self.torques),
        )
        assert self.report is not None
        write_experiment(view, self.report, overwrite=self.overwrite)

    def _print_end(self, done: "Done", reason: str) -> None:
        from realworthy.cli.printing import emit_note, say
        from realworthy.cli.record import tell_braking

        for path, recording in zip(done.files, done.recordings, strict=True):
            rows = len(recording.time)
            say(f"{path}  {rows} rows, {recording.duration:.2f} s")
        if done.braked:
            emit_note(tell_braking(done.braked), style="yellow")
        if reason:
            emit_note(f"No result: {reason.rstrip('.')}.", style="yellow")


@dataclass(frozen=True, slots=True)
class Done:
    """What was recorded, and why no more was."""

    files: tuple[Path, ...]
    recordings: "tuple[Recording, ...]"
    reason: str

    @property
    def braked(self) -> int:
        """Steps in which the robot braked by itself though it was commanded."""
        from realworthy.recordings.signals import BRAKING

        signals = [one.signals.get(BRAKING) for one in self.recordings]
        return sum(int((rows > 0).sum()) for rows in signals if rows is not None)


def describe_plan(plan: "BenchPlan", count: int) -> str:
    """What the robot is about to do."""
    low, high = float(plan.values.min()), float(plan.values.max())
    times = "" if count == 1 else f", {count} times"
    moves = "is pushed with" if plan.unit == "N·m" else "moves between"
    return (
        f"{plan.joint} {moves} {low:.3g} … {high:.3g} {plan.unit} for "
        f"{plan.seconds:.0f} s{times}."
    )


def write_lines(finding: "BenchFinding", joint: str, twin: "Twin") -> str:
    """Lines of a twin file; empty where the twin has none of the numbers."""
    from realworthy.identification.experiments.quantities import find_parameters

    found = find_parameters(finding.quantities, joint, twin)
    spans = {f"{joint}.{one.kind}": one.interval for one in finding.quantities}
    lines = [
        f"  {name}: {{value: {value:.4g}}}  # 95 %: {spans[name][0]:.3g} … "
        f"{spans[name][1]:.3g}"
        for name, value in found.items()
    ]
    return "\n".join(["parameters:", *lines]) if lines else ""


def to_tree(
    experiment: str,
    joint: str,
    done: Done,
    finding: "BenchFinding | None",
    reason: str,
    twin: "Twin",
) -> dict[str, object]:
    """What programs may rely on: `quantities`, `parameters`, `recordings`, `reason`."""
    from realworthy.identification.experiments.quantities import find_parameters

    quantities = () if finding is None else finding.quantities
    return {
        "experiment": experiment,
        "joint": joint,
        "outcome": "done" if finding is not None else "no_result",
        "reason": reason,
        "braked": done.braked,
        "recordings": list(done.files),
        "seconds": sum(one.duration for one in done.recordings),
        "quantities": {
            one.name: {
                "value": one.value,
                "sd": one.sd,
                "interval": one.interval,
                "unit": one.unit,
            }
            for one in quantities
        },
        "parameters": find_parameters(quantities, joint, twin),
        "warnings": () if finding is None else finding.warnings,
        "details": None if finding is None else finding.result,
    }


def print_finding(finding: "BenchFinding", joint: str, twin: "Twin") -> None:
    """Numbers with their intervals, what to beware of, and lines for a twin file."""
    from realworthy.cli.printing import (
        emit_block,
        emit_note,
        emit_table,
        number,
        span,
    )

    emit_table(
        "",
        ("number", "value", "sd", "95 % interval", "unit"),
        [
            (one.name, number(one.value, one.sd), one.sd, span(one.interval), one.unit)
            for one in finding.quantities
        ],
    )
    for warning in finding.warnings:
        emit_note(warning, style="yellow")
    if lines := write_lines(finding, joint, twin):
        emit_block("To paste into the twin's file:", lines)
