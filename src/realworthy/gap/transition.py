"""One step and many steps from measured states: where does the simulator go wrong?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.noise import NoiseFloor
from realworthy.gap.states import States
from realworthy.parameters import Draws
from realworthy.simulators.replay import Replayer, Track

Floats = NDArray[np.float64]
START_COUNT = 256
"""Starts of one-step predictions: their rms is known to 4 %."""
MAX_HORIZON = 2.0
"""[s] horizon up to which the gap is followed; longer ones leave few of them in a
recording of some seconds."""
_KICKED_EVERY = 4
"""Every so many starts is played again with a wrong start, 64 in all: enough for a
spread, a quarter of the cost."""
_STILL = 1e-9
"""[rad, rad/s] below any encoder: what filters leave of a joint that stands still."""


@dataclass(frozen=True, slots=True)
class Transition:
    """Errors of predictions from measured states, with what noise alone would give."""

    horizons: Floats
    """(h,) seconds ahead; the first is one row."""
    position: Floats
    """(h, joints) root mean square [rad or m]."""
    velocity: Floats
    """(h, joints) root mean square [rad/s or m/s]."""
    position_floor: Floats
    velocity_floor: Floats
    """(h, joints) expected of a perfect simulator: noise of start and end states."""
    normalised: float
    """One-step error over the spread of one-step increments, position and velocity."""
    normalised_floor: float
    start_count: int
    diverged: int
    """Starts whose simulation diverged; they are left out of the figures."""


def measure_transition(
    track: Track,
    states: States,
    floor: NoiseFloor,
    *,
    seed: int = 0,
    thread_count: int = 0,
) -> Transition:
    """Predicts from up to 256 rows, one row and up to two seconds ahead."""
    rate, row_count = track.recording.rate, len(track.rows)
    longest = max(1, min(round(MAX_HORIZON * rate), row_count // 2))
    steps = _horizon_rows(longest)
    last = row_count - 1 - longest
    starts = np.unique(np.linspace(0, max(last, 0), START_COUNT).astype(np.intp))
    again = np.arange(0, len(starts), _KICKED_EVERY)  # starts that are also kicked
    played = _predict(track, states, starts, again, steps, seed, thread_count)
    position, velocity = (values[: len(starts)] for values in played)
    kicked_position, kicked_velocity = (values[len(starts) :] for values in played)
    sound = np.isfinite(position).all((1, 2)) & (np.abs(position).max((1, 2)) < 1e3)
    kept = sound[again] & np.isfinite(kicked_position).all((1, 2))

    def rms(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
        return np.sqrt(np.mean(values[chosen] ** 2, axis=0))

    truth = np.minimum(starts[:, None] + steps, row_count - 1)
    measured_sd = np.array([floor.position[joint] for joint in track.joints])
    noise_q = rms(kicked_position - position[again], kept)
    noise_v = rms(kicked_velocity - velocity[again], kept)
    floor_q = np.hypot(noise_q, measured_sd)
    floor_v = np.hypot(noise_v, states.velocity_sd)
    error_q = rms(position - track.position[truth], sound)
    error_v = rms(velocity - states.velocity[truth], sound)
    spread_q = _spread(track.position, steps[0])
    spread_v = _spread(states.velocity, steps[0])
    return Transition(
        horizons=steps / rate,
        position=error_q,
        velocity=error_v,
        position_floor=floor_q,
        velocity_floor=floor_v,
        normalised=_normalise(error_q[0] / spread_q, error_v[0] / spread_v),
        normalised_floor=_normalise(floor_q[0] / spread_q, floor_v[0] / spread_v),
        start_count=len(starts),
        diverged=int((~sound).sum()),
    )


def _predict(
    track: Track,
    states: States,
    starts: NDArray[np.intp],
    again: NDArray[np.intp],
    steps: NDArray[np.intp],
    seed: int,
    thread_count: int,
) -> tuple[Floats, Floats]:
    """(worlds, h, joints) from every start, then from some with noisy states."""
    count = len(track.joints)
    kick = Draws(seed, "noise floor").normal(starts, 2 * count)
    rows = np.concatenate([starts, starts[again]])
    kick = np.concatenate([np.zeros_like(kick), kick[again]])
    player = Replayer(track, len(rows), thread_count=thread_count)
    played = player.play(
        rows,
        int(steps[-1]) + 1,
        position=states.position[rows] + kick[:, :count] * states.position_sd,
        velocity=states.velocity[rows] + kick[:, count:] * states.velocity_sd,
    )
    return played.position[:, steps], played.velocity[:, steps]


def _horizon_rows(longest: int) -> NDArray[np.intp]:
    """From one row to the longest, about ten to a decade."""
    count = 2 + round(10 * np.log10(longest))
    return np.unique(np.round(np.geomspace(1, longest, count)).astype(np.intp))


def _spread(values: Floats, step: int) -> Floats:
    """(joints,) standard deviation of increments; 1 where only rounding moves."""
    spread = (values[step:] - values[:-step]).std(0)
    return np.where(spread > _STILL, spread, 1.0)


def _normalise(position: Floats, velocity: Floats) -> float:
    return float(np.sqrt(np.mean(np.concatenate([position, velocity]) ** 2)))
