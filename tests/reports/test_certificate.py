"""The page of a certificate says what the certificate holds."""

import re
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.certification.certificate import Bounds, Certificate
from realworthy.certification.finding import Aspect, Finding, Mark
from realworthy.certification.results import (
    CellResult,
    Divergence,
    FailureCase,
    Level,
    MarginResult,
    Range,
    Regression,
    Share,
    Turn,
    Validity,
    ValidityResult,
    WorstResult,
)
from realworthy.certification.statistics import Verdict
from realworthy.gap.intervals import compute_wilson_interval
from realworthy.recordings import Recording, save_recording
from realworthy.reports import page as pages
from realworthy.reports.certificate import build_certificate_page, write_certificate
from realworthy.reports.certificate_limits import Track
from realworthy.reports.certificate_words import (
    SuccessShare,
    say_failure,
    say_margin,
    say_verdict,
)
from realworthy.tasks.failures import Failure

from .conftest import Parsed
from .test_gap import HOSTILE, decode
from .test_page import contrast

replace = msgspec.structs.replace


def to_share(successes: int, count: int) -> Share:
    low, high = compute_wilson_interval(successes, count)
    mean = successes / count
    return Share(successes=successes, count=count, lower=low, mean=mean, upper=high)


def play(name: str, group: str, successes: int, count: int, **other) -> CellResult:
    share = to_share(successes, count)
    verdict = Verdict.PASS if share.lower >= 0.8 else Verdict.FAIL
    known = {
        "name": name,
        "group": group,
        "required": True,
        "verdict": verdict,
        "about": f"{verdict.capitalize()}: {successes} of {count}, wanted 80 %.",
        "share": share,
        **other,
    }
    return msgspec.convert(known, CellResult, from_attributes=True)


