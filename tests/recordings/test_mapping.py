from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from realworthy.errors import BadRecording, UnknownName
from realworthy.recordings import Sidecar, SignalSource, build_recording


def build(table: dict[str, list[float]], **mapping: SignalSource):
    named = {name.replace("__", "."): entry for name, entry in mapping.items()}
    arrays = {name: np.array(values, dtype=float) for name, values in table.items()}
    return build_recording(arrays, Sidecar(mapping=named), Path("run.csv"))


def test_value_is_sign_times_scale_times_source_plus_offset():
    recording = build(
        {"time": [0, 1, 2], "q": [10, 20, 40]},
        elbow__position=SignalSource(source="q", sign=-1, scale=0.1, offset=0.5),
    )
    assert_allclose(recording.signals["elbow.position"], [-0.5, -1.5, -3.5])
    assert list(recording.signals) == ["elbow.position"]


def test_a_late_measurement_is_moved_earlier_on_the_line_between_rows():
    # What the column says at t happened at t - 0.25, so at t we want its t + 0.25.
    recording = build(
        {"time": [0, 1, 2, 3], "a.velocity": [0, 4, 8, 0], "a.position": [5, 6, 7, 8]},
        a__velocity=SignalSource(delay=0.25),
    )
    assert_array_equal(recording.time, [0, 1, 2])
    assert_allclose(recording.signals["a.velocity"], [1, 5, 6])
    assert_array_equal(recording.signals["a.position"], [5, 6, 7])


def test_a_late_command_is_moved_earlier_in_steps():
    recording = build(
        {"time": [0, 1, 2, 3], "a.command": [10, 20, 30, 40]},
        a__command=SignalSource(delay=1.5),
    )
    assert_array_equal(recording.time, [0, 1])
    assert_array_equal(recording.signals["a.command"], [20, 30])


def test_a_negative_delay_cuts_the_beginning():
    recording = build(
        {"time": [0, 1, 2, 3], "a.position": [0, 4, 8, 0]},
        a__position=SignalSource(delay=-0.5),
    )
    assert_array_equal(recording.time, [1, 2, 3])
    assert_allclose(recording.signals["a.position"], [2, 6, 4])


def test_the_clock_can_be_mapped():
    recording = build(
        {"stamp_ms": [500, 1500, 2500], "a.position": [1, 2, 3]},
        time=SignalSource(source="stamp_ms", scale=1e-3, offset=-0.5, delay=0.125),
    )
    assert_allclose(recording.time, [-0.125, 0.875, 1.875])


def test_two_columns_can_change_places():
    recording = build(
        {"time": [0, 1], "a.position": [1, 2], "b.position": [3, 4]},
        a__position=SignalSource(source="b.position"),
        b__position=SignalSource(source="a.position"),
    )
    assert_array_equal(recording.signals["a.position"], [3, 4])
    assert_array_equal(recording.signals["b.position"], [1, 2])


def test_a_mapped_signal_takes_the_place_of_a_column_of_its_name():
    recording = build(
        {"time": [0, 1], "raw": [1, 2], "a.position": [3, 4]},
        a__position=SignalSource(source="raw"),
    )
    assert_array_equal(recording.signals["a.position"], [1, 2])


def test_a_missing_source_is_answered_with_the_nearest():
    with pytest.raises(UnknownName) as caught:
        build(
            {"time": [0, 1], "elbow_deg": [1, 2]},
            elbow__position=SignalSource(source="elbow_dgr"),
        )
    assert str(caught.value) == (
        "'run.csv' has no column 'elbow_dgr'.\n"
        "  Nearest: 'elbow_deg'. The mapping of 'elbow.position' asks for it."
    )


def test_a_table_without_a_clock_is_refused():
    with pytest.raises(BadRecording) as caught:
        build({"t": [0, 1], "a.position": [1, 2]})
    assert str(caught.value) == (
        "'run.csv' has no column 'time'.\n"
        "  Name the clock in seconds 'time', or say in the sidecar, run.yaml beside "
        "it: mapping: {time: {source: t}}. To have a whole mapping proposed: "
        "realworthy convert run.csv --map TWIN --output recordings"
    )


def test_a_clock_whose_name_tells_its_unit_is_offered_in_seconds():
    with pytest.raises(BadRecording, match=r"\{source: stamp_us, unit: us\}"):
        build({"stamp_us": [0, 1], "a.position": [1, 2]})


def test_delays_longer_than_the_recording_are_refused():
    with pytest.raises(BadRecording, match="covers 1 s, too little for its delays"):
        build({"time": [0, 1], "a.b": [1, 2]}, a__b=SignalSource(delay=5.0))


def test_an_applied_mapping_moves_to_the_notes():
    recording = build({"time": [0, 1], "q": [1, 2]}, a__b=SignalSource(source="q"))
    assert recording.sidecar.mapping == {}
    assert recording.sidecar.notes == {"applied_mapping": {"a.b": {"source": "q"}}}
