"""Realities: stand-ins for robots, with a truth that only they know.

A reality is a twin, its true e, effects that the twin lacks, faults of the interface
and noise, all repeatable by seed. `StandIn` puts it behind the `Robot` interface, where
it answers commands with measurements and nothing else. `docs/realities.md` has one
complete example of every effect and fault.

Here do not live the commands that use a robot, nor fits. May import `simulators` and
what `simulators` may.
"""

from realworthy.realities.effects import EFFECTS, Effect
from realworthy.realities.file import RealityFile, RealityNoise
from realworthy.realities.interface import Interface
from realworthy.realities.reality import (
    Reality,
    load_reality,
    make_reality,
    reality_names,
    save_reality,
)
from realworthy.realities.stand_in import StandIn

__all__ = [
    "EFFECTS",
    "Effect",
    "Interface",
    "Reality",
    "RealityFile",
    "RealityNoise",
    "StandIn",
    "load_reality",
    "make_reality",
    "reality_names",
    "save_reality",
]
