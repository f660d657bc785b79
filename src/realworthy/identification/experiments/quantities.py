"""What an experiment found, as numbers with an interval and names of twin files."""

import math
from dataclasses import dataclass

import numpy as np

from realworthy.identification.experiments.delay import Delay
from realworthy.identification.experiments.friction_curve import FrictionCurve
from realworthy.identification.experiments.inertia import JointInertia
from realworthy.identification.experiments.torque_constant import TorqueConstant
from realworthy.recordings import Recording
from realworthy.simulators.inverse_dynamics import find_joint_inertia
from realworthy.twins import Twin


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """One number that an experiment tells."""

    name: str
    value: float
    sd: float
    unit: str
    freedom: float = math.inf
    """How many points more than numbers the standard deviation comes from."""
    kind: str = ""
    """Of a twin's parameter, such as `coulomb_friction`; empty where none has it."""

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, by Student's t."""
        from scipy.stats import norm, t

        few = math.isfinite(self.freedom)
        width = self.sd * float(t.ppf(0.975, self.freedom) if few else norm.ppf(0.975))
        return self.value - width, self.value + width


def describe_friction(curve: FrictionCurve, twin: Twin) -> tuple[Quantity, ...]:
    """Coulomb friction and damping.

    Torque and position of one row may be read a time step dt apart, which a servo of
    stiffness kp shows as a damping of up to kp dt.
    """
    skew = curve.servo_kp * _find_timestep(twin) / math.sqrt(3)
    freedom = max(1, len(curve.speed) - (4 if curve.stribeck_velocity else 2))
    return (
        Quantity(
            name="Coulomb friction",
            value=curve.coulomb_friction,
            sd=curve.coulomb_friction_sd,
            unit="N·m",
            freedom=freedom,
            kind="coulomb_friction",
        ),
        Quantity(
            name="damping",
            value=curve.damping,
            sd=math.hypot(curve.damping_sd, skew),
            unit="N·m·s/rad",
            freedom=freedom,
            kind="damping",
        ),
    )


def describe_inertia(
    found: JointInertia, recording: Recording, joint: str, twin: Twin
) -> tuple[Quantity, ...]:
    """What the drive accelerates, and the rotor that is left of it if the twin's links
    are right."""
    at = float(np.mean(recording.signals[f"{joint}.position"]))
    links = find_joint_inertia(twin, joint, at, armature=False)
    inertia = Quantity(
        name="inertia", value=found.inertia, sd=found.inertia_sd, unit="kg·m²"
    )
    rotor = Quantity(
        name="rotor's share, if the links are the twin's",
        value=found.inertia - links,
        sd=found.inertia_sd,
        unit="kg·m²",
        kind="armature",
    )
    return inertia, rotor


def describe_delay(found: Delay, twin: Twin) -> tuple[Quantity, ...]:
    """The delay, known to no better than a time step of the twin that will use it."""
    step = _find_timestep(twin) / math.sqrt(12)
    sd = math.hypot(found.sd, step)
    return (Quantity(name="delay", value=found.seconds, sd=sd, unit="s", kind="delay"),)


def describe_torque_constant(
    found: TorqueConstant, load_count: int
) -> tuple[Quantity, ...]:
    """Of a line through three loads or more."""
    return (
        Quantity(
            name="torque constant",
            value=found.torque_constant,
            sd=found.sd,
            unit="N·m/A",
            freedom=max(1, load_count - 2),
            kind="torque_constant",
        ),
    )


def find_parameters(
    quantities: tuple[Quantity, ...], joint: str, twin: Twin
) -> dict[str, float]:
    """Twin's parameter → value, of those that the twin has and that are possible."""
    found = {}
    for one in quantities:
        name = f"{joint}.{one.kind}"
        if one.kind and name in twin.space:
            parameter = twin.space[name]
            if parameter.lower <= one.value <= parameter.upper:
                found[name] = one.value
    return found


def _find_timestep(twin: Twin) -> float:
    return float(twin.compiled.model.opt.timestep)
