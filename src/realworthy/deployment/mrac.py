"""Model-reference adaptive control of joints: a drive that learns its load as it runs.

Of each joint I q̈ = Λ u + θᵀΦ(q, q̇), with I, Λ and θ unknown, is asked to move like a
reference ẋ_m = A_m x_m + B_m r of natural frequency ω and damping ratio ζ. The torque

    u = I₀ (k_x · x + k_r r − θ̂ᵀΦ),    x = (q, q̇)

adapts by s = (x − x_m)ᵀ P B with A_mᵀP + P A_m = −Q (Lyapunov's equation):

    k̇_x = −γ s k₀² x,    k̇_r = −γ s k₀² r,    θ̂̇ = γ_θ s Φ

(k₀ the first values, so that all gains learn alike). What is learned is held where
errors are within the noise (dead zone), leaks towards its first value (σ), is cut to
bounds (projection) and frozen while the torque is saturated, when errors carry no
information about the gains. A loop for 500 Hz to 1 kHz, on the torque of the drives.

It copes with what a torque of that joint could make up for, and with nothing else. The
numbers need not come out true: they follow what is excited. Delay kills it, so
`delay_margin` says how much the present gains stand.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError

Floats = NDArray[np.float64]
Basis = Callable[[Floats, Floats], Floats]
"""(joints, terms) Φ of (joints,) positions and velocities."""


def friction_and_gravity(position: Floats, velocity: Floats) -> Floats:
    """sin q, q̇, a soft sign of q̇, and 1: a pendulum with friction and an offset."""
    soft_sign = np.tanh(velocity / 0.05)
    ones = np.ones_like(position)
    return np.stack([np.sin(position), velocity, soft_sign, ones], axis=-1)


@dataclass(kw_only=True, slots=True)
class MracSettings:
    """What joints should move like, and how fast they learn."""

    inertia: Floats
    """(joints,) [kg·m²] I₀, as well as it is known."""
    torque: Floats
    """(joints,) [N·m] beyond which a drive is saturated."""
    frequency: float | Floats = 10.0
    """[rad/s] ω of the reference; one, or (joints,)."""
    damping: float | Floats = 1.0
    """ζ of the reference; one, or (joints,)."""
    gain_rate: float | Floats = 5.0
    """γ of the gains over their first values; one, or (joints,). What it does grows
    with the square of goals."""
    term_rate: float | Floats = 100.0
    """γ_θ; one, or (joints,)."""
    dead_zone: float = 0.003
    """|(x − x_m)ᵀPB| below which nothing is learned; above the noise of s."""
    leak: float = 0.05
    """σ [1/s] with which gains return to their first values."""
    gain_ratio: float = 3.0
    """Gains stay within the first ones over and times this."""
    term_bound: float = 200.0
    """|θ̂| at most [rad/s²]."""

    def __post_init__(self) -> None:
        if not ((self.inertia > 0).all() and (self.torque > 0).all()):
            raise RealworthyError("Inertias and torques of joints must be above 0.")
        reference = np.append(self.frequency, self.damping)
        if not ((reference > 0).all() and self.gain_ratio > 1):
            raise RealworthyError("A reference needs a frequency and damping above 0.")


class Mrac:
    """Adaptive drives of some joints; call `step` at a fixed, high rate."""

    def __init__(
        self, settings: MracSettings, basis: Basis = friction_and_gravity
    ) -> None:
        self.settings, self._basis = settings, basis
        omega, zeta = np.asarray(settings.frequency), np.asarray(settings.damping)
        a, b = omega**2, 2 * zeta * omega
        # P of A_m = [[0, 1], [−a, −b]] and Q = diag(a, 1), times B = (0, 1): its
        # second column.
        low = 0.5
        weights = np.broadcast_arrays(low, (1 + 2 * low) / (2 * b))
        self._weights = np.stack(weights, axis=-1)
        self.first = np.stack(np.broadcast_arrays(-a, -b, a), axis=-1)
        self._transition: tuple[float, Floats] | None = None
        count = len(settings.inertia)
        self._terms = basis(np.zeros(count), np.zeros(count)).shape[-1]
        self.reset(np.zeros(count))

    def reset(self, position: Floats, velocity: Floats | None = None) -> None:
        """Forgets what was learned; the reference begins where the joints are."""
        count = len(self.settings.inertia)
        self.gains = np.array(np.broadcast_to(self.first, (count, 3)))
        """(joints, 3) k_x and k_r."""
        self.terms = np.zeros((count, self._terms))
        """(joints, terms) θ̂ [rad/s² per unit of Φ]"""
        self.position = np.array(position, dtype=np.float64)
        self.velocity = np.zeros(count) if velocity is None else np.array(velocity)
        """Of the reference."""
        self.saturated = np.zeros(count, dtype=bool)
        self.learned = np.zeros(count, dtype=bool)
        """In the last step."""

    def step(
        self,
        goal: Floats,
        position: Floats,
        velocity: Floats,
        period: float,
        *,
        held: NDArray[np.bool_] | None = None,
    ) -> Floats:
        """(joints,) torques towards goals [rad], for what was measured now.

        A measurement that is not a number gives no torque and teaches nothing. `held`
        are joints whose last torque did not reach the drive: they learn nothing.
        """
        settings = self.settings
        values = np.concatenate([goal, position, velocity])
        if not np.isfinite(values).all() or not period > 0:
            self.learned = np.zeros(len(position), dtype=bool)
            return np.zeros(len(position))
        state = np.stack([position, velocity, goal], axis=-1)
        basis = self._basis(position, velocity)
        error = np.stack([position - self.position, velocity - self.velocity], axis=-1)
        s = (error * self._weights).sum(axis=-1)
        wanted = settings.inertia * (
            (self.gains * state).sum(axis=-1) - (self.terms * basis).sum(axis=-1)
        )
        torque = np.clip(wanted, -settings.torque, settings.torque)
        self.saturated = torque != wanted
        self.learned = (np.abs(s) > settings.dead_zone) & ~self.saturated
        if held is not None:
            self.learned &= ~held
        self._learn(s, state, basis, period)
        self._lead(goal, period)
        return torque

    @property
    def delay_margin(self) -> Floats:
        """(joints,) [s] of delay beyond which the loop, as it is, is unstable.

        Of a joint with inertia I₀ and the present k_x: phase margin over crossover. A
        load heavier than I₀ crosses lower and stands more.
        """
        a, b = -self.gains[:, 0], -self.gains[:, 1]
        crossover = np.sqrt((b**2 + np.sqrt(b**4 + 4 * a**2)) / 2)
        return np.arctan2(b * crossover, a) / crossover

    def _learn(self, s: Floats, state: Floats, basis: Floats, period: float) -> None:
        settings = self.settings
        rate = np.where(self.learned, period, 0.0)[:, None]
        ratio = self.gains / self.first
        s = s[:, None]
        gain_rate = np.reshape(settings.gain_rate, (-1, 1))
        term_rate = np.reshape(settings.term_rate, (-1, 1))
        push = gain_rate * s * self.first * state
        ratio = ratio - rate * (push + settings.leak * (ratio - 1))
        # Gains keep their sign, within a ratio of the first ones.
        most = settings.gain_ratio
        self.gains = np.clip(ratio, 1 / most, most) * self.first
        leak = settings.leak * self.terms
        terms = self.terms + rate * (term_rate * s * basis - leak)
        self.terms = np.clip(terms, -settings.term_bound, settings.term_bound)

    def _lead(self, goal: Floats, period: float) -> None:
        """The reference, exactly over a period in which the goal stands still."""
        off, speed = self.position - goal, self.velocity
        t = self._find_transition(period)
        self.position = goal + t[..., 0, 0] * off + t[..., 0, 1] * speed
        self.velocity = t[..., 1, 0] * off + t[..., 1, 1] * speed

    def _find_transition(self, period: float) -> Floats:
        """(…, 2, 2) of the reference over a period; remembered."""
        if self._transition is None or self._transition[0] != period:
            a, b = -self.first[..., 0], -self.first[..., 1]
            model = np.zeros((*a.shape, 2, 2))
            model[..., 0, 1], model[..., 1, 0], model[..., 1, 1] = 1.0, -a, -b
            self._transition = period, _exponential(model * period)
        return self._transition[1]


def _exponential(matrix: Floats) -> Floats:
    """exp of (…, 2, 2) matrices by scaling and squaring its series."""
    halvings = max(0, math.ceil(math.log2(max(float(np.abs(matrix).sum()), 1e-12))) + 4)
    small = matrix / 2**halvings
    result = term = np.eye(2)
    for k in range(1, 9):
        term = term @ small / k
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return result
