import numpy as np

from realworthy.recordings import Recording, Sidecar, suspicions
from realworthy.recordings.sidecar import SignalSource, load_sidecar
from realworthy.recordings.suspicions import to_paste


def test_a_rate_that_is_not_the_rows_is_told(swing: Recording):
    (found,) = suspicions(swing.with_sidecar(Sidecar(rate=60.0)))
    assert found.text == "the sidecar says 60 Hz, the rows come at 100 Hz."
    assert suspicions(swing.with_sidecar(Sidecar(rate=99.0))) == []


def test_lost_rows_are_counted(swing: Recording):
    keep = ~np.isin(np.arange(400), [100, 101, 102, 300, 301])
    signals = {name: values[keep] for name, values in swing.signals.items()}
    (found,) = suspicions(Recording(swing.time[keep], signals))
    assert found.text == (
        "2 steps take more than 2.5 periods, the first after 0.99 s, the longest "
        "0.04 s: rows may be missing."
    )


def test_an_orientation_away_from_unit_length_is_told():
    parts = {f"base.orientation.{axis}": np.zeros(5) for axis in "xyz"}
    time = np.arange(5) / 10
    whole = Recording(time, {"base.orientation.w": np.ones(5), **parts})
    half = Recording(time, {"base.orientation.w": np.full(5, 0.5), **parts})
    assert suspicions(whole) == []
    assert [s.text for s in suspicions(half)] == [
        "'base.orientation' is up to 0.5 away from unit length."
    ]


def test_what_is_to_be_pasted_is_read_back(tmp_path):
    mapping = {"a.position": SignalSource(source="q", sign=-1, scale=0.1)}
    (tmp_path / "run.yaml").write_text(to_paste(mapping))
    assert load_sidecar(tmp_path / "run.yaml").mapping == mapping
