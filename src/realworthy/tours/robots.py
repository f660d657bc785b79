"""Robots that the tour can be taken with."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from realworthy.errors import BadFile, UnknownName
from realworthy.identification.excitation.twin_limits import LimitSettings
from realworthy.realities import RealityNoise
from realworthy.tasks.catalogue import find_task
from realworthy.tasks.task_files import is_file_task, load_named
from realworthy.tours.success_check import (
    Onlooker,
    moves_as_told,
    reaches,
    stands_upright,
)


@dataclass(frozen=True, slots=True)
class Unknown:
    """How far a hidden truth may lie from the twin's own number."""

    lower: float
    upper: float
    is_factor: bool = True
    """Of the nominal value, drawn log-uniformly; else the value, uniformly."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TourRobot:
    """A robot, its task, and what nobody knows about it."""

    name: str
    task: str
    """By name: one of ours, or `my_file.py:MyTask`."""
    about: str
    """One sentence on the robot and its task."""
    twin: str = ""
    """Its nominal model, as `load_twin` takes it; empty: the task's own twin."""
    unknowns: Mapping[str, Unknown]
    """Parameter → where its truth may lie."""
    push: float
    """Largest command while it is recorded [the command's unit], beyond `centre`."""
    centre: Mapping[str, float] = field(default_factory=dict)
    """Command → about which it waves meanwhile; about where it rests if not said."""
    waves: tuple[float, ...]
    """[Hz] of the sines that it is recorded with."""
    recorded: float = 6.0
    """[s] of each of the motions that are fitted."""
    steps: int
    """Control steps of each training."""
    seconds: float
    """[s] of a trial on the robot."""
    inputs: tuple[Mapping[str, float], ...] = ({},)
    """What the policy is told in the trials, in turn, such as `goal.x`."""
    noise: RealityNoise = field(default_factory=RealityNoise)
    """Of the robot's measurements."""
    limits: LimitSettings | None = None
    """Within which a motion is designed for it; None: it gets none."""
    succeeded: Onlooker
    """Whether a trial reached its goal, as an onlooker sees it."""

    @property
    def model(self) -> str:
        """Its nominal model."""
        return self.twin or find_task(self.task).twin


PENDULUM = TourRobot(
    name="pendulum",
    task="pendulum",
    about="A pendulum must swing up and balance, with a motor too weak to lift it.",
    unknowns={
        "joint.damping": Unknown(0.3, 6.0),
        "joint.coulomb_friction": Unknown(0.2, 1.0),
        "pendulum.mass": Unknown(0.6, 1.35),
        "all.delay": Unknown(0.04, 0.1, is_factor=False),
    },
    push=3.0,
    waves=(0.4, 0.9, 1.7),
    steps=500_000,
    seconds=10.0,
    noise=RealityNoise(position=0.001, velocity=0.02, torque=0.02),
    limits=LimitSettings(speed=2.5, acceleration=10.0, torque_share=0.5),
    succeeded=stands_upright,
)

DIFFDRIVE = TourRobot(
    name="diffdrive",
    task="drive_velocity",
    about="A robot on two wheels follows speed commands, by wheels and gyroscope.",
    unknowns={
        "left_wheel.coulomb_friction": Unknown(4.0, 20.0),
        "right_wheel.coulomb_friction": Unknown(4.0, 20.0),
        "all.kd": Unknown(0.4, 1.0),
        "all.delay": Unknown(0.0, 0.08, is_factor=False),
    },
    push=5.0,
    waves=(0.3, 0.7, 1.3),
    steps=300_000,
    seconds=5.0,
    inputs=(
        {"goal.forward": 0.12, "goal.turn": 0.3},
        {"goal.forward": -0.07, "goal.turn": -0.4},
        {"goal.forward": 0.04, "goal.turn": 0.7},
    ),
    noise=RealityNoise(position=0.001, velocity=0.05, gyro=0.01),
    succeeded=moves_as_told,
)

ARM = TourRobot(
    name="arm",
    task="reach_wrist",
    about="An arm of hobby servos must bring its wrist to a point, by encoders.",
    unknowns={
        "shoulder_lift.position.sensor_bias": Unknown(-0.15, 0.15, is_factor=False),
        "elbow_flex.position.sensor_bias": Unknown(-0.15, 0.15, is_factor=False),
        "all.kp": Unknown(0.6, 1.2),
    },
    push=0.7,
    centre={
        "shoulder_lift.command": -0.6,
        "elbow_flex.command": -0.2,
        "wrist_flex.command": -0.2,
    },
    waves=(0.2, 0.5, 1.1),
    recorded=4.0,
    steps=300_000,
    seconds=3.0,
    inputs=(
        {"goal.x": 0.15, "goal.y": -0.05, "goal.z": 0.22},
        {"goal.x": 0.16, "goal.y": 0.02, "goal.z": 0.22},
        {"goal.x": 0.14, "goal.y": -0.03, "goal.z": 0.26},
    ),
    noise=RealityNoise(position=0.001, velocity=0.02),
    succeeded=reaches,
)

ROBOTS: dict[str, TourRobot] = {
    robot.name: robot for robot in (PENDULUM, DIFFDRIVE, ARM)
}


def find_robot(robot: TourRobot | str) -> TourRobot:
    """A robot by its name, as it is, or from a file: `my_file.py:MY_ROBOT`."""
    if isinstance(robot, TourRobot):
        return robot
    if robot in ROBOTS:
        return ROBOTS[robot]
    if not is_file_task(robot):
        hint = "Or one of your own: my_file.py:MY_ROBOT. All: realworthy tour --help"
        raise UnknownName("robot", robot, ROBOTS, owner="The tour", hint=hint)
    found = load_named(robot)
    if not isinstance(found, TourRobot):
        path, _, name = robot.rpartition(":")
        raise BadFile(
            path,
            f"'{name}' is no robot of a tour.",
            hint="It is a realworthy.tours.TourRobot.",
        )
    return found
