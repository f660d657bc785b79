"""Recordings made up with known answers, and the real ones where they are."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.recordings import Recording

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def data(data_folder: Path) -> Path:
    """The folder of real recordings."""
    return data_folder


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
