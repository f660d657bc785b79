"""Experiments that tell one number of one joint each: friction, inertia, delay, k_t.

Each is a protocol that drives a `Robot` within its limits (`record_…`) and an analysis
of such a recording, wherever it was made (`measure_…`). `docs/experiments.md` shows
what simpler recipes get wrong. Every command passes `deployment`'s guards; `JointBench`
says within which limits, and where what was measured is kept.
"""

from realworthy.identification.experiments.delay import (
    Delay,
    DelaySettings,
    measure_delay,
    record_delay,
)
from realworthy.identification.experiments.friction_curve import (
    FrictionCurve,
    FrictionCurveSettings,
    measure_friction_curve,
    record_friction_curve,
)
from realworthy.identification.experiments.inertia import (
    InertiaSettings,
    JointInertia,
    measure_inertia,
    record_inertia,
)
from realworthy.identification.experiments.joint_commands import JointBench
from realworthy.identification.experiments.torque_constant import (
    TorqueConstant,
    measure_torque_constant,
    record_holds,
)

__all__ = [
    "Delay",
    "DelaySettings",
    "FrictionCurve",
    "FrictionCurveSettings",
    "InertiaSettings",
    "JointBench",
    "JointInertia",
    "TorqueConstant",
    "measure_delay",
    "measure_friction_curve",
    "measure_inertia",
    "measure_torque_constant",
    "record_delay",
    "record_friction_curve",
    "record_holds",
    "record_inertia",
]
