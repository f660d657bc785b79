"""A real arm: some motions fitted, others predicted. Real recordings, no stand-in."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.identification import Problem, fit_least_squares
from realworthy.recordings import Recording, load_recordings
from realworthy.simulators.replay import Replayer, lay_out
from realworthy.twins import Twin, load_twin

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")
FITTED = (
    "chirp_sweep",
    "prbs_excitation",
    "frequency_sweep",
    "inertia_coupling",
    "static_holding",
    "large_amplitude",
)
KINDS = ("kp", "kd", "coulomb_friction", "position.sensor_bias")


def load(data_folder: Path, names: list[str]) -> list[Recording]:
    return load_recordings(
        [data_folder / "so101_sage" / n for n in names], "so101_sage"
    )


def replay_error(twin: Twin, recording: Recording) -> float:
    """[rad] root mean square over rows and joints, the jaw apart."""
    track = lay_out(twin, recording)
    columns = [track.joints.index(joint) for joint in JOINTS]
    error = Replayer(track, 1).play().position[0] - track.position
    return float(np.sqrt(np.mean(error[:, columns] ** 2)))


@pytest.mark.slow
def test_a_real_arm_is_predicted_on_motions_it_was_not_fitted_to(
    data_folder: Path,
    menagerie_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """From the model as published: no value, no start and no bound by hand."""
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    published = load_twin("menagerie:robotstudio_so101/so101")
    folders = sorted(p.name for p in (data_folder / "so101_sage").iterdir())
    held_out = [
        n
        for n in folders
        if n not in FITTED and (data_folder / "so101_sage" / n).is_dir()
    ]
    names = [f"{joint}.{kind}" for kind in KINDS for joint in JOINTS]
    problem = Problem(
        published,
        load(data_folder, list(FITTED)),
        [*names, "all.delay"],
        joints=JOINTS,
        horizon=10.0,
    )
    fit = fit_least_squares(problem.thinned(8))
    calibrated = published.with_values(fit.e)
    recordings = load(data_folder, held_out)
    after = [replay_error(calibrated, recording) for recording in recordings]
    with capsys.disabled():
        print(
            f"\n  {fit.seconds:.0f} s, {fit.evaluation_count} candidates; "
            f"{len(after)} unseen motions: mean {np.mean(after):.4f}, median "
            f"{np.median(after):.4f}, worst {max(after):.4f} rad"
        )
    assert np.mean(after) < 0.0085
    assert all(8 < fit.e[f"{joint}.kp"] < 60 for joint in JOINTS)  # published: 998


def test_a_published_gain_is_far_too_high(
    data_folder: Path, menagerie_root: Path, monkeypatch: pytest.MonkeyPatch
):
    """The null arm: what the model as published says of two short motions."""
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    published = load_twin("menagerie:robotstudio_so101/so101")
    softer = published.with_values({"all.kp": 13 / 998.22, "all.kd": 0.15})
    for recording in load(data_folder, ["wave_motion", "slow_precision"]):
        assert replay_error(published, recording) > 1.2 * replay_error(
            softer, recording
        )
