"""Deployments of a tour: told in turn, bounded in time, and never left behind."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import RealworthyError
from realworthy.realities import RealityFile, save_reality
from realworthy.recordings import Recording
from realworthy.tours import trials
from realworthy.tours.robots import TourRobot
from realworthy.tours.trials import WireTrials, wait_for
from tests.certification.golden import write_drive

FORWARD = {"goal.forward": 0.12, "goal.turn": 0.0}
BACK = {"goal.forward": -0.06, "goal.turn": 0.0}


def drove(recording, inputs, truth) -> bool:
    """Whether it went about as far as it was told to."""
    x, y = (recording.signals[f"base.position.{axis}"] for axis in "xy")
    went = math.hypot(x[-1] - x[0], y[-1] - y[0]) / recording.duration
    return abs(went - abs(inputs["goal.forward"])) < 0.03


ROBOT = TourRobot(
    name="diffdrive",
    task="drive_velocity",
    about="A robot on two wheels drives as it is told.",
    unknowns={},
    push=1.0,
    waves=(0.5,),
    steps=1,
    seconds=2.0,
    inputs=(FORWARD, BACK),
    succeeded=drove,
)


@pytest.fixture
def reality(tmp_path: Path) -> Path:
    path = tmp_path / "hidden.reality.yaml"
    save_reality(RealityFile(schema=1, twin="diffdrive", seed=0), path)
    return path


def start(reality: Path, policy: Path, folder: Path, *, count: int = 3) -> WireTrials:
    return WireTrials(
        ROBOT,
        twin="diffdrive",
        reality=reality,
        policy=policy,
        folder=folder,
        trials=count,
        truth={},
    )


def list_processes(deployment: WireTrials) -> list[subprocess.Popen[bytes]]:
    found = (deployment._stand_in, deployment._child)
    return [process for process in found if process is not None]


@pytest.mark.slow
def test_a_policy_is_told_in_turn_over_the_wire(reality: Path, tmp_path: Path):
    policy = write_drive(tmp_path / "drive.onnx")
    with start(reality, policy, tmp_path / "trials") as under_way:
        wait_for([under_way])
        found = under_way.read()
    assert found.successes == (True, True, True)
    forward, again, back = found.load()
    assert "input_1" in str(found.recordings[1])
    assert "input_2" in str(found.recordings[2])
    for recording, sign in ((forward, 1), (again, 1), (back, -1)):
        wheel = recording.signals["left_wheel.velocity"]
        assert sign * wheel[len(wheel) // 2] > 0
    assert all(one.poll() is not None for one in list_processes(under_way))


@pytest.mark.parametrize(
    ("trials_", "counts"), [(1, [1]), (2, [1, 1]), (3, [2, 1]), (5, [3, 2])]
)
def test_trials_are_shared_out_in_turn(trials_: int, counts: list[int]):
    turns = trials._share_out((FORWARD, BACK), trials_, Path("f"))
    assert [turn.count for turn in turns] == counts
    assert [turn.inputs for turn in turns] == [FORWARD, BACK][: len(counts)]


def test_a_robot_that_does_not_start_is_said(tmp_path: Path):
    gone = tmp_path / "gone.reality.yaml"
    with (
        pytest.raises(RealworthyError, match=r"did not start: .*gone\.reality\.yaml"),
        start(gone, tmp_path / "p.onnx", tmp_path / "trials") as under_way,
    ):
        wait_for([under_way])
    assert under_way._stand_in.poll() is not None


def pretend(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """All commands are this script."""
    monkeypatch.setattr(trials, "_RUN", (sys.executable, "-c", script))


def test_a_silent_robot_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    pretend(monkeypatch, "import time; time.sleep(60)")
    monkeypatch.setattr(trials, "_START", 0.3)
    with (
        pytest.raises(RealworthyError, match=r"sent nothing for 0\.3 s"),
        start(tmp_path, tmp_path, tmp_path / "trials") as under_way,
    ):
        wait_for([under_way])
    assert under_way._stand_in.poll() is not None


@pytest.mark.parametrize("error", [KeyboardInterrupt, RealworthyError])
def test_whatever_goes_wrong_nothing_stays(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """A robot and a policy that would go on for a minute."""
    pretend(monkeypatch, "import time; print('udp://here', flush=True); time.sleep(60)")
    under_way = start(tmp_path, tmp_path, tmp_path / "trials")

    def go_wrong() -> None:
        with under_way:
            assert not under_way.advance()
            assert len(list_processes(under_way)) == 2
            assert all(one.poll() is None for one in list_processes(under_way))
            raise error("now")

    with pytest.raises(error):
        go_wrong()
    assert all(one.poll() is not None for one in list_processes(under_way))


def test_trials_that_do_not_end_are_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    pretend(monkeypatch, "import time; print('udp://here', flush=True); time.sleep(60)")
    monkeypatch.setattr(trials, "_PATIENCE", -3 * 2 * ROBOT.seconds)
    with (
        pytest.raises(RealworthyError, match="did not end"),
        start(tmp_path, tmp_path, tmp_path / "trials") as under_way,
    ):
        wait_for([under_way])


def test_a_refusal_is_said_in_the_words_of_the_check(tmp_path: Path):
    report = tmp_path / "deploy.json"
    report.write_text(
        '{"trials": [], "checks": ['
        '{"name": "rate", "passed": true, "text": "41 states/s"},'
        '{"name": "clock", "passed": false, "text": "0.5 times as fast as ours"}]}'
    )
    refusal = trials.find_refusals(report)
    found = trials.RealTrials(successes=(), recordings=(), refusal=refusal)
    assert found.summary.startswith("not tried: clock: 0.5 times as fast as ours. ")
    assert "busy" in found.summary
    assert "--no-wire" in found.summary
    cold = trials.RealTrials(successes=(), recordings=(), refusal="heat: 90 °C")
    assert cold.summary == "not tried: heat: 90 °C"
    tried = trials.RealTrials(successes=(True, False), recordings=())
    assert tried.summary == "1 of 2"


def test_what_guards_stopped_is_said(tmp_path: Path):
    report = tmp_path / "deploy.json"
    report.write_text(
        '{"trials": [{"outcome": "done", "reason": ""},'
        '{"outcome": "fault", "reason": "the limit of rate acted"},'
        '{"outcome": "fault", "reason": "the limit of rate acted"}]}'
    )
    stopped = tuple(trials.find_stops(report))
    found = trials.RealTrials(
        successes=(True, False, False), recordings=(), stopped=stopped
    )
    assert found.summary == "1 of 3, 2 stopped: the limit of rate acted"


def test_only_what_the_policy_led_is_judged(tmp_path: Path):
    """Two commands went out on the same state: the log has more rows."""
    time = np.arange(6.0)
    phase = np.array(["move_to_default"] * 3 + ["hold", "run", "run", "run", "hold"])
    state_time = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    np.savez(tmp_path / "trial_1.log.npz", phase=phase, state_time=state_time)
    trial = Recording(time, {"joint.position": 10 * time})
    found = trials.find_run(trial, tmp_path / "trial_1.log.npz")
    assert found.time.tolist() == [2.0, 3.0, 4.0]
    assert found.signals["joint.position"].tolist() == [20.0, 30.0, 40.0]
