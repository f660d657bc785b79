"""Network against physics on runs that neither has seen, free-running."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from realworthy.actuators import Actuator, BenchLoad, build_law
from realworthy.errors import UnknownParameter
from realworthy.identification.networks.drive import load_drive
from realworthy.identification.networks.physical import replace_numbers
from realworthy.identification.networks.runs import (
    AnyLaw,
    DriveRun,
    cut,
    follow,
    run_freely,
)

Floats = NDArray[np.float64]
Candidate: TypeAlias = Callable[[float], AnyLaw]
"""The law of a drive at a firmware gain relative to that of the runs."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """How well one drive did on held-out runs."""

    torque: float
    """[N·m] rms at the recorded states; says little about running freely."""
    position: float
    """[rad] rms after running freely from many starts; infinite if it diverged."""
    by_run: dict[str, float]
    """Run → the same for its starts alone."""


@dataclass(frozen=True, kw_only=True)
class DriveComparison:
    """Scores of several drives on the same runs."""

    horizon: float
    """[s] of running freely."""
    scores: dict[str, Score]

    @property
    def best(self) -> str:
        """The drive whose free-running positions are nearest."""
        return min(self.scores, key=lambda name: self.scores[name].position)

    def to_words(self) -> str:
        """One line for each drive, the best first."""
        ranked = sorted(self.scores.items(), key=lambda item: item[1].position)
        width = max(map(len, self.scores))
        lines = [
            f"{name:<{width}}  {score.position:.4f} rad after {self.horizon:g} s,"
            f" torque off by {score.torque:.4f} N·m"
            for name, score in ranked
        ]
        return "\n".join(lines)


def compare_drives(
    candidates: Mapping[str, Candidate],
    runs: Sequence[DriveRun],
    bench: BenchLoad,
    *,
    horizon: float = 1.0,
) -> DriveComparison:
    """Runs every candidate freely from many starts; choose runs none was fitted to."""
    scores = {}
    for name, build in candidates.items():
        torques, squares = [], dict[str, list[float]]()
        for gain in sorted({run.gain for run in runs}):
            law = build(gain)
            own = [run for run in runs if run.gain == gain]
            for run, torque in zip(own, follow(law, bench, own), strict=True):
                torques.append((torque - run.torque) ** 2)
            pieces = cut(own, horizon)
            for piece, q in zip(pieces, run_freely(law, bench, pieces), strict=True):
                error = np.mean((q - piece.position) ** 2)
                finite = float(error) if np.isfinite(error) else np.inf
                squares.setdefault(piece.name, []).append(finite)
        scores[name] = Score(
            torque=float(np.sqrt(np.mean(np.concatenate(torques)))),
            position=float(np.sqrt(np.mean(np.concatenate(list(squares.values()))))),
            by_run={run: float(np.sqrt(np.mean(s))) for run, s in squares.items()},
        )
    return DriveComparison(horizon=horizon, scores=scores)


def physical_candidate(
    actuator: Actuator, *, timestep: float = 0.001, gain_kind: str | None = None
) -> Candidate:
    """A physical model; `gain_kind` is its number that a run's gain multiplies."""
    numbers = actuator.parameters()
    if gain_kind is not None and gain_kind not in numbers:
        owner = f"actuator of '{actuator.joint}'"
        raise UnknownParameter(gain_kind, numbers, owner=owner)

    def build(gain: float) -> AnyLaw:
        scaled = {} if gain_kind is None else {gain_kind: gain * numbers[gain_kind]}
        return build_law(replace_numbers(actuator, scaled), timestep=timestep)

    return build


def network_candidate(
    path: Path | str, *, timestep: float = 0.001, gain_kind: str | None = None
) -> Candidate:
    """A saved drive, guarded by its envelope."""

    def build(gain: float) -> AnyLaw:
        return load_drive(path, timestep=timestep, gain=gain, gain_kind=gain_kind)

    return build
