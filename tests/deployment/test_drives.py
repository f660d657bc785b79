"""Which joint each command of a robot drives."""

import dataclasses

import msgspec
import numpy as np
import pytest

from realworthy.deployment.drives import build_drives
from realworthy.errors import RealworthyError
from realworthy.policies import Contract
from realworthy.policies.contract import DriveGains, JointLimits
from realworthy.realities import RealityFile, make_reality
from realworthy.realities.stand_in import StandIn
from realworthy.robots import RobotInfo

from . import examples


def name_anew() -> tuple[Contract, RobotInfo]:
    """A robot of two position drives that are called by their actuators."""
    info = StandIn(make_reality("it", RealityFile(schema=1, twin="pendulum"))).info
    info = dataclasses.replace(
        info,
        joints=("hip_joint", "left_finger"),
        commands=("hip.command", "gripper.command"),
        command_kind="position",
        command_lower=np.array([-1.0, 0.0]),
        command_upper=np.array([1.0, 0.04]),
    )
    plain = examples.contract("pendulum", ("hip",), "position")
    return msgspec.structs.replace(
        plain,
        joints=("hip_joint",),
        terms=plain.terms[2:],
        normaliser=None,
        gains={
            "hip": DriveGains(kp=20.0, kd=1.0),
            "gripper": DriveGains(kp=5.0, kd=0.1),
        },
        limits={
            "hip_joint": JointLimits(lower=-0.9, upper=0.8, velocity=2.0, effort=7.0)
        },
        drives={"hip.command": "hip_joint"},
        resting={"gripper.command": 0.0},
    ), info


def test_a_contract_says_which_joint_an_actuator_drives():
    contract, info = name_anew()
    drives = build_drives(contract, info)
    assert drives.joints == (0, -1)  # what rests needs no joint
    np.testing.assert_allclose(drives.kp, [20.0, 0.0])
    np.testing.assert_allclose(drives.upper, [0.8, np.inf])
    np.testing.assert_allclose(drives.torque, [7.0, np.inf])
    np.testing.assert_allclose(drives.rest, [0.0, 0.0])
    assert drives.limits(info).joints == ("hip_joint",)


def test_a_moved_drive_without_a_joint_is_refused_with_what_to_write():
    contract, info = name_anew()
    lost = msgspec.structs.replace(contract, drives={})
    with pytest.raises(RealworthyError, match="under drives, such as hip"):
        build_drives(lost, info)
