"""Fit → design → record → refit, until all that was asked for is known."""

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.gap.noise import estimate_noise
from realworthy.identification.excitation.design_task import (
    ExcitationSettings,
    ExcitationSubject,
    find_subject,
)
from realworthy.identification.excitation.excite import Excitation, excite
from realworthy.identification.excitation.information import Criterion
from realworthy.identification.excitation.record import record
from realworthy.identification.excitation.twin_limits import LimitSettings
from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.least_squares import fit_least_squares
from realworthy.progress import Progress, ignore
from realworthy.recordings import Recording, cut_at_gaps
from realworthy.robots.address import open_robot
from realworthy.robots.robot import Robot
from realworthy.twins import Twin, load_twin

Floats = NDArray[np.float64]
_BETTER = 1.5
"""By how much later motions may tell a number better than the one at hand."""


class Status(enum.StrEnum):
    """How a campaign ended."""

    REACHED = "reached"
    """Every requested standard deviation is met."""
    UNREACHABLE = "unreachable"
    """Some cannot be met; `reasons` says why. The others are."""
    STOPPED = "stopped"
    """The guard stopped the robot."""
    DECLINED = "declined"
    """A person did not agree to a motion."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """What is known after a recording was fitted."""

    number: int
    """From 1."""
    twin: Twin = field(repr=False)
    """With the belief of all recordings until now."""
    fit: Fit = field(repr=False)
    recordings: tuple[Recording, ...] = field(repr=False)
    """All until now."""


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """What was done, and what is known now."""

    status: Status
    reasons: dict[str, str]
    """Parameter → why it cannot be told; or `robot` → why it was stopped."""
    fit: Fit | None
    """Of all recordings; None where none was worth making."""
    excitations: tuple[Excitation, ...] = field(repr=False)
    recordings: tuple[Recording, ...] = field(repr=False)
    """All, also that of a motion which a guard stopped; no fit has that one."""
    twin: Twin = field(repr=False)
    """With the belief of all that was fitted; as it was where nothing was."""
    braked: int = 0
    """Steps in which the robot braked by itself; fits leave them out."""

    @property
    def robot_seconds(self) -> float:
        """[s] of motion that was recorded, the way to its beginning left out."""
        return sum(recording.duration for recording in self.recordings)

    def to_words(self) -> str:
        """The verdict in one line per reason."""
        if self.status is Status.REACHED:
            return f"reached, with {len(self.recordings)} recordings"
        if self.status in (Status.STOPPED, Status.DECLINED):
            return f"{self.status}: {self.reasons['robot']}"
        return "\n".join(
            f"unreachable: these recordings cannot show {name} because {reason}"
            for name, reason in self.reasons.items()
        )


Agree = Callable[[int, Excitation], bool]
"""Asks a person whether the robot may play the motion of a round, counted from 1."""


def identify(
    twin: Twin | str | Path,
    robot: Robot | str,
    parameters: Sequence[str] | None = None,
    *,
    sd: Mapping[str, float] | None = None,
    rounds: int = 4,
    joints: Sequence[str] | None = None,
    limits: LimitSettings | None = None,
    settings: ExcitationSettings | None = None,
    agree: Agree | None = None,
    after: Callable[[Round], None] | None = None,
    folder: Path | None = None,
    overwrite: bool = False,
    progress: Progress = ignore,
) -> Campaign:
    """Designs, records and refits until every `sd` (by name, in units) is met.

    Without `sd` a tenth of each number's size is asked for.

    With a `folder` each recording is on the disk while it is made, and stays there as
    `round_1.npz` … when this returns or raises. A number is given up when not even all
    rounds that are left, with the best motion at hand, would make it precise enough.
    `agree` is asked before each motion; None goes on without asking. `after` gets what
    is known as soon as a recording is fitted.
    """
    if sd is not None and not sd:
        raise RealworthyError(
            "No standard deviation was asked for, so nothing could be reached.",
            hint="Say, for example, sd={'all.delay': 0.001}.",
        )
    if rounds < 1:
        raise RealworthyError(f"{rounds} rounds are too few.", hint="Allow 1 or more.")
    settings = settings or ExcitationSettings(criterion=Criterion.A)
    twin, robot = load_twin(twin), open_robot(robot)
    subject = find_subject(twin, parameters, sd=sd, joints=joints, limits=limits)
    names, space = subject.space.names, subject.space
    if sd is None:
        sd = dict(zip(names, map(float, subject.wanted), strict=True))
    excitations: list[Excitation] = []
    recordings: list[Recording] = []
    fit: Fit | None = None
    reasons: dict[str, str] = {}
    believed = twin
    braked = 0

    def conclude(status: Status) -> Campaign:
        return Campaign(
            status=status,
            reasons=reasons,
            fit=fit,
            excitations=tuple(excitations),
            recordings=tuple(recordings),
            twin=believed,
            braked=braked,
        )

    for number in range(rounds):
        known = None if fit is None else _invert(fit.covariance_z)
        progress(number / rounds, f"round {number + 1}: designing a motion")
        found = excite(
            believed,
            names,
            sd=sd,
            joints=joints,
            limits=limits,
            settings=dataclasses.replace(settings, seed=settings.seed + number),
            known=known,
        )
        left = rounds - number
        reasons |= _find_hopeless(found, known, sd, left, given_up=reasons)
        open_ = [n for n in sd if n not in reasons and not _is_met(fit, n, sd)]
        if not open_:
            break
        if agree is not None and not agree(number + 1, found):
            reasons = {"robot": "the operator said no"}
            return conclude(Status.DECLINED)
        wish = f"round {number + 1}: recording, for {', '.join(open_)}"
        progress((number + 0.5) / rounds, wish)
        output = None if folder is None else folder / f"round_{number + 1}.npz"
        followed = record(found.motion, robot, twin, output=output, overwrite=overwrite)
        excitations.append(found)
        braked += followed.braked
        if followed.reason:
            recordings.append(followed.recording)
            reasons = {"robot": followed.reason}
            return conclude(Status.STOPPED)
        recordings.append(followed.recording)
        usable, _ = cut_at_gaps(recordings)  # without rows in which the robot braked
        problem = Problem(twin, usable, space)
        fit = fit_least_squares(problem, fit.e if fit else None)
        settings = _learn_noise(settings, followed.recording, fit, subject)
        believed = twin.with_belief(fit.belief)
        if after is not None:
            after(
                Round(
                    number=number + 1,
                    twin=believed,
                    fit=fit,
                    recordings=tuple(recordings),
                )
            )
        if all(_is_met(fit, name, sd) for name in sd if name not in reasons):
            break
    else:
        assert fit is not None
        for name in sd:
            if name not in reasons and not _is_met(fit, name, sd):
                reasons[name] = (
                    f"{rounds} recordings left its sd at {fit.sd[name]:.3g}, and "
                    f"{sd[name]:.3g} was asked for"
                )
    return conclude(Status.UNREACHABLE if reasons else Status.REACHED)


def _invert(covariance: Floats) -> Floats:
    return np.asarray(np.linalg.inv(covariance), dtype=np.float64)


def _is_met(fit: Fit | None, name: str, sd: Mapping[str, float]) -> bool:
    return fit is not None and fit.sd[name] <= sd[name]


def _find_hopeless(
    found: Excitation,
    known: Floats | None,
    sd: Mapping[str, float],
    rounds: int,
    *,
    given_up: Mapping[str, str],
) -> dict[str, str]:
    """Numbers that all rounds left would not tell, and why."""
    space = found.subject.space
    bounds = FitCoordinates(space)
    z = bounds.to_z(np.array([one.value for one in found.forecasts]))
    information = rounds * found.information
    if known is not None:
        information = information + known
    wide = np.diag(1e-6 / bounds.scale**2)
    spread = bounds.slope(z) * np.sqrt(np.diag(np.linalg.inv(information + wide)))
    out = {}
    for i, one in enumerate(found.forecasts):
        hopeless = spread[i] > _BETTER * one.wanted
        if one.name in sd and one.name not in given_up and hopeless:
            out[one.name] = one.to_reason()
    return out


def _learn_noise(
    settings: ExcitationSettings,
    recording: Recording,
    fit: Fit,
    subject: ExcitationSubject,
) -> ExcitationSettings:
    """The noise that a fit will really see: the sensors', and what the twin lacks."""
    found = estimate_noise(recording, subject.joints).position
    noise = float(np.mean([found[joint] for joint in subject.joints]))
    more = np.sqrt(fit.misfit)
    return dataclasses.replace(settings, noise=max(noise * more, 1e-9))
