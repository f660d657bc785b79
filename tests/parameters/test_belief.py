"""Beliefs against textbook distributions."""

import numpy as np
import pytest
from scipy import integrate, stats

from realworthy.errors import BadBelief, BadFile
from realworthy.parameters import (
    Belief,
    Categorical,
    Fixed,
    GaussianBelief,
    IndependentBelief,
    LogUniform,
    ParameterSpace,
    SampleBelief,
    TruncatedNormal,
    Uniform,
    load_belief,
    save_belief,
)
from realworthy.parameters.marginals import compute_kl, compute_moments

from .conftest import make_parameter

N = 20_000
COVARIANCE = np.array([[0.04, 0.01, 0.0], [0.01, 0.09, -0.05], [0.0, -0.05, 0.25]])
CONTINUOUS = {
    "uniform": (Uniform(-1.0, 3.0), stats.uniform(-1, 4)),
    "log_uniform": (LogUniform(0.2, 20.0), stats.loguniform(0.2, 20)),
    "bell": (TruncatedNormal(1.0, 2.0), stats.norm(1, 2)),
    "cut bell": (
        TruncatedNormal(1.0, 2.0, 0.0, 4.0),
        stats.truncnorm(-0.5, 1.5, loc=1, scale=2),
    ),
    "right tail": (
        TruncatedNormal(0.0, 1.0, 6.0, np.inf),
        stats.truncnorm(6, np.inf),
    ),
    "left tail": (
        TruncatedNormal(0.0, 1.0, -np.inf, -6.0),
        stats.truncnorm(-np.inf, -6),
    ),
}


def one(marginal) -> IndependentBelief:
    return IndependentBelief(
        ParameterSpace(
            [make_parameter("a.b", float(marginal.quantile(np.array(0.5))))]
        ),
        {"a.b": marginal},
    )


