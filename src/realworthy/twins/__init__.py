"""Twins: models of robots, with names for what is not known about them.

Here live `Twin` (a model, its actuators, a belief, its provenance), the built-in ones,
their inspection, and `bind`, which joins a parameter space to a twin: it compiles a
model with room for e and writes samples through `writers/`, one per physical quantity.

Here do not live time steps (`simulators`), effects that no twin has (`realities`) and
fits (`identification`). May import: `parameters`, `recordings`, `robots`, `actuators`,
`sensors`. One of the two homes of `mujoco`.
"""

from realworthy.twins.bind import BoundTwin, bind
from realworthy.twins.files import load_twin, parse_twin, save_twin
from realworthy.twins.inspection import Datasheet, Inspection, ModelFinding, inspect
from realworthy.twins.model_sources import builtin_names
from realworthy.twins.twin import Provenance, Twin

__all__ = [
    "BoundTwin",
    "Datasheet",
    "Inspection",
    "ModelFinding",
    "Provenance",
    "Twin",
    "bind",
    "builtin_names",
    "inspect",
    "load_twin",
    "parse_twin",
    "save_twin",
]
