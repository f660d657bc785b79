"""Values at the ends of their ranges."""

import numpy as np

from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.twins import load_twin


def test_what_rounding_leaves_beside_an_end_is_the_end():
    """An engine makes a whole time step of the least delay."""
    bounds = FitCoordinates(load_twin("arm").space.select(["all.delay"]))
    found = bounds.from_z(np.array([[2e-53], [1e-6], [0.1 - 1e-17]]))
    assert found[:, 0].tolist() == [0.0, 1e-6, 0.1]
