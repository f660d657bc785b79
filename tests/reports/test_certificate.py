"""The page of a certificate says what the certificate holds."""

import re
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.certification.certificate.certificate import Bounds, Certificate
from realworthy.certification.certificate.results import (
    MarginResult,
    ValidityRange,
)
from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.reports.certificate.limits import RangeTrack
from realworthy.reports.certificate.page import (
    build_certificate_page,
    write_certificate,
)
from realworthy.reports.certificate.wording import say_margin, say_verdict
from realworthy.reports.elements import page as pages
from realworthy.reports.elements.numbers import SuccessShare
from realworthy.reports.elements.wording import describe_end, describe_failure
from realworthy.tasks.failures import Failure

from .certificates import (
    CELLS,
    FALL,
    FINDINGS,
    MARGINS,
    VALIDITY,
    WORST,
    make_failed,
    play,
    save_replay,
)
from .conftest import Parsed
from .test_gap import HOSTILE, decode
from .test_page import contrast

replace = msgspec.structs.replace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the recording of the first failure."""
    place = tmp_path_factory.mktemp("certificate")
    save_replay(place)
    return place


@pytest.fixture(scope="module")
def failed() -> Certificate:
    return make_failed()


@pytest.fixture(scope="module")
def passed(failed: Certificate) -> Certificate:
    return replace(
        failed, verdict=CertificateVerdict.PASS, reasons=(), interface=FINDINGS[:1]
    )


def read(text: str) -> Parsed:
    parsed = Parsed()
    parsed.feed(text)
    parsed.close()
    assert not parsed.open
    return parsed


@pytest.fixture(scope="module")
def page(failed: Certificate, folder: Path) -> Parsed:
    return read(build_certificate_page(failed, folder=folder))


def test_the_order_is_verdict_reasons_bounds_warnings_limits(page, failed):
    parts = [
        "Failed",
        "for 2 reasons",
        *failed.reasons,
        "90 % of robots within the limits below succeed in at least 87 % of episodes",
        *failed.warnings,
        "Limits of validity",
        "Not covered",
        "Success by condition",
        "Other physics engines",
        "Robustness margins",
        "Worst-case parameters",
        "Failed episodes",
        "Interface contract",
        "How it was evaluated",
    ]
    # the page's title repeats the verdict, so places are sought one after another
    place = 0
    for part in parts:
        found = page.text.find(part, place)
        assert found >= place, f"'{part}' is not where it belongs"
        place = found + len(part)


def test_reasons_come_before_any_number(page: Parsed, failed: Certificate):
    first = page.text.index("87 %")
    assert all(page.text.index(reason) < first for reason in failed.reasons)
    before = page.text[: page.text.index(failed.reasons[0])]
    assert "Warning" not in before
    assert "Limits" not in before


def test_a_passed_certificate_says_at_once_what_may_be_expected(passed: Certificate):
    page = read(build_certificate_page(passed))
    verdict = page.text.index("Passed", page.text.index("realworthy certify"))
    expected = (
        "90 % of robots within the limits below succeed in at least 87 % of episodes "
        "(95 % confidence)."
    )
    assert 0 < page.text.index(expected) - verdict < 20
    assert page.text.count(expected) == 1
    assert "reason" not in page.text


def test_numbers_are_those_of_the_certificate(page: Parsed, failed: Certificate):
    regression = failed.regression
    assert regression is not None
    ranges = (*VALIDITY.parameters.values(), *VALIDITY.inputs.values())
    shares = [cell.share for cell in CELLS if cell.share is not None]
    first = CELLS[3].divergence
    assert first is not None
    expected = [
        *(failed.success.lower, failed.success.mean, failed.bar, failed.seconds),
        *(VALIDITY.worst, VALIDITY.rate, *VALIDITY.noise.values()),
        *(end for r in ranges for end in (r.lower, r.upper, r.nominal)),
        *(n for s in shares for n in (s.mean, s.successes, s.count, s.lower, s.upper)),
        *(first.seconds, first.ours, first.theirs),
        *(level.value for one in MARGINS for level in one.levels),
        *(level.share.successes for one in MARGINS for level in one.levels),
        *WORST.e.values(),
        *(turn.effect for turn in WORST.turns),
        *(value for case in failed.failures for value in case.e.values()),
        *(case.seconds for case in failed.failures),
        *(regression.difference, regression.lower, regression.upper),
        *CELLS[0].budgets.values(),
    ]
    assert set(map(float, expected)) <= set(page.values)


def test_words_are_those_of_the_certificate(page: Parsed, failed: Certificate):
    told = [
        *(finding.about for finding in failed.interface),
        *(finding.remedy for finding in failed.interface),
        *(failed.policy, failed.policy_hash, failed.suite, failed.created),
        *(failed.task, failed.twin, "mujoco 3.9.0", "realworthy 0.4.0"),
        *("seed 7919, number 3", "seed 0, number 12"),
        "2,048 on 64 robots",
        # 128 + 6 × 64 + 8; 4 × 64 + 3 × 64 + 64
        "520 in 8 conditions; 2 conditions skipped; physics diverged in 2 more",
        "512 at 8 values",
        "200 parameter samples",
    ]
    missing = [words for words in told if words not in page.text]
    assert not missing


def test_every_cell_is_on_the_map_with_its_own_colour(page: Parsed):
    tiles = [
        known
        for tag, known in page.tags
        if tag == "li" and "cell" in (known.get("class") or "").split()
    ]
    assert [tile["title"] for tile in tiles] == [cell.about for cell in CELLS]
    assert all(page.text.count(cell.name) >= 2 for cell in CELLS)  # map and table
    looks = {str(tile["title"]): (tile["class"], tile["style"]) for tile in tiles}
    # 62/64 is 84.4 % of the way from 80 to 100 %, 0 of 64 all the way down
    assert looks[CELLS[1].about] == ("cell above required", "--depth: 84.4%")
    assert looks[CELLS[8].about] == ("cell below", "--depth: 100.0%")
    # 40/64 = 62.5 %: 21.9 % of the way from 80 % to nothing
    assert looks[CELLS[5].about] == ("cell below", "--depth: 21.9%")
    assert looks[CELLS[4].about] == ("cell skipped", "--depth: 0.0%")


def test_colour_is_never_alone(page: Parsed):
    assert "62 of 64 ✓ passed, required" in page.text
    assert "0 of 64 ✕ failed, not required" in page.text
    assert "not run – skipped" in page.text
    for mark in ("✓ ok", "! warning", "✕ failed"):
        assert mark in page.text


def test_skipped_cells_say_why(page: Parsed):
    listed = page.text[page.text.index("Skipped conditions") :]
    assert "engine warp there is no CUDA device." in listed
    assert "ground friction × 0.5 the twin touches no ground." in listed


def test_engines_agree_or_not_in_words(page: Parsed):
    assert "engine drake: ✓ agrees" in page.text
    assert "engine warp: – not run" in page.text
    assert "joint.velocity 2.34 s 1.02 1.19" in page.text


def test_margins_are_drawn_with_the_bar(page: Parsed, failed: Certificate):
    wanted, found = page.figures[0]["data"]
    assert wanted["y"] == [failed.bar, failed.bar]
    assert found["y"] == [level.share.mean for level in MARGINS[0].levels]
    assert len(page.figures) == 3 + 1  # one was skipped; the replay


@pytest.mark.parametrize(
    ("margin", "words"),
    [
        (
            MARGINS[0],
            "Succeeds up to 0.02 s; at 0.03 s only 31 of 64 episodes succeed, "
            "below 80 %.",
        ),
        (MARGINS[1], "Succeeds up to 8 ×, the largest value tested."),
        (
            MARGINS[2],
            "Fails at the smallest value tested: at 2 only 12 of 64 episodes succeed, "
            "below 80 %.",
        ),
        (MARGINS[3], "Not tested: the twin has no payload."),
    ],
)
def test_the_largest_borne_value_is_said(margin: MarginResult, words: str):
    assert say_margin(margin, 0.8).replace("\u00a0", " ") == words


def test_the_believed_range_is_found_from_the_covered_one():
    # believed 0.8 … 1.6 about 1.0, drawn in to a quarter: 0.95 … 1.15
    limits = ValidityRange(lower=0.95, upper=1.15, nominal=1.0)
    track = RangeTrack("mass", limits, 0.25, 1.4)
    assert track.believed == pytest.approx((0.8, 1.6))
    places = [track.place(value) for value in (0.8, 1.0, 1.4, 1.6, 9.0)]
    assert places == pytest.approx([0, 25, 75, 100, 100])
    # a nominal value below what is believed: limits were drawn in to the lower end
    outside = RangeTrack(
        "mass", ValidityRange(lower=2.0, upper=2.5, nominal=1.0), 0.5, 3.0
    )
    assert outside.believed == pytest.approx((2.0, 3.0))
    assert outside.place(1.0) == 0


def test_the_worst_case_is_told(page: Parsed):
    assert "A retest confirms it: 21 of 64 new episodes succeed" in page.text
    assert "the policy passes on the first 62 %." in page.text
    assert "The parameter with the largest effect is 'joint.damping'." in page.text
    rows = page.text[page.text.index("parameters ordered by effect") :]
    assert rows.index("joint.damping") < rows.index("pendulum.mass")
    labels = [known["aria-label"] for _, known in page.tags if "aria-label" in known]
    # limits are half of 0.022 … 0.074 about 0.04
    assert (
        "joint.damping: nominal at 35 %, worst at 98 % of the belief's range" in labels
    )


def test_failures_are_named_and_their_replays_linked(page: Parsed, folder: Path):
    assert describe_failure("tracking_lost") in page.text
    links = [known["href"] for tag, known in page.tags if tag == "a"]
    assert links == ["#verdict", f"./{FALL.replay}"]
    assert (folder / str(links[1])).is_file()


def test_links_lead_to_replays_from_another_folder(failed, folder: Path, tmp_path):
    path = tmp_path / "pages" / "certificate.html"
    write_certificate(failed, path, folder=folder)
    page = read(path.read_text("utf-8"))
    (link,) = (str(k["href"]) for tag, k in page.tags if tag == "a" and "download" in k)
    assert (path.parent / link).resolve() == (folder / str(FALL.replay)).resolve()


def test_the_first_replay_is_drawn(page: Parsed):
    lines = page.figures[-1]["data"]
    assert [line["meta"] for line in lines] == ["real", "real", "right"]
    time = np.arange(80) * 0.02
    assert decode(lines[0]["y"]) == pytest.approx(np.sin(3 * time), abs=1e-6)


def test_the_first_replay_moves_where_its_twin_is_at_hand(
    failed: Certificate, folder: Path
):
    moving = read(build_certificate_page(failed, folder=folder, twin="pendulum"))
    (scene,) = moving.scenes
    assert [robot["role"] for robot in scene["robots"]] == ["twin"]  # type: ignore[attr-defined]
    assert scene["time"] == pytest.approx(np.arange(0, 1.581, 0.04), abs=1e-3)
    elsewhere = replace(failed, twin="my_robot", task="my_task")
    assert not read(build_certificate_page(elsewhere, folder=folder)).scenes
    strange = build_certificate_page(elsewhere, folder=folder, twin="acrobot")
    assert not read(strange).scenes  # another robot's joints


def test_without_a_folder_replays_are_named_but_not_linked(failed: Certificate):
    page = read(build_certificate_page(failed))
    assert "worst_case_tracking_lost_3.npz" in page.text
    assert [k["href"] for tag, k in page.tags if tag == "a"] == ["#verdict"]
    assert len(page.figures) == 3


def test_every_failure_has_words():
    for code in Failure:
        name = code.name.lower()
        plain = name.replace("_", " ").capitalize()
        assert code is Failure.NONE or describe_failure(name) != plain
    assert describe_failure("fall") == "It fell"
    assert describe_end("fall", 2.34) == "fell after 2.3 s"
    assert describe_end("numerical", 0.5) == "physics diverged after 0.5 s"


def test_a_cell_is_painted_by_its_own_bar(failed: Certificate):
    lenient = play("pushed", "stress", 48, 64, bar=0.6)  # 75 %: below 80, above 60
    strict = play("still", "stress", 62, 64, bar=0.99)  # 97 %
    usual = play("late", "stress", 48, 64, bar=0.8)
    page = read(build_certificate_page(replace(failed, cells=(lenient, strict, usual))))
    painted = [k["class"] for _, k in page.tags if "--depth" in (k.get("style") or "")]
    assert painted == [
        "cell above required",
        "cell below required",
        "cell below required",
    ]
    assert "48 of 64, required 60 %" in page.text
    assert "is coloured by that bar" in page.text
    plain = read(build_certificate_page(replace(failed, cells=(usual,))))
    assert "is coloured by that bar" not in plain.text


def test_what_is_not_covered_is_said(page: Parsed, failed: Certificate):
    assert "The outer 50 % of the belief's ranges" in page.text
    assert "Effects that the twin lacks" in page.text
    assert "never against the robot" in page.text
    assert "no other engine confirmed" not in page.text  # drake did
    alone = replace(failed, cells=CELLS[:3])
    assert "no other engine confirmed" in read(build_certificate_page(alone)).text


def test_limits_in_which_it_fails_are_not_called_valid(failed: Certificate):
    low = replace(VALIDITY, lower=0.41)
    assert failed.coverage is not None
    coverage = replace(failed.coverage, verdict=CertificateVerdict.FAIL, validity=low)
    bad = replace(failed, validity=low, coverage=coverage)
    text = read(build_certificate_page(bad)).text
    assert "does not work well enough within these limits" in text
    assert "Valid only while every parameter" not in text


def test_a_bound_of_nothing_promises_nothing(failed: Certificate):
    none = replace(failed, validity=replace(VALIDITY, lower=0.0))
    text = read(build_certificate_page(none)).text
    assert "prove no success rate above 0 %" in text
    assert "least 0 %" not in text


def test_a_certificate_of_cells_alone_speaks_of_the_first(failed: Certificate):
    plain = replace(
        failed,
        success=Bounds(lower=0.957, mean=0.9921875, upper=0.9986),
        validity=None,
        coverage=None,
        margins=(),
        worst=None,
        regression=None,
        failures=(),
        interface=(),
    )
    text = read(build_certificate_page(plain)).text
    assert (
        "In the condition 'everyday' 99.2 % of episodes succeed (95.7 % to 99.9 %"
        in text
    )
    assert "valid for the nominal model only" in text
    assert "No episode failed." in text
    empty = replace(plain, cells=(), warnings=(), versions={})
    assert "No condition was run" in read(build_certificate_page(empty)).text


def test_missing_evidence_says_how_much(failed: Certificate):
    def leave_open(*more: int | None, **other) -> Certificate:
        cells = [
            play(f"cell {i}", "stress", 31, 32, more=n, bar=0.8, **other)
            for i, n in enumerate(more)
        ]
        return replace(
            failed,
            verdict=CertificateVerdict.INSUFFICIENT,
            reasons=("cell 0: run 99 more.",),  # which nobody should read for numbers
            warnings=(),
            cells=tuple(cells),
        )

    one = leave_open(17, 0)
    assert say_verdict(one) == "Insufficient evidence: run 17 more episodes"
    two = leave_open(17, 1200)
    assert say_verdict(two).endswith("run up to 1,200 more episodes in 2 conditions")
    assert say_verdict(leave_open(None)) == "Insufficient evidence"
    assert say_verdict(leave_open(17, required=False)) == "Insufficient evidence"
    assert (
        "The evidence decides neither way, for one reason."
        in read(build_certificate_page(one)).text
    )


def test_many_parameters_are_folded_away(failed: Certificate):
    many = {
        f"link_{i}.mass": replace(VALIDITY.parameters["pendulum.mass"])
        for i in range(40)
    }
    wide = replace(failed, validity=replace(VALIDITY, parameters=many))
    text = read(build_certificate_page(wide)).text
    assert "Ranges of the parameters: 40" in text
    assert all(name in text for name in many)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1.0, "100 %"),
        (0.99999, "99.9 %"),
        (0.875, "87.5 %"),
        (0.87, "87 %"),
        (0, "0 %"),
    ],
)
def test_a_hundred_per_cent_is_all(share: float, words: str):
    assert str(SuccessShare(share)).replace("\u00a0", " ") == words


def test_nothing_is_loaded_from_elsewhere(page: Parsed):
    for tag, known in page.tags:
        assert "src" not in known
        assert tag not in {"link", "iframe", "object", "embed", "base", "img"}
        assert "://" not in (known.get("href") or "")
    for style in page.styles:
        assert "url(" not in style
        assert "@import" not in style


def test_it_is_small(failed: Certificate, folder: Path):
    assert len(build_certificate_page(failed, folder=folder).encode()) < 6e6


def test_it_is_read_by_people_who_do_not_see(page: Parsed):
    for _, known in page.tags:
        if known.get("role") in {"img", "region"}:
            assert known["aria-label"]
    ids = [known["id"] for _, known in page.tags if "id" in known]
    assert len(ids) == len(set(ids))
    labels = [k["aria-labelledby"] for _, k in page.tags if "aria-labelledby" in k]
    assert set(labels) <= set(ids)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    heads = [known for tag, known in page.tags if tag == "th"]
    assert all(known.get("scope") in {"row", "col"} for known in heads)


def test_numbers_on_the_map_have_contrast():
    """At least 4.5 : 1 on every colour between the ends (WCAG 2.2, 1.4.3)."""
    place = Path(pages.__file__).parent / "templates" / "certificate.css"
    light, dark = re.findall(r"--heat-low[^}]*", place.read_text("utf-8"))[:2]
    for theme in (light, dark):
        colours = dict(re.findall(r"--heat-([a-z]+): (#[0-9a-f]{6})", theme))
        for end in ("low", "high"):
            for share in np.linspace(0, 1, 11):
                ground = mix(colours[end], colours["bar"], share)
                assert contrast(colours["ink"], ground) >= 4.5


def mix(first: str, second: str, share: float) -> str:
    parts = ((int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in (first, second))
    return "#" + "".join(
        f"{round(share * a + (1 - share) * b):02x}" for a, b in zip(*parts, strict=True)
    )


def test_hostile_words_stay_words(failed: Certificate, tmp_path: Path):
    cell = replace(CELLS[0], name=HOSTILE, about=HOSTILE, codes={HOSTILE: 1})
    hostile = replace(
        failed,
        reasons=(HOSTILE,),
        warnings=(HOSTILE,),
        policy=HOSTILE,
        task=HOSTILE,
        cells=(cell, replace(CELLS[4], name=HOSTILE, skipped=HOSTILE)),
        margins=(replace(MARGINS[0], name=HOSTILE, unit=HOSTILE),),
        failures=(replace(FALL, cell=HOSTILE, replay="javascript:alert(1)"),),
        versions={HOSTILE: HOSTILE},
    )
    (tmp_path / "javascript:alert(1)").write_text("no recording")
    page = read(build_certificate_page(hostile, folder=tmp_path))
    assert len(page.scripts) == 2
    assert not any("alert(" in script for script in page.scripts)
    # reason, warning, title twice, subtitle, tiles, tables, failures, versions
    assert page.text.count(" ".join(HOSTILE.split())) >= 10
    links = [known["href"] or "" for tag, known in page.tags if tag == "a"]
    assert all(link.startswith(("#", "./")) for link in links)


def test_it_is_written_as_a_file(passed: Certificate, tmp_path: Path):
    path = tmp_path / "certificate.html"
    write_certificate(passed, path)
    assert path.read_text("utf-8") == build_certificate_page(passed)
