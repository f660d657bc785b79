"""A whole tour, small; and what it says of itself."""

import json
from pathlib import Path

import pytest

from realworthy.certification.certificate.results import to_share
from realworthy.cli.tour import to_tree
from realworthy.errors import RealworthyError, UnknownName
from realworthy.tours import (
    ROBOTS,
    Tour,
    TourSettings,
    TourVerdict,
    quick_tour,
    tour,
)
from realworthy.tours.run import tour_suite
from realworthy.tours.tour import PolicyResult
from realworthy.tours.training import Way, choose_worlds
from realworthy.twins import load_twin


def fare(way: Way, successes: int) -> PolicyResult:
    return PolicyResult(
        way=way,
        simulated=0.9,
        certificate=None,  # pyright: ignore[reportArgumentType]
        real=to_share(successes, 200),
        trials=None,
    )


@pytest.mark.parametrize(
    ("nominal", "calibrated", "verdict"),
    [
        (100, 190, TourVerdict.HELPED),
        (185, 190, TourVerdict.UNSURE),
        (190, 185, TourVerdict.UNSURE),
        (190, 100, TourVerdict.HARMED),
    ],
)
def test_a_difference_is_claimed_where_intervals_part(nominal, calibrated, verdict):
    taken = Tour(robot=ROBOTS["pendulum"], seed=0, folder=Path())
    taken.fared = (fare(Way.NOMINAL, nominal), fare(Way.CALIBRATED, calibrated))
    assert taken.verdict is verdict
    parts = "do not overlap" in taken.verdict.sentence
    assert parts is (verdict is not TourVerdict.UNSURE)


def test_a_quick_tour_judges_nothing():
    taken = Tour(robot=ROBOTS["pendulum"], seed=0, folder=Path(), note="quick")
    taken.fared = (fare(Way.NOMINAL, 100), fare(Way.CALIBRATED, 190))
    assert taken.verdict is TourVerdict.UNJUDGED
    assert "overlap" not in taken.verdict.sentence


def test_the_gap_is_what_simulation_promised_too_much():
    assert fare(Way.WIDE, 100).gap == pytest.approx(0.4)


def test_ways_differ_in_what_they_draw():
    twin = load_twin("pendulum")
    assert choose_worlds(twin, Way.NOMINAL).belief is None
    wide = choose_worlds(twin, Way.WIDE).belief
    assert wide is not None
    assert wide.sd["pendulum.mass"] > 0.2 * twin.space["pendulum.mass"].nominal
    with pytest.raises(RealworthyError, match="not calibrated"):
        choose_worlds(twin, Way.CALIBRATED)


def test_another_robot_or_a_used_folder_is_refused(tmp_path: Path):
    with pytest.raises(UnknownName, match="pendulum"):
        tour("unicycle", output=tmp_path / "new")
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(RealworthyError, match=r"not empty.\n.*or remove this one"):
        tour("pendulum", output=tmp_path)


def test_certificates_of_a_tour_hear_another_engine():
    engines = {cell.condition.engine for cell in tour_suite(40).cells}
    assert "sapien" in engines


def test_only_a_quick_tour_says_that_it_is_one():
    assert TourSettings().note == ""
    assert "3 % of their training" in quick_tour().note


@pytest.mark.slow
def test_a_quick_tour_ends_on_a_page(tmp_path: Path):
    """Policies that learned next to nothing; every step of the loop is real."""
    from realworthy.tours.page import write_tour

    told: list[str] = []
    taken = tour(
        "pendulum",
        output=tmp_path / "t",
        settings=quick_tour(),
        progress=lambda _, stage: told.append(stage.partition(":")[0]),
    )
    assert {"record", "measure", "excite", "calibrate", "train", "deploy"} <= {*told}
    assert [each.way for each in taken.fared] == list(Way)
    assert taken.gap_after < 0.05 * taken.gap_before
    assert taken.gap_again is not None
    assert taken.gap_again < 0.5 * taken.gap_before
    for one in taken.estimates:
        if one.name in taken.truth:
            assert abs(one.mean - one.truth) < 4 * one.sd + 0.05 * abs(one.truth)
    assert all(each.trials is not None for each in taken.fared)
    tree = to_tree(taken)
    assert tree["truth"] == taken.truth
    page = tmp_path / "page.html"
    write_tour(taken, page)
    text = page.read_text()
    assert "Hidden parameters" in text
    assert taken.note.startswith("A quick tour")
    assert taken.note in text
    assert len(taken.list_unseen()) == 2
    assert set(taken.processor) == set(taken.seconds)
    assert taken.processor["train"] > 1.0
    assert page.stat().st_size < 6e6
    json.dumps(tree["seconds"])