FALL = FailureCase(
    code=int(Failure.TRACKING_LOST),
    name="tracking_lost",
    cell="worst case",
    e={"joint.damping": 0.0731, "pendulum.mass": 1.183},
    seed=7919,
    number=3,
    seconds=1.62,
    replay="replays/worst_case_tracking_lost_3.npz",
)
LATE = FailureCase(
    code=int(Failure.NO_PROGRESS),
    name="no_progress",
    cell="commands one step late",
    e={},
    seed=0,
    number=12,
    seconds=10.0,
)
VALIDITY = Validity(
    scale=0.5,
    parameters={
        "pendulum.mass": Range(lower=0.92, upper=1.11, nominal=1.0, unit="kg"),
        "joint.damping": Range(
            lower=0.031, upper=0.057, nominal=0.04, unit="N·m·s/rad"
        ),
    },
    noise={"position": 0.0021, "velocity": 0.053},
    rate=50.0,
    inputs={"target": Range(lower=-1.2, upper=1.3, nominal=0.0, unit="rad")},
    lower=0.87,
    content=0.9,
    confidence=0.95,
    reality_count=64,
    episode_count=2048,
    mean=0.9667,
    worst=0.78125,
)
CELLS = (
    play(
        "everyday",
        "everyday",
        127,
        128,
        budgets={"action_rate": 3.21, "mean_power": 0.81, "peak_power": 4.4},
        seen={"torque_saturation": 9},
        codes={"no_progress": 1},
    ),
    play("integrator euler", "numerics", 62, 64),
    play("half the time step", "numerics", 64, 64, invalid=2),
    play(
        "engine drake",
        "engine",
        8,
        8,
        verdict=Verdict.PASS,
        about="8 of 8 succeed in drake, 8 in MuJoCo from the same starts.",
        divergence=Divergence(
            signal="joint.velocity", seconds=2.34, ours=1.017, theirs=1.193
        ),
    ),
    CellResult(
        name="engine warp",
        group="engine",
        required=False,
        verdict=Verdict.INSUFFICIENT,
        about="Skipped: there is no CUDA device.",
        skipped="there is no CUDA device.",
    ),
    play(
        "commands one step late",
        "actuator",
        40,
        64,
        required=False,
        codes={"no_progress": 24},
        failures=(LATE,),
    ),
    play("5 % of measurements missing", "sensor", 61, 64),
    play("5 % of commands lost", "link", 60, 64),
    play("mass × 1.15", "stress", 0, 64, required=False, codes={"tracking_lost": 64}),
    CellResult(
        name="ground friction × 0.5",
        group="stress",
        required=False,
        verdict=Verdict.INSUFFICIENT,
        about="Skipped: the twin touches no ground.",
        skipped="the twin touches no ground.",
    ),
)
MARGINS = (
    MarginResult(
        name="delay",
        unit="s",
        largest=0.02,
        failing=0.03,
        levels=tuple(
            Level(value=value, share=to_share(successes, 64))
            for value, successes in ((0.005, 64), (0.01, 63), (0.02, 58), (0.03, 31))
        ),
    ),
    MarginResult(
        name="noise",
        unit="×",
        largest=8.0,
        failing=None,
        levels=tuple(
            Level(value=value, share=to_share(successes, 64))
            for value, successes in ((2.0, 64), (4.0, 62), (8.0, 59))
        ),
    ),
    MarginResult(
        name="held steps",
        unit="",
        largest=None,
        failing=2.0,
        levels=(Level(value=2.0, share=to_share(12, 64)),),
    ),
    MarginResult(
        name="payload",
        unit="× mass",
        largest=None,
        failing=None,
        skipped="the twin has no payload.",
    ),
)
WORST = WorstResult(
    about="Found within 200 tries. 'joint.damping' = 0.0731 matters most. With fresh "
    "starts 21 of 64 succeed. 62 % of the way there is safe.",
    margin=-0.4231,
    evaluations=200,
    is_failure=True,
    e={"pendulum.mass": 1.183, "joint.damping": 0.0731},
    safe_fraction=0.624,
    nearest={"pendulum.mass": 1.12, "joint.damping": 0.061},
    repeated=to_share(21, 64),
    turns=(
        Turn(name="joint.damping", worst=0.0731, effect=0.551),
        Turn(name="pendulum.mass", worst=1.183, effect=0.203),
    ),
    failures=(FALL,),
)
FINDINGS = (
    Finding(name=Aspect.JOINTS, mark=Mark.OK, about="1 joint, as in the twin."),
    Finding(
        name=Aspect.RANGE,
        mark=Mark.WARNING,
        about="The last action reaches 61 % of its range.",
        remedy="Look at the scale of actions.",
    ),
    Finding(
        name=Aspect.SIGNS,
        mark=Mark.FAILED,
        about="'joint.velocity' has another sign than its position's change.",
        remedy="Turn it round in the contract.",
    ),
)
REASONS = (
    "contract, signs: 'joint.velocity' has another sign than its position's change.",
    "mass × 1.15: Fail: 0 of 64 (0.0 to 5.7 %), wanted 80 %.",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the recording of the first failure."""
    place = tmp_path_factory.mktemp("certificate")
    time = np.arange(80, dtype=np.float64) / 50
    columns = {
        "joint.position": np.sin(3 * time),
        "joint.velocity": 3 * np.cos(3 * time),
        "joint.command": np.sign(np.sin(5 * time)),
    }
    (place / "replays").mkdir()
    save_recording(Recording(time, columns), place / str(FALL.replay))
    return place


@pytest.fixture(scope="module")
def failed() -> Certificate:
    return Certificate(
        verdict=Verdict.FAIL,
        reasons=REASONS,
        warnings=("worst case: Found within 200 tries.", "validity: only half."),
        policy="runs/pendulum/policy.onnx",
        policy_hash="9f" * 32,
        task="pendulum",
        twin="pendulum",
        suite="default",
        bar=0.8,
        seed=5,
        success=Bounds(lower=0.87, mean=0.9667, upper=0.9737),
        validity=VALIDITY,
        failures=(FALL, LATE),
        interface=FINDINGS,
        cells=CELLS,
        coverage=ValidityResult(
            verdict=Verdict.PASS,
            about="In 50 % of the believed ranges 96.7 % of episodes succeed.",
            validity=VALIDITY,
            tried=((1.0, 0.61), (0.5, 0.87)),
        ),
        margins=MARGINS,
        worst=WORST,
        regression=Regression(
            against="runs/last/policy.onnx",
            change="equal",
            difference=0.0117,
            lower=-0.0213,
            upper=0.0442,
            count=256,
            about="It is as good as policy.onnx: 96.9 % against 95.7 %.",
            verdict=Verdict.PASS,
        ),
        versions={"realworthy": "0.4.0", "mujoco": "3.9.0"},
        created="2026-11-15T12:00:00+00:00",
        seconds=83.4,
    )


@pytest.fixture(scope="module")
def passed(failed: Certificate) -> Certificate:
    return replace(failed, verdict=Verdict.PASS, reasons=(), interface=FINDINGS[:1])


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
        "At least 87 % of episodes succeed in 90 % of the realities",
        *failed.warnings,
        "Limits of validity",
        "Not covered",
        "Under which conditions it succeeds",
        "What other engines say",
        "How much it bears",
        "The worst that the belief allows",
        "Failures to look at",
        "What the contract says",
        "How it was judged",
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
        "At least 87 % of episodes succeed in 90 % of the realities within the limits "
        "below, with 95 % confidence."
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
        "2,048 in 64 realities",
        # 128 + 6 × 64 + 8; 4 × 64 + 3 × 64 + 64
        "520 in 8 conditions; 2 conditions skipped; the physics of 2 more diverged",
        "512 at 8 values",
        "200 points of the belief",
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
    assert "0 of 64 ✕ failed, only reported" in page.text
    assert "not played – skipped" in page.text
    for mark in ("✓ ok", "! warning", "✕ failed"):
        assert mark in page.text


def test_skipped_cells_say_why(page: Parsed):
    listed = page.text[page.text.index("Skipped, and why") :]
    assert "engine warp there is no CUDA device." in listed
    assert "ground friction × 0.5 the twin touches no ground." in listed


def test_engines_agree_or_not_in_words(page: Parsed):
    assert "engine drake: ✓ agrees" in page.text
    assert "engine warp: – not heard" in page.text
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
            "It bears 0.02 s; at 0.03 s only 31 of 64 episodes succeed, below 80 %.",
        ),
        (MARGINS[1], "It bears 8 ×, the most that was tried."),
        (
            MARGINS[2],
            "It does not bear even the least: at 2 only 12 of 64 episodes succeed, "
            "below 80 %.",
        ),
        (MARGINS[3], "Not tried: the twin has no payload."),
    ],
)
def test_the_largest_borne_value_is_said(margin: MarginResult, words: str):
    assert say_margin(margin, 0.8).replace("\u00a0", " ") == words


def test_the_believed_range_is_found_from_the_covered_one():
    # believed 0.8 … 1.6 about 1.0, drawn in to a quarter: 0.95 … 1.15
    limits = Range(lower=0.95, upper=1.15, nominal=1.0)
    track = Track("mass", limits, 0.25, 1.4)
    assert track.believed == pytest.approx((0.8, 1.6))
    places = [track.place(value) for value in (0.8, 1.0, 1.4, 1.6, 9.0)]
    assert places == pytest.approx([0, 25, 75, 100, 100])
    # a nominal value below what is believed: limits were drawn in to the lower end
    outside = Track("mass", Range(lower=2.0, upper=2.5, nominal=1.0), 0.5, 3.0)
    assert outside.believed == pytest.approx((2.0, 3.0))
    assert outside.place(1.0) == 0


def test_the_worst_case_is_told(page: Parsed):
    assert "It repeats itself: with fresh starts 21 of 64 episodes succeed" in page.text
    assert "the first 62 % are safe" in page.text
    assert "What matters most is 'joint.damping'." in page.text
    rows = page.text[page.text.index("what matters most first") :]
    assert rows.index("joint.damping") < rows.index("pendulum.mass")
    labels = [known["aria-label"] for _, known in page.tags if "aria-label" in known]
    # limits are half of 0.022 … 0.074 about 0.04
    assert (
        "joint.damping: nominal at 35 %, worst at 98 % of the believed range" in labels
    )


def test_failures_are_named_and_their_replays_linked(page: Parsed, folder: Path):
    assert say_failure("tracking_lost") in page.text
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
        assert code is Failure.NONE or say_failure(name) != plain


def test_what_is_not_covered_is_said(page: Parsed, failed: Certificate):
    assert "The outer 50 % of the believed ranges" in page.text
    assert "Effects that the twin lacks" in page.text
    assert "never against the robot" in page.text
    assert "no other engine agreed" not in page.text  # drake did
    alone = replace(failed, cells=CELLS[:3])
    assert "no other engine agreed" in read(build_certificate_page(alone)).text


def test_limits_in_which_it_fails_are_not_called_valid(failed: Certificate):
    low = replace(VALIDITY, lower=0.41)
    assert failed.coverage is not None
    coverage = replace(failed.coverage, verdict=Verdict.FAIL, validity=low)
    bad = replace(failed, validity=low, coverage=coverage)
    text = read(build_certificate_page(bad)).text
    assert "does not work well enough within them" in text
    assert "holds where all of this is so at once" not in text


def test_a_bound_of_nothing_promises_nothing(failed: Certificate):
    none = replace(failed, validity=replace(VALIDITY, lower=0.0))
    text = read(build_certificate_page(none)).text
    assert "prove no share of successes at all" in text
    assert "At least 0 %" not in text


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
    assert "speaks of the nominal twin alone" in text
    assert "No episode failed." in text
    empty = replace(plain, cells=(), warnings=(), versions={})
    assert "Nothing was played" in read(build_certificate_page(empty)).text


def test_missing_evidence_says_how_much(failed: Certificate):
    cell = "everyday: Insufficient evidence: 31 of 32, wanted 80 %; run {} more."
    one = replace(
        failed, verdict=Verdict.INSUFFICIENT, reasons=(cell.format(17),), warnings=()
    )
    assert say_verdict(one) == "Insufficient evidence: run 17 more episodes"
    two = replace(one, reasons=(cell.format(17), cell.format(1200)))
    assert say_verdict(two).endswith("run up to 1,200 more episodes in 2 conditions")
    near = replace(one, reasons=("everyday: too near the bar to tell.",))
    assert say_verdict(near) == "Insufficient evidence"
    assert (
        "It has neither passed nor failed, for one reason."
        in read(build_certificate_page(one)).text
    )


def test_many_parameters_are_folded_away(failed: Certificate):
    many = {
        f"link_{i}.mass": replace(VALIDITY.parameters["pendulum.mass"])
        for i in range(40)
    }
    wide = replace(failed, validity=replace(VALIDITY, parameters=many))
    text = read(build_certificate_page(wide)).text
    assert "Parameters, anywhere within, all at once: 40" in text
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
