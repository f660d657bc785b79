"""Coarse encoders are named, usual ones are not."""

import pytest

from realworthy.diagnosis.coarse import find_coarse
from realworthy.gap import measure
from realworthy.twins import load_twin
from tests.diagnosis.planted import record


@pytest.mark.parametrize(("step", "is_named"), [(0.03, True), (0.0015, False)])
def test_a_step_that_matters_is_named(step, is_named):
    coarse = {"kind": "quantisation", "joint": "joint", "step": step}
    recording = record("pendulum", seconds=6.0, effects=[coarse])
    found = find_coarse(measure(load_twin("pendulum"), recording))
    assert bool(found) == is_named
    if is_named:
        assert found[0].joints == ("joint",)
        assert found[0].estimates[0].value == pytest.approx(step, rel=1e-6)
