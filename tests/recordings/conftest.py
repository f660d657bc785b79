"""Recordings made up with known answers, and the real ones where they are."""

import os
from pathlib import Path

import numpy as np
import pytest

from realworthy.recordings import Recording

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real recordings; a checkout that should have it must have it."""
    shared = ROOT.parent / "shared"
    folder = Path(os.environ.get("REALWORTHY_DATA") or shared / "data").resolve()
    if folder.is_dir():
        return folder
    reason = f"real recordings are not at {folder}; set REALWORTHY_DATA"
    if shared.is_dir() or os.environ.get("REALWORTHY_REQUIRE_DATA"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def swing() -> Recording:
    """Two joints for 4 s at 100 Hz, with exact velocities and commands 20 ms ahead.

    position = sin(2πt) at the elbow and 0.5 sin(4πt) at the wrist [rad].
    """
    time = np.arange(400) / 100
    signals = {}
    for joint, size, speed in (("elbow", 1.0, 2 * np.pi), ("wrist", 0.5, 4 * np.pi)):
        signals[f"{joint}.position"] = size * np.sin(speed * time)
        signals[f"{joint}.velocity"] = size * speed * np.cos(speed * time)
        signals[f"{joint}.command"] = size * np.sin(speed * (time + 0.02))
    return Recording(time, signals, source=Path("swing.csv"))
