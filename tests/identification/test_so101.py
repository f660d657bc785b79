"""A real arm: two motions fitted, others predicted. Real recordings, no stand-in."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.identification import Problem, fit_least_squares
from realworthy.recordings import Recording, load_recordings
from realworthy.simulators.replay import Replayer, lay_out
from realworthy.twins import Twin, load_twin

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")
FITTED = ("chirp_sweep", "prbs_excitation")
HELD_OUT = ("reaching_points", "boundary_exploration")


def load(data_folder: Path, names: tuple[str, ...]) -> list[Recording]:
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
@pytest.mark.parametrize("damping", ["damping", "kd"])
def test_a_real_arm_is_predicted_better_after_a_fit(
    data_folder: Path,
    menagerie_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    damping: str,
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    published = load_twin("menagerie:robotstudio_so101/so101")
    fitted = [r.crop(r.time[0] + 20, r.time[0] + 60) for r in load(data_folder, FITTED)]
    kinds = ("kp", damping, "coulomb_friction")
    names = [f"{joint}.{kind}" for kind in kinds for joint in JOINTS]
    fit = fit_least_squares(Problem(published, fitted, names, joints=JOINTS))
    calibrated = published.with_values(fit.e)
    held_out = load(data_folder, HELD_OUT)
    before = [replay_error(published, recording) for recording in held_out]
    after = [replay_error(calibrated, recording) for recording in held_out]
    with capsys.disabled():
        print(
            f"\n  {damping}: {fit.seconds:.0f} s, {fit.evaluation_count} worlds, held "
            f"out {np.mean(before):.4f} → {np.mean(after):.4f} rad"
        )
    assert np.mean(before) > 0.03
    assert max(after) < 0.020
    assert all(8 < fit.e[f"{joint}.kp"] < 60 for joint in JOINTS)  # published: 998
    assert fit.seconds < 90  # 20 s on two idle cores
