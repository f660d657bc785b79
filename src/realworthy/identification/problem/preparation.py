"""Recordings made ready for residuals: states, noise, and the signals that count."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.noise import NoiseFloor, estimate_noise
from realworthy.gap.states import States, estimate_states
from realworthy.simulators.replay import Track

Floats = NDArray[np.float64]
_MIN_NOISE = 1e-9
"""[rad or m] so that a noise-free simulation has a scale at all."""
_RESTING_SHARE = 0.5
"""Share of a joint's usual noise that each of its recordings has at least. In 37
motions of an SO-101 noise is 0.4 to 0.8 mrad where a joint moves, and 0 to 0.05 mrad
where it rests between two steps of its encoder (2026-11-19)."""
_START_VELOCITY_SD, _START_MOTION_SHARE = 5.0, 0.05
"""Sd of a start's velocity: so many sd of the smoothed velocity, and that share of the
joint's spread of velocities, for what smoothing loses where a joint turns round."""


@dataclass(frozen=True, slots=True)
class PreparedRecording:
    """A recording on the physics clock, with what is known of its states and noise."""

    track: Track
    states: States
    noise: Floats
    """(joints,) sd of measured positions [rad or m]."""

    def channels(self, joints: Collection[str], *, velocities: bool) -> list["Channel"]:
        """What counts: positions, and velocities where recorded ones can be trusted."""
        own = [(i, joint) for i, joint in enumerate(self.track.joints)]
        chosen = [
            Channel(joint, "position", i, float(self.noise[i]))
            for i, joint in own
            if joint in joints
        ]
        for i, joint in own:
            trusted = self.states.velocity_source[joint] == "recorded"
            sd = float(self.states.velocity_sd[i])
            if velocities and trusted and joint in joints and sd > 0:
                chosen.append(Channel(joint, "velocity", i, sd))
        return chosen

    @property
    def velocity_spread(self) -> Floats:
        """(joints,) sd of the start's velocity: wide, since later rows tell it too."""
        motion = _START_MOTION_SHARE * self.states.velocity.std(0)
        return _START_VELOCITY_SD * self.states.velocity_sd + motion + 1e-9


@dataclass(frozen=True, slots=True)
class Channel:
    """One signal of one recording that counts."""

    joint: str
    quantity: str
    """`position` or `velocity`."""
    column: int
    sd: float


def prepare_recordings(
    tracks: Sequence[Track], noise: float | Mapping[str, float] | None = None
) -> list[PreparedRecording]:
    """States and noise of every track; `noise` overrides the sd of positions."""
    floors = [estimate_noise(track.recording, track.joints) for track in tracks]
    usual = _find_usual_noise([f for f in floors if f.source == "estimated"])
    prepared = []
    for track, floor in zip(tracks, floors, strict=True):
        chosen = dict(floor.position)
        if floor.source == "estimated":
            chosen = {joint: max(sd, usual[joint]) for joint, sd in chosen.items()}
        if isinstance(noise, Mapping):
            chosen = {**chosen, **noise}
        elif noise is not None:
            chosen = dict.fromkeys(track.joints, noise)
        sd = np.array([chosen[joint] for joint in track.joints])
        states = estimate_states(track, floor)
        prepared.append(PreparedRecording(track, states, np.maximum(sd, _MIN_NOISE)))
    return prepared


def _find_usual_noise(floors: Sequence[NoiseFloor]) -> dict[str, float]:
    """Joint → least noise that an encoder has: a half of what it usually has.

    An encoder with coarse steps reads one number while its joint rests, and seems to be
    without noise. It is the same encoder as in recordings in which the joint moves.
    """
    by_joint: dict[str, list[float]] = {}
    for floor in floors:
        for joint, sd in floor.position.items():
            by_joint.setdefault(joint, []).append(sd)
    return {
        joint: _RESTING_SHARE * float(np.median([sd for sd in own if sd > 0] or [0.0]))
        for joint, own in by_joint.items()
    }
