"""Recordings that cannot be what they say."""

from pathlib import Path

import numpy as np

from realworthy.identification.calibration.recording_checks import (
    drop_impossible_torques,
)
from realworthy.recordings import Recording, Sidecar
from realworthy.twins import load_twin

TIME = np.arange(500) / 100


def swing(peak: float, kind: str) -> Recording:
    wave = np.sin(TIME)
    signals = {
        "joint.position": wave,
        "joint.command": wave,
        "joint.torque": np.where(np.arange(len(TIME)) % 50 == 0, peak, 0.5 * wave),
    }
    sidecar = Sidecar(command_kind="position" if kind == "position" else "torque")
    return Recording(TIME, signals, sidecar, Path(f"{kind}_{peak:g}.csv"))


def test_torques_beyond_the_drive_are_left_out_by_name():
    """The drive of this twin gives 12 N·m."""
    good, bad = swing(11.0, "position"), swing(17.0, "position")
    kept, said = drop_impossible_torques(load_twin("pendulum"), [good, bad])
    assert kept == (good,)
    assert len(said) == 1
    assert "position_17 was left out of the fit" in said[0]
    assert "17 N·m" in said[0]


def test_a_measured_torque_that_drives_nothing_may_be_anything():
    bad = swing(17.0, "torque")
    assert drop_impossible_torques(load_twin("pendulum"), [bad, bad]) == (
        (bad, bad),
        (),
    )


def test_what_is_all_there_is_stays():
    bad = swing(17.0, "position")
    assert drop_impossible_torques(load_twin("pendulum"), [bad]) == ((bad,), ())
