"""What the banner says."""

from realworthy.recordings import Recording
from realworthy.reports.view.panel import describe
from realworthy.reports.view.play import EpisodeVerdict
from realworthy.reports.view.session import build_session
from realworthy.twins import load_twin


def test_it_says_how_the_last_episode_ended_and_how_many_did_well():
    session = build_session(load_twin("pendulum"), task="pendulum")
    session.verdict = EpisodeVerdict("fell after 2.3 s", is_good=False)
    session.good_count, session.bad_count = 3, 1
    session.set_value("joint.damping", 0.06)
    said = describe(session, 1.0)
    assert "by its reference controller" in said
    assert "Fell after 2.3 s" in said
    assert "3 of 4 episodes succeeded" in said
    assert "1 number of e off nominal" in said
    assert "Slower" not in said


def test_it_says_when_real_time_is_not_held():
    session = build_session(load_twin("pendulum"))
    assert "Slower than asked: 60% of the speed" in describe(session, 0.6)
    session.is_playing = False
    assert "Slower" not in describe(session, 0.6)
    assert "paused" in describe(session, 0.6)


def test_names_from_files_are_shown_as_text(swing: Recording):
    session = build_session(load_twin("pendulum"), recordings=[swing])
    session.play.about = "<script>alert(1)</script>"
    assert "<script>" not in describe(session, 1.0)
