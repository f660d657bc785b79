"""Policies small enough to understand, as real .onnx files with real contracts."""

from pathlib import Path

import msgspec
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from realworthy.policies import ActionMap, Contract, Linear, Policy, load_policy
from realworthy.policies.contract import (
    Conventions,
    Delays,
    DriveGains,
    JointLimits,
    NormaliserRecord,
    Parity,
    PolicyProvenance,
    TwinReference,
)
from realworthy.policies.metadata import write_metadata

ARM = (
    "shoulder_pan",
    "shoulder_lift",
    "elbow_flex",
    "wrist_flex",
    "wrist_yaw",
    "wrist_roll",
    "gripper",
)


def contract(
    twin: str,
    joints: tuple[str, ...],
    kind: str,
    *,
    offset: float | tuple[float, ...] = 0.0,
    scale: float = 1.0,
    period: float = 0.02,
    **changes: object,
) -> Contract:
    """Positions, velocities and last actions seen; one command for each joint."""
    count = len(joints)
    offsets = offset if isinstance(offset, tuple) else (offset,) * count
    action = ActionMap(
        commands=tuple(f"{joint}.command" for joint in joints),
        offset=offsets,
        scale=(scale,) * count,
    )
    terms = (
        Linear(name="angles", signals=tuple(f"{j}.position" for j in joints)),
        Linear(name="speeds", signals=tuple(f"{j}.velocity" for j in joints)),
        Linear(name="last", signals=action.names),
    )
    plain = Contract(
        task="sway",
        twin=TwinReference(name=twin, reference=twin),
        joints=joints,
        terms=terms,
        action=action,
        history_layout="term_major_oldest_first",
        period=period,
        substeps=4,
        command_kind=kind,  # pyright: ignore
        gains={j: DriveGains(kp=13.0, kd=0.4) for j in joints}
        if kind == "position"
        else {},
        limits={
            j: JointLimits(lower=-3.0, upper=3.0, velocity=8.0, effort=12.0)
            for j in joints
        },
        inputs={},
        delays=Delays(observation=(0.0, 0.0), action=(0.0, 0.0)),
        conventions=Conventions(
            quaternion="wxyz", gyro_frame="base", gravity="down", action_feedback="used"
        ),
        normaliser=NormaliserRecord(mean=(0.0,) * 3 * count, sd=(100.0,) * 3 * count),
        provenance=PolicyProvenance(
            created="2026-11-15T12:00:00Z", versions={}, settings_hash="0", git=""
        ),
    )
    return msgspec.structs.replace(plain, **changes)


def save(path: Path, plain: Contract, weights: np.ndarray, bias: np.ndarray) -> Path:
    """action = weights @ observation + bias, as a file."""
    weights = np.asarray(weights, dtype=np.float32)
    bias = np.asarray(bias, dtype=np.float32)
    width, count = plain.width, plain.action.width
    assert weights.shape == (count, width)
    seen = np.random.default_rng(0).normal(size=(16, width)).astype(np.float32)
    said = seen @ weights.T + bias
    parity = Parity(
        observations=tuple(map(tuple, seen.tolist())),
        actions=tuple(map(tuple, said.tolist())),
    )
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["obs", "W", "b"], ["action"], transB=1)],
        "linear",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, [1, width])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, [1, count])],
        [numpy_helper.from_array(weights, "W"), numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    whole = msgspec.structs.replace(plain, parity=parity)
    helper.set_model_props(model, write_metadata(whole))
    onnx.save(model, str(path))
    return path


def reaching(path: Path, *, by: float = 0.3, **changes: object) -> Path:
    """The arm, 0.3 rad from its default pose in every joint; a constant action."""
    plain = contract("arm", ARM, "position", offset=ARM_POSE, **changes)
    weights = np.zeros((len(ARM), plain.width))
    return save(path, plain, weights, np.full(len(ARM), by))


def swinging(path: Path, **changes: object) -> Path:
    """The pendulum, pushed the way it goes, up to 3 N·m; it swings and never rests."""
    plain = contract(
        "pendulum", ("joint",), "torque", scale=3.0, period=0.016, **changes
    )
    return save(path, plain, np.array([[-0.6, 0.25, 0.9]]), np.array([0.15]))


ARM_POSE = (0.0, -0.5, 0.5, 0.3, 0.0, 0.0, 0.3)


def load(path: Path) -> Policy:
    return load_policy(path, engine="numpy")
