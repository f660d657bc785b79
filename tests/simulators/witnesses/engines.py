"""Which engines there are, and how tests ask for one."""

import os
from pathlib import Path

import mujoco
import pytest

from realworthy.simulators.witnesses import WITNESSES, is_installed
from realworthy.twins import Twin, load_twin

_REASON = "engine not installed: pip install 'realworthy[sim2sim]'"
ENGINES = [
    pytest.param(name, marks=pytest.mark.skipif(not is_installed(name), reason=_REASON))
    for name in WITNESSES
]
"""Arguments of a test that every witness must pass."""
needs_drake = pytest.mark.skipif(not is_installed("drake"), reason=_REASON)
needs_sapien = pytest.mark.skipif(not is_installed("sapien"), reason=_REASON)


def untouchable(spec: mujoco.MjSpec) -> None:
    """Takes all contacts out of a model."""
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0


def hard(spec: mujoco.MjSpec) -> None:
    """Gives MuJoCo contacts that neither sink in nor creep, nearly."""
    spec.option.timestep = 0.001
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 100
    for geom in spec.geoms:
        geom.solref = [0.005, 1]


def find_robot(name: str) -> Twin:
    """A built-in twin, or a robot of the Menagerie where that is at hand."""
    if "/" not in name:
        return load_twin(name)
    path = Path(os.environ.get("MENAGERIE_ROOT", "")) / name
    if not path.is_file():
        pytest.skip("MENAGERIE_ROOT has no such robot")
    return load_twin(str(path))
