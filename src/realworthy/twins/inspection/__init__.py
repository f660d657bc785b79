"""What a model file says, as tables, and what looks wrong in it, as findings.

`inspect(model)` needs no recording and no fit: it reads a compiled MuJoCo model, weighs
it, puts it in its home pose and checks what can be checked from the numbers alone,
against a vendor's datasheet, and against other files of the same robot. What concerns
many joints is one finding that lists them. Nothing here changes a model; nothing here
compares with a recording (that is `gap`).

Imports numpy, mujoco and msgspec only.
"""

from realworthy.twins.inspection.datasheets import Datasheet
from realworthy.twins.inspection.findings import ModelFinding, Severity
from realworthy.twins.inspection.inspection import Inspection, inspect
from realworthy.twins.inspection.tables import (
    ActuatorRow,
    BodyRow,
    JointRow,
    SensorRow,
)

__all__ = [
    "ActuatorRow",
    "BodyRow",
    "Datasheet",
    "Inspection",
    "JointRow",
    "ModelFinding",
    "SensorRow",
    "Severity",
    "inspect",
]
