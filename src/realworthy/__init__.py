"""Realworthy: how far a simulator is from a robot, why, and what to do about it.

    Belief p(e) → sample → write into a Twin → Simulator or Robot → Recording → Belief

The rooms, from the ground up: `parameters`, `recordings`, `robots`, `actuators` and
`sensors`, `twins`, `simulators`, `realities`, `policies`, `deployment`, `gap`,
`identification`, `diagnosis`, `tasks`, `learning` and `retargeting`, `adaptation`,
`certification`, `reports`, `tours`, `cli`. A room imports only rooms named before it.
Every command is one of the verbs below (docs/python.md). Names load their room when
they are first used, so that importing Realworthy stays cheap.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from realworthy.adaptation import Adaptation as Adaptation
    from realworthy.adaptation import AdaptSettings as AdaptSettings
    from realworthy.adaptation import adapt as adapt
    from realworthy.certification.certificate.certificate import (
        Certificate as Certificate,
    )
    from realworthy.certification.certify import CertifySettings as CertifySettings
    from realworthy.certification.certify import certify as certify
    from realworthy.certification.rollouts.realities import (
        load_attempts as load_attempts,
    )
    from realworthy.deployment import DeploySettings as DeploySettings
    from realworthy.deployment import deploy as deploy
    from realworthy.diagnosis import Diagnosis as Diagnosis
    from realworthy.diagnosis import diagnose as diagnose
    from realworthy.errors import RealworthyError as RealworthyError
    from realworthy.gap import Gap as Gap
    from realworthy.gap import measure as measure
    from realworthy.identification import Calibration as Calibration
    from realworthy.identification import calibrate as calibrate
    from realworthy.identification.calibration.calibrate import (
        CalibrateSettings as CalibrateSettings,
    )
    from realworthy.identification.excitation import excite as excite
    from realworthy.identification.excitation import identify as identify
    from realworthy.identification.excitation import record as record
    from realworthy.learning.train import train as train
    from realworthy.learning.training import TrainSettings as TrainSettings
    from realworthy.parameters import Belief as Belief
    from realworthy.parameters import Parameter as Parameter
    from realworthy.parameters import ParameterSpace as ParameterSpace
    from realworthy.policies import Policy as Policy
    from realworthy.policies import load_policy as load_policy
    from realworthy.progress import Progress as Progress
    from realworthy.realities import load_reality as load_reality
    from realworthy.recordings import Recording as Recording
    from realworthy.recordings import convert as convert
    from realworthy.recordings import load_recording as load_recording
    from realworthy.recordings import load_recordings as load_recordings
    from realworthy.recordings import save_recording as save_recording
    from realworthy.recordings.motion import Motion as Motion
    from realworthy.recordings.motion import load_motion as load_motion
    from realworthy.recordings.motion import save_motion as save_motion
    from realworthy.reports.view import view as view
    from realworthy.retargeting import Retargeting as Retargeting
    from realworthy.retargeting import RetargetSettings as RetargetSettings
    from realworthy.retargeting import retarget as retarget
    from realworthy.robots import Robot as Robot
    from realworthy.robots.address import open_robot as open_robot
    from realworthy.simulators import MujocoCpu as MujocoCpu
    from realworthy.tasks.task import Task as Task
    from realworthy.tours import TourSettings as TourSettings
    from realworthy.tours import tour as tour
    from realworthy.twins import Twin as Twin
    from realworthy.twins import bind as bind
    from realworthy.twins import load_twin as load_twin
    from realworthy.twins import save_twin as save_twin

__version__ = "0.1.0.dev0"

_HOMES = {
    "adapt": "adaptation",
    "calibrate": "identification",
    "certify": "certification.certify",
    "convert": "recordings",
    "deploy": "deployment",
    "diagnose": "diagnosis",
    "excite": "identification.excitation",
    "identify": "identification.excitation",
    "measure": "gap",
    "record": "identification.excitation",
    "retarget": "retargeting",
    "tour": "tours",
    "train": "learning.train",
    "view": "reports.view",
    "AdaptSettings": "adaptation",
    "Adaptation": "adaptation",
    "Belief": "parameters",
    "CalibrateSettings": "identification.calibration.calibrate",
    "Calibration": "identification",
    "Certificate": "certification.certificate.certificate",
    "CertifySettings": "certification.certify",
    "DeploySettings": "deployment",
    "Diagnosis": "diagnosis",
    "Gap": "gap",
    "Motion": "recordings.motion",
    "MujocoCpu": "simulators",
    "Parameter": "parameters",
    "ParameterSpace": "parameters",
    "Policy": "policies",
    "Progress": "progress",
    "RealworthyError": "errors",
    "Recording": "recordings",
    "RetargetSettings": "retargeting",
    "Retargeting": "retargeting",
    "Robot": "robots",
    "Task": "tasks.task",
    "TourSettings": "tours",
    "TrainSettings": "learning.training",
    "Twin": "twins",
    "bind": "twins",
    "load_attempts": "certification.rollouts.realities",
    "load_motion": "recordings.motion",
    "load_policy": "policies",
    "load_reality": "realities",
    "load_recording": "recordings",
    "load_recordings": "recordings",
    "load_twin": "twins",
    "open_robot": "robots.address",
    "save_motion": "recordings.motion",
    "save_recording": "recordings",
    "save_twin": "twins",
}
__all__ = [*_HOMES, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'realworthy' has no attribute '{name}'")
    return getattr(importlib.import_module(f"realworthy.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