@pytest.fixture
def gaussian(space: ParameterSpace) -> GaussianBelief:
    return GaussianBelief(space, [0.5, np.log(2.0), -1.0], COVARIANCE)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_20000_draws_pass_kolmogorov_smirnov(name):
    marginal, truth = CONTINUOUS[name]
    draws = one(marginal).sample(N, seed=5)[:, 0]
    assert stats.kstest(draws, truth.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density_is_that_of_the_textbook(name):
    marginal, truth = CONTINUOUS[name]
    x = truth.ppf(np.linspace(0.001, 0.999, 57))
    density = one(marginal).log_density(x[:, None])
    np.testing.assert_allclose(density, truth.logpdf(x), rtol=1e-9, atol=1e-9)
    outside = np.array([[-1e6], [1e6]])
    assert (one(marginal).log_density(outside) < -1e6).all()


@pytest.mark.parametrize("name", CONTINUOUS)
def test_moments_are_those_of_the_textbook(name):
    marginal, truth = CONTINUOUS[name]
    mean, sd = compute_moments(marginal)
    assert mean == pytest.approx(truth.mean(), rel=1e-4, abs=1e-6)
    assert sd == pytest.approx(truth.std(), rel=1e-3)


def test_categorical_draws_have_their_shares():
    marginal = Categorical((1.0, 2.0, 5.0), (0.2, 0.5, 0.3))
    draws = one(marginal).sample(N, seed=5)[:, 0]
    counts = [(draws == value).sum() for value in marginal.values]
    assert stats.chisquare(counts, np.array([0.2, 0.5, 0.3]) * N).pvalue > 1e-3
    assert one(marginal).log_density([[2.0]]) == pytest.approx(np.log(0.5))


def test_gaussian_draws_pass_kolmogorov_smirnov_in_every_direction(gaussian):
    z = gaussian.space.to_z(gaussian.sample(N, seed=5))
    for direction in [*np.eye(3).tolist(), [0.3, -0.8, 0.5]]:
        a = np.array(direction)
        truth = stats.norm(a @ gaussian.mean_z, np.sqrt(a @ COVARIANCE @ a))
        assert stats.kstest(z @ a, truth.cdf).pvalue > 1e-3


def test_gaussian_density_integrates_to_one_over_e():
    """In units of e, transforms and cuts included."""
    space = ParameterSpace(
        [
            make_parameter("a.x", 0.2, lower=0.0, upper=1.0),
            make_parameter("a.m", 1.0, lower=0.0, transform="log"),
        ]
    )
    belief = GaussianBelief(space, [0.2, 0.0], [[0.09, 0.02], [0.02, 0.04]])
    total, _ = integrate.dblquad(
        lambda m, x: float(np.exp(belief.log_density([x, m]))), 0, 1, 0.05, 6
    )
    assert total == pytest.approx(1.0, abs=0.02)  # the cut mass is a Monte Carlo figure


def test_a_cut_gaussian_never_leaves_the_bounds():
    space = ParameterSpace([make_parameter("a.friction", 0.0, lower=0.0)])
    belief = GaussianBelief(space, [0.0], [[1.0]])
    draws = belief.sample(N, seed=1)[:, 0]
    assert draws.min() >= 0
    assert stats.kstest(draws, stats.halfnorm.cdf).pvalue > 1e-3


def test_gaussian_mean_and_sd_are_in_units_of_e():
    space = ParameterSpace([make_parameter("a.m", 1.0, lower=0.0, transform="log")])
    belief = GaussianBelief(space, [np.log(2.0)], [[0.09]])
    truth = stats.lognorm(0.3, scale=2.0)
    assert belief.mean["a.m"] == pytest.approx(truth.mean(), rel=1e-9)
    assert belief.sd["a.m"] == pytest.approx(truth.std(), rel=1e-9)


def test_conditioning_agrees_with_draws_near_the_condition(gaussian):
    known = {"arm.mass": 2.2}
    told = gaussian.condition(known)
    e = gaussian.sample(400_000, seed=3)
    near = e[np.abs(e[:, 1] - 2.2) < 0.01]
    z = gaussian.space.to_z(near)[:, [0, 2]]
    assert len(near) > 2000
    assert (np.abs(told.mean_z - z.mean(0)) < 4 * z.std(0) / len(z) ** 0.5).all()
    np.testing.assert_allclose(told.covariance_z, np.cov(z.T), atol=0.02)


def test_marginal_drops_rows_and_columns(gaussian):
    told = gaussian.marginal(["arm.delay", "arm.mass"])
    assert told.space.names == ("arm.delay", "arm.mass")
    assert told.covariance_z[0, 1] == COVARIANCE[2, 1]


def test_gaussian_kl_agrees_with_monte_carlo(gaussian):
    other = GaussianBelief(gaussian.space, [0.6, 0.5, -0.7], 1.5 * COVARIANCE)
    closed, sampled = gaussian.kl(other), Belief.kl(gaussian, other, count=200_000)
    assert closed == pytest.approx(sampled, rel=0.03)
    assert gaussian.kl(gaussian) == pytest.approx(0.0, abs=1e-12)


def test_kl_of_boxes_is_the_log_ratio_of_their_volumes():
    space = ParameterSpace([make_parameter("a.x", 1.0), make_parameter("a.y", 1.0)])
    inner = {"a.x": Uniform(0.5, 1.5), "a.y": Uniform(0.9, 1.1)}
    outer = {"a.x": Uniform(0.0, 4.0), "a.y": Uniform(0.0, 2.0)}
    small, large = IndependentBelief(space, inner), IndependentBelief(space, outer)
    assert small.kl(large) == pytest.approx(np.log(4) + np.log(10))
    assert large.kl(small) == np.inf


def test_kl_of_bells_is_the_closed_form():
    p, q = TruncatedNormal(0.0, 1.0), TruncatedNormal(0.5, 2.0)
    expected = np.log(2.0) + (1 + 0.25) / 8 - 0.5
    assert compute_kl(p, q) == pytest.approx(expected, rel=1e-6)
    assert compute_kl(p, Fixed(0.0)) == np.inf
    half = Categorical((0.0, 1.0))
    assert compute_kl(Fixed(1.0), half) == pytest.approx(np.log(2))


def test_samples_recover_the_gaussian_they_came_from(gaussian):
    cloud = SampleBelief(gaussian.space, gaussian.sample(4000, seed=2))
    back = cloud.to_gaussian()
    np.testing.assert_allclose(back.mean_z, gaussian.mean_z, atol=0.03)
    np.testing.assert_allclose(back.covariance_z, COVARIANCE, atol=0.02)
    centre = gaussian.space.from_z(gaussian.mean_z)
    ratio = cloud.log_density(centre) - gaussian.log_density(centre)
    assert abs(float(ratio)) < 0.2


def test_weighted_samples_are_drawn_by_weight():
    space = ParameterSpace([make_parameter("a.x", 1.0)])
    cloud = SampleBelief(space, [[1.0], [2.0], [3.0]], [0.1, 0.0, 0.9])
    draws = cloud.sample(N, seed=4)[:, 0]
    assert (draws == 2.0).sum() == 0
    assert (draws == 3.0).mean() == pytest.approx(0.9, abs=0.01)
    assert cloud.mean["a.x"] == pytest.approx(2.8)
    assert cloud.effective_count == pytest.approx(1 / 0.82)


def test_conditioned_samples_lean_towards_what_is_known(gaussian):
    cloud = SampleBelief(gaussian.space, gaussian.sample(20_000, seed=2))
    told = cloud.condition({"arm.mass": 3.0})
    exact = gaussian.condition({"arm.mass": 3.0})
    assert told.mean["arm.delay"] == pytest.approx(exact.mean["arm.delay"], rel=0.1)


def test_worlds_draw_alone_what_they_draw_together(gaussian):
    together = gaussian.sample(50, seed=9)
    alone = gaussian.sample_worlds([31], seed=9)
    np.testing.assert_array_equal(together[31], alone[0])
    again = gaussian.sample(50, seed=9, episode=1)
    assert not np.isclose(again, together).any()


@pytest.mark.parametrize("kind", ["independent", "gaussian", "samples"])
def test_files_bring_a_belief_back_to_the_bit(kind, gaussian, space, tmp_path):
    belief = {
        "independent": IndependentBelief(
            space,
            {"arm.mass": LogUniform(1.0, 3.0), "arm.delay": Categorical((0.0, 0.02))},
        ),
        "gaussian": gaussian,
        "samples": SampleBelief(space, gaussian.sample(7, seed=0), np.arange(1.0, 8)),
    }[kind]
    path = tmp_path / "x.belief.yaml"
    save_belief(belief, path)
    back = load_belief(path)
    np.testing.assert_array_equal(back.sample(9, seed=1), belief.sample(9, seed=1))
    assert back.space == belief.space


def test_a_covariance_that_cannot_be_is_refused_in_words(space):
    bad = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(BadBelief) as caught:
        GaussianBelief(space, np.zeros(3), bad)
    assert str(caught.value) == (
        "The covariance of this belief is not positive definite: its smallest "
        "eigenvalue is -1, in a direction of arm.offset, arm.mass, arm.delay.\n"
        "  Drop one of these parameters, or add to the covariance's diagonal."
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: Uniform(2.0, 1.0),
        lambda: LogUniform(0.0, 1.0),
        lambda: TruncatedNormal(0.0, 0.0),
        lambda: Categorical((1.0, 2.0), (0.5, 0.6)),
        lambda: Categorical((1.0, 1.0)),
        lambda: Fixed(float("nan")),
    ],
)
def test_numbers_that_make_no_distribution_are_refused(make):
    with pytest.raises(BadBelief, match="Not a distribution"):
        make()


def test_a_belief_beyond_the_bounds_is_refused(space):
    with pytest.raises(BadBelief, match=r"beyond its bounds \[0, 0\.04\]"):
        IndependentBelief(space, {"arm.delay": Uniform(0.0, 0.1)})


def test_a_bad_belief_in_a_file_names_the_file(tmp_path, gaussian):
    path = tmp_path / "x.belief.yaml"
    save_belief(gaussian, path)
    path.write_text(path.read_text().replace("kind: gaussian", "kind: gauss"))
    path.write_text(path.read_text().replace("type: gaussian", "type: gauss"))
    with pytest.raises(BadFile, match=r"x\.belief\.yaml"):
        load_belief(path)
