from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import UnknownName
from realworthy.recordings import Recording, load_recording, load_recordings


@pytest.fixture(scope="module")
def runs(data: Path) -> list[Recording]:
    return load_recordings(data / "dfki_double_pendulum", "dfki_double_pendulum")


def source(run: Recording) -> Path:
    assert run.source is not None
    return run.source


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def test_every_run_loads(runs: list[Recording]):
    folders = [source(run).parent.name for run in runs]
    assert len(runs) == 46
    assert folders.count("design_C.1_sysid") == 8
    assert folders.count("design_C.0_sysid") == 7
    assert folders.count("design_A.0_sysid") == 4
    assert all(run.joints == ("shoulder", "elbow") for run in runs)
    assert all(run.sidecar.command_kind == "torque" for run in runs)


def test_designs_and_repeats_are_noted(runs: list[Recording]):
    for run in runs:
        folder = source(run).parent.name
        designs = {f"design_{d}_sysid": d for d in ("A.0", "C.0")}
        assert run.sidecar.notes["design"] == designs.get(folder, "C.1")
        repeats = not folder.startswith("design_") and "perturbed" not in folder
        assert run.sidecar.repeat_group == (folder if repeats else None)


def test_velocity_is_the_derivative_of_position(runs: list[Recording]):
    for run in runs:
        if source(run).parent.name != "design_C.1_sysid":
            continue
        slope = np.gradient(run.signals["shoulder.position"], run.time)
        velocity = run.signals["shoulder.velocity"]
        assert slope @ velocity / (slope @ slope) == pytest.approx(1.0, abs=0.005)
        assert np.mean(velocity) == pytest.approx(np.mean(slope), abs=0.02)


def test_the_command_is_what_the_drive_answered_to(runs: list[Recording]):
    """Friction compensation is inside it already, and pulses were put on top."""
    for run in runs:
        if "acrobot" not in source(run).parent.name:
            continue
        sent, felt = run.signals["elbow.command"], run.signals["elbow.torque"]
        friction = np.roll(run.signals["elbow.friction_compensation"], 1)
        if np.abs(friction).max() > 0:
            assert rms(felt - sent) < 0.7 * rms(felt - sent - friction)
        if "elbow.perturbation" in run.signals:
            pulses = np.roll(run.signals["elbow.perturbation"], 1)
            assert rms(felt - sent) < 0.9 * rms(felt - sent + pulses)


def test_a_missing_column_is_named(tmp_path: Path):
    path = tmp_path / "run.csv"
    path.write_text("time,pos_meas1,pos_meas2,vel_meas1\n0,0,0,0\n1,0,0,0\n")
    with pytest.raises(UnknownName) as caught:
        load_recording(path, "dfki_double_pendulum")
    assert caught.value.problem == "'run.csv' has no column 'tau_meas1'."


@pytest.mark.parametrize("folder", ["acrobot_mcpilco", "pendubot_ilqr_tvlqr_lqr"])
def test_commands_and_torques_stand_where_they_acted(
    runs: list[Recording], folder: str
):
    """As logged, the drive's torque follows the command two rows later."""
    joint = "elbow" if folder.startswith("acrobot") else "shoulder"
    for run in runs:
        if source(run).parent.name != folder:
            continue
        sent, felt = run.signals[f"{joint}.command"], run.signals[f"{joint}.torque"]
        agreed = {
            lag: np.corrcoef(np.roll(sent, lag)[9:-9], felt[9:-9])[0, 1]
            for lag in (-3, -2, -1, 0, 1)
        }
        at_33_hz = run.rate < 100
        assert max(agreed, key=lambda lag: agreed[lag]) in (
            (0,) if at_33_hz else (0, 1)
        )
