"""Is the family of twins adequate? Right form with wrong numbers, or something missing.

Recipe G4: a servo joint whose five numbers are fitted first, so that they hide what
they can; then the fitted twin is diagnosed, with a run at 0.4 of the amplitude among
the recordings.
"""

from pathlib import Path

import pytest

from realworthy.diagnosis import Verdict, diagnose
from realworthy.identification import Problem, fit_least_squares
from realworthy.realities.effects import Backlash, Stribeck
from realworthy.twins import load_twin
from tests.identification.conftest import (
    FIVE,
    JOINT,
    draw_truth,
    multisine,
    play_hidden,
)

LACKING = {
    "nothing": lambda coulomb: [],
    "stribeck": lambda coulomb: [
        Stribeck(joint="joint", static=0.3 * coulomb, velocity=0.1)
    ],
    "backlash": lambda coulomb: [Backlash(joint="joint", width=0.035)],
}
"""Kind of reality → what its twin lacks: 30 % of Coulomb friction, 2°."""


def conclude(file: Path, lacking: str, seed: int):
    """The diagnosis of a twin that was fitted to a reality."""
    truth = draw_truth(seed)
    effects = LACKING[lacking](truth["joint.coulomb_friction"])
    motions = [multisine(seed, 12.0), multisine(seed + 100, 12.0, amplitude=0.2)]
    recordings = play_hidden(file, truth, motions, seed=seed, effects=effects)
    twin = load_twin(file)
    fit = fit_least_squares(Problem(twin, recordings[:1], FIVE))
    return diagnose(twin.with_values(fit.e), recordings)


def is_right(found, lacking: str) -> bool:
    if lacking == "nothing":
        return found.verdict is Verdict.HEALTHY
    wanted = {"stribeck"} if lacking == "stribeck" else {"backlash", "hysteresis"}
    named = {n for c in found.causes[:2] for n in (c.name, *c.indistinguishable_from)}
    return found.verdict is Verdict.MISSING_EFFECT and bool(wanted & named)


@pytest.fixture(scope="module")
def joint_xml(tmp_path_factory):
    path = tmp_path_factory.mktemp("attribution") / "joint.xml"
    path.write_text(JOINT)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("lacking", LACKING)
def test_missing_effects_are_told_from_wrong_numbers(joint_xml, lacking):
    right = [
        is_right(conclude(joint_xml, lacking, seed), lacking) for seed in range(20)
    ]
    assert sum(right) >= (19 if lacking == "nothing" else 18)
