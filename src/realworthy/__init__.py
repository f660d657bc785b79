"""Realworthy: how far a simulator is from a robot, why, and what to do about it.

    Belief p(e) → sample → write into a Twin → Simulator or Robot → Recording → Belief

The rooms, from the ground up: `parameters`, `recordings`, `robots`, `actuators` and
`sensors`, `twins`, `simulators`, `realities`, `gap`, `identification`, `diagnosis`,
`tasks`, `learning`, `certification`, `deployment`, `reports`, `cli`. A room imports
only rooms named before it. Names below load their room when they are first used, so
that importing Realworthy stays cheap.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from realworthy.certification.certify import certify as certify
    from realworthy.deployment import deploy as deploy
    from realworthy.diagnosis import diagnose as diagnose
    from realworthy.gap import measure as measure
    from realworthy.identification import calibrate as calibrate
    from realworthy.learning.train import train as train
    from realworthy.parameters import Belief as Belief
    from realworthy.parameters import Parameter as Parameter
    from realworthy.parameters import ParameterSpace as ParameterSpace
    from realworthy.realities import load_reality as load_reality
    from realworthy.recordings import Recording as Recording
    from realworthy.recordings import load_recording as load_recording
    from realworthy.reports.view import view as view
    from realworthy.simulators import MujocoCpu as MujocoCpu
    from realworthy.twins import Twin as Twin
    from realworthy.twins import load_twin as load_twin

__version__ = "0.1.0.dev0"

_HOMES = {
    "calibrate": "identification",
    "certify": "certification.certify",
    "deploy": "deployment",
    "diagnose": "diagnosis",
    "measure": "gap",
    "train": "learning.train",
    "Belief": "parameters",
    "Parameter": "parameters",
    "ParameterSpace": "parameters",
    "load_reality": "realities",
    "Recording": "recordings",
    "load_recording": "recordings",
    "view": "reports.view",
    "MujocoCpu": "simulators",
    "Twin": "twins",
    "load_twin": "twins",
}
__all__ = [*_HOMES, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'realworthy' has no attribute '{name}'")
    return getattr(importlib.import_module(f"realworthy.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
