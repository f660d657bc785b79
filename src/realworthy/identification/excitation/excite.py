"""`excite`: a motion that identifies the wanted parameters, within limits."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import check_free
from realworthy.errors import RealworthyError
from realworthy.identification.excitation.design import Designer
from realworthy.identification.excitation.design_task import (
    ExcitationSettings,
    ExcitationSubject,
    find_subject,
)
from realworthy.identification.excitation.information import Forecast, forecast
from realworthy.identification.excitation.motion_family import find_excess, hold_back
from realworthy.identification.excitation.rehearsal import (
    Peaks,
    Rehearsal,
    RehearsalStage,
)
from realworthy.identification.excitation.twin_limits import LimitSettings
from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.problem.problem import Problem
from realworthy.parameters import ParameterSpace
from realworthy.progress import Progress, ignore
from realworthy.recordings.motion import Motion, Reference, check_name, save_motion
from realworthy.robots.limits import Limits
from realworthy.twins import Twin, load_twin

Floats = NDArray[np.float64]
_TRIES = 60
"""Times that a motion is made smaller until all limits hold."""
_UNSEEN = 1.05
"""Room within limits that is kept for draws of e that were not rehearsed."""
_STILL_S = 1.0
"""[s] at home in which servos sag to where they stay."""
_CLEARANCE_RATIO = 1.1
"""By what a joint that brings parts too close goes too far."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JointPeaks:
    """What one joint does in the worst of all rehearsals."""

    joint: str
    lowest: float
    highest: float
    """[rad or m]"""
    speed: float
    acceleration: float
    torque: float


@dataclass(frozen=True, kw_only=True)
class Excitation:
    """A motion, what it tells, and how far it goes."""

    motion: Motion
    forecasts: tuple[Forecast, ...]
    """One per parameter, around what is believed most likely."""
    peaks: tuple[JointPeaks, ...]
    """Over draws of the belief, at every time step."""
    clearance: float
    """[m] smallest distance between parts in them, at most the one asked for."""
    limits: Limits = field(repr=False)
    subject: ExcitationSubject = field(repr=False)
    information: Floats = field(repr=False)
    """(d, d) about z, of a recording of this motion alone."""
    scores: tuple[float, ...] = field(repr=False)
    check_count: int
    """Draws of the belief over which limits were checked."""
    seconds: float
    """That the design took."""

    @property
    def is_enough(self) -> bool:
        """Whether one recording would make every parameter as precise as asked."""
        return all(one.is_met for one in self.forecasts)

    @property
    def sd(self) -> dict[str, float]:
        """Name → predicted standard deviation, in the parameter's unit."""
        return {one.name: one.sd for one in self.forecasts}


def excite(
    twin: Twin | str | Path,
    parameters: ParameterSpace | Sequence[str] | None = None,
    *,
    sd: Mapping[str, float] | None = None,
    joints: Sequence[str] | None = None,
    limits: LimitSettings | None = None,
    rate: float | None = None,
    settings: ExcitationSettings | None = None,
    known: Floats | None = None,
    output: Path | str | None = None,
    overwrite: bool = False,
    progress: Progress = ignore,
) -> Excitation:
    """A motion for `parameters` (by default those of drives) that keeps all limits.

    `sd` is what is asked for, by name; a tenth of a number's size where not given.
    `known` is (d, d) information about z from earlier recordings. `output` is a file
    for the motion. The result is local: only as good as what is believed of the twin.
    """
    if output is not None:
        check_name(output)
        check_free(Path(output), overwrite=overwrite)
    subject = find_subject(
        load_twin(twin), parameters, sd=sd, joints=joints, limits=limits, rate=rate
    )
    settings = settings or ExcitationSettings()
    began = time.perf_counter()
    if joints is None:
        subject = _leave_out_restless(subject, settings, parameters, limits, sd)
    designer = Designer(subject, settings, known=known)
    shape = designer.search(progress)
    reference = designer.build(shape, settings.seconds)
    found = finish(designer, reference, known=known, began=began)
    if output is not None:
        save_motion(found.motion, output, overwrite=overwrite)
    return found


