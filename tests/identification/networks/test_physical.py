"""Numbers of a drive recovered from its bench runs."""

import pytest

from realworthy.errors import UnknownParameter
from realworthy.identification.networks import PhysicalSettings, cut, fit_physical
from realworthy.identification.networks.physical import replace_numbers

from .drives import BENCH, PLAIN, record

TRUTH = {"kp": 22.0, "kd": 0.55, "delay": 0.009}


@pytest.mark.parametrize("to", ["position", "torque"])
def test_planted_numbers_are_recovered(to: str):
    hidden = replace_numbers(PLAIN, TRUTH)
    runs = cut(record(hidden, 1, count=3, seconds=1.5, noise=0.1), 0.6)
    settings = PhysicalSettings(
        to="torque" if to == "torque" else "position", timestep=0.002, evaluations=12
    )
    found = fit_physical(PLAIN, list(TRUTH), runs, BENCH, settings).parameters()
    for kind, value in TRUTH.items():
        assert found[kind] == pytest.approx(value, rel=0.05), kind


def test_a_number_that_the_drive_lacks_is_refused():
    with pytest.raises(UnknownParameter, match=r"no parameter 'resistence'"):
        fit_physical(PLAIN, ["resistence"], [], BENCH)
