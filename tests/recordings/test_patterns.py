"""One entry of a mapping for many signals."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import BadFile, BadRecording
from realworthy.recordings import (
    Recording,
    Sidecar,
    SignalSource,
    build_recording,
    load_sidecar,
)


def build(
    columns: list[str], mapping: dict[str, SignalSource], joints: tuple[str, ...] = ()
) -> Recording:
    """Column k holds k and k + 1."""
    table = {"time": np.array([0.0, 1.0])}
    table |= {c: np.array([k, k + 1.0]) for k, c in enumerate(columns)}
    return build_recording(table, Sidecar(mapping=mapping, joints=joints))


def first(recording: Recording) -> dict[str, float]:
    return {name: float(values[0]) for name, values in recording.signals.items()}


@pytest.mark.parametrize("start", [0, 1, 7])
def test_numbered_columns_follow_the_order_of_the_joints(start: int):
    columns = [f"q_{start + k}" for k in range(3)]
    recording = build(
        columns, {"*.position": SignalSource(source="q_{i}")}, ("hip", "knee", "toe")
    )
    assert first(recording) == {
        "hip.position": 0,
        "knee.position": 1,
        "toe.position": 2,
    }


def test_ten_joints_are_counted_as_numbers_and_not_as_words():
    joints = tuple("abcdefghijk")
    columns = [f"q{k}" for k in range(11)]
    recording = build(columns, {"*.position": SignalSource(source="q{i}")}, joints)
    assert first(recording)["c.position"] == 2
    assert first(recording)["k.position"] == 10


def test_a_star_in_the_source_is_the_joint():
    recording = build(
        ["deg_hip", "deg_knee", "temp"],
        {"*.position": SignalSource(source="deg_*", scale=2.0)},
    )
    assert first(recording) == {"hip.position": 0, "knee.position": 2, "temp": 2}


def test_without_a_source_columns_have_their_names_and_other_units():
    recording = build(
        ["a.position", "b.position", "b.velocity"],
        {"*.position": SignalSource(unit="deg")},
    )
    assert first(recording)["b.position"] == pytest.approx(np.pi / 180)
    assert first(recording)["b.velocity"] == 2


def test_an_entry_of_its_own_goes_over_the_pattern():
    recording = build(
        ["q0", "q1"],
        {
            "*.position": SignalSource(source="q{i}"),
            "b.position": SignalSource(source="q1", sign=-1),
        },
        ("a", "b"),
    )
    assert first(recording) == {"a.position": 0, "b.position": -1}


def test_what_was_applied_is_kept_for_each_signal():
    recording = build(["q0"], {"*.position": SignalSource(source="q{i}")}, ("a",))
    assert recording.sidecar.joints == ()
    assert recording.sidecar.notes["applied_mapping"] == {
        "a.position": {"source": "q0"}
    }


@pytest.mark.parametrize(
    ("source", "joints", "said"),
    [
        ("q_{i}", (), "does not say in which order"),
        ("q_{i}", ("a",), "numbered 0 to 1, and the sidecar has 1 joints"),
        ("z_{i}", ("a", "b"), "no column like 'z_{i}'"),
        ("q_*_{i}", ("a", "b"), "no pattern that can be read"),
    ],
)
def test_patterns_that_cannot_be_read_say_why(
    source: str, joints: tuple[str, ...], said: str
):
    with pytest.raises(BadRecording, match=said.replace("{", r"\{")):
        build(["q_0", "q_1"], {"*.position": SignalSource(source=source)}, joints)


def test_a_star_without_quotes_is_explained(tmp_path: Path):
    path = tmp_path / "run.yaml"
    path.write_text("mapping:\n  *.position: {unit: deg}\n")
    with pytest.raises(BadFile, match=r'stands in quotes: "\*\.position"'):
        load_sidecar(path)
