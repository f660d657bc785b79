"""Trials are judged by what the robot measured."""

import numpy as np
import pytest

from realworthy.recordings import Recording
from realworthy.tour.robots import ROBOTS

TIME = np.arange(0, 10, 0.04)


def swing(end: float, *, falls_at: float | None = None) -> Recording:
    """Upright from 5 s on; or until it falls."""
    angle = np.where(TIME < 5, TIME / 5 * end, end)
    if falls_at is not None:
        angle = np.where(falls_at < TIME, 0.0, angle)
    return Recording(TIME, {"joint.position": angle})


@pytest.mark.parametrize("turns", [-1, 0, 1])
def test_upright_counts_however_often_it_went_round(turns: int):
    judge = ROBOTS["pendulum"].succeeded
    assert judge(swing(np.pi * (1 + 2 * turns)), {})


@pytest.mark.parametrize(
    "recording",
    [swing(0.0), swing(np.pi - 0.2), swing(np.pi, falls_at=9.5)],
    ids=["hangs", "leans", "falls"],
)
def test_what_does_not_stand_does_not_count(recording: Recording):
    assert not ROBOTS["pendulum"].succeeded(recording, {})
