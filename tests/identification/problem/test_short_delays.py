"""A delay that is found from none, with a time step as long as a quadruped's."""

from pathlib import Path

import pytest

from realworthy.identification import Problem, fit_least_squares
from realworthy.twins import load_twin
from tests.identification.conftest import FIVE, JOINT, multisine, play_hidden


@pytest.mark.parametrize("delay", [0.002, 0.011])
def test_a_delay_is_found_from_a_twin_that_has_none(tmp_path: Path, delay: float):
    """From zero, where MuJoCo's own delays jump by a step and are flat up to it.

    A semi-implicit step of 4 ms runs ahead of one of 1 ms by half the difference.
    """
    coarse = tmp_path / "coarse.xml"
    coarse.write_text(JOINT.replace('timestep="0.002"', 'timestep="0.004"'))
    fine = tmp_path / "fine.xml"
    fine.write_text(JOINT.replace('timestep="0.002"', 'timestep="0.001"'))
    truth = {
        "joint.armature": 0.03,
        "joint.damping": 0.2,
        "joint.coulomb_friction": 0.08,
        "joint.delay": delay,
        "joint.kp": 11.0,
    }
    recordings = play_hidden(fine, truth, [multisine(3, 6.0)], seed=3)
    fit = fit_least_squares(
        Problem(load_twin(coarse), recordings, FIVE).with_short_delays()
    )
    assert fit.e["joint.delay"] == pytest.approx(delay + 0.0015, abs=4e-4)
    assert fit.e["joint.kp"] == pytest.approx(11.0, rel=0.02)
