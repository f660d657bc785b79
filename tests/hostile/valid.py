"""A valid file of every kind that is read, and the way in which it is read."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from realworthy.actuators.servos import load_servo
from realworthy.artefacts import save
from realworthy.certification.foreign.draft import assist
from realworthy.certification.suite.suite import load_suite, quick_suite, save_suite
from realworthy.parameters.belief_files import load_belief, save_belief
from realworthy.policies import load_contract, load_policy
from realworthy.realities import load_reality
from realworthy.realities.reality import SHIPPED_FOLDER
from realworthy.recordings import (
    Gains,
    Recording,
    Sidecar,
    SignalNoise,
    SignalSource,
    load_recordings,
    load_sidecar,
    save_recording,
    summary,
)
from realworthy.recordings.motion import load_motion
from realworthy.twins import inspect, load_twin, save_twin
from realworthy.twins.model_sources import BUILTIN_FOLDER

SIDECAR = Sidecar(
    twin="pendulum",
    command_kind="torque",
    rate=100.0,
    gains={"elbow": Gains(kp=2.0, kd=0.1)},
    noise=SignalNoise(position=0.001),
    parameters={"elbow.damping": 0.1},
    notes={"floor": ["concrete", 3], "place": {"x": 1.5}},
)
URDF = """<?xml version="1.0"?>
<robot name="reacher">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.1 0.1 0.2"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
</robot>
"""
MJCF = """<mujoco model="toy">
  <compiler angle="radian"/>
  <option timestep="0.002"/>
  <size nkey="1"/>
  <default><joint damping="0.1"/></default>
  <asset><hfield name="h" nrow="4" ncol="4" size="1 1 1 1"/>
    <texture name="t" type="2d" builtin="checker" width="8" height="8"/></asset>
  <worldbody>
    <replicate count="2" offset="1 0 0">
      <body name="arm"><joint name="hinge" axis="0 1 0" range="-1 1"/>
        <geom type="capsule" size="0.05 0.2" mass="1"/><site name="tip"/></body>
    </replicate>
  </worldbody>
  <sensor><jointpos joint="hinge0"/><gyro site="tip0"/></sensor>
  <actuator><motor name="drive" joint="hinge0" ctrlrange="-2 2"/></actuator>
  <keyframe><key name="home" qpos="0.1 0.2"/></keyframe>
