"""Fitting a residual force to recordings, and asking unseen ones whether it helps.

What e can explain is in the twin by then; the residual learns what remains, from the
recordings that were fitted, and is kept only if it does better on those held out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadRecording
from realworthy.identification.calibration.result import Calibration
from realworthy.identification.networks.missing import (
    Labelled,
    add_stiffness,
    label_forces,
)
from realworthy.identification.networks.ridge import RidgeSettings, Rows, fit_ensemble
from realworthy.identification.validation.held_out import divide_recordings
from realworthy.recordings import Recording, cut_at_gaps
from realworthy.residuals import Ensemble, Residual, ResidualEvidence, ResidualFile
from realworthy.simulators.replay import Replayer, Track, is_sound
from realworthy.simulators.residual_force import ResidualForce
from realworthy.twins import Twin

Floats = NDArray[np.float64]
_GAINS = (0.5, 1.0)
"""Shares of a learned force that are tried beside none: half of it is kept where all of
it lets free runs drift."""
_WORTH = 0.95
"""Held-out error over that of the twin alone, above which a residual is not used."""


@dataclass(kw_only=True, slots=True)
class ResidualSettings:
    """How a residual is fitted and judged."""

    horizon: float = 0.5
    """[s] for which worlds run freely when held-out recordings judge."""
    fold_count: int = 4
    """Recordings are left out in so many turns, or one by one if they are fewer."""
    ridge: RidgeSettings = field(default_factory=RidgeSettings)


def residual_torque(
    joints: Sequence[str], *, period: float = 0.005, history: int = 20
) -> ResidualFile:
    """What drives lack, without torque labels: each joint sees its own errors alone.

    One function for all joints (they should have like drives), so that it cannot learn
    how links couple. Servos of the twin may differ in their gains: `fit_residual`
    multiplies errors by them. The default history is 100 ms. `period` must be a whole
    number of the twin's time steps.
    """
    return ResidualFile(
        joints=tuple(joints),
        scope="joint",
        signals=("error", "velocity"),
        period=period,
        history=history,
    )


def residual_dynamics(joints: Sequence[str]) -> ResidualFile:
    """What the robot lacks as a whole: every joint sees all of them move."""
    return ResidualFile(
        joints=tuple(joints),
        scope="robot",
        signals=("position", "velocity"),
        period=0.005,
    )


def fit_residual(
    twin: Twin,
    recordings: Sequence[Recording],
    description: ResidualFile,
    settings: ResidualSettings | None = None,
) -> Residual:
    """The force that `twin` lacks, as recordings show it; `twin` has its e already.

    Recordings are left out in turn and predicted by running freely from measured
    states. The gain that does best there is kept; it is 0 unless the error falls by a
    twentieth. What e could explain should be fitted first: a residual also swallows
    payloads and contacts.
    """
    settings = settings or ResidualSettings()
    if len(recordings) < 2:
        raise BadRecording(
            f"A residual needs two recordings or more, not {len(recordings)}: some are"
            " left out to judge it.",
            hint="Record another motion, or cut this one with crop.",
        )
    description = add_stiffness(twin, description)
    labelled = label_forces(twin, recordings, description)
    fold_count = min(settings.fold_count, len(labelled))
    errors = {gain: [] for gain in (0.0, *_GAINS)}
    for fold in range(fold_count):
        inside = [x for i, x in enumerate(labelled) if i % fold_count != fold]
        outside = [x for i, x in enumerate(labelled) if i % fold_count == fold]
        ensemble = _fit(inside, description, settings)
        for gain, error in errors.items():
            tried = _make(description, ensemble, gain)
            error.append(run_freely(outside, tried, settings.horizon))
    rms = {gain: _rms(np.concatenate(error)) for gain, error in errors.items()}
    gain = min(rms, key=lambda g: rms[g])
    if not rms[gain] <= _WORTH * rms[0.0]:
        gain = 0.0
    evidence = ResidualEvidence(
        horizon=settings.horizon,
        start_count=sum(map(len, errors[gain])),
        without=rms[0.0],
        with_residual=rms[gain],
        recordings=tuple(recording.sha256() for recording in recordings),
    )
    described = msgspec.structs.replace(
        description,
        evidence=evidence,
        twin=twin.name,
        fingerprint=twin.fingerprint,
    )
    return _make(described, _fit(labelled, description, settings), gain)


@dataclass(frozen=True, kw_only=True)
class ResidualComparison:
    """Free-running position errors of a twin with and without a residual."""

    without: float
    """[rad or m] root mean square over starts, rows and joints."""
    with_residual: float
    start_count: int

    def to_words(self) -> str:
        share = self.with_residual / self.without if self.without else 1.0
        return (
            f"{self.start_count} free runs: {self.without:.3g} without,"
            f" {self.with_residual:.3g} with the residual ({share:.0%})"
        )


def compare_residual(
    twin: Twin,
    recordings: Sequence[Recording],
    residual: Residual,
    *,
    horizon: float = 0.5,
) -> ResidualComparison:
    """How far a twin is off after running freely for up to `horizon` [s]."""
    labelled = label_forces(twin, recordings, residual.description)
    alone = _make(residual.description, residual.ensemble, 0.0)
    without = run_freely(labelled, alone, horizon)
    return ResidualComparison(
        without=_rms(without),
        with_residual=_rms(run_freely(labelled, residual, horizon)),
        start_count=len(without),
    )


def run_freely(
    labelled: Sequence[Labelled], residual: Residual, horizon: float
) -> Floats:
    """(starts,) mean squared position error [rad² or m²]; inf where a world diverged.

    Starts are half a horizon apart, from states as measured.
    """
    runs = []
    for group in _by_bound(labelled):
        tracks = [item.track for item in group]
        length = max(2, round(horizon * tracks[0].recording.rate) + 1)
        places = [_starts(track, length) for track in tracks]
        starts = np.concatenate(places)
        which = np.repeat(np.arange(len(tracks)), [len(p) for p in places])
        if not len(starts):
            continue
        effect = ResidualForce(residual, tracks[0].bound)
        player = Replayer(tracks, len(starts), effects=[effect])
        played = player.play(
            starts,
            length,
            tracks=which,
            position=_at([item.states.position for item in group], which, starts),
            velocity=_at([item.states.velocity for item in group], which, starts),
        )
        columns = [tracks[0].joints.index(j) for j in residual.description.joints]
        rows = starts[:, None] + np.arange(played.position.shape[1])
        truth = np.stack(
            [tracks[w].position[r] for w, r in zip(which, rows, strict=True)]
        )
        squares = np.mean((played.position - truth)[..., columns] ** 2, axis=(1, 2))
        runs.append(np.where(is_sound(played), squares, np.inf))
    if not runs:
        raise BadRecording(
            f"No recording lasts {horizon:g} s.", hint="Choose a shorter horizon."
        )
    return np.concatenate(runs)


def _fit(
    labelled: Sequence[Labelled], description: ResidualFile, settings: ResidualSettings
) -> Ensemble:
    rows = [_to_rows(item, description) for item in labelled]
    return fit_ensemble(rows, settings.ridge)


def _to_rows(item: Labelled, description: ResidualFile) -> Rows:
    count, joints = item.force.shape
    if description.scope == "joint":
        inputs = item.inputs.reshape(count * joints, -1)
        return Rows(inputs=inputs, force=item.force.reshape(-1, 1))
    return Rows(inputs=item.inputs.reshape(count, -1), force=item.force)


def _make(description: ResidualFile, ensemble: Ensemble, gain: float) -> Residual:
    described = msgspec.structs.replace(description, gain=gain)
    return Residual(description=described, ensemble=ensemble)


def _rms(squares: Floats) -> float:
    return float(np.sqrt(np.mean(squares)))


def _by_bound(labelled: Sequence[Labelled]) -> list[list[Labelled]]:
    groups: dict[tuple[object, ...], list[Labelled]] = {}
    for item in labelled:
        key = id(item.track.bound), item.track.joints
        groups.setdefault(key, []).append(item)
    return list(groups.values())


def _starts(track: Track, length: int) -> NDArray[np.intp]:
    last = len(track.rows) - length
    return np.arange(0, last + 1, max(1, length // 2)).astype(np.intp)


def _at(
    values: Sequence[Floats], which: NDArray[np.intp], rows: NDArray[np.intp]
) -> Floats:
    return np.stack([values[w][r] for w, r in zip(which, rows, strict=True)])


_MIN_RECORDINGS = 2
"""Recordings to fit, beside those held out: some are left out in turn to choose."""


@dataclass(frozen=True, kw_only=True)
class ResidualAddition:
    """A residual for a calibrated twin, and whether it earns its place."""

    residual: Residual = field(repr=False)
    comparison: ResidualComparison
    """On held-out recordings, after running freely for 0.5 s."""

    @property
    def is_kept(self) -> bool:
        """Whether it predicts held-out recordings better than physics alone."""
        compared = self.comparison
        is_used = self.residual.description.gain > 0
        return is_used and compared.with_residual < compared.without

    def to_words(self) -> str:
        """Both figures, and what follows from them."""
        compared = self.comparison
        text = (
            f"half a second ahead, held-out recordings are off by "
            f"{compared.without:.3g} rad with physics alone, by "
            f"{compared.with_residual:.3g} rad with the learned force"
        )
        if self.is_kept:
            return f"{text}: it belongs to the twin."
        if not self.residual.description.gain:
            text = (
                f"the learned force took no twentieth off the error of fitted "
                f"recordings left out in turn (physics alone: {compared.without:.3g} "
                "rad half a second ahead, held out; with the learned force: "
                f"{compared.with_residual:.3g} rad)"
            )
        return f"{text}: it was not kept."


def check_enough(
    recordings: Sequence[Recording], heldout: Sequence[Recording] | None
) -> None:
    """Raises, before the work begins, where a residual could not be fitted."""
    listed, _ = cut_at_gaps(recordings)
    count = len(divide_recordings(listed, heldout).fitted)
    if count < _MIN_RECORDINGS:
        raise BadRecording(
            f"A residual needs {_MIN_RECORDINGS} recordings to fit beside those held "
            f"out; there {'is' if count == 1 else 'are'} {count}.",
            hint="Record another motion, or leave out --residual.",
        )


def add_residual(found: Calibration) -> ResidualAddition:
    """What the calibrated twin lacks as a learned force, judged on held-out recordings.

    Every recorded joint sees all of them move; motions that touch nothing only.
    """
    twin, described = found.twin, residual_dynamics(found.joints)
    residual = fit_residual(twin, found.fitted_recordings, described)
    return ResidualAddition(
        residual=residual,
        comparison=compare_residual(twin, found.held_out, residual),
    )
