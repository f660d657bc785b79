"""Backlash: a twin's second hinge, which the bench without an engine lacks."""

import numpy as np
import pytest

from realworthy.actuators import (
    Actuator,
    BadActuator,
    BenchLoad,
    ControllerPosition,
    build_law,
    simulate_bench,
)


def test_the_bench_refuses_backlash_that_it_cannot_integrate():
    loose = Actuator(joint="a", controller=ControllerPosition(kp=1.0), backlash=0.01)
    with pytest.raises(BadActuator, match="the bench has no backlash"):
        simulate_bench(
            build_law(loose, timestep=0.001), BenchLoad(), np.zeros((1, 1, 1))
        )
