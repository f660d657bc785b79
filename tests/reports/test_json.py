"""Numbers on a page are those that `--json` writes, to the last digit."""

import math
from itertools import pairwise

import pytest

from .published import COMMANDS, Publish
from .tables import Numbers, parse_shown, read_numbers


def read(published: Publish, command: str) -> tuple[Numbers, object]:
    one = published(command)
    return read_numbers(one.page), one.tree


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_read_is_what_is_meant(command: str, published: Publish):
    """Three digits of the exact value; shares to half a per cent."""
    numbers = read_numbers(published(command).page)
    assert len(numbers.shown) > 10
    for text, exact in numbers.shown:
        digits = 10 ** (math.floor(math.log10(abs(exact))) - 2) if exact else 0.0
        near = 0.0051 if "%" in text else max(0.51 * digits, 1e-15)
        assert parse_shown(text) == pytest.approx(exact, abs=near), text


def test_measure(published: Publish):
    page, tree = read(published, "measure")
    replay, floor = tree["replay"], tree["noise_floor"]
    joints = page.table("Replay by joint")
    assert [row[0].text for row in joints.rows] == list(replay["per_joint"])
    for joint, error in replay["per_joint"].items():
        assert joints.find(joint, "error").value == error
        assert joints.find(joint, "noise").value == floor[joint]
        torques = [one["missing_torque"][joint] for one in tree["recordings"]]
        shown = joints.find(joint, "torque residual").value
        assert shown == pytest.approx(sum(torques) / len(torques), rel=1e-12)
    recordings = page.table("Replay by recording")
    assert [row[0].text for row in recordings.rows] == [
        one["name"] for one in tree["recordings"]
    ]
    assert recordings.column("error") == [
        one["replay"]["position_rmse"] for one in tree["recordings"]
    ]
    horizons = page.table("Error of predictions")
    assert [f"{s:g}" for s in horizons.column("seconds ahead")] == [*tree["horizons"]]
    assert horizons.column("twin") == [*tree["horizons"].values()]
    assert horizons.column("noise floor") == [*tree["horizon_floor"].values()]
    assert page.tiles["replay error"].value == replay["position_rmse"]
    assert page.tiles["normalised one-step error"].value == tree["one_step"]["error"]
    last = [*tree["horizons"]][-1]
    assert page.tiles[f"{last} s ahead"].value == tree["horizons"][last]
    rms = math.sqrt(sum(sd**2 for sd in floor.values()) / len(floor))
    assert page.tiles["sensor noise"].value == pytest.approx(rms, rel=1e-12)


def test_diagnose(published: Publish):
    page, tree = read(published, "diagnose")
    assert page.tiles["replay error"].value == tree["replay"]["position_rmse"]
    after = page.tiles["with causes corrected"].value
    assert after == tree["replay_after"]["position_rmse"]
    unexplained = tree["shares"]["unexplained"]
    assert page.tiles["explained"].value == pytest.approx(1 - unexplained)
    # shares by kind, then each cause with its interval, in the order of causes
    exact = [value for _, value in page.shown]
    places = [0]
    for numbers in (
        [tree["shares"][k] for k in ("interface", "parametric", "missing")],
        *([cause["share"], *cause["interval"]] for cause in tree["causes"]),
    ):
        found = find_run(exact, numbers, places[-1])
        assert found is not None, numbers
        places.append(found)
    assert all(a < b for a, b in pairwise(places[1:]))
    behind = page.table("Numbers behind it")
    for cause in tree["causes"]:
        for one in cause["estimates"]:
            assert behind.find(one["name"], "twin").value == one["nominal"]
            assert behind.find(one["name"], "recordings").value == one["value"]
            span = behind.find(one["name"], "90 % interval").values
            assert span == one["interval"]
        if (loss := cause["task_loss"]) is not None:
            assert find_run(exact, [loss["mean"], *loss["interval"]], 0) is not None
    joints = page.table("Replay by joint")
    for joint, error in tree["replay"]["per_joint"].items():
        assert joints.find(joint, "error").value == error
        mended = joints.find(joint, "error, causes corrected").value
        assert mended == tree["replay_after"]["per_joint"][joint]
    for change in tree["changes"]:
        assert change["false_alarm_rate"] in exact
        assert change["size"] in page.text


def test_calibrate(published: Publish):
    page, tree = read(published, "calibrate")
    parameters = page.table("Estimate of each parameter")
    assert [row[0].text for row in parameters.rows] == list(tree["parameters"])
    for name, told in tree["parameters"].items():
        for column in ("before", "mean", "sd"):
            assert parameters.find(name, column).value == told[column]
    heldout = tree["heldout"]
    errors = page.table("Replay error of recordings")
    for one in heldout["recordings"]:
        assert errors.find(one["recording"], "before").value == one["before"]
        assert errors.find(one["recording"], "after").value == one["after"]
    assert len(errors.rows) == len(heldout["recordings"])
    assert page.tiles["before"].value == heldout["position_rmse_before"]
    assert page.tiles["after"].value == heldout["position_rmse"]
    assert page.tiles["reduced χ²"].value == tree["reduced_chi2"]
    assert tree["summary"] in " ".join(page.text.split())