</mujoco>
"""


@dataclass(frozen=True)
class Kind:
    """One format: how its files are made and read, and which of them is damaged."""

    make: Callable[[Path], object]
    """Given a folder that is there."""
    read: Callable[[Path], object]
    """Given that folder."""
    target: str


def make_swing() -> Recording:
    time = np.arange(40) * 0.01
    signals = {
        "elbow.position": np.sin(time),
        "elbow.velocity": np.cos(time),
        "elbow.command": np.sign(np.sin(9 * time)),
    }
    return Recording(time, signals, SIDECAR)


def _show(path: Path, importer: str | None = None, sidecar: Sidecar | None = None):
    found = load_recordings(path, importer, sidecar=sidecar)
    return [summary(recording) for recording in found]


def _format(name: str, target: str = "") -> Kind:
    return Kind(
        make=lambda folder: save_recording(make_swing(), folder / name),
        read=lambda folder: _show(folder / name),
        target=target or name,
    )


def _text(name: str, text: str, read: Callable[[Path], object]) -> Kind:
    return Kind(
        make=lambda folder: (folder / name).write_text(text),
        read=lambda folder: read(folder / name),
        target=name,
    )


def _read_twin(path: Path) -> object:
    twin = load_twin(path)
    _ = twin.space, twin.belief
    return inspect(twin.compiled.model, twin.datasheet, {})


def _make_twin(folder: Path) -> None:
    twin = load_twin("double_pendulum")
    named = twin.space.names[0]
    save_twin(
        twin.with_values({named: twin.space[named].nominal}), folder / "a.twin.yaml"
    )


def _make_belief(folder: Path) -> None:
    save_belief(load_twin("pendulum").belief, folder / "a.belief.yaml")


def _make_reality(folder: Path) -> None:
    text = (SHIPPED_FOLDER / "pendulum_3_worn.reality.yaml").read_text()
    (folder / "a.reality.yaml").write_text(text)


def _make_policy(folder: Path) -> None:
    from tests.policies.actors import actor, write

    write(folder / "a.onnx", actor(hidden=(8,)))


def _make_foreign_policy(folder: Path) -> None:
    """The same without our metadata, its contract beside it."""
    import onnx

    _make_policy(folder)
    contract = load_contract(folder / "a.onnx")
    model = onnx.load(folder / "a.onnx")
    del model.metadata_props[:]
    onnx.save(model, folder / "a.onnx")
    save(folder / "a.contract.yaml", contract)


def _read_policy(folder: Path) -> object:
    assist(folder / "a.onnx")
    load_policy(folder / "a.onnx", engine="numpy")
    return load_policy(folder / "a.onnx")


def _make_bag2(storage: str) -> Callable[[Path], object]:
    from tests.recordings.importers.test_rosbag import imu, joints, write_bag

    def make(folder: Path) -> None:
        messages = [
            (topic, 0.01 * k, message)
            for k in range(6)
            for topic, message in (
                ("/joint_states", joints(0.01 * k, [0.1 * k, 0.0], [1.0, 0.0])),
                ("/imu", imu(0.01 * k, 0.5)),
            )
        ]
        write_bag(folder / "bag", messages, storage)

    return make


def _make_bag1(folder: Path) -> None:
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    types = store.types
    kind = "sensor_msgs/msg/JointState"
    with Writer(folder / "a.bag") as writer:
        connection = writer.add_connection("/joint_states", kind, typestore=store)
        for k in range(6):
            stamp = types["builtin_interfaces/msg/Time"](sec=1, nanosec=k * 10**7)
            header = types["std_msgs/msg/Header"](seq=k, stamp=stamp, frame_id="")
            message = types[kind](
                header=header,
                name=["elbow"],
                position=np.array([0.1 * k]),
                velocity=np.array([1.0]),
                effort=np.array([]),
            )
            data = store.serialize_ros1(message, kind)
            writer.write(connection, 10**9 + k * 10**7, data)


def _make_lerobot(folder: Path) -> None:
    from tests.recordings.importers.test_lerobot import write_dataset

    write_dataset(folder / "pick", "v3.0")


def _read_lerobot(folder: Path) -> object:
    source = SignalSource("observation.state.elbow_flex.pos", scale=0.01745)
    sidecar = Sidecar(mapping={"elbow_flex.position": source})
    return _show(folder / "pick", "lerobot", sidecar)


def _make_so101(folder: Path) -> None:
    cells = '"[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]"'
    for name, headings in (
        ("state_motor", "positions,velocities,torques"),
        ("control", "positions"),
    ):
        lines = [
            ",".join([name, str(20000 * k), *[cells] * len(headings.split(","))])
            for k in range(5)
        ]
        text = "\n".join([f"type,timestamp,{headings}", *lines]) + "\n"
        (folder / f"{name}.csv").write_text(text)


def _make_bench(folder: Path) -> None:
    names = ("position", "speed", "goal_position", "load", "input_volts", "temp")
    entries = [
        {"timestamp": 0.01 * k, "torque_enable": True, **dict.fromkeys(names, 0.5 * k)}
        for k in range(5)
    ]
    log = {"mass": 0.5, "length": 0.1, "kp": 400.0, "vin": 7.5, "motor": "xl330"}
    log |= {"trajectory": "lift", "entries": entries}
    (folder / "a.json").write_text(json.dumps(log))


def _make_acrobot(folder: Path) -> None:
    names = [
        f"{n}{i}"
        for n in ("pos_meas", "vel_meas", "tau_con", "tau_meas")
        for i in (1, 2)
    ]
    rows = [",".join(f"{0.002 * k + 0.1 * i}" for i in range(9)) for k in range(6)]
    text = "\n".join([",".join(["time", *names]), *rows]) + "\n"
    (folder / "run.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def _make_pendulum(folder: Path) -> None:
    rows = "".join(f"{0.01 * k},{0.1 * k},1.0,{0.5 * k}\n" for k in range(6))
    for name in ("measured", "desired"):
        (folder / f"data_{name}.csv").write_text(
            "time,position,velocity,torque\n" + rows
        )


def _make_flight(folder: Path) -> None:
    from realworthy.recordings.importers.crazypad import MOTOR

    names = [str(entry.source) for entry in MOTOR.values()]
    rows = [",".join(str(0.01 * k + i) for i in range(len(names))) for k in range(6)]
    text = "\n".join([",".join(names), *rows]) + "\n"
    (folder / "motor_cf1_a.csv").write_text(text)


def _foreign(
    make: Callable[[Path], object], target: str, importer: str, whole: str = ""
):
    return Kind(make, lambda folder: _show(folder / whole, importer), target)


KINDS: dict[str, Kind] = {
    "csv": _format("run.csv"),
    "csv.gz": _format("run.csv.gz"),
    "npz": _format("run.npz"),
    "parquet": _format("run.parquet"),
    "mcap": _format("run.mcap"),
    "sidecar beside": _format("run.csv", "run.yaml"),
    "sidecar": Kind(
        lambda folder: save(folder / "a.yaml", SIDECAR),
        lambda folder: load_sidecar(folder / "a.yaml"),
        "a.yaml",
    ),
    "motion": _text(
        "a.csv",
        "time,elbow.position\n" + "".join(f"{k / 10},{k}\n" for k in range(9)),
        lambda path: load_motion(path),
    ),
    "twin": Kind(_make_twin, lambda f: _read_twin(f / "a.twin.yaml"), "a.twin.yaml"),
    "belief": Kind(
        _make_belief, lambda f: load_belief(f / "a.belief.yaml"), "a.belief.yaml"
    ),
    "reality": Kind(
        _make_reality, lambda f: load_reality(f / "a.reality.yaml"), "a.reality.yaml"
    ),
    "suite": Kind(
        lambda folder: save_suite(quick_suite(), folder / "a.suite.yaml"),
        lambda folder: load_suite(folder / "a.suite.yaml"),
        "a.suite.yaml",
    ),
    "urdf": _text("a.urdf", URDF, _read_twin),
    "mjcf": _text("a.xml", MJCF, _read_twin),
    "mjcf of a robot": _text(
        "a.xml", (BUILTIN_FOLDER / "quadruped.xml").read_text(), _read_twin
    ),
    "servo": _text(
        "a.json",
        json.dumps(
            {
                "actuator": "xl330",
                "model": "m1",
                "kt": 0.4,
                "R": 2.0,
                "armature": 0.01,
                "friction_base": 0.1,
            }
        ),
        lambda path: load_servo(path, joint="elbow", kp=400.0),
    ),
    "policy": Kind(_make_policy, _read_policy, "a.onnx"),
    "foreign policy": Kind(_make_foreign_policy, _read_policy, "a.onnx"),
    "contract": Kind(_make_foreign_policy, _read_policy, "a.contract.yaml"),
    "ros 1": _foreign(_make_bag1, "a.bag", "rosbag", "a.bag"),
    "ros 2, sqlite": _foreign(_make_bag2("SQLITE3"), "bag/bag.db3", "rosbag", "bag"),
    "ros 2, mcap": _foreign(_make_bag2("MCAP"), "bag/bag.mcap", "rosbag", "bag"),
    "ros 2, metadata": _foreign(
        _make_bag2("SQLITE3"), "bag/metadata.yaml", "rosbag", "bag"
    ),
    "lerobot": Kind(
        _make_lerobot, _read_lerobot, "pick/data/chunk-000/file-000.parquet"
    ),
    "lerobot, info": Kind(_make_lerobot, _read_lerobot, "pick/meta/info.json"),
    "so101_sage": _foreign(_make_so101, "state_motor.csv", "so101_sage"),
    "bam_servos": _foreign(_make_bench, "a.json", "bam_servos"),
    "dfki_double_pendulum": _foreign(
        _make_acrobot, "run.csv.gz", "dfki_double_pendulum"
    ),
    "dfki_simple_pendulum": _foreign(
        _make_pendulum, "data_measured.csv", "dfki_simple_pendulum"
    ),
    "crazypad": _foreign(_make_flight, "motor_cf1_a.csv", "crazypad"),
}
