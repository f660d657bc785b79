"""Limits of validity lie where the policy begins to fail."""

import numpy as np
import pytest

from realworthy.certification.certificate.results import ValidityResult
from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.certification.limits import validity
from realworthy.certification.limits.validity import (
    examine_validity,
    find_box,
    spread_evenly,
)
from realworthy.certification.rollouts.realities import try_reality
from realworthy.certification.subject import Subject
from realworthy.certification.suite.suite import Coverage
from tests.certification.certificates import certify_limits, draw_realities
from tests.certification.pretended import Pretended, Succeed

COVERAGE = Coverage(realities=48, episodes=16)


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch):
    def pretend(succeed: Succeed) -> Pretended:
        made = Pretended(succeed)
        monkeypatch.setattr(validity, "play_condition", made)
        return made

    return pretend


def is_within(subject: Subject, share: float) -> Succeed:
    """Whether e lies within a share of the widest box."""
    names, lower, upper = find_box(subject)
    nominal = subject.twin.space.select(names).nominal
    width = np.maximum(upper - nominal, nominal - lower)
    return lambda e: np.all(np.abs(e - nominal) <= share * width + 1e-12, axis=1)


def examine(subject: Subject, coverage: Coverage = COVERAGE) -> ValidityResult:
    return examine_validity(subject, coverage, bar=0.8, seed=0)


def test_the_box_holds_the_nominal_and_the_middle_of_the_belief(balancing: Subject):
    names, lower, upper = find_box(balancing)
    nominal = balancing.twin.space.select(names).nominal
    assert (lower <= nominal).all()
    assert (nominal <= upper).all()
    assert balancing.belief is not None
    samples = balancing.belief.sample(2000, seed=9)
    shares = ((samples >= lower) & (samples <= upper)).mean(axis=0)
    assert (shares > 0.87).all()
    two_sided = (lower < nominal) & (upper > nominal)
    assert (shares[two_sided] < 0.96).all()


def test_a_policy_that_always_succeeds_covers_all(balancing: Subject, pretend):
    played = pretend(lambda e: np.ones(len(e), np.bool_))
    found = examine(balancing)
    assert found.verdict is CertificateVerdict.PASS
    assert found.validity is not None
    assert found.validity.scale == 1.0
    assert found.validity.lower > 0.93  # four boxes share the error of 5 %
    assert played.count == 48 * 16
    names, lower, upper = find_box(balancing)
    limits = found.validity.parameters
    assert [limits[n].lower for n in names] == pytest.approx(lower.tolist())
    assert [limits[n].upper for n in names] == pytest.approx(upper.tolist())


def test_limits_are_drawn_in_to_where_it_works(balancing: Subject, pretend):
    played = pretend(is_within(balancing, 0.45))
    found = examine(balancing)
    assert found.validity is not None
    assert found.validity.scale == 0.45
    assert [scale for scale, _ in found.tried] == [1.0, 0.7, 0.45]
    assert all(bound < 0.8 for _, bound in found.tried[:-1])
    # the first two were given up before all their realities were played
    assert played.count < 3 * 48 * 16


def test_where_nothing_works_it_fails_with_a_case(balancing: Subject, pretend):
    pretend(lambda e: np.zeros(len(e), np.bool_))
    found = examine(balancing)
    assert found.verdict is CertificateVerdict.FAIL
    assert found.codes == {"fall": 48 * 16}
    case = found.failures[0]
    assert case.name == "fall"
    assert set(case.e) == set(find_box(balancing)[0])


def test_the_bound_is_one_of_realities_not_of_episodes(balancing: Subject, pretend):
    """A fifth of realities always fails: 80 % of episodes succeed, no bound holds."""
    index = find_box(balancing)[0].index("cart.mass")
    _, lower, upper = find_box(balancing)
    edge = lower[index] + 0.2 * (upper[index] - lower[index])
    pretend(lambda e: e[:, index] > edge)
    found = examine(balancing, Coverage(realities=48, episodes=16, scales=(1.0,)))
    assert found.validity is not None
    assert found.validity.mean == pytest.approx(0.8, abs=0.05)
    assert found.validity.lower < 0.5
    assert found.verdict is CertificateVerdict.FAIL


def test_the_worst_tenth_is_the_mean_of_its_realities(balancing: Subject, pretend):
    """4.8 of 48 realities are a tenth; those that fail are among them."""
    index = find_box(balancing)[0].index("cart.mass")
    _, lower, upper = find_box(balancing)
    edge = lower[index] + 0.05 * (upper[index] - lower[index])
    pretend(lambda e: e[:, index] > edge)
    found = examine(balancing, Coverage(realities=48, episodes=16, scales=(1.0,)))
    assert found.validity is not None
    lost = round(48 * (1 - found.validity.mean))
    assert 1 <= lost <= 4
    assert found.validity.worst_tenth == pytest.approx(1 - lost / 4.8)
    assert found.validity.worst == 0.0


def test_spread_fills_the_cube_evenly():
    points = spread_evenly(48, 3, seed=0)
    assert points.shape == (48, 3)
    halves = (points > 0.5).mean(axis=0)
    assert halves == pytest.approx([0.5] * 3, abs=0.1)
    assert spread_evenly(5, 0, seed=0).shape == (5, 0)


def test_noise_is_of_what_the_policy_sees(balancing: Subject, pretend):
    pretend(lambda e: np.ones(len(e), np.bool_))
    found = examine(balancing)
    assert found.validity is not None
    assert found.validity.noise == {
        "cart.position": 0.001,
        "pole.position": 0.002,
        "cart.velocity": 0.01,
        "pole.velocity": 0.05,
    }
    assert found.validity.rate == pytest.approx(50)


def try_inside(subject: Subject, coverage: Coverage, count: int, episodes: int) -> int:
    """Realities within the limits that fall below the certified bound."""
    certificate = certify_limits(subject, coverage)
    below = 0
    for seed, reality in enumerate(draw_realities(certificate, count, seed=12)):
        found = try_reality(
            certificate, subject, reality, episodes=episodes, seed=100 + seed
        )
        assert not found.uncovered
        below += found.share.mean < certificate.success.lower
    return below


def test_a_policy_survives_realities_inside_limits_that_hold(driving: Subject, pretend):
    pretend(lambda e: np.ones(len(e), np.bool_))  # as the slow test below shows
    assert try_inside(driving, COVERAGE, count=2, episodes=8) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["driving", "balancing"])
def test_at_most_a_tenth_of_forty_realities_fall_below_the_bound(
    name: str, request: pytest.FixtureRequest
):
    subject = request.getfixturevalue(name)
    assert try_inside(subject, Coverage(), count=40, episodes=100) <= 4


def test_limits_that_were_not_shown_cover_nothing(balancing: Subject, pretend):
    pretend(lambda e: np.zeros(len(e), np.bool_))
    failed = certify_limits(balancing, COVERAGE)
    inside = next(draw_realities(failed, 1, seed=0))
    assert "not shown to work" in failed.find_uncovered(inside)[0]
    assert not any("are covered" in warning for warning in failed.warnings)