def _leave_out_restless(
    subject: ExcitationSubject,
    settings: ExcitationSettings,
    parameters: ParameterSpace | Sequence[str] | None,
    limits: LimitSettings | None,
    sd: Mapping[str, float] | None,
) -> ExcitationSubject:
    """Without joints that pass a limit while the robot is only told to stay at home."""
    stage = RehearsalStage(
        subject.twin, subject.space, subject.joints, rate=subject.rate
    )
    e = subject.sample_widely(settings.check_count, seed=settings.seed + 1)
    still = np.tile(subject.home, (1 + round(_STILL_S * subject.rate), 1))
    time = np.arange(len(still)) / subject.rate
    rest = Reference(time, subject.joints, still, 0 * still, 0 * still)
    excess = find_excess(
        stage.rehearse([rest] * len(e), e), subject.limits, subject.home
    )
    beyond = excess.max(axis=0) * _UNSEEN > 1
    if not beyond.any() or beyond.all():
        return subject
    kept = [j for j, out in zip(subject.joints, beyond, strict=True) if not out]
    why = "it passes a limit by itself, while the robot is told to stay at home"
    left_out = {
        **subject.left_out,
        **{j: why for j in subject.joints if j not in kept},
    }
    again = find_subject(
        subject.twin,
        parameters,
        sd=sd,
        joints=kept,
        limits=limits,
        rate=subject.rate,
    )
    return replace(again, left_out=left_out, hangs=subject.hangs)


def finish(
    designer: Designer,
    reference: Reference,
    *,
    known: Floats | None = None,
    began: float | None = None,
) -> Excitation:
    """Any motion around home, made smaller where some e lets it go too far.

    With what it tells then, however it was found.
    """
    began = time.perf_counter() if began is None else began
    subject, settings = designer.subject, designer.settings
    stage = RehearsalStage(
        subject.twin, subject.space, subject.joints, rate=subject.rate
    )
    e = subject.sample_widely(settings.check_count, seed=settings.seed + 1)
    reference, played = _settle(designer, stage, reference, e)
    motion = Motion(reference.time, subject.joints, reference.position)
    problem = Problem(
        subject.twin,
        played.to_recording(0, settings.noise, np.random.default_rng(settings.seed)),
        subject.space,
        noise=settings.noise,
    )
    z = FitCoordinates(subject.space).to_z(e[0])
    forecasts, information = forecast(problem, z, subject.wanted, known=known)
    return Excitation(
        motion=motion,
        forecasts=forecasts,
        peaks=_list_peaks(played.peaks, subject),
        clearance=float(designer.clearance.measure(_poses(played))[0].min()),
        limits=subject.limits,
        subject=subject,
        information=information if known is None else information - known,
        scores=tuple(designer.scores),
        check_count=len(e),
        seconds=time.perf_counter() - began,
    )


def _settle(
    designer: Designer, stage: RehearsalStage, reference: Reference, e: Floats
) -> tuple[Reference, Rehearsal]:
    """The motion, made smaller until all limits hold in all worlds; and the proof."""
    subject, fine = designer.subject, False
    scale, worst, pair = np.ones(len(subject.joints)), "", ("", "")
    for _ in range(_TRIES):
        tried = _scale(reference, subject.home, scale)
        played = stage.rehearse([tried] * len(e), e, fine=fine)
        excess = find_excess(played, subject.limits, subject.home).max(axis=0)
        excess *= _UNSEEN
        poses = _poses(played)
        distance, pair = designer.clearance.measure(poses)
        closest = int(np.argmin(distance))
        if distance[closest] < subject.clearance:
            culprit = designer.clearance.find_culprit(poses[closest], subject.home)
            at = slice(None) if culprit is None else culprit
            excess[at] = np.maximum(excess[at], _CLEARANCE_RATIO)
        worst = subject.joints[int(np.argmax(excess))]
        if (excess > 1).any():
            scale = scale * hold_back(excess)
        elif fine:
            return tried, played
        else:
            fine = True  # rows are kept; now every time step
    close = f" {pair[0]} and {pair[1]} come too close." if pair[0] else ""
    raise RealworthyError(
        f"No motion of this family keeps the limits of {subject.twin.owner}: '{worst}' "
        f"exceeds one in a rehearsal, even when small.{close}",
        hint="Allow more torque, speed or acceleration, or a narrower belief.",
    )


def _scale(reference: Reference, home: Floats, scale: Floats) -> Reference:
    """The motion with its amplitudes around home times (joints,) `scale`."""
    return Reference(
        reference.time,
        reference.joints,
        home + scale * (reference.position - home),
        scale * reference.velocity,
        scale * reference.acceleration,
    )


def _poses(played: Rehearsal) -> Floats:
    """(rows · worlds, joints)."""
    return played.position.reshape(-1, played.position.shape[-1])


def _list_peaks(peaks: Peaks, subject: ExcitationSubject) -> tuple[JointPeaks, ...]:
    return tuple(
        JointPeaks(
            joint=joint,
            lowest=float(peaks.lowest[:, j].min()),
            highest=float(peaks.highest[:, j].max()),
            speed=float(peaks.speed[:, j].max()),
            acceleration=float(peaks.acceleration[:, j].max()),
            torque=float(peaks.torque[:, j].max()),
        )
        for j, joint in enumerate(subject.joints)
    )
