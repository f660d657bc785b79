"""An adaptive drive against a joint simulated here, with a load that changes."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov

from realworthy.deployment.mrac import Mrac, MracSettings, friction_and_gravity
from realworthy.errors import RealworthyError

PERIOD, INERTIA = 1e-3, 0.1


@dataclass
class Ran:
    off: np.ndarray
    """[rad] from the reference, every millisecond."""
    torque: np.ndarray
    mrac: Mrac

    def rms(self, begin: float, end: float) -> float:
        part = self.off[round(begin / PERIOD) : round(end / PERIOD)]
        return float(np.sqrt(np.mean(part**2)))


def simulate(
    seconds: float = 6.0,
    *,
    load: float = 2.0,
    delay: float = 0.0,
    noise: float = 0.0,
    limit: float = 100.0,
    goal: float = 0.6,
    **changes,
) -> Ran:
    """A joint with gravity and friction, asked to step ±0.6 rad at 0.5 Hz; its inertia
    is multiplied at 2 s."""
    settings = MracSettings(
        inertia=np.array([INERTIA]), torque=np.array([limit]), **changes
    )
    mrac, rng = Mrac(settings), np.random.default_rng(0)
    q = v = 0.0
    late = [0.0] * round(delay / PERIOD)
    off, sent = [], []
    for k in range(round(seconds / PERIOD)):
        time = k * PERIOD
        inertia = INERTIA * (load if time >= 2 else 1.0)
        wanted = np.array([goal * np.sign(np.sin(np.pi * time))])
        seen = np.array([q + noise * rng.normal()])
        speed = np.array([v + 10 * noise * rng.normal()])
        late.append(float(mrac.step(wanted, seen, speed, PERIOD)[0]))
        torque = late.pop(0)
        force = torque - np.sin(q) - 0.05 * v - 0.05 * np.tanh(v / 0.05)
        v += force / inertia * PERIOD
        q += v * PERIOD
        off.append(q - mrac.position[0])
        sent.append(torque)
    return Ran(np.array(off), np.array(sent), mrac)


def test_a_load_that_doubles_is_learned_within_two_seconds():
    ran = simulate(6.0)
    before = ran.rms(0, 2)
    assert ran.rms(2, 4) > 2 * before  # it was a disturbance
    assert ran.rms(4, 6) <= 1.2 * before
    fixed = simulate(6.0, gain_rate=0.0, term_rate=0.0)
    assert ran.rms(4, 6) < 0.1 * fixed.rms(4, 6)


def test_it_stays_bounded_with_a_delay_nobody_modelled():
    ran = simulate(8.0, delay=0.01)
    assert np.abs(ran.off).max() < 0.2
    assert ran.rms(6, 8) < 0.02
    assert ran.mrac.delay_margin[0] > 0.01


def test_the_delay_margin_is_where_a_fixed_loop_begins_to_swing():
    """Against simulation of the first gains, inertia known: 64.7 ms."""
    margin = float(Mrac(_settings()).delay_margin[0])

    def grows(delay: float) -> bool:
        q, v, late = 0.1, 0.0, [0.0] * round(delay / 1e-4)
        peaks = []
        for k in range(60_000):
            late.append(-100 * q - 20 * v)
            v += late.pop(0) * 1e-4
            q += v * 1e-4
            peaks.append(abs(q) if k > 10_000 else 0.0)
        return max(peaks[-10_000:]) > max(peaks[10_000:20_000])

    assert not grows(0.97 * margin)
    assert grows(1.03 * margin)


def test_noise_moves_gains_only_without_a_dead_zone():
    """At rest there is nothing to learn: gains stay; without the zone they drift."""
    still = {"goal": 0.0, "load": 1.0, "noise": 2e-4}
    quiet = simulate(4.0, **still)
    drifts = simulate(4.0, **still, dead_zone=0.0, leak=0.0, gain_rate=500.0)
    first = Mrac(_settings()).gains
    assert np.abs(quiet.mrac.gains / first - 1).max() < 1e-9
    assert np.abs(drifts.mrac.gains / first - 1).max() > 1e-3


def test_nothing_is_learned_while_the_drive_is_saturated():
    mrac = Mrac(_settings(torque=np.array([0.5])))
    goal, zero = np.array([2.0]), np.zeros(1)
    torque = mrac.step(goal, np.array([-1.0]), zero, PERIOD)
    assert torque == pytest.approx([0.5])
    assert mrac.saturated.all()
    assert (mrac.gains == Mrac(_settings()).gains).all()
    assert not mrac.learned.any()


def test_gains_and_terms_stay_within_their_bounds():
    """Errors without end, as of a joint that is stuck."""
    mrac = Mrac(_settings(torque=np.array([1e9])))
    rng = np.random.default_rng(1)
    for _ in range(3000):
        values = rng.normal(0, 5, (3, 1))
        mrac.step(*values, PERIOD)
        ratio = mrac.gains / np.array([-100.0, -20.0, 100.0])
        assert (ratio >= 1 / 3 - 1e-12).all()
        assert (ratio <= 3 + 1e-12).all()
        assert (np.abs(mrac.terms) <= 200).all()


def test_what_is_not_a_number_gives_no_torque_and_teaches_nothing():
    mrac = Mrac(_settings())
    before = mrac.gains.copy()
    nan = np.array([np.nan])
    assert mrac.step(np.ones(1), nan, np.zeros(1), PERIOD) == pytest.approx([0.0])
    assert (mrac.gains == before).all()
    assert np.isfinite(mrac.position).all()


def test_the_error_is_weighed_by_lyapunovs_equation():
    """P B of scipy's solver, for Q = diag(a, 1)."""
    a, b = 100.0, 20.0
    model = np.array([[0.0, 1.0], [-a, -b]])
    p = solve_continuous_lyapunov(model.T, -np.diag([a, 1.0]))
    assert Mrac(_settings())._weights == pytest.approx(p[:, 1])


def test_the_reference_is_the_exact_solution():
    mrac = Mrac(_settings())
    mrac.reset(np.array([0.3]), np.array([-1.0]))
    for _ in range(100):
        mrac.step(np.array([1.0]), np.array([0.3]), np.zeros(1), PERIOD)
    model = np.array([[0.0, 1.0], [-100.0, -20.0]])
    exact = expm(model * 0.1) @ np.array([0.3 - 1.0, -1.0])
    assert mrac.position - 1 == pytest.approx(exact[0], abs=1e-10)
    assert mrac.velocity == pytest.approx(exact[1], abs=1e-9)


def test_joints_learn_apart():
    two = _settings(inertia=np.array([0.1, 0.1]), torque=np.full(2, 100.0))
    mrac = Mrac(two, friction_and_gravity)
    for _ in range(200):
        off = np.array([0.3, 0.0]) + mrac.position
        mrac.step(np.array([0.5, 0.5]), off, mrac.velocity, PERIOD)
    assert np.abs(mrac.gains[0] / mrac.gains[1] - 1).max() > 0.01
    assert mrac.gains[1] == pytest.approx([-100.0, -20.0, 100.0])


def test_settings_that_are_nonsense():
    with pytest.raises(RealworthyError, match="above 0"):
        _settings(inertia=np.array([0.0]))
    with pytest.raises(RealworthyError, match="frequency"):
        _settings(frequency=0.0)


def _settings(**changes) -> MracSettings:
    values = {"inertia": np.array([INERTIA]), "torque": np.array([100.0])}
    return MracSettings(**values | changes)
