"""Masses in units of torque, and what holds in any unit."""

import numpy as np
import pytest

from realworthy.identification.calibration.inertials import (
    compute_ratios,
    describe_scale,
    list_inertials,
)
from realworthy.parameters import GaussianBelief
from realworthy.twins import bind, load_twin
from realworthy.twins.links import find_links

BENCH = (0.546 * 0.5**2 + 0.13 * (0.5**2 / 12 + 0.24**2) + 36 * 6.07e-5) / 0.3042
"""[m] J/(m·c) by hand: a point of 0.546 kg at 0.5 m, a rod of 0.13 kg and 0.5 m centred
at 0.24 m, and the rotor behind its gear, over 0.676 kg at 0.45 m."""


def test_links_are_told_by_how_far_out_their_weight_is():
    twin = load_twin("double_pendulum")
    assert find_links(bind(twin), ("shoulder", "elbow")) == {"link1": "z", "link2": "z"}
    assert list_inertials(twin, ("shoulder", "elbow")) == (
        "link1.centre_of_mass.z",
        "link2.centre_of_mass.z",
        "link2.mass",
        "link1.mass",
    )


def test_a_joint_that_takes_positions_has_no_inertials():
    assert list_inertials(load_twin("arm"), ("shoulder_lift",)) == ()


def make_belief(twin_name: str, sd: float) -> GaussianBelief:
    space = load_twin(twin_name).space.select(["pendulum.mass"])
    return GaussianBelief(space, np.log([0.676]), np.array([[sd**2]]))


def test_the_ratio_of_the_bench_is_its_hand_arithmetic():
    twin = load_twin("pendulum")
    belief = make_belief("pendulum", 1e-3)
    (ratio,) = compute_ratios(twin, twin, belief, ("joint",))
    assert ratio.mean == pytest.approx(BENCH, rel=1e-3)
    assert "absolute scale is not identified" in describe_scale([ratio])


def test_a_factor_of_all_forces_leaves_the_ratio():
    """Mass at constant shape scales J and m·c alike; only the rotor stays."""
    twin = load_twin("pendulum")
    (ratio,) = compute_ratios(twin, twin, make_belief("pendulum", 0.1), ("joint",))
    assert ratio.sd < 0.01 * ratio.mean
