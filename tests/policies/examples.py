"""A contract, a robot and actors to try things with."""

import msgspec
import numpy as np

from realworthy.policies import ActionMap, Contract, Gravity, Linear, Term
from realworthy.policies.action import Bound
from realworthy.policies.contract import (
    Conventions,
    Delays,
    DriveGains,
    InputRange,
    JointLimits,
    NormaliserRecord,
    Parity,
    PolicyProvenance,
    TwinReference,
)
from realworthy.robots import RobotInfo

JOINTS = ("hip", "knee", "foot")
ORIENTATION = tuple(f"base.orientation.{axis}" for axis in "wxyz")
ACTION = ActionMap(
    commands=tuple(f"{joint}.command" for joint in JOINTS),
    offset=(0.1, -0.2, 0.3),
    scale=(0.5, 0.25, 0.125),
    smoothing=0.5,
)


def bounds(*joints: str, lead: float = 0.1) -> tuple[Bound, ...]:
    """Commands of these joints stay near them."""
    return tuple(
        Bound(signal=f"{joint}.position", lead=lead, lower=-9.0, upper=9.0)
        for joint in joints
    )


TERMS: tuple[Term, ...] = (
    Linear(name="angles", signals=tuple(f"{j}.position" for j in JOINTS), history=3),
    Gravity(name="gravity", signals=ORIENTATION),
    Linear(
        name="speeds",
        signals=tuple(f"{joint}.velocity" for joint in JOINTS),
        scale=(0.05,),
        clip=1.0,
    ),
    Linear(name="command", signals=("command.forward",), scale=(2.0,)),
    Linear(name="last", signals=ACTION.names),
)
WIDTH = 9 + 3 + 3 + 1 + 3


def contract(**changes: object) -> Contract:
    """Of a leg that is told how fast to go; its parity fits no graph."""
    plain = Contract(
        task="leg",
        twin=TwinReference(name="leg", reference="leg.xml"),
        joints=JOINTS,
        terms=TERMS,
        action=ACTION,
        history_layout="term_major_oldest_first",
        period=0.02,
        substeps=4,
        command_kind="position",
        gains={joint: DriveGains(kp=20.0, kd=1 / 3) for joint in JOINTS},
        limits={"knee": JointLimits(lower=-1.0, upper=0.5, velocity=8.0)},
        inputs={"command.forward": InputRange(lower=-1.0, upper=1.0, default=0.25)},
        delays=Delays(observation=(0.0, 0.01), action=(0.0, 0.02)),
        conventions=Conventions(
            quaternion="wxyz",
            gyro_frame="base",
            gravity="down",
            action_feedback="used",
        ),
        normaliser=NormaliserRecord(mean=(0.0,) * WIDTH, sd=(1.0,) * WIDTH),
        provenance=PolicyProvenance(
            created="2026-11-15T12:00:00Z",
            versions={"realworthy": "0.1", "mujoco": "4.0"},
            settings_hash="9f2c",
            git="",
        ),
        parity=Parity(observations=((0.0,) * WIDTH,), actions=((0.0,) * 3,)),
    )
    return msgspec.structs.replace(plain, **changes)


def robot(joints: tuple[str, ...] = JOINTS, **changes: object) -> RobotInfo:
    """A robot with such joints, in that order."""
    count = len(joints)
    facts: dict[str, object] = {
        "name": "leg",
        "joints": joints,
        "commands": tuple(f"{joint}.command" for joint in joints),
        "command_kind": "position",
        "rate": 50.0,
        "command_lower": np.full(count, -np.inf),
        "command_upper": np.full(count, np.inf),
        "other_signals": (*ORIENTATION, "base.gyro.x"),
    }
    return RobotInfo(**{**facts, **changes})
