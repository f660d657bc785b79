"""Witnesses: other engines that run our twins, to see what depends on MuJoCo.

Here live `Witness`, a simulator whose bodies and contacts belong to another engine,
one file (and its helper) per engine, and `export_mechanism`, which reads a compiled
model. `WITNESSES` builds one by name; no engine is imported before it is used.

Here do not live verdicts on policies (`certification`). May import what `simulators`
may; `drake` and `sapien` come with `pip install 'realworthy[sim2sim]'`.
"""

from collections.abc import Callable
from importlib.util import find_spec

from realworthy.errors import UnknownName
from realworthy.simulators.witnesses.export import export_mechanism
from realworthy.simulators.witnesses.limitations import NotCarried
from realworthy.simulators.witnesses.witness import Witness
from realworthy.twins import BoundTwin

__all__ = [
    "WITNESSES",
    "NotCarried",
    "Witness",
    "build_drake",
    "build_sapien",
    "export_mechanism",
    "is_installed",
]


def build_drake(bound: BoundTwin, world_count: int, substeps: int) -> Witness:
    """Worlds in Drake, with its own defaults."""
    from realworthy.simulators.witnesses.drake import DrakeWitness

    return DrakeWitness(bound, world_count, substeps=substeps)


def build_sapien(bound: BoundTwin, world_count: int, substeps: int) -> Witness:
    """Worlds in SAPIEN (PhysX), with its own defaults."""
    from realworthy.simulators.witnesses.sapien import SapienWitness

    return SapienWitness(bound, world_count, substeps=substeps)


WITNESSES: dict[str, Callable[[BoundTwin, int, int], Witness]] = {
    "drake": build_drake,
    "sapien": build_sapien,
}
"""Name → builder of (bound twin, world count, substeps)."""
_LIBRARIES = {"drake": "pydrake", "sapien": "sapien"}


def is_installed(name: str) -> bool:
    """Whether a witness can be built here."""
    if name not in WITNESSES:
        raise UnknownName("witness", name, WITNESSES, owner="Realworthy")
    return find_spec(_LIBRARIES[name]) is not None
