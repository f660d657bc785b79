"""The page of a diagnosis says what the diagnosis holds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from realworthy.diagnosis.diagnosis import Diagnosis, Shares, Verdict
from realworthy.reports import write_diagnosis

from .conftest import FIX, Parsed, read_page, with_recordings
from .test_gap import HOSTILE, decode


@pytest.fixture(scope="module")
def page(diagnosis: Diagnosis, tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    path = tmp_path_factory.mktemp("reports") / "page.html"
    write_diagnosis(diagnosis, path)
    return read_page(path)


def test_the_order_is_warnings_verdict_causes_plots(page: Parsed, diagnosis: Diagnosis):
    parts = [
        diagnosis.warnings[0],
        diagnosis.summary,
        "Causes of the gap",
        "The sign of a joint is inverted",
        "Dry friction is wrong",
        "Backlash in a gear",
        diagnosis.changes[0].size,
        diagnosis.next_experiment,
        "Robot and twin over time",
        diagnosis.detection_limit,
        diagnosis.notes["clock"],
    ]
    places = [page.text.index(part) for part in parts]
    assert places == sorted(places)


def test_every_finding_is_there(page: Parsed, diagnosis: Diagnosis):
    for cause in diagnosis.causes:
        for words in (cause.name, cause.evidence, cause.next_step, *cause.joints):
            assert words in page.text
    for change in diagnosis.changes:
        for words in (change.name, change.evidence, change.next_step):
            assert words in page.text
    assert diagnosis.interactions[0] in page.text
    assert "stribeck of joint (friction that is higher at rest)" in page.text
    assert "False-alarm rate: 0.4 %" in page.text


def test_numbers_are_those_of_the_diagnosis(page: Parsed, diagnosis: Diagnosis):
    shares, after = diagnosis.shares, diagnosis.after
    assert after is not None
    (estimate,) = diagnosis.causes[1].estimates
    loss = diagnosis.causes[1].task_loss
    assert loss is not None
    expected = [
        *(cause.share for cause in diagnosis.causes),
        *(end for cause in diagnosis.causes for end in cause.interval),
        *(estimate.value, estimate.nominal, *estimate.interval),
        *(loss.mean, *loss.interval),
        *(shares.interface, shares.parametric, shares.missing, shares.unexplained),
        diagnosis.gap.replay.position_rmse,
        after.replay.position_rmse,
        *after.replay.per_joint.values(),
    ]
    assert set(expected) <= set(page.values)
    assert "51 % of the gap (47 … 56 %)" in page.text
    assert "0.287 N·m 0.345 N·m 0.331 … 0.36 N·m" in page.text


def test_a_fix_can_be_copied_as_it_is(page: Parsed):
    assert page.blocks == [FIX]


def test_the_twin_put_right_is_drawn(page: Parsed, diagnosis: Diagnosis):
    after = diagnosis.after
    assert after is not None
    worst = max(after.recordings, key=lambda one: one.replay.position_rmse)
    lines = {str(trace["meta"]): trace["y"] for trace in page.figures[0]["data"]}
    assert set(lines) == {"real", "twin", "right"}
    assert decode(lines["right"]) == pytest.approx(worst.simulated[:, 0], abs=1e-6)


def test_a_log_put_right_is_drawn_beside_the_log(diagnosis: Diagnosis, tmp_path: Path):
    gap = diagnosis.gap
    turned = [
        replace(one, track=replace(one.track, position=-one.track.position))
        for one in gap.recordings
    ]
    told = replace(diagnosis, after=with_recordings(gap, turned))
    write_diagnosis(told, tmp_path / "page.html")
    lines = {
        str(trace["meta"]): decode(trace["y"])
        for trace in read_page(tmp_path / "page.html").figures[0]["data"]
    }
    assert set(lines) == {"real", "twin", "right", "mended"}
    assert np.array_equal(lines["mended"], -lines["real"])


def test_a_healthy_twin_has_no_causes(diagnosis: Diagnosis, tmp_path: Path):
    healthy = Diagnosis(
        twin="pendulum",
        verdict=Verdict.HEALTHY,
        summary="Nothing that these recordings could show is wrong.",
        causes=(),
        shares=Shares(interface=0, parametric=0, missing=0, unexplained=1),
        detection_limit="Delays below 4 ms.",
        gap=diagnosis.gap,
    )
    write_diagnosis(healthy, tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    assert "No fault found" in page.text
    assert "Where the gap comes from" not in page.text
    assert "What has changed" not in page.text
    assert "Warning" not in page.text


def test_an_interrupted_diagnosis_says_so_first(diagnosis: Diagnosis, tmp_path: Path):
    write_diagnosis(replace(diagnosis, is_partial=True), tmp_path / "page.html")
    text = read_page(tmp_path / "page.html").text
    assert text.index("Interrupted:") < text.index(diagnosis.warnings[0])


def test_hostile_words_stay_words(diagnosis: Diagnosis, tmp_path: Path):
    cause = replace(
        diagnosis.causes[0],
        name=HOSTILE,
        joints=(HOSTILE,),
        evidence=HOSTILE,
        next_step=HOSTILE,
        fix=HOSTILE,
    )
    told = replace(
        diagnosis,
        summary=HOSTILE,
        causes=(cause,),
        warnings=(HOSTILE,),
        notes={HOSTILE: HOSTILE},
    )
    write_diagnosis(told, tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    assert page.blocks == [HOSTILE]
    assert not any("alert(" in script for script in page.scripts)
    assert len(page.scripts) == 2
