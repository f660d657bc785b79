"""Golden policies pass, mutants fail, each for its reason."""

from dataclasses import replace

import numpy as np
import pytest

from realworthy.certification.certificate.results import CellResult
from realworthy.certification.certificate.statistics import (
    CertificateVerdict,
    judge_share,
)
from realworthy.certification.examination.cells import examine_cell
from realworthy.certification.rollouts.episodes import play_condition
from realworthy.certification.subject import Subject
from realworthy.certification.suite.condition import Condition
from realworthy.certification.suite.suite import Cell
from realworthy.policies import Policy
from realworthy.policies.runner import Runner
from realworthy.tasks.failures import Failure
from tests.certification.mutants import (
    Degrees,
    ExtraDelay,
    FaultSide,
    FlippedSign,
    Mutant,
    StaleNormaliser,
    SwappedJoints,
    mutate,
)

EPISODES = 32


def examine(subject: Subject, **condition: object) -> CellResult:
    cell = Cell(
        name="a cell",
        group="everyday",
        condition=Condition(**condition),  # pyright: ignore
        episodes=EPISODES,
    )
    return examine_cell(subject, cell, bar=0.8, seed=0)


def plant(subject: Subject, mutant: Mutant) -> Subject:
    return replace(subject, wrap=lambda policy: mutate(policy, mutant))


@pytest.mark.parametrize("name", ["balancing", "driving"])
def test_golden_policies_pass(name: str, request: pytest.FixtureRequest):
    found = examine(request.getfixturevalue(name))
    assert found.verdict is CertificateVerdict.PASS
    assert found.share is not None
    assert found.share.successes == found.share.count == EPISODES
    assert not found.codes
    assert not found.failures
    assert set(found.budgets) == {"action_rate", "mean_power", "peak_power", "heat"}
    assert 0 < found.budgets["heat"] < 1  # of the torque limit


@pytest.mark.parametrize(
    "mutant",
    [
        FlippedSign(joint="cart", side=FaultSide.ACTION),
        FlippedSign(joint="cart", side=FaultSide.OBSERVATION),
        FlippedSign(joint="pole", side=FaultSide.OBSERVATION),
        SwappedJoints(first="cart", second="pole", side=FaultSide.OBSERVATION),
        Degrees(joints=("cart", "pole")),
        StaleNormaliser(mean=(1.0,) * 6, sd=(3.0,) * 6),
        ExtraDelay(steps=8),
    ],
    ids=lambda mutant: type(mutant).__name__,
)
def test_a_faulty_cart_runs_into_the_end_of_its_rail(
    balancing: Subject, mutant: Mutant
):
    found = examine(plant(balancing, mutant))
    assert found.verdict is CertificateVerdict.FAIL
    assert found.codes == {"joint_limit": EPISODES}
    case = found.failures[0]
    assert (case.code, case.name) == (int(Failure.JOINT_LIMIT), "joint_limit")
    assert case.seconds < 10.0


@pytest.mark.parametrize(
    "mutant",
    [
        FlippedSign(joint="left_wheel", side=FaultSide.ACTION),
        SwappedJoints(first="left_wheel", second="right_wheel", side=FaultSide.ACTION),
    ],
    ids=lambda mutant: type(mutant).__name__,
)
def test_a_faulty_drive_never_reaches_its_speeds(driving: Subject, mutant: Mutant):
    found = examine(plant(driving, mutant))
    assert found.verdict is CertificateVerdict.FAIL
    assert set(found.codes) == {"no_progress"}


def test_a_delay_within_the_margin_passes_and_one_beyond_it_fails(balancing: Subject):
    assert examine(balancing, delay_steps=2).verdict is CertificateVerdict.PASS
    assert examine(balancing, delay_steps=8).verdict is CertificateVerdict.FAIL


def test_a_late_mutant_fails_in_the_cell_with_more_delay(balancing: Subject):
    late = plant(balancing, ExtraDelay(steps=4))
    assert examine(late).verdict is CertificateVerdict.PASS
    assert examine(late, delay_steps=4).verdict is CertificateVerdict.FAIL


class Broken(Runner):
    """Says what is no number from the third step on, in every second world."""

    def __init__(self, inner: Runner) -> None:
        self._inner, self._step = inner, 0

    def run(self, observations: np.ndarray, *others: np.ndarray) -> np.ndarray:
        self._step += 1
        said = self._inner.run(observations, *others)
        if self._step >= 3:
            said[1::2] = np.nan
        return said

    def reset(self, worlds: np.ndarray | None = None) -> None:
        self._step = 0


def test_what_is_no_number_fails_by_the_watchdog(driving: Subject):
    def wrap(policy: Policy) -> Policy:
        return policy.wrapped(Broken)

    played = play_condition(replace(driving, wrap=wrap), Condition(), 8, seed=0)
    watchdog = int(Failure.WATCHDOG)
    assert played.failure.tolist() == [0, watchdog] * 4
    assert played.seconds[1::2] == pytest.approx(3 * driving.contract.period)


def test_a_cell_that_cannot_be_had_is_skipped(balancing: Subject):
    found = examine(balancing, times={"all.kp": 0.8})
    assert "has no 'all.kp'" in found.skipped
    assert found.share is None
    assert not found.required


def test_a_cell_keeps_its_bar_and_what_would_settle_it(balancing: Subject):
    few = Cell(name="few", group="everyday", episodes=4)
    found = examine_cell(balancing, few, bar=0.9, seed=0)
    assert (found.verdict, found.bar) == (CertificateVerdict.INSUFFICIENT, 0.9)
    assert found.more is not None
    total = 4 + found.more
    assert judge_share(total, total, 0.9).verdict is CertificateVerdict.PASS
    assert (
        judge_share(total - 1, total - 1, 0.9).verdict
        is CertificateVerdict.INSUFFICIENT
    )


def test_failures_say_what_was_not_nominal(balancing: Subject):
    late = plant(balancing, ExtraDelay(steps=8))
    found = examine(late, times={"all.mass": 1.15})
    assert found.failures[0].e == pytest.approx({"all.mass": 1.15})


def test_the_same_seed_plays_the_same_episodes(driving: Subject):
    first, again = (play_condition(driving, Condition(), 4, seed=3) for _ in range(2))
    assert np.array_equal(first.score, again.score)
    other = play_condition(driving, Condition(), 4, seed=4)
    assert not np.array_equal(first.score, other.score)
