import json
from pathlib import Path

import pytest
from mcap.reader import make_reader
from mcap.writer import Writer

from realworthy.errors import BadFile
from realworthy.recordings import Recording, load_recording, save_recording


def test_any_mcap_reader_sees_one_json_topic_per_element(
    swing: Recording, tmp_path: Path
):
    path = tmp_path / "run.mcap"
    save_recording(swing, path)
    with path.open("rb") as file:
        messages = list(make_reader(file).iter_messages(topics=["/elbow"]))
    schema, channel, message = messages[25]
    assert len(messages) == 400
    assert channel.message_encoding == "json"
    assert schema is not None
    assert schema.encoding == "jsonschema"
    assert set(json.loads(schema.data)["properties"]) == (
        {"position", "velocity", "command"}
    )
    assert json.loads(message.data)["position"] == 1.0  # sin(2π · 0.25 s)
    assert message.log_time == 250_000_000


def test_a_foreign_mcap_file_names_the_importer(tmp_path: Path):
    path = tmp_path / "run.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        writer.finish()
    with pytest.raises(BadFile) as caught:
        load_recording(path)
    assert str(caught.value) == (
        f"{path}: no Realworthy wrote this MCAP file.\n"
        "  A ROS 2 bag needs --importer rosbag."
    )
