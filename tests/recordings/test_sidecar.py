from pathlib import Path

import pytest

from realworthy import artefacts
from realworthy.errors import BadFile
from realworthy.recordings import (
    Gains,
    Sidecar,
    SignalNoise,
    SignalSource,
    load_sidecar,
)
from realworthy.recordings.sidecar import from_json, overlay, sidecar_path, to_json

FULL = Sidecar(
    twin="pendulum",
    command_kind="torque",
    rate=200.0,
    gains={"joint": Gains(kp=12.5, kd=0.1)},
    noise=SignalNoise(position=1e-4),
    velocity_filter_hz=30.0,
    repeat_group="swing",
    mapping={"joint.position": SignalSource(source="q", sign=-1, delay=0.01)},
    notes={"room": "cold", "weights": [1, 2.5], "inside": {"a": None}},
)


def test_a_sidecar_survives_yaml_and_json(tmp_path: Path):
    artefacts.save(tmp_path / "run.yaml", FULL)
    assert load_sidecar(tmp_path / "run.yaml") == FULL
    assert from_json(to_json(FULL), tmp_path / "run.npz") == FULL


def test_an_empty_sidecar_is_its_schema_alone():
    assert artefacts.to_yaml(Sidecar()) == "schema: 1\n"


def test_every_key_is_optional(tmp_path: Path):
    (tmp_path / "run.yaml").write_text("rate: 50\n")
    assert load_sidecar(tmp_path / "run.yaml") == Sidecar(rate=50.0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("twinn: pendulum", "there is no key 'twinn'."),
        ("command_kind: duty", "command_kind: 'duty' is not one of the choices."),
        ("mapping: {a: {sign: 2}}", "mapping.a.sign: 2 is not one of the choices."),
        ("schema: 9", "schema 9 is newer than this Realworthy reads (1)."),
    ],
)
def test_a_wrong_key_or_value_is_named(tmp_path: Path, text: str, problem: str):
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(BadFile) as caught:
        load_sidecar(path)
    assert caught.value.problem == f"{path}: {problem}"


def test_a_newer_embedded_sidecar_is_refused():
    with pytest.raises(BadFile, match="schema 2; this Realworthy reads 1"):
        from_json('{"schema": 2}', Path("run.npz"))


def test_the_sidecar_of_a_gzipped_table_drops_both_endings():
    assert sidecar_path(Path("a/run.v2.csv.gz")) == Path("a/run.v2.yaml")
    assert sidecar_path(Path("a/dataset")) == Path("a/dataset.yaml")


def test_the_users_keys_go_over_the_layouts():
    base = Sidecar(rate=50.0, twin="a", notes={"x": 1, "y": 1})
    top = Sidecar(twin="b", notes={"y": 2})
    assert overlay(base, top) == Sidecar(rate=50.0, twin="b", notes={"x": 1, "y": 2})
