"""The page of a tour says what its file for programs says."""

from pathlib import Path

import pytest

from realworthy.gap import measure
from realworthy.realities import RealityFile, make_reality
from realworthy.recordings import save_recording
from realworthy.reports.elements.numbers import PageTable
from realworthy.tours import ROBOTS
from realworthy.tours.hidden_truth import record_sines
from realworthy.tours.page import TourView
from realworthy.tours.tour import Tour
from realworthy.tours.trials import RealTrials
from realworthy.twins import load_twin, save_twin


def test_gaps_are_of_all_unseen_recordings(tmp_path: Path):
    robot, twin = ROBOTS["pendulum"], load_twin("pendulum")
    file = RealityFile(schema=1, twin="pendulum", parameters={"joint.damping": 0.3})
    real = make_reality("hidden", file)
    unseen = record_sines(robot, real, count=2, seconds=2.0)
    (tmp_path / "recordings").mkdir()
    for i, one in enumerate(unseen, 1):
        save_recording(one, tmp_path / "recordings" / f"unseen_{i}.npz")
    save_twin(twin, tmp_path / "calibrated.twin.yaml")
    before = measure(twin, unseen).replay.position_rmse
    tour = Tour(robot=robot, seed=0, folder=tmp_path, unit="rad", gap_before=before)
    view = TourView(tour)
    assert view.gap.gap.replay.position_rmse == pytest.approx(before)
    assert view.gap.gap.replay.position_rmse > 0
    assert "unseen_1 and unseen_2" in view.gap_words
    assert [one.name for one in view.gap.gap.recordings] == ["unseen_1", "unseen_2"]
    assert "trials" not in view.gap_words
    tour.gap_again = 0.0173
    said = view.gap_words.replace("\N{NO-BREAK SPACE}", " ")
    assert "predictions 0.5 s ahead are off by 0.0173 rad." in said


def test_a_long_reason_may_take_several_lines():
    trials = RealTrials(successes=(), recordings=(), refusal="clock: 0.769 times ours")
    table = PageTable(caption="", columns=("",), rows=((trials.summary,),))
    assert table.is_prose(trials.summary)
    assert not table.is_prose("calibrated")
