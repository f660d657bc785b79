"""Ensembles on functions that are known."""

import numpy as np
import pytest

from realworthy.identification.networks import RidgeSettings
from realworthy.identification.networks.ridge import Rows, fit_ensemble


def make_rows(seed: int, *, noise: float = 0.05, truth: bool = True) -> Rows:
    """Dry friction and drag of the first input; the second does not matter."""
    random = np.random.default_rng(seed)
    x = random.uniform(-2, 2, (600, 2))
    force = np.tanh(8 * x[:, :1]) + 0.3 * x[:, :1] * np.abs(x[:, :1])
    return Rows(inputs=x, force=truth * force + noise * random.normal(size=force.shape))


@pytest.fixture(scope="module")
def ensemble():
    return fit_ensemble([make_rows(seed) for seed in range(4)])


def test_a_steep_function_is_found_among_noise(ensemble):
    clean = make_rows(50, noise=0.0)
    found, _ = ensemble.predict(clean.inputs)
    assert np.std(found - clean.force) < 0.07 * np.std(clean.force)


def test_outside_of_what_was_seen_nothing_is_claimed(ensemble):
    far = np.array([[6.0, 0.0], [0.0, 6.0], [-5.0, 5.0]])
    force, gate = ensemble.step(far)
    assert np.abs(force).max() < 1e-3
    assert gate.max() < 1e-3


def test_there_is_room_for_a_motion_as_bold_as_the_boldest():
    def spanning(width: float) -> Rows:
        x = np.linspace(-width, width, 400)[:, None]
        return Rows(inputs=x, force=x)

    alone = fit_ensemble([spanning(1.0)]).envelope
    assert alone.upper == pytest.approx(1.0)
    bold = fit_ensemble([spanning(1.0), spanning(1.0), spanning(1.25)]).envelope
    # 1.25 against the others' ellipsoid, whose edge holds 99.5 % of ±1
    assert bold.upper == pytest.approx(1.25 * 1.25 / 0.995, rel=0.01)
    wild = fit_ensemble([spanning(1.0), spanning(9.0)]).envelope
    assert wild.upper == pytest.approx(1.5 * 9.0)


def test_members_agree_where_data_are_and_disagree_where_none_are():
    half = [make_rows(seed) for seed in range(4)]
    gap = [
        Rows(inputs=r.inputs[k], force=r.force[k])
        for r in half
        for k in [np.abs(r.inputs[:, 1]) > 1.2]
    ]
    fitted = fit_ensemble(gap, RidgeSettings(penalties=(1e-6,)))
    _, seen = fitted.predict(np.array([[0.5, 1.6], [0.5, -1.6]]))
    _, unseen = fitted.predict(np.array([[0.5, 0.0], [1.5, 0.2]]))
    assert unseen.mean() > 2 * seen.mean()


def test_the_force_never_exceeds_what_was_seen(ensemble):
    rows = make_rows(60)
    force, _ = ensemble.step(rows.inputs)
    assert np.abs(force).max() <= 1.2 * np.abs(make_rows(0).force).max()


def test_the_same_seed_gives_the_same_weights():
    rows = [make_rows(0), make_rows(1)]
    one, other = (fit_ensemble(rows).heads for _ in range(2))
    assert np.array_equal(one, other)
