"""Numbers that make up for what a twin lacks are effective; others are not."""

from pathlib import Path

import pytest

from realworthy.identification import calibrate
from realworthy.identification.identifiability.verdicts import ParameterVerdict
from realworthy.realities.effects import LoadFriction, Stribeck
from realworthy.twins import Twin
from tests.identification.conftest import FIVE, draw_truth, multisine, play_hidden


def fit(joint: Twin, file: Path, seed: int, *effects: LoadFriction | Stribeck):
    commands = [multisine(10 * seed + k, 4.0) for k in range(3)]
    recordings = play_hidden(
        file, draw_truth(seed), commands, seed=seed, effects=effects
    )
    return calibrate(joint, recordings, parameters=FIVE)


@pytest.mark.parametrize("seed", range(2))
def test_numbers_that_are_off_are_never_called_identified(
    joint: Twin, joint_file: Path, seed: int
):
    effects = (
        LoadFriction(joint="joint", coefficient=0.1),
        Stribeck(joint="joint", static=0.05),
    )
    found, truth = fit(joint, joint_file, seed, *effects), draw_truth(seed)
    off = {n: abs(found[n].mean - truth[n]) / found[n].sd for n in FIVE}
    assert max(off.values()) > 2  # they are off
    assert all(found[n].verdict is not ParameterVerdict.IDENTIFIED for n in FIVE)
    assert any("effective" in said for said in found.warnings)


@pytest.mark.parametrize("seed", range(2))
def test_a_twin_that_lacks_nothing_identifies(joint: Twin, joint_file: Path, seed: int):
    found, truth = fit(joint, joint_file, seed), draw_truth(seed)
    identified = [n for n in FIVE if found[n].verdict is ParameterVerdict.IDENTIFIED]
    assert len(identified) >= 4
    assert all(abs(found[n].mean - truth[n]) < 3 * found[n].sd for n in FIVE)
