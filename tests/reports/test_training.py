"""The page of a training says what the training holds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from realworthy.reports.elements.numbers import SPACE, Count, Span
from realworthy.reports.training.page import compare, write_training
from realworthy.reports.training.progress import choose_tone, list_chances, say_success
from realworthy.tasks.environment.evaluate import Evaluation
from realworthy.tasks.environment.variety import Range
from realworthy.tasks.randomization.randomization import Pushes

from .conftest import Parsed, read_page
from .test_gap import HOSTILE
from .trainings import (
    NO_VARIETY,
    VARIETY,
    make_evaluation,
    make_looks,
    make_training,
)


@pytest.fixture
def page(tmp_path: Path) -> Parsed:
    return show(tmp_path)


def show(tmp_path: Path, **changes: object) -> Parsed:
    path = tmp_path / "page.html"
    write_training(make_training(**changes), path, overwrite=True)
    return read_page(path)


def test_the_order_is_warnings_verdict_figures_way_worlds_folder(tmp_path: Path):
    page = show(tmp_path, warnings=("A disk was full.",))
    parts = [
        "A disk was full.",
        "Succeeds in 98.0 % of 256 unseen episodes (95.5 … 99.2 %).",
        "737,280 in 180 updates",
        "stopped at its target",
        "Training progress",
        "Cost of randomization",
        "How episodes failed",
        "Domain randomization",
        "Files of the run",
        "realworthy certify runs/walk/policy.onnx",
        "realworthy view quadruped --policy runs/walk/policy.onnx",
    ]
    places = [page.text.index(part) for part in parts]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("successes", "count", "tone"),
    [
        (251, 256, "good"),  # at least 95.5 %
        (235, 256, "attention"),  # 91.8 %, at least 87.8 %
        (120, 256, "bad"),
        (0, 256, "bad"),
        (2, 2, "open"),  # 34 … 100 %
    ],
)
def test_the_tone_follows_the_lower_end(
    tmp_path: Path, successes: int, count: int, tone: str
):
    judged = make_evaluation(successes, count)
    assert choose_tone(judged) == tone
    page = show(tmp_path, evaluation=judged)
    classes = [known.get("class") for tag, known in page.tags if tag == "section"]
    assert f"verdict {tone}" in classes


def test_one_failure_in_many_is_not_rounded_away():
    words = say_success(make_evaluation(3999, 4000)).replace(SPACE, " ")
    assert words == "Succeeds in 99.9 % of 4,000 unseen episodes (99.9 … 99.9 %)."


def test_where_no_episode_counts_none_is_judged(tmp_path: Path):
    none = Evaluation(
        returns=np.zeros(0),
        successes=np.zeros(0, bool),
        seconds=np.zeros(0),
        failures={},
        invalid_count=256,
    )
    page = show(tmp_path, evaluation=none)
    assert "The physics of all 256 unseen episodes diverged." in page.text
    assert "Too few episodes to decide" in page.text
    assert "difference – – – – – –" in page.text
    assert "not a number" not in page.text


def test_what_it_cost_is_the_difference(page: Parsed):
    assert "as randomized 98 % 96 … 99 %" in page.text
    assert "nominal model 99.2 % 97 … 100 %" in page.text
    assert "difference −1.17 points" in page.text  # 251 less 254 of 256


def test_failures_are_counted_in_words(page: Parsed):
    assert "fall It fell 3 2" in page.text
    assert "no_progress It did not reach its goal in time 2 0" in page.text
    assert "Episodes in which the physics diverged are excluded" in page.text


def test_steps_that_diverged_are_told(tmp_path: Path):
    page = show(tmp_path, invalid_count=1234)
    assert "diverged in 1,234 training steps" in page.text
    assert "steps of practice" not in show(tmp_path).text


def test_noise_pushes_and_latency_are_told_in_words(page: Parsed):
    for words in (
        "move within an episode torso.mass, floor.friction",
        "standard deviation in SI units: position 0.0123, velocity 0.317",
        "every 2.5 … 4.25 s, from 1.5 s on, a speed changes by up to 0.53 m/s",
        "measurements are late by 0 … 0.02 s, drawn for every episode",
    ):
        assert words in page.text


def test_the_same_for_all_is_one_number():
    pushes = Pushes(speed=0.5, every=(3.0, 3.0))
    same = replace(VARIETY, pushes=pushes, latency=(0.02, 0.02))
    told = {what: "".join(map(str, parts)) for what, parts in list_chances(same)}
    assert told["pushes"].replace(SPACE, " ").startswith("every 3 s, a speed")
    assert told["latency"].replace(SPACE, " ") == "measurements are late by 0.02 s"


@pytest.mark.parametrize(
    ("nominal", "lower", "upper", "text"),
    [
        (2.0, 1.0, 5.0, "0.5 … 2.5 ×"),
        (-2.0, -3.0, -1.0, "0.5 … 1.5 ×"),
        (0.5, -0.5, 1.0, "−1 … 0.5 kg"),  # a multiple would change its sign
        (1.0, 0.9995, 1.0005, "−0.0005 … 0.0005 kg"),  # and here be 1 … 1
        (0.0, 0.1, 0.2, "–"),
    ],
)
def test_a_range_stands_beside_the_twin(
    nominal: float, lower: float, upper: float, text: str
):
    middle = (lower + upper) / 2
    one = Range(
        name="m", unit="kg", nominal=nominal, lower=lower, middle=middle, upper=upper
    )
    assert str(compare(one)).replace(SPACE, " ") == text


def test_narrow_ranges_keep_the_digits_that_differ(page: Parsed):
    assert "knee.damping N·m·s/rad 0.5835 0.5829 0.5835 0.5841" in page.text
    assert "floor.friction 1 0.8 0.431 0.791 1.21 0.539 … 1.52 ×" in page.text


def test_worlds_that_do_not_differ_are_said_so(tmp_path: Path):
    page = show(tmp_path, variety=NO_VARIETY)
    assert "Worlds do not differ: all are the nominal model" in page.text
    assert "What differs between worlds" not in page.text
    assert "What randomization costs" not in page.text
    noisy = show(tmp_path, variety=replace(NO_VARIETY, noise={".position": 0.01}))
    assert "Worlds do not differ" not in noisy.text
    assert "All worlds have the nominal parameters." in noisy.text
    assert "position 0.01" in noisy.text


@pytest.mark.parametrize("count", [1, 30, 200])
def test_looks_are_drawn_as_they_are(tmp_path: Path, count: int):
    looks = make_looks(count)
    (figure,) = show(tmp_path, looks=looks).figures
    success, reward = figure["data"]
    assert success["x"] == [look.step_count for look in looks]
    assert success["y"] == [look.success for look in looks]
    assert reward["y"] == [look.reward for look in looks]


def test_without_looks_there_is_no_chart(tmp_path: Path):
    page = show(tmp_path, looks=())
    assert page.figures == []
    assert "No evaluation during training was recorded." in page.text


def test_a_reward_that_is_no_number_leaves_a_hole(tmp_path: Path):
    looks = make_looks(3)
    looks = (looks[0], replace(looks[1], reward=float("nan")), looks[2])
    (figure,) = show(tmp_path, looks=looks).figures
    _, reward = figure["data"]
    assert reward["y"] == [looks[0].reward, None, looks[2].reward]


def test_commands_survive_a_folder_with_spaces(tmp_path: Path):
    page = show(tmp_path, folder="my runs/walk")
    assert page.blocks == [
        "realworthy certify 'my runs/walk/policy.onnx'",
        "realworthy view quadruped --policy 'my runs/walk/policy.onnx'",
    ]


def test_hostile_words_stay_words(tmp_path: Path):
    ranges = (replace(VARIETY.ranges[0], name=HOSTILE, unit=HOSTILE),)
    variety = replace(VARIETY, ranges=ranges, moving=(HOSTILE,), noise={HOSTILE: 0.1})
    page = show(
        tmp_path, task=HOSTILE, twin=HOSTILE, variety=variety, warnings=(HOSTILE,)
    )
    assert not any("alert(" in script for script in page.scripts)
    assert len(page.scripts) == 2


def test_counts_keep_every_digit():
    assert str(Count(1_048_577)) == "1,048,577"
    assert Count(1_048_577).__html__() == '<data value="1048577.0">1,048,577</data>'
    assert isinstance(compare(VARIETY.ranges[0]), Span)
