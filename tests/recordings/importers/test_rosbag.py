"""Bags written here with rosbags, read back as recordings."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from realworthy.errors import BadFile, MissingExtra
from realworthy.recordings import Sidecar, SignalSource, load_recording

rosbag2 = pytest.importorskip("rosbags.rosbag2")
typesys = pytest.importorskip("rosbags.typesys")

STORE = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
START = 1_700_000_000
NS = 10**9


def make(kind: str, **fields: object) -> object:
    return STORE.types[kind](**fields)


def header(seconds: float) -> object:
    sec = START + int(seconds)
    nanosec = round(seconds % 1 * NS)
    stamp = make("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
    return make("std_msgs/msg/Header", stamp=stamp, frame_id="")


def joints(seconds: float, position: list[float], velocity: list[float]) -> object:
    return make(
        "sensor_msgs/msg/JointState",
        header=header(seconds),
        name=["elbow", "wrist"],
        position=np.array(position, dtype=float),
        velocity=np.array(velocity, dtype=float),
        effort=np.array([]),
    )


def array(values: list[float]) -> object:
    layout = make("std_msgs/msg/MultiArrayLayout", dim=[], data_offset=0)
    return make("std_msgs/msg/Float64MultiArray", layout=layout, data=np.array(values))


def imu(seconds: float, gyro_z: float) -> object:
    def vector(z: float) -> object:
        return make("geometry_msgs/msg/Vector3", x=0.0, y=0.0, z=z)

    return make(
        "sensor_msgs/msg/Imu",
        header=header(seconds),
        orientation=make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0),
        orientation_covariance=np.zeros(9),
        angular_velocity=vector(gyro_z),
        angular_velocity_covariance=np.zeros(9),
        linear_acceleration=vector(9.81),
        linear_acceleration_covariance=np.zeros(9),
    )


Message = tuple[str, float, object]


def write_bag(
    path: Path, messages: list[Message], storage: str = "SQLITE3", late: float = 0.003
) -> Path:
    """Each message is (topic, seconds, content), written `late` after its stamp."""
    plugin = rosbag2.StoragePlugin[storage]
    with rosbag2.Writer(path, version=9, storage_plugin=plugin) as writer:
        connections = {}
        for topic, seconds, message in messages:
            kind = message.__msgtype__  # pyright: ignore[reportAttributeAccessIssue]
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=STORE)
            data = STORE.serialize_cdr(message, kind)
            logged = START * NS + round((seconds + late) * NS)
            writer.write(connections[topic], logged, data)
    return path


def swing(count: int = 20) -> list[Message]:
    """Joint states at 10 Hz, elbow at t rad, wrist at -t rad."""
    times = [i / 10 for i in range(count)]
    return [("/joint_states", t, joints(t, [t, -t], [1.0, -1.0])) for t in times]


@pytest.mark.parametrize("storage", ["SQLITE3", "MCAP"])
def test_joint_states_become_signals(tmp_path: Path, storage: str):
    bag = write_bag(tmp_path / "bag", swing(), storage)
    recording = load_recording(bag, "rosbag")
    assert recording.joints == ("elbow", "wrist")
    assert_allclose(recording.time, np.arange(20) / 10, atol=1e-9)
    assert_allclose(recording.signals["wrist.position"], -np.arange(20) / 10)
    assert "elbow.torque" not in recording.signals  # efforts were empty
    assert recording.sidecar.notes["start_unix_s"] == START
    assert recording.sidecar.notes["clock"] == {"/joint_states": "header"}


def test_slow_commands_and_fast_gyros_come_onto_the_joints_clock(tmp_path: Path):
    messages = [
        *swing(),
        ("/servo/commands", 0.447, array([5.0, 6.0])),
        ("/servo/commands", 1.147, array([7.0, 8.0])),
        *[("/imu/data", i / 50, imu(i / 50, i / 50)) for i in range(100)],
    ]
    mapping = {"elbow.command": SignalSource("servo_commands.command.0")}
    bag = write_bag(tmp_path / "bag", messages)
    recording = load_recording(bag, "rosbag", sidecar=Sidecar(mapping=mapping))
    # No command before 0.45 s (written 3 ms late), then 5 until 1.15 s, then 7.
    assert_allclose(recording.time, np.arange(5, 20) / 10, atol=1e-9)
    assert_array_equal(recording.signals["elbow.command"], [5.0] * 7 + [7.0] * 8)
    assert_allclose(recording.signals["imu_data.gyro.z"], recording.time, atol=1e-9)
    assert_allclose(recording.signals["imu_data.accelerometer.z"], 9.81)
    assert recording.sidecar.notes["clock"] == {
        "/joint_states": "header",
        "/servo/commands": "log",
        "/imu/data": "header",
    }


def test_joint_states_on_a_command_topic_are_commands(tmp_path: Path):
    commands = [("/joint_commands", t, joints(t, [1, 2], [])) for t in (0.0, 0.5)]
    bag = write_bag(tmp_path / "bag", [*swing(), *commands])
    recording = load_recording(bag, "rosbag")
    assert_array_equal(recording.signals["wrist.command"], 2.0)
    assert recording.joints == ("elbow", "wrist")


def test_stamps_of_another_clock_give_way_to_the_time_of_writing(tmp_path: Path):
    bag = write_bag(tmp_path / "bag", swing(), late=1e6)
    recording = load_recording(bag, "rosbag")
    assert recording.sidecar.notes["clock"] == {"/joint_states": "log"}
    assert_allclose(recording.time, np.arange(20) / 10, atol=1e-6)


def test_velocities_that_are_always_nan_are_left_out_and_noted(tmp_path: Path):
    nan = float("nan")
    messages = [
        ("/joint_states", t, joints(t, [t, t], [nan, 1])) for t in (0, 0.1, 0.2)
    ]
    recording = load_recording(write_bag(tmp_path / "bag", messages), "rosbag")
    assert list(recording.signals) == (
        ["elbow.position", "wrist.position", "wrist.velocity"]
    )
    assert recording.sidecar.notes["/joint_states"] == {
        "always_nan": ["elbow.velocity"]
    }


def test_a_repeated_message_is_dropped_and_counted(tmp_path: Path):
    messages = swing(5)
    bag = write_bag(tmp_path / "bag", [*messages[:3], messages[2], *messages[3:]])
    recording = load_recording(bag, "rosbag")
    assert len(recording.time) == 5
    assert recording.sidecar.notes["/joint_states"] == {
        "dropped_rows": {"not_finite": 0, "time_not_increasing": 1}
    }


def test_a_bag_without_known_messages_is_refused(tmp_path: Path):
    text = make("std_msgs/msg/String", data="hello")
    bag = write_bag(tmp_path / "bag", [("/chatter", 0.0, text)])
    with pytest.raises(BadFile, match="it has no JointState, Imu or Float64"):
        load_recording(bag, "rosbag")


def test_the_storage_file_stands_for_its_bag(tmp_path: Path):
    bag = write_bag(tmp_path / "bag", swing())
    file = next(bag.glob("*.db3"))
    whole = load_recording(bag, "rosbag")
    assert load_recording(file, "rosbag").sha256() == whole.sha256()


def test_ros_1_bags_are_read_too(tmp_path: Path):
    rosbag1 = pytest.importorskip("rosbags.rosbag1")
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    kind = "sensor_msgs/msg/JointState"
    time_type = store.types["builtin_interfaces/msg/Time"]
    with rosbag1.Writer(tmp_path / "run.bag") as writer:
        connection = writer.add_connection("/joint_states", kind, typestore=store)
        for i in range(5):
            stamp = time_type(sec=START + i, nanosec=0)
            top = store.types["std_msgs/msg/Header"](seq=i, stamp=stamp, frame_id="")
            message = store.types[kind](
                header=top,
                name=["elbow"],
                position=np.array([float(i)]),
                velocity=np.array([]),
                effort=np.array([2.0 * i]),
            )
            data = store.serialize_ros1(message, kind)
            writer.write(connection, (START + i) * NS, data)
    recording = load_recording(tmp_path / "run.bag", "rosbag")
    assert_allclose(recording.time, range(5), atol=1e-9)
    assert recording.signals["elbow.torque"].tolist() == [0, 2, 4, 6, 8]


def test_without_rosbags_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    bag = write_bag(tmp_path / "bag", swing())
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    with pytest.raises(MissingExtra) as caught:
        load_recording(bag, "rosbag")
    assert str(caught.value) == (
        "Reading ROS bags needs rosbags, which is not installed.\n"
        "  Try: pip install 'realworthy[ros]'"
    )


def test_a_damaged_bag_is_refused(tmp_path: Path):
    bag = write_bag(tmp_path / "bag", swing())
    next(bag.glob("*.db3")).write_bytes(b"")
    with pytest.raises(BadFile, match="it is not a whole ROS bag"):
        load_recording(bag, "rosbag")


def test_a_topic_that_repeats_another_is_left_out_and_noted(tmp_path: Path):
    again = [("/joint_states_filtered", t, joints(t, [9, 9], [])) for t in (0.0, 1.0)]
    recording = load_recording(
        write_bag(tmp_path / "bag", [*swing(), *again]), "rosbag"
    )
    assert recording.signals["elbow.position"].max() < 2
    assert recording.sidecar.notes["left_out"] == ["/joint_states_filtered"]