def test_train(published: Publish):
    page, tree = read(published, "train")
    judged, nominal = tree["evaluation"], tree["at_nominal"]
    assert page.tiles["success"].value == judged["success"]
    assert page.tiles["on the nominal model"].value == nominal["success"]
    assert page.tiles["steps"].value == tree["steps"]
    assert page.tiles["time"].value == tree["seconds"]
    assert page.tiles["steps per second"].value == tree["steps_per_second"]
    costs = page.table("The same policy")
    for row, told in (("as randomized", judged), ("nominal model", nominal)):
        assert costs.find(row, "success").value == told["success"]
        assert costs.find(row, "success between").values == told["interval"]
        assert costs.find(row, "return").value == told["return"]
        assert costs.find(row, "return between").values == told["return_interval"]
        assert costs.find(row, "episodes").value == told["episodes"]
        assert costs.find(row, "physics diverged").value == told["invalid"]
    success = 100 * (judged["success"] - nominal["success"])
    assert costs.find("difference", "success").value == pytest.approx(success)
    returned = judged["return"] - nominal["return"]
    assert costs.find("difference", "return").value == pytest.approx(returned)
    failures = page.table("Failed episodes")
    assert [row[0].text for row in failures.rows] == ["fall", "no_progress"]
    for code in judged["failures"]:
        for column, told in (("as randomized", judged), ("nominal model", nominal)):
            assert failures.find(code, column).value == told["failures"].get(code, 0)
    looks = page.table("Every evaluation")
    for column, key in (
        ("steps", "steps"),
        ("after", "seconds"),
        ("success", "success"),
        ("return", "return"),
        ("reward per step", "reward"),
    ):
        assert looks.column(column) == [look[key] for look in tree["looks"]]
    variety = tree["variety"]
    ranges = page.table("What differs between worlds")
    assert [row[0].text for row in ranges.rows] == list(variety["ranges"])
    for name, told in variety["ranges"].items():
        for column, key in (
            ("twin", "nominal"),
            ("5 %", "lower"),
            ("median", "median"),
            ("95 %", "upper"),
        ):
            assert ranges.find(name, column).value == told[key]
        assert ranges.find(name, "unit").text == (told["unit"] or "1")
    exact, pushes = [value for _, value in page.shown], variety["pushes"]
    for numbers in (
        [*variety["noise"].values()],
        [*pushes["every"], pushes["start"], pushes["speed"]],
        variety["latency"],
    ):
        assert find_run(exact, numbers, 0) is not None, numbers


def test_certify(published: Publish):
    page, tree = read(published, "certify")
    success, validity = tree["success"], tree["validity"]
    assert page.tiles["at least"].value == success["lower"]
    assert page.tiles["on average"].value == success["mean"]
    assert page.tiles["on the worst robot"].value == validity["worst"]
    assert page.tiles["on the worst tenth"].value == validity["worst_tenth"]
    assert page.tiles["required"].value == tree["bar"]
    cells = page.table("Every condition in numbers")
    assert [row[0].text for row in cells.rows] == [c["name"] for c in tree["cells"]]
    for cell in tree["cells"]:
        share = cell["share"]
        row = {key: cells.find(cell["name"], key) for key in cells.columns}
        if share is None:
            assert row["successes"].text == row["share of successes"].text == "–"
            continue
        assert row["successes"].value == share["successes"]
        assert row["episodes"].value == share["count"]
        assert row["share of successes"].values == [share["lower"], share["upper"]]
        assert row["physics diverged"].value == cell["invalid"]
        assert row["bar"].values == ([] if cell["bar"] is None else [cell["bar"]])
    limits = page.table("Ranges of the parameters")
    for name, known in validity["parameters"].items():
        for column, key in (("from", "lower"), ("to", "upper"), ("nominal",) * 2):
            assert limits.find(name, column).value == known[key]
    noise = page.table("Largest measurement noise")
    assert noise.column("standard deviation, SI units") == [*validity["noise"].values()]
    margins = page.table("Successes at each value")
    levels = [level for one in tree["margins"] for level in one["levels"]]
    assert margins.column("value") == [level["value"] for level in levels]
    assert margins.column("successes") == [x["share"]["successes"] for x in levels]
    worst = page.table("The worst case found")
    for turn in tree["worst"]["turns"]:
        assert worst.find(turn["name"], "worst").value == turn["worst"]
        assert worst.find(turn["name"], "effect on the margin").value == turn["effect"]
    regression = page.table("Success rate of this policy")
    told = tree["regression"]
    assert regression.column("difference") == [told["difference"]]
    assert regression.rows[0][2].values == [told["lower"], told["upper"]]
    failures = page.table("The first of each kind")
    assert failures.column("after") == [one["seconds"] for one in tree["failures"]]
    assert [cells[1].text for cells in failures.rows] == [
        str(one["code"]) for one in tree["failures"]
    ]


def test_tour(published: Publish):
    page, tree = read(published, "tour")
    policies = page.table("Three policies")
    assert len(policies.rows) == len(tree["policies"])
    for cells, told in zip(policies.rows, tree["policies"], strict=True):
        row = dict(zip(policies.columns, cells, strict=True))
        assert row["simulated"].value == told["simulated"]
        assert row["real"].value == told["real"]["mean"]
        assert row["95 %"].values == [told["real"]["lower"], told["real"]["upper"]]
        assert row["gap, points"].value == pytest.approx(100 * told["gap"])
        assert row["certificate"].text == told["verdict"]
        assert row["certified at least"].value == told["certified_lower"]
    hidden = page.table("Hidden parameters")
    for one in tree["estimates"]:
        for column, key in (("nominal", "nominal"), ("calibrated", "mean")):
            assert hidden.find(one["name"], column).value == one[key]
        for column in ("sd", "truth"):
            assert hidden.find(one["name"], column).value == one[column]
    steps = page.table("Time at which each step")
    assert steps.column("after") == [*tree["seconds"].values()]
    assert steps.column("processor time") == [*tree["processor"].values()]


def find_run(values: list[float], wanted: list[float], start: int) -> int | None:
    """Where numbers stand one behind another, from a place on."""
    for place in range(start, len(values) - len(wanted) + 1):
        if values[place : place + len(wanted)] == wanted:
            return place
    return None
