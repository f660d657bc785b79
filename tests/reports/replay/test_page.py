"""Pages of gaps hold one replay: of the worst recording, in words and in shapes."""

from dataclasses import replace
from pathlib import Path

from realworthy.gap import Gap
from realworthy.reports import write_gap
from realworthy.reports.measure.view import GapView

from ..conftest import read_page, soften, with_recordings


def test_the_worst_recording_is_in_motion(gap: Gap, tmp_path: Path):
    first, second = gap.recordings
    worse = replace(second.replay, position_rmse=10 * first.replay.position_rmse)
    shown = with_recordings(gap, [first, replace(second, replay=worse)])
    write_gap(shown, tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    (scene,) = page.scenes
    assert [robot["role"] for robot in scene["robots"]] == ["real", "twin"]  # type: ignore[attr-defined]
    assert "swing_2: the same commands from the same start" in page.text
    assert "The twin is farthest from the robot at" in page.text
    buttons = [known for tag, known in page.tags if tag == "button"]
    assert all(known["type"] == "button" for known in buttons)
    (slider,) = (k for tag, k in page.tags if tag == "input" and k["type"] == "range")
    assert slider["aria-label"] == "Time"
    assert float(slider["max"] or 0) == max(scene["time"])  # type: ignore[call-overload]


def test_the_mended_twin_moves_beside(gap: Gap):
    after = with_recordings(gap, [soften(one, 0.25) for one in gap.recordings])
    replay = GapView(gap, after).replay
    assert replay is not None
    assert [motion.label for motion in replay.motions] == [
        "robot",
        "twin",
        "corrected twin",
    ]
