"""Parameters and their coordinates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realworthy.errors import RealworthyError, UnknownParameter
from realworthy.parameters import Parameter, ParameterSpace, Transform

from .conftest import make_parameter


@given(
    st.sampled_from(list(Transform)),
    st.floats(0.001, 0.999),
)
def test_coordinates_round_trip(transform: Transform, share: float):
    parameter = make_parameter("arm.x", 1.0, lower=0.5, upper=4.0, transform=transform)
    value = 0.5 + 3.5 * share
    assert parameter.from_z(parameter.to_z(value)) == pytest.approx(value, rel=1e-12)


def test_slope_is_the_derivative_of_the_coordinate(space: ParameterSpace):
    e = np.array([0.3, 1.7, 0.033])
    h = 1e-7
    for i, parameter in enumerate(space):
        slope = (parameter.to_z(e[i] + h) - parameter.to_z(e[i] - h)) / (2 * h)
        assert np.exp(parameter.log_slope(e[i])) == pytest.approx(
            float(slope), rel=1e-5
        )


def test_logit_stays_within_its_bounds_for_every_coordinate():
    parameter = make_parameter(
        "arm.x", 1.0, lower=0.5, upper=4.0, transform=Transform.LOGIT
    )
    e = parameter.from_z(np.array([-1e3, -1.0, 0.0, 1.0, 1e3]))
    assert e.min() >= 0.5
    assert e.max() <= 4.0


def test_an_unknown_parameter_is_answered_with_the_nearest(space: ParameterSpace):
    with pytest.raises(UnknownParameter) as caught:
        space.index("arm.mas")
    assert str(caught.value) == (
        "the space has no parameter 'arm.mas'.\n  Nearest: 'arm.mass'."
    )
    assert caught.value.nearest == ("arm.mass",)


def test_a_name_falls_into_element_kind_and_component():
    parameter = Parameter(
        name="left/trunk.v2.centre_of_mass.x",
        kind="centre_of_mass",
        component="x",
        unit="m",
        nominal=0.0,
        binding=make_parameter("a.b").binding,
    )
    assert parameter.element == "left/trunk.v2"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lower": 2.0}, "is not within [2, inf]"),
        (
            {"lower": -1.0, "transform": Transform.LOG},
            "log transform and may be negative",
        ),
        ({"transform": Transform.LOGIT}, "logit transform without two bounds"),
    ],
)
def test_impossible_parameters_are_refused(changes, said):
    with pytest.raises(RealworthyError) as caught:
        make_parameter("arm.x", 1.0, **changes)
    assert said in str(caught.value)


def test_two_parameters_of_one_name_are_refused():
    twice = [make_parameter("arm.x"), make_parameter("arm.x")]
    with pytest.raises(RealworthyError, match=r"named twice: arm\.x"):
        ParameterSpace(twice)
