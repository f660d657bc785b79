"""Replay horizons of a cart–pole follow their law; medians agree with published ones.

The cart–pole is integrated here, apart from any simulator of ours: a hidden truth with
heavier pole and more damping than the model, and random forces on the cart.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import solve_continuous_are
from scipy.stats import CensoredData, ecdf

from realworthy.errors import RealworthyError
from realworthy.gap.horizons import (
    Horizon,
    HorizonComparison,
    compare_horizons,
    compute_median_horizon,
    compute_survival,
    divergence_horizon,
    estimate_growth_rate,
)

Floats = NDArray[np.float64]
PERIOD, DURATION, EPSILON, REPEATS = 0.01, 2.5, 0.1, 20
START = np.array([0.0, 0.05, 0.0, 0.0])
FORCE = 20.0
"""[N] that the scale of the process noise is a part of."""


@dataclass(frozen=True)
class CartPole:
    """Cart, pole angle from upright and their speeds; the pole is a uniform rod."""

    pole_mass: float
    cart_damping: float
    pole_damping: float
    cart_mass: float = 1.0
    half_length: float = 0.35

    def derive(self, x: Floats, force: Floats | float) -> Floats:
        lever, total = (
            self.pole_mass * self.half_length,
            self.cart_mass + self.pole_mass,
        )
        inertia = 4 / 3 * lever * self.half_length
        sine, cosine = np.sin(x[..., 1]), np.cos(x[..., 1])
        push = force - self.cart_damping * x[..., 2] + lever * x[..., 3] ** 2 * sine
        turn = 9.81 * lever * sine - self.pole_damping * x[..., 3]
        det = total * inertia - (lever * cosine) ** 2
        faster = (inertia * push - lever * cosine * turn) / det
        spin = (total * turn - lever * cosine * push) / det
        return np.stack([x[..., 2], x[..., 3], faster, spin], axis=-1)

    def step(self, x: Floats, force: Floats) -> Floats:
        h = PERIOD
        a = self.derive(x, force)
        b = self.derive(x + h / 2 * a, force)
        c = self.derive(x + h / 2 * b, force)
        d = self.derive(x + h * c, force)
        return x + h / 6 * (a + 2 * b + 2 * c + d)

    def linearise(self) -> tuple[Floats, Floats]:
        tiny = 1e-6
        nudges = tiny * np.eye(4)
        a = (self.derive(nudges, 0.0) - self.derive(-nudges, 0.0)).T / (2 * tiny)
        b = self.derive(np.zeros(4), tiny) / tiny
        return a, b

    def balance(self) -> Floats:
        """Gains of a linear-quadratic regulator."""
        a, b = self.linearise()
        cost = np.diag([1.0, 10.0, 1.0, 1.0])
        return 10 * b @ solve_continuous_are(a, b[:, None], cost, [[0.1]])


REAL = CartPole(pole_mass=0.2, cart_damping=0.4, pole_damping=0.01)
MODEL = CartPole(pole_mass=0.16, cart_damping=0.1, pole_damping=0.003)
"""A fifth too light, and three to four times too little damped."""
RATE = float(np.linalg.eigvals(REAL.linearise()[0]).real.max())


@dataclass(frozen=True)
class Replays:
    """Pole angles apart, (repeats, rows), in the RR and the SR replay."""

    time: Floats
    real_real: Floats
    sim_real: Floats
    states: Floats
    forces: Floats
    """Of the closed loop in the model, which SR replays."""

    def horizons(self) -> tuple[list[Horizon], list[Horizon]]:
        both = self.real_real, self.sim_real
        rr, sr = ([divergence_horizon(d, self.time, EPSILON) for d in a] for a in both)
        return rr, sr

    def compare(self) -> HorizonComparison:
        return compare_horizons(*self.horizons(), RATE)


@cache
def run_replays(model: CartPole, noise: float, seed: int) -> Replays:
    rng = np.random.default_rng(seed)
    count = int(DURATION / PERIOD)
    gains = model.balance()

    def run(
        body: CartPole, scale: float, forces: Floats | None
    ) -> tuple[Floats, Floats]:
        x = np.tile(START, (REPEATS, 1))
        states, sent = [x], []
        for i in range(count):
            force = -x @ gains if forces is None else forces[:, i]
            x = body.step(x, force + scale * FORCE * rng.normal(size=REPEATS))
            sent.append(force)
            states.append(x)
        return np.stack(states, 1), np.stack(sent, 1)

    recorded, sent = run(REAL, noise, None)
    real_real = run(REAL, noise, sent)[0] - recorded
    modelled, meant = run(model, 0.0, None)
    sim_real = run(REAL, noise, meant)[0] - modelled
    return Replays(
        np.linspace(0, DURATION, count + 1),
        np.abs(real_real[..., 1]),
        np.abs(sim_real[..., 1]),
        modelled[0],
        meant[0],
    )


def compute_true_ratio(replays: Replays, model: CartPole, noise: float) -> float:
    """Median error along the unstable direction, SR over RR, from what was injected.

    Errors e obey ė = A e + f, and only their part w·f along the unstable left
    eigenvector w grows: as e^{λt} ∫ e^{−λs} w·f(s) ds.
    """
    a, b = REAL.linearise()
    values, vectors = np.linalg.eig(a.T)
    along = vectors[:, np.argmax(values.real)].real
    fade = np.exp(-RATE * replays.time[:-1]) * PERIOD
    x, u = replays.states[:-1], replays.forces
    bias = float(fade @ ((REAL.derive(x, u) - model.derive(x, u)) @ along))
    chance = noise * FORCE * abs(float(b @ along)) * math.sqrt(float(fade @ fade))
    draws = np.random.default_rng(0).normal(0, chance, (3, 4000))
    return float(np.median(abs(bias + draws[0])) / np.median(abs(draws[1] - draws[2])))


def draw_noises() -> list[float]:
    """Ten noise scales in [2e-4, 5e-3]."""
    low, high = math.log(2e-4), math.log(5e-3)
    return np.exp(np.random.default_rng(11).uniform(low, high, 10)).tolist()


def test_model_error_shortens_the_horizon_in_all_ten_seeds():
    for seed, noise in enumerate(draw_noises()):
        found = run_replays(MODEL, noise, seed).compare()
        assert found.sim_real.time < found.real_real.time
        assert found.verdict == "distinguishable"


def test_the_ratio_is_within_a_factor_two_of_the_true_ratio_of_errors():
    for seed, noise in enumerate(draw_noises()):
        replays = run_replays(MODEL, noise, seed)
        truth, found = compute_true_ratio(replays, MODEL, noise), replays.compare()
        assert truth / 2 < found.ratio < truth * 2
        assert found.interval.lower < truth < found.interval.upper


def test_the_growth_rate_is_that_of_the_linearisation():
    for seed, noise in enumerate(draw_noises()):
        replays = run_replays(MODEL, noise, seed)
        for distance in (replays.real_real, replays.sim_real):
            found = estimate_growth_rate(distance, replays.time, EPSILON)
            assert found.count >= REPEATS / 2
            assert found.rate == pytest.approx(RATE, rel=0.15)


@pytest.mark.parametrize("factor", [4.0, 10.0])
def test_more_noise_costs_its_logarithm_over_the_rate(factor: float):
    lost = []
    for seed in range(5):
        quiet = run_replays(MODEL, 5e-4, seed).compare().real_real.time
        loud = run_replays(MODEL, 5e-4 * factor, seed).compare().real_real.time
        lost.append(quiet - loud)
    assert np.median(lost) == pytest.approx(math.log(factor) / RATE, abs=0.02)


def test_a_model_without_error_is_not_distinguishable():
    for seed, noise in enumerate(draw_noises()):
        assert run_replays(REAL, noise, seed).compare().verdict == "not_distinguishable"


def test_swapped_arms_are_not_distinguishable():
    rr, sr = run_replays(MODEL, 1e-3, 0).horizons()
    found = compare_horizons(sr, rr, RATE)
    assert found.verdict == "not_distinguishable"
    assert found.ratio < 1


def test_large_noise_hides_the_model_error():
    found = run_replays(MODEL, 0.5, 0).compare()
    assert found.verdict == "not_distinguishable"
    assert found.is_within_noise
    assert not run_replays(MODEL, 1e-3, 0).compare().is_within_noise


def test_a_robot_that_repeats_exactly_gives_a_lower_bound():
    found = run_replays(MODEL, 0.0, 0).compare()
    assert found.real_real.time == math.inf
    assert found.is_lower_bound
    assert found.verdict == "distinguishable"
    assert found.ratio == pytest.approx(
        math.exp(RATE * (DURATION - found.sim_real.time))
    )


def test_where_errors_do_not_grow_horizons_are_refused():
    arm = [Horizon(1.0, censored=True)]
    with pytest.raises(RealworthyError, match="A stable system stays near"):
        compare_horizons(arm, arm, 0.0)


def test_single_replays_are_too_few_to_compare():
    arm = [Horizon(1.0, censored=False)]
    with pytest.raises(RealworthyError, match="ten are a fair number"):
        compare_horizons(arm, arm, 4.0)


def test_a_horizon_begins_with_the_first_of_three_rows_away():
    time = np.arange(10) * 0.1 + 5
    away = np.array([0, 2, 2, 0, 2, 2, 2, 0, 0, 0.0])
    assert divergence_horizon(away, time, 1.0).time == pytest.approx(0.4)
    assert not divergence_horizon(away, time, 1.0).censored
    assert divergence_horizon(away, time, 1.0, consecutive=2).time == pytest.approx(0.1)
    near = divergence_horizon(away, time, 3.0)
    assert near.censored
    assert near.time == pytest.approx(0.9)


def test_a_crossing_in_the_last_rows_is_not_sure_yet():
    away = np.array([0, 0, 0, 2, 2.0])
    assert divergence_horizon(away, np.arange(5.0), 1.0).censored
    blown = np.array([0, 0, np.nan, np.nan, np.nan])
    assert divergence_horizon(blown, np.arange(5.0), 1.0) == Horizon(2.0, False)


def censor(left: list[float], stayed: list[float]) -> list[Horizon]:
    return [Horizon(t, False) for t in left] + [Horizon(t, True) for t in stayed]


DRUG = censor(
    [6, 6, 6, 7, 10, 13, 16, 22, 23], [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
)
PLACEBO = censor(
    [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], []
)


def test_medians_of_a_published_trial():
    """Weeks of remission (Freireich et al., Blood 21, 1963), with drug and without."""
    assert compute_median_horizon(DRUG).time == 23
    assert compute_median_horizon(PLACEBO).time == 8
    assert compute_median_horizon(DRUG).interval.upper == math.inf


@pytest.mark.parametrize("horizons", [DRUG, PLACEBO])
def test_survival_agrees_with_scipy(horizons: list[Horizon]):
    data = CensoredData(
        [h.time for h in horizons if not h.censored],
        right=[h.time for h in horizons if h.censored],
    )
    theirs = ecdf(data).sf
    times, share, _ = compute_survival(horizons)
    assert share == pytest.approx(theirs.evaluate(times))


def test_the_interval_of_ten_repeats_is_that_of_the_sign_test():
    """The second and the ninth of ten: 97.9 % by the binomial distribution."""
    found = compute_median_horizon(censor([float(i) for i in range(1, 11)], []))
    assert found.interval == (2, 9)
    assert compute_median_horizon(censor([1.0, 2.0, 3.0], [])).interval == (0, math.inf)


def test_the_interval_of_the_median_holds_it_with_censoring():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(500):
        times = rng.exponential(1, 10)
        arm = [Horizon(min(t, 1.2), bool(t > 1.2)) for t in times]
        held += compute_median_horizon(arm).interval.holds(math.log(2))
    assert held / 500 > 0.95


def test_replays_that_all_stay_have_no_median():
    found = compute_median_horizon(censor([], [2.0] * 10))
    assert (found.time, found.interval) == (math.inf, (2, math.inf))
    assert found.censored_count == 10
