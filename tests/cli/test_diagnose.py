"""`realworthy diagnose`: what it hands over, writes, prints and returns."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from realworthy import diagnosis as room
from realworthy.certification.rollouts.realities import TaskAttempts
from realworthy.cli.diagnose import print_diagnosis
from realworthy.diagnosis.diagnosis import (
    Alternative,
    Cause,
    CauseKind,
    Change,
    Diagnosis,
    Estimate,
    Shares,
    Verdict,
)
from realworthy.diagnosis.task import weigh
from realworthy.gap import measure
from realworthy.progress import Progress, ignore
from realworthy.recordings import Recording, Sidecar, save_recording
from realworthy.twins import Twin, load_twin
from tests.certification.golden import write_cartpole

from .conftest import Run

KEYS = {"name", "kind", "joints", "share", "interval", "evidence", "next_step"}
KEYS |= {"indistinguishable_from", "task_loss", "estimates", "alternatives", "fix"}


@pytest.fixture(scope="module")
def swing() -> Recording:
    time = np.arange(200) / 100
    signals = {
        "joint.position": np.sin(3 * time),
        "joint.velocity": 3 * np.cos(3 * time),
        "joint.command": 2 * np.sin(3 * time),
    }
    return Recording(time, signals, Sidecar(command_kind="torque", rate=100.0))


@pytest.fixture(scope="module")
def found(swing: Recording) -> Diagnosis:
    gap = measure(load_twin("pendulum"), swing)
    return Diagnosis(
        twin="pendulum",
        verdict=Verdict.MISSING_EFFECT,
        summary="A sign explains 62 % of the gap, and friction another 30 %.",
        causes=(
            Cause(
                name="joint_sign",
                kind=CauseKind.INTERFACE,
                joints=("shoulder_lift", "elbow_flex", "wrist_flex"),
                share=0.62,
                interval=(0.55, 0.7),
                evidence="Turned round, the error falls from 0.41 rad to 0.02 rad.",
                next_step="Put the sign into the sidecar and run diagnose again.",
                fix="mapping:\n  joint.position: {sign: -1}\n",
            ),
            Cause(
                name="coulomb_friction",
                kind=CauseKind.PARAMETRIC,
                joints=(),
                share=0.3,
                interval=(0.21, 0.36),
                evidence="With 0.345 N·m the error after one second falls by 71 %.",
                next_step="Run calibrate.",
                estimates=(
                    Estimate(
                        name="joint.coulomb_friction",
                        value=0.345,
                        nominal=0.287,
                        interval=(0.33, 0.36),
                        unit="N·m",
                    ),
                ),
                alternatives=(
                    Alternative(name="stribeck", joints=("joint",)),
                    Alternative(name="coulomb_friction", joints=("other",)),
                ),
            ),
        ),
        shares=Shares(interface=0.62, parametric=0.3, missing=0.0, unexplained=0.08),
        detection_limit="Delays below 4 ms would not have shown.",
        gap=gap,
        changes=(
            Change(
                name="mass",
                joints=("joint",),
                size="+0.12 kg (0.09 … 0.15)",
                evidence="It takes 0.19 N·m more to hold it level.",
                next_step="Look for something that was left on it.",
                false_alarm_rate=0.004,
            ),
        ),
        warnings=("The joint hardly moves.",),
        next_experiment="Ten slow reversals (20 s).",
        seconds=12.5,
        notes={"clock": "no gaps in 200 rows"},
    )


@dataclass
class Fake:
    """Stands in for the diagnosis itself, and remembers what it was given."""

    answer: Diagnosis
    twin: str = ""
    recordings: list[Recording] = field(default_factory=list)
    before: list[Recording] = field(default_factory=list)

    def __call__(
        self,
        twin: Twin,
        recordings: Sequence[Recording],
        *,
        before: Sequence[Recording] = (),
        attempts: TaskAttempts | None = None,
        progress: Progress = ignore,
    ) -> Diagnosis:
        self.twin = twin.name
        self.recordings, self.before = list(recordings), list(before)
        for done in (0.0, 0.3, 1.0):
            progress(done, "Trying signs")
        if attempts is None:
            return self.answer
        return weigh(twin, self.answer, attempts)  # as the real one ends


Answer = Callable[[Diagnosis], Fake]


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Answer:
    def answer(told: Diagnosis) -> Fake:
        fake = Fake(told)
        monkeypatch.setattr(room, "diagnose", fake, raising=False)
        return fake

    return answer


@pytest.fixture
def path(swing: Recording, tmp_path: Path) -> str:
    save_recording(swing, tmp_path / "swing.csv")
    return "swing.csv"


def test_the_findings_are_written_for_programs(
    run: Run, answer: Answer, found: Diagnosis, path: str, tmp_path: Path
):
    answer(found)
    told = run("diagnose", "pendulum", path, "--json", "told.json")
    assert told.status == 1
    assert told.files == ("told.json",)
    tree = json.loads((tmp_path / "told.json").read_text())
    assert tree["verdict"] == "missing_effect"
    first, second = tree["causes"]
    assert set(first) == set(second) == KEYS
    assert first["kind"] == "interface"
    assert first["joints"] == ["shoulder_lift", "elbow_flex", "wrist_flex"]
    assert first["interval"] == [0.55, 0.7]
    assert first["task_loss"] is None
    assert second["indistinguishable_from"] == ["stribeck"]
    assert second["alternatives"][1] == {
        "name": "coulomb_friction",
        "joints": ["other"],
    }
    assert second["estimates"][0]["value"] == 0.345
    assert tree["shares"]["unexplained"] == 0.08
    assert tree["changes"][0]["false_alarm_rate"] == 0.004
    assert tree["warnings"] == ["The joint hardly moves."]
    assert tree["notes"] == {"clock": "no gaps in 200 rows"}
    assert tree["next_experiment"] == "Ten slow reversals (20 s)."
    assert tree["detection_limit"] == "Delays below 4 ms would not have shown."
    assert tree["seconds"] == 12.5
    assert tree["is_partial"] is False


@pytest.mark.parametrize("verdict", list(Verdict))
def test_only_a_healthy_twin_ends_with_status_0(
    run: Run, answer: Answer, found: Diagnosis, path: str, verdict: Verdict
):
    answer(replace(found, verdict=verdict))
    told = run("diagnose", "pendulum", path)
    assert told.status == (0 if verdict is Verdict.HEALTHY else 1)


def test_degrees_are_a_finding_not_a_mistake(
    run: Run, answer: Answer, found: Diagnosis, swing: Recording, tmp_path: Path
):
    degrees = dict(swing.signals) | {
        "joint.position": np.degrees(swing.signals["joint.position"])
    }
    save_recording(replace(swing, signals=degrees), tmp_path / "degrees.csv")
    fake = answer(found)
    assert run("diagnose", "pendulum", "degrees.csv").status == 1
    assert fake.twin == "pendulum"
    assert np.ptp(fake.recordings[0].signals["joint.position"]) > 100


def test_recordings_of_an_earlier_day_are_kept_apart(
    run: Run, answer: Answer, found: Diagnosis, path: str, tmp_path: Path
):
    for name in ("monday.csv", "tuesday.csv"):
        (tmp_path / name).write_bytes((tmp_path / path).read_bytes())
    fake = answer(found)
    run("diagnose", "pendulum", path, "--before", "monday.csv", "tuesday.csv")
    assert [recording.name for recording in fake.recordings] == ["swing"]
    assert [recording.name for recording in fake.before] == ["monday", "tuesday"]


def test_an_interrupted_diagnosis_is_printed_and_written(
    run: Run, answer: Answer, found: Diagnosis, path: str, tmp_path: Path
):
    answer(replace(found, is_partial=True))
    options = ("--json", "told.json", "--report", "page.html", "--fix", "fixed")
    told = run("diagnose", "pendulum", path, *options)
    assert told.status == 130
    assert told.files == ("page.html", "told.json")
    assert told.out.startswith("Interrupted: partial results.\n")
    assert json.loads((tmp_path / "told.json").read_text())["is_partial"] is True
    assert "Interrupted:" in (tmp_path / "page.html").read_text("utf-8")


def test_a_page_is_written_for_people(
    run: Run, answer: Answer, found: Diagnosis, path: str, tmp_path: Path
):
    answer(found)
    assert run("diagnose", "pendulum", path, "--report", "page.html").status == 1
    page = (tmp_path / "page.html").read_text("utf-8")
    assert found.summary in page


def test_what_exists_is_refused_before_the_work(
    run: Run, answer: Answer, found: Diagnosis, path: str, tmp_path: Path
):
    fake = answer(found)
    (tmp_path / "page.html").write_text("mine")
    run("diagnose", "pendulum", path, "--report", "page.html").check_mistake(
        "Unwritable: Cannot write page.html: it exists already.\n"
        "  Choose another name, or give --overwrite (overwrite=True).\n"
    )
    assert fake.twin == ""
    run(
        "diagnose", "pendulum", path, "--report", "a.html", "--json", "a.html"
    ).check_mistake(
        "Unwritable: Cannot write a.html: it is the file of --json, too.\n"
        "  Give the report a name of its own, such as report.html.\n"
    )


def test_where_no_log_is_wrong_none_is_put_right(
    run: Run, answer: Answer, found: Diagnosis, path: str
):
    answer(replace(found, causes=found.causes[1:]))
    told = run("diagnose", "pendulum", path, "--fix", "fixed")
    assert told.files == ()
    assert told.out.endswith("0 recordings corrected in fixed\n")


@pytest.mark.parametrize("columns", [80, 120])
def test_it_fits_the_terminal(
    found: Diagnosis,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("COLUMNS", str(columns))
    print_diagnosis(found)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= columns
    words = " ".join(out.replace("\u00a0", " ").split())
    assert "joint_sign shoulder_lift +2 ██▌ 62 % 55…70 Put the sign" in words
    assert "coulomb_friction all █▎ 30 % 21…36 Run calibrate." in words
    assert "Not distinguishable from: stribeck of joint" in words
    assert "mapping: joint.position: {sign: -1}" in words
    assert "Changed: mass of joint +0.12 kg (0.09 … 0.15)" in words
    assert words.index("Warning:") < words.index("The twin lacks something.")


def _blame(name: str, value: float, nominal: float, share: float) -> Cause:
    """A wrong number of the cart."""
    estimate = Estimate(
        name=f"cart.{name}",
        value=value,
        nominal=nominal,
        interval=(value, value),
        unit="",
    )
    return Cause(
        name=name,
        kind=CauseKind.PARAMETRIC,
        joints=("cart",),
        share=share,
        interval=(share, share),
        evidence="",
        next_step="Run calibrate.",
        estimates=(estimate,),
    )


def test_what_each_cause_costs_the_task_is_told_and_ranks_them(
    run: Run, answer: Answer, found: Diagnosis, tmp_path: Path
):
    """The largest gap is friction that a controller overcomes; the delay fells it."""
    write_cartpole(tmp_path / "policy.onnx")
    time = np.arange(100) / 100
    signals = {f"{j}.position": 0.01 * np.sin(time) for j in ("cart", "pole")}
    recording = Recording(time, {**signals, "cart.command": np.cos(time)}, Sidecar())
    save_recording(recording, tmp_path / "cart.csv")
    causes = (_blame("damping", 1.5, 0.5, 0.9), _blame("delay", 0.1, 0.0, 0.1))
    answer(replace(found, twin="cartpole", causes=causes))
    told = run(
        *("diagnose", "cartpole", "cart.csv", "--policy", "policy.onnx"),
        *("--task", "cartpole_balance", "--json", "x.json", "--report", "x.html"),
    )
    assert told.status == 1, told.err
    first, second = json.loads((tmp_path / "x.json").read_text())["causes"]
    assert (first["name"], second["name"]) == ("delay", "damping")
    assert first["task_loss"]["measure"] == "success"
    assert first["task_loss"]["mean"] > 0.8
    assert first["task_loss"]["interval"][0] > 0.7
    assert abs(second["task_loss"]["mean"]) < 0.1
    assert "task loss" in told.out
    assert "Task loss:" in (tmp_path / "x.html").read_text()


def test_a_task_needs_a_policy_and_one_that_fits(
    run: Run, answer: Answer, found: Diagnosis, path: str, tmp_path: Path
):
    answer(found)
    told = run("diagnose", "pendulum", path, "--task", "pendulum")
    told.check_mistake(
        "RealworthyError: Who does task 'pendulum'? No policy was given.\n"
        "  Try: --task pendulum --policy policy.onnx\n"
    )
    write_cartpole(tmp_path / "policy.onnx")
    told = run("diagnose", "pendulum", path, "--policy", "policy.onnx")
    assert (told.status, told.files) == (2, ())
    assert "'cartpole_balance' does not fit twin 'pendulum'" in told.err
