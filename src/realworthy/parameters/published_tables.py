"""Ranges of e that others have published for randomization, as they stand there.

A row names a quantity, whose it is and its range; a twin may lack it. What cameras see
is not in these tables. `tasks/randomization/tables.py` puts them onto a twin.
"""

import enum
from dataclasses import dataclass

from realworthy.parameters.parameter import Operation

SCALE, ADD = Operation.SCALE, Operation.ADD


class Whose(enum.Enum):
    """Which elements of a twin a row is about; the value ends a sentence."""

    EACH = "on any part of the robot"
    """Every part of the robot, each with a number of its own."""
    ALL = "shared by all parts"
    """Every part of the robot and its surroundings, with one number."""
    BASE = "on a floating base"
    JOINTS = "on any joint's sensors"
    """Every joint's sensor of a signal, each with a number of its own."""
    OBJECTS = "on a loose object"
    """Every floating body that is not the robot's base."""


@dataclass(frozen=True, slots=True)
class Row:
    """A range of one quantity; both ends equal: that value."""

    kind: str
    """As in the names of parameters; a kind that no twin has is always left out."""
    lower: float
    upper: float
    operation: Operation = Operation.SET
    """Whether the range is of values, of factors of the nominal or of differences."""
    whose: Whose = Whose.EACH
    sensor: str = ""
    """For kinds of sensors: how the sensor's name ends, such as `.position`."""
    in_steps: bool = False
    """The range is of whole control steps, not of seconds."""

    @property
    def text(self) -> str:
        """The row in words."""
        sign = {SCALE: "×", ADD: "+"}.get(self.operation, "")
        unit = " steps" if self.in_steps else ""
        of = f" of '{self.sensor}'" if self.sensor else ""
        return f"{self.kind}{of} {sign}[{self.lower:g}, {self.upper:g}]{unit}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedTable:
    """Rows of one source."""

    source: str
    rows: tuple[Row, ...]
    push_speed: float = 0.0
    """[m/s] largest change of each horizontal component of the base's speed."""
    push_every: tuple[float, float] = (5.0, 10.0)
    """[s] between two pushes."""


