"""`realworthy certify`: statuses, files, and mistakes that are explained."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import onnx
import pytest

from realworthy.certification.examination import comparisons as regression
from realworthy.policies import load_contract
from tests.certification.golden import write_cartpole, write_drive, write_policy
from tests.certification.linear import write_linear

from .conftest import Run

SUITE = """
schema: 1
name: ours
bar: 0.75
cells:
  - {name: everyday, group: everyday, episodes: 16}
coverage: null
"""


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    (tmp_path / "our.suite.yaml").write_text(SUITE)
    return write_drive(tmp_path / "drive.onnx")


def test_a_pass_is_status_0(run: Run, drive: Path, tmp_path: Path):
    told = run(
        *("certify", "drive.onnx", "--suite", "our.suite.yaml", "--json", "c.json"),
        *("--junit", "c.xml", "--report", "c.html", "--output", "kept"),
    )
    assert told.status == 0, told.err
    assert told.out.startswith("PASS  drive_velocity on diffdrive: 100.0%")
    tree = json.loads((tmp_path / "c.json").read_text())
    assert tree["verdict"] == "pass"
    assert tree["success"].keys() >= {"lower", "mean", "upper"}
    assert tree["failures"] == []
    assert "validity" in tree
    assert tree["suite"] == "ours"
    suites = ElementTree.parse(tmp_path / "c.xml").getroot()
    assert suites.get("failures") == "0"
    assert "<html" in (tmp_path / "c.html").read_text()
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert kept == {"certificate.json", "junit.xml", "report.html", "parts"}


def test_a_failure_is_status_1_and_can_be_looked_at(
    run: Run, drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(regression, "_PAIRS", 8)
    contract = load_contract(drive)
    lazy = np.zeros((contract.width, 2), np.float32)
    write_policy(tmp_path / "lazy.onnx", contract, lazy)
    told = run(
        *("certify", "lazy.onnx", "--suite", "our.suite.yaml", "--json", "c.json"),
        *("--output", "kept", "--against", "drive.onnx"),
    )
    assert told.status == 1, told.err
    assert told.out.startswith("FAIL")
    tree = json.loads((tmp_path / "c.json").read_text())
    case = tree["failures"][0]
    assert case.keys() >= {"code", "e", "seed", "replay"}
    assert (case["code"], case["name"]) == (60, "no_progress")
    assert (tmp_path / "kept" / case["replay"]).is_file()
    assert tree["regression"]["change"] == "worse"


def test_too_little_evidence_is_status_1(run: Run, drive: Path, tmp_path: Path):
    few = SUITE.replace("episodes: 16", "episodes: 4")
    (tmp_path / "few.suite.yaml").write_text(few)
    told = run("certify", "drive.onnx", "--suite", "few.suite.yaml")
    assert told.status == 1
    assert told.out.startswith("INSUFFICIENT EVIDENCE")
    assert "more" in told.out


def test_a_policy_that_is_not_there(run: Run):
    told = run("certify", "nobody.onnx")
    assert told.status == 2
    assert "nobody.onnx" in told.err


def test_an_unknown_suite(run: Run, drive: Path):
    told = run("certify", "drive.onnx", "--suite", "defualt")
    assert told.status == 2
    assert "Nearest: 'default'" in told.err


def test_an_unknown_engine(run: Run, drive: Path):
    told = run("certify", "drive.onnx", "--engines", "bullet")
    assert told.status == 2
    assert "bullet" in told.err
    assert "drake" in told.err


def test_a_truncated_policy(run: Run, drive: Path, tmp_path: Path):
    (tmp_path / "cut.onnx").write_bytes(drive.read_bytes()[:-400])
    told = run("certify", "cut.onnx")
    assert told.status == 2
    assert "cut.onnx" in told.err
    assert "Traceback" not in told.err


def test_a_file_that_is_no_policy(run: Run, tmp_path: Path):
    (tmp_path / "words.onnx").write_text("these are words, no graph")
    told = run("certify", "words.onnx")
    assert told.status == 2
    assert "words.onnx" in told.err


def test_a_policy_of_another_robot(run: Run, drive: Path):
    told = run("certify", "drive.onnx", "--task", "cartpole_balance", "--twin", "arm")
    assert told.status == 2
    assert "'cartpole_balance' does not fit twin 'arm'" in told.err


def test_a_task_of_another_robot(run: Run, drive: Path):
    found = run("certify", drive, "--task", "reach")
    assert found.status == 2
    assert (
        "Task 'reach' does not fit drive.onnx, a policy for 'drive_velocity' on twin "
        "'diffdrive': " in found.err
    )
    assert "Leave out --task for 'drive_velocity'" in found.err


def test_a_task_that_there_is_not(run: Run, drive: Path):
    found = run("certify", drive, "--task", "nope")
    assert found.status == 2
    assert found.err.startswith("UnknownName: Realworthy has no task 'nope'.\n")
    assert "pendulum" in found.err


def test_a_pendulum_is_not_swung_up_on_four_legs(run: Run, drive: Path):
    told = run("certify", "drive.onnx", "--task", "pendulum", "--twin", "quadruped")
    assert told.status == 2
    assert "'pendulum' does not fit twin 'quadruped': it is for one command" in told.err


def test_two_links_are_not_an_arm(run: Run, drive: Path):
    told = run("certify", "drive.onnx", "--task", "acrobot_balance", "--twin", "arm")
    assert told.status == 2
    assert "'acrobot_balance' does not fit twin 'arm'" in told.err
    assert "'shoulder'" in told.err


def test_the_last_accepted_policy_is_looked_for_before_the_work_begins(
    run: Run, drive: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("realworthy.certification.certify.examine_all", None)
    told = run("certify", "drive.onnx", "--against", "nobody.onnx")
    told.check_mistake("MissingFile: nobody.onnx: there is no such file.\n")


def test_a_contract_that_contradicts_the_twin(run: Run, tmp_path: Path):
    path = write_cartpole(tmp_path / "c.onnx")
    contract = load_contract(path)
    terms = tuple(
        msgspec.structs.replace(
            term, signals=tuple(s.replace("pole.", "rod.") for s in term.signals)
        )
        for term in contract.terms
    )
    told = msgspec.structs.replace(contract, terms=terms)
    write_policy(path, told, np.zeros((contract.width, 1), np.float32))
    found = run("certify", "c.onnx")
    assert found.status == 2
    assert "rod." in found.err
    assert "cannot be played" in found.err


def test_actions_that_are_no_numbers(run: Run, tmp_path: Path):
    contract = load_contract(write_cartpole(tmp_path / "c.onnx"))
    bad = np.full((contract.width, 1), np.nan, np.float32)
    write_linear(tmp_path / "bad.onnx", bad)
    plain = msgspec.structs.replace(contract, parity=None)
    (tmp_path / "bad.contract.yaml").write_bytes(msgspec.yaml.encode(plain))
    found = run("certify", "bad.onnx", "--output", "kept")
    assert found.status == 2
    assert "number" in found.err
    assert found.files == ()


def test_a_foreign_policy_is_told_what_is_missing(
    run: Run, drive: Path, tmp_path: Path
):
    width = load_contract(drive).width
    write_linear(tmp_path / "foreign.onnx", np.zeros((width, 2), np.float32))
    told = run("certify", "foreign.onnx")
    assert told.status == 2
    assert "missing" in told.err
    assert "--task" in told.err
    drafted = run("certify", "foreign.onnx", "--task", "drive_velocity", "--draft")
    assert drafted.status == 0
    assert drafted.files == ("foreign.contract.yaml",)
    assert "foreign.contract.yaml is drafted" in drafted.out


def test_a_foreign_policy_with_a_task_is_certified_with_what_was_assumed(
    run: Run, drive: Path, tmp_path: Path
):
    graph = onnx.load(drive)
    del graph.metadata_props[:]
    onnx.save(graph, tmp_path / "bare.onnx")
    asked = ("--task", "drive_velocity", "--suite", "our.suite.yaml")
    told = run("certify", "bare.onnx", *asked, "--json", "c.json")
    assert told.status == 0, told.err
    warnings = json.loads((tmp_path / "c.json").read_text())["warnings"]
    assert any(w.startswith("contract, assumed: terms: Taken from") for w in warnings)


def test_a_misspelt_reality_is_said_before_the_work(run: Run, drive: Path):
    told = run("certify", "drive.onnx", "--realities", "diffdrive_1_worn")
    assert told.status == 2
    assert "Nearest: 'diffdrive_1_worn_wheel'" in told.err


def test_another_folder_is_not_overwritten(run: Run, drive: Path, tmp_path: Path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "thesis.txt").write_text("years of work")
    told = run("certify", "drive.onnx", "--output", "kept")
    assert told.status == 2
    assert "--overwrite" in told.err
    assert told.files == ()


@pytest.mark.slow
def test_stopped_it_goes_on_where_it_was(run: Run, drive: Path, tmp_path: Path):
    steps = "".join(
        f"      - {{value: {k}, condition: {{noise: {k}}}}}\n" for k in range(1, 40)
    )
    (tmp_path / "slow.suite.yaml").write_text(
        f"{SUITE}margins:\n  - name: noise\n    unit: ''\n    steps:\n{steps}"
    )
    asked = ("certify", "drive.onnx", "--suite", "slow.suite.yaml", "--output", "kept")
    process = subprocess.Popen(
        [sys.executable, "-m", "realworthy", *asked],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    first = tmp_path / "kept" / "parts" / "cell_0.json"
    deadline = time.monotonic() + 120
    while not first.exists() and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip().endswith("Stopped.")
    assert not (tmp_path / "kept" / "certificate.json").exists()
    made = first.stat().st_mtime_ns
    told = run(*asked)
    assert told.status == 0, told.err
    assert first.stat().st_mtime_ns == made
    assert (tmp_path / "kept" / "certificate.json").exists()
