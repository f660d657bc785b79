"""Robots that the tour can be taken with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from realworthy.identification.excitation.limits import LimitSettings
from realworthy.realities import Noise
from realworthy.recordings import Recording


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
    about: str
    """One sentence on the robot and its task."""
    unknowns: Mapping[str, Unknown]
    """Parameter → where its truth may lie."""
    push: float
    """Largest command while it is recorded [the command's unit]."""
    waves: tuple[float, ...]
    """[Hz] of the sines that it is recorded with."""
    steps: int
    """Control steps of each training."""
    seconds: float
    """[s] of a trial on the robot."""
    inputs: tuple[Mapping[str, float], ...] = ({},)
    """What the policy is told in the trials, in turn, such as `goal.x`."""
    noise: Noise = field(default_factory=Noise)
    """Of the robot's measurements."""
    limits: LimitSettings | None = None
    """Within which a motion is designed for it; None: it gets none."""
    succeeded: Callable[[Recording, Mapping[str, float]], bool]
    """Whether a trial reached its goal, by what the robot measured."""


def _is_upright(recording: Recording, _inputs: Mapping[str, float]) -> bool:
    """Within 0.12 rad of upright, by its own encoder, for the last 2 s."""
    late = recording.time >= recording.time[-1] - 2.0
    angle = recording.signals["joint.position"][late]
    return bool((np.abs(np.mod(angle, 2 * np.pi) - np.pi) < 0.12).all())


PENDULUM = TourRobot(
    name="pendulum",
    task="pendulum",
    about="A pendulum must swing up and balance, with a motor too weak to lift it.",
    unknowns={
        "joint.damping": Unknown(0.7, 4.0),
        "joint.coulomb_friction": Unknown(0.6, 1.8),
        "pendulum.mass": Unknown(0.75, 1.35),
        "all.delay": Unknown(0.0, 0.08, is_factor=False),
    },
    push=3.0,
    waves=(0.4, 0.9, 1.7),
    steps=600_000,
    seconds=10.0,
    noise=Noise(position=0.001, velocity=0.02, torque=0.02),
    limits=LimitSettings(speed=2.5, acceleration=10.0, torque_share=0.5),
    succeeded=_is_upright,
)

ROBOTS: dict[str, TourRobot] = {robot.name: robot for robot in (PENDULUM,)}