PENG_2018 = PublishedTable(
    source="Peng et al., Sim-to-Real Transfer of Robotic Control with Dynamics"
    " Randomization, ICRA 2018: an arm that pushes a puck",
    rows=(
        Row("mass", 0.25, 4.0, SCALE),
        Row("damping", 0.2, 20.0, SCALE),
        Row("kp", 0.5, 2.0, SCALE),
        Row("kd", 0.5, 2.0, SCALE),
        Row("mass", 0.1, 0.4, whose=Whose.OBJECTS),
        Row("contact_friction", 0.1, 5.0, whose=Whose.OBJECTS),
        Row("damping", 0.01, 0.2, whose=Whose.OBJECTS),
        Row("table_height", 0.73, 0.77),
        Row("action_interval_rate", 125.0, 1000.0),
    ),
)
LAIKAGO_2020 = PublishedTable(
    source="google-research/motion_imitation: the Laikago quadruped",
    rows=(
        Row("mass", 0.8, 1.2, SCALE),
        Row("rotational_inertia", 0.5, 1.5, SCALE),
        Row("strength", 0.8, 1.2, SCALE),
        Row("damping", 0.0, 0.05),
        Row("coulomb_friction", 0.0, 0.05),
        Row("delay", 0.0, 0.04, whose=Whose.ALL),
        Row("contact_friction", 0.5, 1.25, whose=Whose.ALL),
        Row("supply_voltage", 14.0, 16.8),
    ),
)
RMA_A1 = PublishedTable(
    source="Kumar et al., RMA: Rapid Motor Adaptation for Legged Robots, RSS 2021:"
    " the A1 quadruped in training",
    rows=(
        Row("contact_friction", 0.05, 4.5, whose=Whose.ALL),
        Row("kp", 50.0, 60.0),
        Row("kd", 0.4, 0.8),
        Row("mass", 0.0, 6.0, ADD, Whose.BASE),
        Row("strength", 0.9, 1.1, SCALE),
    ),
)
RMA_A1_TEST = PublishedTable(
    source="Kumar et al., RMA: Rapid Motor Adaptation for Legged Robots, RSS 2021:"
    " the A1 quadruped in tests",
    rows=(
        Row("contact_friction", 0.04, 6.0, whose=Whose.ALL),
        Row("kp", 45.0, 65.0),
        Row("kd", 0.3, 0.9),
        Row("mass", 0.0, 7.0, ADD, Whose.BASE),
        Row("strength", 0.88, 1.22, SCALE),
    ),
)
ASAP_G1 = PublishedTable(
    source="LeCAR-Lab/ASAP: the G1 humanoid",
    rows=(
        Row("centre_of_mass", -0.1, 0.1, ADD, Whose.BASE),
        Row("mass", 0.8, 1.2, SCALE),
        Row("kp", 0.75, 1.25, SCALE),
        Row("kd", 0.75, 1.25, SCALE),
        Row("contact_friction", 0.5, 1.25, whose=Whose.ALL),
        Row("torque_noise", 0.05, 0.15),
        Row("delay", 0.0, 2.0, whose=Whose.ALL, in_steps=True),
    ),
    push_speed=1.0,
)
LIN_2025 = PublishedTable(
    source="Lin et al., arXiv 2502.20396, Table IV: two hands of a humanoid",
    rows=(
        Row("kp", 0.8, 1.1, SCALE),
        Row("kd", 0.7, 1.2, SCALE),
        Row("mass", 0.03, 0.1, whose=Whose.OBJECTS),
        Row("contact_friction", 0.5, 1.5, whose=Whose.OBJECTS),
        Row("object_size", 0.95, 1.05, SCALE, Whose.OBJECTS),
    ),
)
GRASPING = PublishedTable(
    source="moderate ranges for grasping, of no publication",
    rows=(
        Row("contact_friction", 0.5, 1.5, whose=Whose.ALL),
        Row("mass", 0.8, 1.2, SCALE, Whose.OBJECTS),
        Row("restitution", 0.0, 0.3, whose=Whose.ALL),
        Row("damping", 0.5, 2.0),
        Row("kp", 0.8, 1.2, SCALE),
        Row("delay", 0.0, 2.0, whose=Whose.ALL, in_steps=True),
        Row("action_noise", 0.01, 0.05, whose=Whose.ALL),
    ),
)
HUMANOID = PublishedTable(
    source="moderate ranges for a humanoid with hands, of no publication",
    rows=(
        Row("contact_friction", 0.3, 2.0, SCALE, Whose.ALL),
        Row("restitution", 0.0, 0.3, whose=Whose.ALL),
        Row("mass", 0.85, 1.15, SCALE),
        Row("centre_of_mass", -0.03, 0.03, ADD),
        Row("kp", 0.7, 1.3, SCALE),
        Row("kd", 0.7, 1.3, SCALE),
        Row("torque_limit", 0.85, 1.0, SCALE),
        Row("delay", 0.0, 3.0, whose=Whose.ALL, in_steps=True),
        Row("sensor_noise", 0.01, 0.01, whose=Whose.JOINTS, sensor=".position"),
        Row("sensor_noise", 0.1, 0.1, whose=Whose.JOINTS, sensor=".velocity"),
        Row("sensor_noise", 0.005, 0.005, sensor="orientation"),
        Row("sensor_noise", 0.02, 0.02, sensor="gyro"),
        Row("mass", 0.1, 2.0, whose=Whose.OBJECTS),
        Row("object_size", 0.8, 1.2, SCALE, Whose.OBJECTS),
        Row("contact_friction", 0.3, 1.5, whose=Whose.OBJECTS),
    ),
)
TABLES = {
    "peng_2018": PENG_2018,
    "laikago_2020": LAIKAGO_2020,
    "rma_a1": RMA_A1,
    "rma_a1_test": RMA_A1_TEST,
    "asap_g1": ASAP_G1,
    "lin_2025": LIN_2025,
    "grasping": GRASPING,
    "humanoid": HUMANOID,
}
