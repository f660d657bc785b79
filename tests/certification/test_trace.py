"""A trace says at the door what does not fit."""

import numpy as np
import pytest

from realworthy.certification.rollouts.trace import Trace, spread_limit
from realworthy.errors import RealworthyError


def make(**given) -> Trace:
    arrays = {
        "period_s": 0.02,
        "length": np.array([3, 5]),
        "action": np.zeros((2, 5, 1)),
        "position": np.zeros((2, 5, 2)),
        "velocity": np.zeros((2, 5, 2)),
        "torque": np.zeros((2, 5, 2)),
        "lower": np.full(2, -1.0),
        "upper": np.full((2, 2), 1.0),
        "velocity_limit": np.full(2, np.inf),
        "torque_limit": np.full(2, 10.0),
        "failure": np.zeros(2, np.int64),
        "failure_step": np.full(2, -1),
        "success": np.ones(2, bool),
    }
    return Trace(**{**arrays, **given})


def test_steps_behind_the_length_do_not_count():
    trace = make()
    assert trace.is_valid.astype(int).tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]
    assert (trace.world_count, trace.step_count) == (2, 5)


def test_a_limit_stands_beside_joint_signals():
    assert spread_limit(make().lower).shape == (1, 1, 2)
    assert spread_limit(make().upper).shape == (2, 1, 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"velocity": np.zeros((2, 5, 3))}, r"velocity has shape \(2, 5, 3\)"),
        ({"tilt": np.zeros((5, 2))}, r"tilt has shape \(5, 2\); expected \(2, 5\)"),
        ({"torque_limit": np.zeros(3)}, "torque_limit has shape"),
        ({"length": np.array([3, 6])}, "0 … 5"),
        ({"length": np.array([3])}, "each of 2 worlds"),
        ({"period_s": 0.0}, "period above zero"),
        ({"action": np.zeros((2, 5))}, "actions"),
    ],
)
def test_what_does_not_fit_is_said(given: dict, message: str):
    with pytest.raises(RealworthyError, match=message):
        make(**given)
