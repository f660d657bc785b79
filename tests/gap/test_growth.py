"""Curves of known growth, and pairs of simulated systems of which one is wrong."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.gap.growth import Growth, classify_growth

Floats = NDArray[np.float64]
Law = Callable[[Floats, Floats], Floats]
LADDER = np.array([1, 2, 5, 10, 20, 50, 100, 200]) * 0.01
EVEN = np.linspace(0.1, 2, 20)
NOISE, FLOOR = 0.05, 5e-4


def grow(shape: Callable[[Floats], Floats], times: Floats, seed: int) -> Growth:
    """The class of a curve of height one with 5 % of scatter above a known floor."""
    rng = np.random.default_rng(seed)
    curve = shape(times) / shape(times).max() * np.exp(rng.normal(0, NOISE, len(times)))
    return classify_growth(times, np.hypot(curve, FLOOR), FLOOR)


@pytest.mark.parametrize("times", [LADDER, EVEN], ids=["ladder", "even"])
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("velocity_bias", lambda t: t),
        ("velocity_bias", lambda t: 1 / (1 + 0.5 / t)),
        ("force_bias", lambda t: t**2),
        ("force_bias", lambda t: 1 / (1 + (0.3 / t) ** 2)),
        ("force_bias", lambda t: t / 0.3 - 1 + np.exp(-t / 0.3)),
        ("saturated", lambda t: np.ones_like(t)),
        ("mixed", lambda t: t**1.5),
    ],
    ids=["t", "held t", "t²", "held t²", "damped t²", "1", "t^1.5"],
)
def test_power_laws_are_told_apart(
    kind: str, shape: Callable[[Floats], Floats], times: Floats
):
    kinds = [grow(shape, times, seed).kind for seed in range(10)]
    assert kinds.count(kind) >= 9


@pytest.mark.parametrize(
    "shape",
    [np.exp, np.sinh, lambda x: np.cosh(x) - 1, lambda x: 1 / (1 + np.exp(6 - x))],
    ids=["exp", "sinh", "cosh - 1", "logistic"],
)
def test_the_rate_of_an_instability_is_found(shape: Callable[[Floats], Floats]):
    held = 0
    for seed in range(10):
        rate = np.random.default_rng(seed).uniform(4, 8)
        found = grow(lambda t: shape(rate * t), EVEN, seed)  # noqa: B023
        assert found.kind == "instability"
        assert found.rate == pytest.approx(rate, rel=0.1)
        assert found.interval is not None
        held += found.interval.holds(rate)
    assert held >= 8


def test_the_interval_holds_the_exponent():
    found = [grow(lambda t: t**2, LADDER, seed) for seed in range(40)]
    held = [
        growth.interval is not None and growth.interval.holds(2) for growth in found
    ]
    assert sum(held) >= 36


def test_a_gap_of_noise_is_called_noise():
    rng = np.random.default_rng(0)
    for _ in range(20):
        gap = FLOOR * np.exp(rng.normal(0, NOISE, len(LADDER)))
        assert classify_growth(LADDER, gap, FLOOR).kind == "noise_floor"


def test_too_few_horizons_above_the_floor_tell_no_kind():
    gap = np.hypot(LADDER**2, 0.3)
    assert classify_growth(LADDER, gap, 0.3).kind == "mixed"


def test_growth_that_ends_says_where():
    found = grow(lambda t: 1 / (1 + (0.3 / t) ** 2), LADDER, 0)
    assert found.saturates_at == pytest.approx(0.3, rel=0.3)


def test_shuffled_horizons_have_no_bias():
    rng = np.random.default_rng(0)
    kinds = [
        classify_growth(EVEN, rng.permutation(EVEN**2), 1e-4).kind for _ in range(20)
    ]
    assert kinds.count("velocity_bias") + kinds.count("force_bias") <= 1


def test_errors_by_start_give_the_same_kind_as_their_curve():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=(60, 1)) * LADDER**2 + rng.normal(0, FLOOR, (60, 8))
    found = classify_growth(LADDER, errors, FLOOR)
    assert found.kind == "force_bias"
    assert found.interval is not None
    assert found.interval.holds(2)
    assert found == classify_growth(LADDER, errors, FLOOR)


def test_horizons_that_do_not_rise_are_refused():
    with pytest.raises(RealworthyError, match="is no curve"):
        classify_growth([0.2, 0.1], [1.0, 2.0], 0.1)


@dataclass(frozen=True)
class Pair:
    """A joint as it is and as the simulator has it: (x, u) → ẋ, and how it is moved."""

    kind: str
    real: Law
    sim: Law
    drive: float
    """Size of the command that makes it move."""
    hold: tuple[float, float]
    """Feedback from position and speed, of the recorded run only."""
    reach: int
    """Rows of the longest horizon."""


PERIOD, ROWS = 0.01, 1500


def make_joint(inertia: float, damping: float, gravity: float) -> Law:
    """Torque-driven; hangs where gravity is positive, stands where it is negative."""

    def derive(x: Floats, u: Floats) -> Floats:
        torque = u - damping * x[..., 1] - gravity * np.sin(x[..., 0])
        return np.stack([x[..., 1], torque / inertia], axis=-1)

    return derive


def make_wheel(radius: float) -> Law:
    return lambda x, u: np.stack([radius * u, 0 * u], axis=-1)


def draw_pair(kind: str, rng: np.random.Generator) -> Pair:
    inertia, wrong = rng.uniform(0.02, 0.1), rng.choice([-1, 1]) * rng.uniform(0.2, 0.5)
    if kind == "velocity_bias":
        return Pair(kind, make_wheel(1 + wrong), make_wheel(1.0), 0.5, (0, 0), 50)
    if kind == "force_bias":
        truth = [inertia, rng.uniform(0.05, 0.1), rng.uniform(0.1, 0.5)]
        model = truth.copy()
        model[rng.integers(3)] *= 1 + wrong
        hold = (-10 * inertia, 0.0)
        return Pair(kind, make_joint(*truth), make_joint(*model), 8 * inertia, hold, 50)
    rate = rng.uniform(3, 7)
    truth = [inertia, rng.uniform(0, 0.3) * inertia, -inertia * rate**2]
    model = truth.copy()
    model[rng.choice([0, 2])] *= 1 + wrong / 2
    hold = (2.5 * truth[2], -3 * inertia * rate)
    reach = int(rng.uniform(4.5, 6) / rate / PERIOD)
    drive = 0.1 * inertia * rate**2
    return Pair(kind, make_joint(*truth), make_joint(*model), drive, hold, reach)


def advance(law: Law, x: Floats, u: Floats) -> Floats:
    """One period by the classical Runge–Kutta rule."""
    h = PERIOD
    a = law(x, u)
    b = law(x + h / 2 * a, u)
    c = law(x + h / 2 * b, u)
    d = law(x + h * c, u)
    return x + h / 6 * (a + 2 * b + 2 * c + d)


def measure(pair: Pair, rng: np.random.Generator) -> Growth:
    """Class of the gap from noisy starts along a recorded motion of the real joint."""
    speed, phase = rng.uniform(1, 8, 4), rng.uniform(0, 2 * np.pi, 4)
    wave = np.sin(np.arange(ROWS)[:, None] * PERIOD * speed + phase).sum(1)
    x, states, sent = np.zeros(2), [np.zeros(2)], []
    for row in range(ROWS):
        sent.append(pair.drive * wave[row] + x @ pair.hold)
        x = advance(pair.real, x, np.asarray(sent[-1]))
        states.append(x)
    truth, commands = np.stack(states), np.array(sent)
    noise = truth[:, 0].std() * 10 ** rng.uniform(-4.5, -3) * np.array([1.0, 5.0])
    horizons = np.unique(np.round(np.geomspace(1, pair.reach, 12)).astype(int))
    starts = np.arange(0, ROWS - pair.reach, pair.reach // 2)

    def predict(x: Floats) -> Floats:
        seen = []
        for row in range(pair.reach):
            x = advance(pair.sim, x, commands[starts + row])
            seen.append(x[:, 0])
        return np.stack(seen, axis=1)[:, horizons - 1]

    begun = truth[starts] + rng.normal(size=(len(starts), 2)) * noise
    predicted = predict(begun)
    kicked = predict(begun + rng.normal(size=begun.shape) * noise)
    ends = truth[starts[:, None] + horizons, 0]
    error = predicted - ends + rng.normal(0, noise[0], ends.shape)
    floor = np.sqrt(np.mean((kicked - predicted) ** 2, axis=0) + noise[0] ** 2)
    gap = np.sqrt(np.mean(error**2, axis=0))
    return classify_growth(horizons * PERIOD, gap, floor)


def test_eighteen_of_twenty_random_mismatches_are_classed_right():
    right = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 7])
        kind = rng.choice(["velocity_bias", "force_bias", "instability"])
        right += measure(draw_pair(str(kind), rng), rng).kind == kind
    assert right >= 18


def test_a_right_model_shows_noise_only():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pair = draw_pair("force_bias", rng)
        same = Pair(pair.kind, pair.real, pair.real, pair.drive, pair.hold, pair.reach)
        assert measure(same, rng).kind == "noise_floor"
