"""Simulators: many worlds of a twin, each with its own e, stepped together.

Here live the `Simulator` contract, `MujocoCpu` (all cores, the default), `MujocoGpu`
(MuJoCo Warp), `witnesses` (Drake and SAPIEN), `rollout`, which turns commands into
recordings, and `conformance`, which anyone can run on a simulator of their own.

Here do not live rewards or endings (`tasks`) and effects that no twin has
(`realities`). May import `twins` and what `twins` may. The second home of `mujoco`, and
the only one of `warp`, `pydrake` and `sapien`.
"""

from typing import TYPE_CHECKING

from realworthy.simulators.mujoco_cpu import MujocoCpu
from realworthy.simulators.rollout import record
from realworthy.simulators.simulator import Outcome, Simulator, describe_outcomes
from realworthy.simulators.substep_effect import SubstepEffect

if TYPE_CHECKING:
    from realworthy.simulators.mujoco_gpu import MujocoGpu

__all__ = [
    "MujocoCpu",
    "MujocoGpu",
    "Outcome",
    "Simulator",
    "SubstepEffect",
    "describe_outcomes",
    "record",
]


def __getattr__(name: str) -> object:
    if name == "MujocoGpu":  # warp takes a second to import
        from realworthy.simulators.mujoco_gpu import MujocoGpu

        return MujocoGpu
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
