from pathlib import Path

import numpy as np
import pytest

from realworthy.recordings import Recording, Sidecar, distinct_names, summary


def test_summary_of_a_known_recording(swing: Recording):
    found = summary(swing.with_sidecar(Sidecar(command_kind="position")))
    assert (found.name, found.row_count, found.gap_count) == ("swing", 400, 0)
    assert found.duration == pytest.approx(3.99)
    assert found.joints == ("elbow", "wrist")
    assert found.is_regular
    assert found.suspicions == ()
    elbow = found.signals[0]
    assert (elbow.name, elbow.unit) == ("elbow.position", "rad")
    assert (elbow.minimum, elbow.maximum) == pytest.approx((-1.0, 1.0))
    assert elbow.rms == pytest.approx(np.sqrt(0.5))  # a whole number of waves
    assert found.signals[2].unit == "rad"


def test_names_are_told_apart_by_their_folders():
    def at(path: str) -> Recording:
        return Recording(np.arange(2.0), {}, source=Path(path))

    assert distinct_names([at("a/x/run.csv"), at("a/x/walk.csv.gz")]) == ["run", "walk"]
    assert distinct_names([at("a/x/run.csv"), at("a/y/run.csv")]) == ["x_run", "y_run"]
    assert distinct_names([at("run.csv"), at("run.csv")]) == ["run_0", "run_1"]
