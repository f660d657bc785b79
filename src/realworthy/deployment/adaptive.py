"""Position drives that learn their load while a policy runs, inside the guards.

A servo of gains kp and kd that moves an inertia I is a reference of natural frequency
√(kp / I) and damping ratio kd / (2 √(kp I)): what the policy was trained on. `Mrac`
finds the torque that keeps a joint moving like that whatever it carries, and the goal

    y = q + (τ + kd q̇) / kp

makes the servo give it; before anything is learned y is the policy's own goal. What
comes out is a target like any other: the command filter, the watchdogs and the limits
of `GuardedRobot.step` hold whatever is learned, and what the filter cut teaches
nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment.drives import Drives
from realworthy.deployment.mrac import Mrac, MracSettings
from realworthy.errors import RealworthyError
from realworthy.robots import State

Floats = NDArray[np.float64]
_MAX_REFERENCE_PHASE = 1.0
"""ω T of the reference model: at 1 a loop of period T has 2π, six, samples per turn of
its phase."""


@dataclass(kw_only=True, slots=True)
class AdaptiveSettings:
    """How fast joints learn, and how far they may."""

    inertia: Mapping[str, float] = field(default_factory=dict)
    """Joint → [kg·m²] that its drive moves without a load; joints that are missing do
    not adapt."""
    rate: float = 1.0
    """[1/s] with which a load is learned, of about one radian of motion: terms learn
    with γ_θ = 2 ω² rate, gains with γ = 2 rate / ω²."""
    dead_zone: float = 0.003
    """Error below which nothing is learned; above the noise of measurements."""
    leak: float = 0.05
    """[1/s] with which gains return to their first values."""
    gain_ratio: float = 3.0
    """Gains stay within the first ones over and times this."""
    term_bound: float = 200.0
    """[rad/s²] that what was learned may ask for."""

    def __post_init__(self) -> None:
        for name in ("rate", "dead_zone", "leak", "term_bound"):
            if not getattr(self, name) >= 0:
                raise RealworthyError(f"{name} of an adaptive loop must be 0 or more.")


class AdaptiveGoals:
    """Turns a policy's goals into goals of drives whose load is being learned."""

    def __init__(
        self, drives: Drives, joints: tuple[str, ...], settings: AdaptiveSettings
    ) -> None:
        """`joints` are the robot's, in its order; see `check_adaptive`."""
        self._settings = settings
        names = [joints[j] if j >= 0 else "" for j in drives.joints]
        self._own = np.array(
            [k for k, name in enumerate(names) if name in settings.inertia], np.intp
        )
        """Places among the commands of those that adapt."""
        self._drives = drives
        inertia = np.array([settings.inertia[names[k]] for k in self._own])
        self._kp, self._kd = drives.kp[self._own], drives.kd[self._own]
        stiffness = self._kp / inertia  # ω²
        self._mrac = Mrac(
            MracSettings(
                inertia=inertia,
                torque=drives.torque[self._own],
                frequency=np.sqrt(stiffness),
                damping=self._kd / (2 * np.sqrt(self._kp * inertia)),
                gain_rate=2 * settings.rate / stiffness,
                term_rate=2 * settings.rate * stiffness,
                dead_zone=settings.dead_zone,
                leak=settings.leak,
                gain_ratio=settings.gain_ratio,
                term_bound=settings.term_bound,
            )
        )
        self._held = np.zeros(len(self._own), dtype=bool)
        self.shift = np.zeros(drives.width)
        """(commands,) [rad] by which the last goals were moved."""

    def begin(self, state: State) -> None:
        """Forgets what was learned; the reference begins where the joints are."""
        position, velocity = self._measure(state)
        self._mrac.reset(position, velocity)
        self._held[:] = False
        self.shift = np.zeros(self._drives.width)

    def adapt(self, goals: Floats, state: State, period: float) -> Floats:
        """(commands,) goals that make the servos give what the joints need."""
        position, velocity = self._measure(state)
        torque = self._mrac.step(
            goals[self._own], position, velocity, period, held=self._held
        )
        adapted = np.array(goals)
        adapted[self._own] = position + (torque + self._kd * velocity) / self._kp
        self.shift = adapted - goals
        return adapted

    def settle(self, target: Floats, sent: Floats) -> None:
        """What the guards made of the goals: joints that were cut learn nothing."""
        self._held = target[self._own] != sent[self._own]

    def describe(self) -> dict[str, object]:
        """What was learned, for notes: terms in rad/s² per unit of `Mrac`'s basis."""
        return {
            "joints": [self._drives.commands[k].split(".")[0] for k in self._own],
            "terms": self._mrac.terms.tolist(),
            "gains_over_first": (self._mrac.gains / self._mrac.first).tolist(),
        }

    def _measure(self, state: State) -> tuple[Floats, Floats]:
        position = self._drives.of_joints(state.position)[self._own]
        return position, self._drives.of_joints(state.velocity)[self._own]


def check_adaptive(
    drives: Drives, joints: tuple[str, ...], settings: AdaptiveSettings, period: float
) -> None:
    """Raises, before anything moves, where goals cannot be adapted."""
    if drives.kind != "position":
        raise RealworthyError(
            f"An adaptive loop moves goals of position drives; this policy sends "
            f"{drives.kind or 'several kinds of'} commands.",
            hint="Leave --adaptive out: a torque has no goal that a joint could miss.",
        )
    driven = {joints[j]: k for k, j in enumerate(drives.joints) if j >= 0}
    if not any(name in driven for name in settings.inertia):
        raise RealworthyError(
            "No inertia is known of any joint that the policy drives.",
            hint=f"Joints: {', '.join(driven)}.",
        )
    for name, inertia in settings.inertia.items():
        if name not in driven:
            continue
        k = driven[name]
        if not (drives.kp[k] > 0 and drives.kd[k] > 0):
            raise RealworthyError(
                f"The contract states no gains kp and kd above 0 of '{name}', and an "
                "adaptive loop has to know its servo.",
                hint="Add them to the policy's contract.",
            )
        if not inertia > 0:
            raise RealworthyError(f"The inertia of '{name}' is {inertia:g} kg·m².")
        frequency = float(np.sqrt(drives.kp[k] / inertia))
        if frequency * period > _MAX_REFERENCE_PHASE:
            raise RealworthyError(
                f"'{name}' moves at up to {frequency:.3g} rad/s, too fast for a loop "
                f"of {1 / period:.3g} Hz to learn from.",
                hint="Leave it to its servo: name other joints.",
            )
