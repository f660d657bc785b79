"""An experiment from its question to its numbers: planned, recorded, analysed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from realworthy.errors import RealworthyError
from realworthy.identification.experiments.delay import Delay, measure_delay, plan_steps
from realworthy.identification.experiments.friction_curve import (
    FrictionCurve,
    measure_friction_curve,
    plan_ramps,
)
from realworthy.identification.experiments.inertia import (
    JointInertia,
    measure_inertia,
    plan_pulses,
)
from realworthy.identification.experiments.joint_commands import (
    Floats,
    JointBench,
    check_command,
    check_drive,
    drive_joint,
    read_positions,
)
from realworthy.identification.experiments.propose import (
    propose_delay,
    propose_friction,
    propose_inertia,
    propose_position,
)
from realworthy.identification.experiments.quantities import (
    Quantity,
    describe_delay,
    describe_friction,
    describe_inertia,
    describe_torque_constant,
)
from realworthy.identification.experiments.torque_constant import (
    TorqueConstant,
    measure_torque_constant,
    plan_holds,
)
from realworthy.recordings import Recording
from realworthy.robots import Limits, Robot
from realworthy.twins import Twin

ExperimentName = Literal["friction", "inertia", "delay", "torque_constant"]
Result = FrictionCurve | JointInertia | Delay | TorqueConstant
COMMAND_KINDS: dict[ExperimentName, str] = {
    "friction": "position",
    "inertia": "torque",
    "delay": "position",
    "torque_constant": "position",
}
"""What kind of commands each sends."""
_APPROACH = 0.15
"""[rad] from which a load is approached, from either side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchOptions:
    """What somebody asks for; None or empty: what suits the joint."""

    centre: float | None = None
    """[rad] around which the joint moves; by default where it stands."""
    span: float | None = None
    """[rad] of a ramp."""
    speeds: tuple[float, ...] = ()
    """[rad/s] of ramps."""
    sizes: tuple[float, ...] = ()
    """[rad] of steps."""
    torques: tuple[float, ...] = ()
    """[N·m] of pulses, or of known loads."""
    hold: float | None = None
    """[N·m] that keeps the joint at its pose."""
    repeats: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class BenchPlan:
    """Commands of one joint, checked and not yet sent."""

    experiment: ExperimentName
    joint: str
    values: Floats
    """(steps,) goals [rad] or torques [N·m]."""
    period: float
    """[s]"""
    limits: Limits

    @property
    def seconds(self) -> float:
        return len(self.values) * self.period

    @property
    def unit(self) -> str:
        return "N·m" if COMMAND_KINDS[self.experiment] == "torque" else "rad"


@dataclass(frozen=True, kw_only=True, eq=False)
class BenchFinding:
    """What recordings of an experiment tell."""

    result: Result
    quantities: tuple[Quantity, ...]
    warnings: tuple[str, ...]


def plan_experiment(
    robot: Robot,
    twin: Twin,
    limits: Limits,
    experiment: ExperimentName,
    joint: str,
    options: BenchOptions,
) -> BenchPlan:
    """Commands that suit the joint; raises where the robot cannot take them.

    Connects to the robot to see where it stands; it brakes all the while.
    """
    info = robot.info
    kinds = (COMMAND_KINDS[experiment],)
    check_drive(info, joint, kinds)
    if experiment == "torque_constant":
        _check_current(robot, joint)
    at = float(read_positions(robot)[info.joints.index(joint)])
    match experiment:
        case "friction":
            ramps = propose_friction(
                limits,
                joint,
                at,
                centre=options.centre,
                span=options.span,
                speeds=options.speeds,
            )
            values = plan_ramps(ramps, info.rate)
        case "delay":
            steps = propose_delay(
                limits,
                joint,
                at,
                centre=options.centre,
                sizes=options.sizes,
                repeats=options.repeats,
            )
            values = plan_steps(steps, info.rate)
        case "inertia":
            pulses = propose_inertia(
                twin,
                limits,
                joint,
                torques=options.torques,
                hold=options.hold,
                repeats=options.repeats,
            )
            values = plan_pulses(pulses, info.rate)
        case "torque_constant":
            position = propose_position(limits, joint, at, _APPROACH, options.centre)
            values = plan_holds(position, info.rate, approach=_APPROACH)
    check_command(info, joint, values, kinds)
    _check_limits(limits, joint, values, kinds[0])
    return BenchPlan(
        experiment=experiment,
        joint=joint,
        values=values,
        period=1 / info.rate,
        limits=limits,
    )


def record_experiment(robot: Robot, plan: BenchPlan, bench: JointBench) -> Recording:
    """Plays the plan; guards raise `GuardStop`, with what was recorded."""
    kinds = (COMMAND_KINDS[plan.experiment],)
    return drive_joint(robot, plan.joint, plan.values, kinds, bench)


def analyse_experiment(
    experiment: ExperimentName,
    joint: str,
    recordings: Sequence[Recording],
    twin: Twin,
    torques: Sequence[float] = (),
) -> BenchFinding:
    """The numbers in recordings of an experiment; `torques` [N·m] of known loads."""
    first = recordings[0]
    match experiment:
        case "friction":
            result = measure_friction_curve(first, joint)
            quantities, warnings = describe_friction(result, twin), result.warnings
        case "inertia":
            result = measure_inertia(first, joint)
            quantities = describe_inertia(result, first, joint, twin)
            warnings = _list_loose(first, joint)
        case "delay":
            result = measure_delay(first, joint)
            quantities, warnings = describe_delay(result, twin), (result.note,)
        case "torque_constant":
            result = measure_torque_constant(recordings, joint, torques)
            quantities = describe_torque_constant(result, len(recordings))
            warnings = ()
    return BenchFinding(result=result, quantities=quantities, warnings=warnings)


def _list_loose(recording: Recording, joint: str) -> tuple[str, ...]:
    """Whether other joints could swing, so that less than the whole was accelerated."""
    others = [other for other in recording.joints if other != joint]
    if not others:
        return ()
    return (
        f"Other joints got no torque ({', '.join(others)}): if they swung, this is not "
        "the inertia of a stiff robot.",
    )


def _check_current(robot: Robot, joint: str) -> None:
    info, name = robot.info, f"{joint}.current"
    if name not in info.other_signals:
        raise RealworthyError(
            f"Robot '{info.name}' does not report '{name}', and a torque constant is "
            "torque over current.",
            hint="Its driver must list that signal in other_signals; docs/drivers.md "
            "shows how.",
        )


def _check_limits(limits: Limits, joint: str, values: Floats, kind: str) -> None:
    """Raises where the commands themselves are beyond what the joint may do."""
    own = limits.select([joint])
    if kind == "torque":
        low, high, unit = -own.torque[0], own.torque[0], "N·m"
    else:
        low, high, unit = own.lower[0], own.upper[0], "rad"
    if not (values.min() >= low and values.max() <= high):
        raise RealworthyError(
            f"'{joint}.command' would go from {values.min():.3g} to "
            f"{values.max():.3g} {unit}; the twin's limits are {low:.3g} to "
            f"{high:.3g} {unit}.",
            hint="Choose a smaller span, another centre or weaker pulses.",
        )
