"""How far is the simulator from the robot? One answer from a twin and recordings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadRecording
from realworthy.gap.forces import ForceGap, measure_forces
from realworthy.gap.ground import THROUGH_FLOOR, goes_through_floor
from realworthy.gap.growth import Growth, classify_growth
from realworthy.gap.noise import NoiseFloor, estimate_noise
from realworthy.gap.states import States, estimate_states
from realworthy.gap.trajectory import SignalComparison, compare_signals
from realworthy.gap.transition import Transition, measure_transition
from realworthy.progress import Progress, ignore
from realworthy.recordings import Recording, cut_at_gaps, load_recordings
from realworthy.recordings.load import Recordings
from realworthy.simulators.replay import Replayer, Track, is_sound, lay_out
from realworthy.twins import Twin, load_twin
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
_FINGERS = ("gripper", "jaw", "finger", "thumb")
_FAR_OUT = 3.0
"""Times its range that a joint must be out of it for another unit to be the cause."""
_MANY_ROWS, _COMPARED_RATE = 6000, 100.0
"""Rows beyond which a long fast log is compared at 100 Hz: a minute of it, as fine as
joints under load move."""
_LADDER = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""[s] horizons at which recordings of different rates are put together."""

_SHORT_S = 0.1
"""[s] in which an error of a rod of 0.3 m that balances grows by e^(√(g/l) t) = 1.8, so
that it still says how good the twin is."""
_MISLEADING = 10.0
"""Replay error over that of the short horizon from which an unstable motion's replay
says nothing: 2.8 rad beside 0.006 of a pendulum that balances (2026-11-19)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayGap:
    """Open-loop replay of the recorded commands from the first measured pose."""

    position_rmse: float
    """[rad or m] over rows and joints, fingers apart."""
    position_mae: float
    per_joint: dict[str, float]
    """Joint → root mean square, fingers included."""
    diverged: bool
    """Whether the simulation diverged; then the figures are not finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneStep:
    """One-step prediction errors, normalised by the spread of one-step changes."""

    error: float
    floor: float
    """Expected of a perfect simulator: noise alone."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecordingGap:
    """The gap on one recording."""

    name: str
    track: Track
    simulated: Floats
    """(rows, joints) positions of the replay."""
    states: States
    noise: NoiseFloor
    replay: ReplayGap
    transition: Transition
    forces: ForceGap
    growth: Growth
    comparison: dict[str, SignalComparison]
    """Joint → what sets the replay apart: delay, gain, bias."""
    assumptions: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<gap on '{self.name}': {self.replay.position_rmse:.4g} rad>"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Gap:
    """How far a twin is from the robot behind some recordings."""

    twin: str
    recordings: tuple[RecordingGap, ...]
    cut: tuple[str, ...] = ()
    """Which recordings were cut, and where rows were missing."""
    skipped: tuple[str, ...] = ()
    """Why others are not here: they have nothing that this twin can replay."""

    def __repr__(self) -> str:
        rmse, count = self.replay.position_rmse, len(self.recordings)
        return f"<gap of twin '{self.twin}': {rmse:.4g} rad over {count} recordings>"

    @property
    def replay(self) -> ReplayGap:
        """Means over the recordings."""
        parts = [recording.replay for recording in self.recordings]
        joints = dict.fromkeys(joint for part in parts for joint in part.per_joint)
        return ReplayGap(
            position_rmse=float(np.mean([part.position_rmse for part in parts])),
            position_mae=float(np.mean([part.position_mae for part in parts])),
            per_joint={
                joint: float(
                    np.mean([p.per_joint[joint] for p in parts if joint in p.per_joint])
                )
                for joint in joints
            },
            diverged=any(part.diverged for part in parts),
        )

    @property
    def one_step(self) -> OneStep:
        """Means over the recordings."""
        parts = [recording.transition for recording in self.recordings]
        return OneStep(
            error=float(np.mean([part.normalised for part in parts])),
            floor=float(np.mean([part.normalised_floor for part in parts])),
        )

    @property
    def leading_horizon(self) -> tuple[float, float] | None:
        """Seconds ahead and error that say more than a replay of whole recordings.

        Where a motion is unstable, such as balancing, a replay falls over whatever the
        twin; None elsewhere.
        """
        short = {s: error for s, error in self.horizons.items() if s <= _SHORT_S}
        unstable = any(one.growth.kind == "instability" for one in self.recordings)
        if not (unstable and short):
            return None
        seconds = max(short)
        is_misleading = self.replay.position_rmse > _MISLEADING * short[seconds]
        return (seconds, short[seconds]) if is_misleading else None

    @property
    def horizons(self) -> dict[float, float]:
        """Seconds ahead → error of the position [rad or m], mean over recordings."""
        return self._at_horizons("position")

    @property
    def horizon_floor(self) -> dict[float, float]:
        """Seconds ahead → what noise alone would give."""
        return self._at_horizons("position_floor")

    @property
    def noise_floor(self) -> dict[str, float]:
        """Joint → standard deviation of its measured position, mean over recordings."""
        noise = [recording.noise.position for recording in self.recordings]
        joints = dict.fromkeys(joint for part in noise for joint in part)
        return {j: float(np.mean([n[j] for n in noise if j in n])) for j in joints}

    def _at_horizons(self, name: str) -> dict[float, float]:
        curves = []
        for recording in self.recordings:
            body = _body(recording.track.joints)
            values = getattr(recording.transition, name)[:, body]
            curves.append(
                (recording.transition.horizons, np.sqrt(np.mean(values**2, axis=1)))
            )
        by_horizon = {}
        for seconds in _LADDER:
            reached = [
                float(np.interp(seconds, times, errors))
                for times, errors in curves
                if times[0] * 0.99 <= seconds <= times[-1] * 1.01
            ]
            if reached:
                by_horizon[seconds] = float(np.mean(reached))
        return by_horizon


def measure(
    twin: Twin | str | Path,
    recordings: Recordings,
    *,
    seed: int = 0,
    progress: Progress = ignore,
) -> Gap:
    """Replays every recording in the twin and measures where and how they part.

    Needs no fit. What was assumed is in `assumptions`. Recordings are cut where rows
    are missing for long (`cut_at_gaps`), and one that has nothing to replay is left
    out: `cut` and `skipped` say so. Raises where that leaves none.
    """
    twin = load_twin(twin)
    listed, cut = cut_at_gaps(load_recordings(recordings))
    gaps: list[RecordingGap] = []
    skipped: list[BadRecording] = []
    for i, recording in enumerate(listed):
        progress(i / len(listed), recording.name or "recording")
        try:
            gaps.append(measure_recording(twin, recording, seed=seed))
        except BadRecording as error:
            skipped.append(error)
    if not gaps:
        raise skipped[0]
    return Gap(
        twin=twin.name,
        recordings=tuple(gaps),
        cut=tuple(cut),
        skipped=tuple(error.problem for error in skipped),
    )


def measure_recording(
    twin: Twin, recording: Recording, *, seed: int = 0
) -> RecordingGap:
    """The gap on one recording."""
    track = lay_out(twin, recording)
    check_ranges(track)
    noise = estimate_noise(recording, track.joints)
    states = estimate_states(track, noise)
    player = Replayer(track, 1, thread_count=1)
    played = player.play(position=states.position[:1], velocity=states.velocity[:1])
    simulated = played.position[0]
    transition = measure_transition(track, states, noise, seed=seed)
    size = np.sqrt(np.mean(transition.position**2, axis=1))
    floor = np.sqrt(np.mean(transition.position_floor**2, axis=1))
    return RecordingGap(
        name=recording.name or "recording",
        track=track,
        simulated=simulated,
        states=states,
        noise=noise,
        replay=_replay_gap(track, simulated, diverged=not bool(is_sound(played)[0])),
        transition=transition,
        forces=measure_forces(track, states, simulated),
        growth=classify_growth(transition.horizons, size, floor),
        comparison=_compare(track, simulated),
        assumptions=_assumptions(track, states),
    )


def check_ranges(track: Track) -> None:
    """Raises for positions that no joint of the twin can have, such as degrees."""
    ranges = Layout(track.bound).joint_ranges()
    for i, joint in enumerate(track.joints):
        low, high = ranges[joint]
        reach = float(np.abs(track.position[:, i]).max())
        limit = max(abs(low), abs(high))
        if reach > _FAR_OUT * limit:
            raise BadRecording(
                f"{track.recording.owner}: '{joint}.position' reaches {reach:.4g}, and "
                f"the joint of twin '{track.bound.twin.name}' ends at {limit:.4g} rad.",
                hint="If it is in degrees, put into the sidecar: mapping: "
                f"{{{joint}.position: {{source: {joint}.position, "
                "scale: 0.017453292519943295}}",
            )


def _compare(track: Track, simulated: Floats) -> dict[str, SignalComparison]:
    """Joint by joint, at 100 Hz or a little more where there are many rows."""
    rate = track.recording.rate
    stride = max(1, int(rate / _COMPARED_RATE)) if len(track.rows) > _MANY_ROWS else 1
    return {
        joint: compare_signals(
            simulated[::stride, i], track.position[::stride, i], rate / stride
        )
        for i, joint in enumerate(track.joints)
    }


def is_finger(joint: str) -> bool:
    """Whether a joint is an end-effector's finger, whose error is reported apart."""
    return any(word in joint.lower() for word in _FINGERS)


