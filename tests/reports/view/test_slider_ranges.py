"""Which numbers can be dragged, and how far."""

import numpy as np
import pytest

from realworthy.reports.view.slider_ranges import SHOWN_COUNT, choose_slider_ranges
from realworthy.twins import bind, load_twin


def test_few_numbers_have_a_slider_each():
    twin = load_twin("pendulum")
    knobs = choose_slider_ranges(twin)
    assert {knob.name for knob in knobs.shown} == set(twin.belief.space.names)
    assert not knobs.hidden


def test_a_slider_covers_the_belief_and_little_more():
    twin = load_twin("pendulum")
    draws = twin.belief.sample(2000, seed=5)
    for knob in choose_slider_ranges(twin).shown:
        if knob.parameter.kind == "delay":
            continue
        drawn = draws[:, twin.belief.space.index(knob.name)]
        inside = (drawn >= knob.lower) & (drawn <= knob.upper)
        assert inside.mean() > 0.99
        assert knob.upper - knob.lower < 1.3 * np.ptp(drawn)
        assert knob.lower <= knob.nominal <= knob.upper


def test_a_delay_goes_as_far_as_the_twin_can_carry_one():
    knob = choose_slider_ranges(load_twin("pendulum"))["all.delay"]
    assert (knob.lower, knob.upper) == (0.0, 0.1)


@pytest.mark.parametrize("name", ["cartpole", "quadruped", "bimanual"])
def test_of_many_numbers_few_are_shown_and_none_is_lost(name: str):
    twin = load_twin(name)
    knobs = choose_slider_ranges(twin)
    assert len(knobs.shown) <= SHOWN_COUNT
    assert set(twin.belief.space.names) <= set(knobs.space.names)
    assert "all.coulomb_friction" in [knob.name for knob in knobs.shown]
    bind(twin, knobs.space)  # factors and single numbers get on with each other


def test_beyond_the_belief_physics_still_bounds():
    for knob in choose_slider_ranges(load_twin("pendulum")).shown:
        wide = knob.widened()
        assert wide.parameter.lower <= wide.lower <= knob.lower
        assert knob.upper <= wide.upper <= wide.parameter.upper
    friction = choose_slider_ranges(load_twin("pendulum"))["joint.coulomb_friction"]
    assert friction.widened().upper == pytest.approx(4 * friction.upper, rel=0.1)
