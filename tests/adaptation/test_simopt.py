import numpy as np
import pytest

from realworthy.adaptation.simopt import (
    SimOptSettings,
    compute_divergence,
    fit_simopt,
    shorten_step,
    weigh_draws,
)
from realworthy.parameters import GaussianBelief
from realworthy.simulators import MujocoCpu
from realworthy.twins import bind, load_twin

NAMES = ("pendulum.mass", "joint.damping", "joint.coulomb_friction")
TWIN = load_twin("pendulum")
SPACE = TWIN.space.select(NAMES)
STEPS = 60


def simulate(e: np.ndarray) -> np.ndarray:
    """A swing under a torque that grows and turns, 60 rows of 20 ms."""
    simulator = MujocoCpu(bind(TWIN, SPACE), len(e), substeps=10)
    simulator.write(e)
    simulator.reset(qpos=[0.3], qvel=[0.0])
    rows = []
    for k in range(STEPS):
        torque = 2.0 * np.sin(0.02 * k * (3 + k / 30))
        simulator.step(np.full((len(e), 1), torque))
        q, v = (np.asarray(simulator.array(x)) for x in ("qpos", "qvel"))
        rows.append(np.concatenate([q, v], 1).copy())
    return np.stack(rows, 1)


def prior() -> tuple[np.ndarray, np.ndarray]:
    return SPACE.to_z(SPACE.nominal), np.diag([0.3, 0.5, 0.5]) ** 2


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 5))]
)
def test_simulated_trials_come_to_look_like_real_ones(seed: int):
    """Discrepancy −90 % in at most 15 updates, and no update beyond ε of KL."""
    mean, covariance = prior()
    truth = GaussianBelief(SPACE, mean, covariance).sample(1, seed=100 + seed)
    found = fit_simopt(
        SPACE,
        simulate,
        simulate(truth)[0],
        mean_z=mean,
        covariance_z=covariance,
        seed=seed,
    )
    assert len(found.divergences) <= 15
    assert found.reduction > 0.9
    assert found.divergences.max() <= 1.0 + 1e-9


def test_rows_that_were_shuffled_in_time_are_not_matched():
    """The null: at best the pendulum stands still at their mean."""
    mean, covariance = prior()
    real = simulate(SPACE.nominal[None])[0]
    shuffled = real[np.random.default_rng(0).permutation(len(real))]
    few = SimOptSettings(updates=6)
    left = {}
    for name, rows in (("real", real), ("shuffled", shuffled)):
        start = mean + 0.3  # off the truth, which are the nominal values
        found = fit_simopt(
            SPACE, simulate, rows, mean_z=start, covariance_z=covariance, settings=few
        )
        left[name] = found.discrepancies[-1]
    assert left["shuffled"] > 5 * left["real"]


def test_what_trials_do_not_tell_is_named_and_keeps_its_spread():
    """Nothing touches: no motion tells the friction of contacts."""
    space = TWIN.space.select(["pendulum.mass", "all.contact_friction"])

    def look(e: np.ndarray) -> np.ndarray:
        return simulate(np.c_[e[:, 0], np.tile(SPACE.nominal[1:], (len(e), 1))])

    mean, covariance = space.to_z(space.nominal), np.diag([0.3, 0.3]) ** 2
    truth = space.from_z(mean + np.array([0.25, 0.0]))
    found = fit_simopt(
        space,
        look,
        look(truth[None])[0],
        mean_z=mean,
        covariance_z=covariance,
        settings=SimOptSettings(updates=8),
    )
    assert len(found.unidentified) == 1
    assert "all.contact_friction" in found.unidentified[0]
    sd = np.sqrt(np.diag(found.belief.covariance_z))
    assert sd[1] > 3 * sd[0]


def test_the_divergence_is_that_of_gaussians():
    """By hand: unit Gaussians a distance 2 apart, and one twice as wide."""
    one = np.zeros(1), np.eye(1)
    assert compute_divergence((np.array([2.0]), np.eye(1)), one) == pytest.approx(2.0)
    wide = np.zeros(1), 4 * np.eye(1)
    assert compute_divergence(wide, one) == pytest.approx(0.5 * (4 - 1 - np.log(4)))


def test_a_step_is_as_long_as_the_divergence_allows():
    old = np.zeros(3), np.eye(3)
    far = np.full(3, 5.0), 0.1 * np.eye(3)
    _, _, found = shorten_step(old, far, 1.0)
    assert 0.5 < found <= 1.0
    near = np.full(3, 0.1), np.eye(3)
    mean, _, found = shorten_step(old, near, 1.0)
    assert (mean == near[0]).all()
    assert found == pytest.approx(0.015)


def test_weights_solve_the_dual():
    """η is where the divergence of the weights from uniform ones is ε."""
    cost = np.random.default_rng(0).uniform(size=5000)
    for kl in (0.3, 1.0):
        weights = weigh_draws(cost, kl)
        divergence = (weights * np.log(len(cost) * weights)).sum()
        assert divergence == pytest.approx(kl, rel=0.02)