def _body(joints: tuple[str, ...]) -> list[int]:
    """Places of the joints that count: all but fingers, or all if there are none."""
    body = [i for i, joint in enumerate(joints) if not is_finger(joint)]
    return body or list(range(len(joints)))


def _replay_gap(track: Track, simulated: Floats, *, diverged: bool) -> ReplayGap:
    error = simulated - track.position
    body = _body(track.joints)
    per_joint = np.sqrt(np.mean(error**2, axis=0))
    return ReplayGap(
        position_rmse=float(np.sqrt(np.mean(error[:, body] ** 2))),
        position_mae=float(np.mean(np.abs(error[:, body]))),
        per_joint=dict(zip(track.joints, per_joint.tolist(), strict=True)),
        diverged=diverged,
    )


def _assumptions(track: Track, states: States) -> tuple[str, ...]:
    sentences = []
    if track.hangs:
        sentences.append(
            "The motion of the base was not recorded: it hangs still above the floor."
        )
    if goes_through_floor(track, [j for j in track.joints if not is_finger(j)]):
        sentences.append(THROUGH_FLOOR)
    if track.recording.sidecar.command_kind is None:
        kinds = {line.kind for line in describe_commands(track.bound)}
        sentences.append(
            f"Commands are taken as {' and '.join(sorted(kinds))}, as the twin's are: "
            "the sidecar does not say command_kind."
        )
    for command, source in track.inputs.sources.items():
        if command in track.inputs.constant:
            sentences.append(f"{command} rests at the home pose: {source}.")
        elif source != command:
            sentences.append(f"{command} is driven by {source}.")
    lost = [j for j, s in states.velocity_source.items() if s == "differentiated"]
    recorded = [j for j in lost if f"{j}.velocity" in track.recording.signals]
    if recorded:
        sentences.append(
            _list(recorded) + ": recorded velocity is not the derivative of "
            "the position; positions were differentiated instead."
        )
    missing = [j for j in track.recording.joints if j not in track.joints]
    if missing:
        sentences.append(f"Recorded but not in the twin: {_list(missing)}.")
    return tuple(sentences)


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
