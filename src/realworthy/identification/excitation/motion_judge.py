"""What motions tell, and whether they keep their limits, by rehearsing them."""

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.excitation.design_task import (
    ExcitationSettings,
    ExcitationSubject,
)
from realworthy.identification.excitation.information import (
    colour_roughly,
    compute_score,
    split_information,
)
from realworthy.identification.excitation.motion_family import (
    MotionFamily,
    MotionShape,
    find_excess,
    shrink,
)
from realworthy.identification.excitation.rehearsal import Rehearsal, RehearsalStage
from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.jacobian import Colouring, differentiate
from realworthy.recordings import Recording
from realworthy.recordings.motion import Reference
from realworthy.simulators.clearance import without_contacts
from realworthy.twins import Twin
from realworthy.twins.structure import set_timestep

Floats = NDArray[np.float64]
_REPAIRS, _TOO_FAR = 2, 1.1
"""Times that motions are made smaller, and how much over a limit they may still be; the
result itself is checked in earnest."""
_WIDE_PRIOR_SD = 5.0
"""Scales of z that the prior of a fit is wide where there is no box."""


class MotionJudge:
    """Rehearses motions with draws of e, on a coarse clock."""

    def __init__(
        self,
        subject: ExcitationSubject,
        settings: ExcitationSettings,
        family: MotionFamily,
        *,
        known: Floats | None = None,
    ) -> None:
        """`known` is (d, d) information about z from earlier recordings."""
        self._subject, self._settings, self._family = subject, settings, family
        self.seconds = min(settings.seconds, family.period)
        """One period is rehearsed, for all of them are alike."""
        self._twin = _simplify(subject, settings.coarse)
        self._stage = RehearsalStage(
            self._twin, subject.space, subject.joints, rate=subject.rate
        )
        bounds = FitCoordinates(subject.space)
        self._e = subject.sample(settings.sample_count, seed=settings.seed)
        self._z = bounds.to_z(self._e)
        tolerance = subject.wanted / bounds.slope(self._z[0])
        self._units = np.outer(tolerance, tolerance)
        width = np.minimum(
            0.5 * (bounds.upper - bounds.lower), _WIDE_PRIOR_SD * bounds.scale
        )
        prior = np.diag(1 / np.maximum(width, 1e-6 * bounds.scale) ** 2)
        self.known = (prior if known is None else prior + known) * self._units
        """(d, d) in units of the wanted sd."""
        self._rng = np.random.default_rng([settings.seed, 1])
        self._colouring: Colouring | None = None
        self._horizon: float | None = None

    def judge(self, shapes: list[MotionShape]) -> tuple[list[MotionShape], Floats]:
        """The shapes, made smaller where they go too far, and what they tell.

        (samples, shapes, joints, d, d) information in units of the wanted sd.
        """
        count = len(self._e)
        played, excess = self._rehearse(shapes)
        for _ in range(_REPAIRS):
            if (excess <= 1).all():
                break
            shapes = [shrink(s, own) for s, own in zip(shapes, excess, strict=True)]
            played, excess = self._rehearse(shapes)
        parts = []
        for s in range(count):
            recordings = [
                self._record(played, c * count + s) for c in range(len(shapes))
            ]
            found = self._measure(recordings, self._z[s])
            parts.append(self._by_joint(found) * self._units)
        kept = np.array(parts)
        kept[:, (excess > _TOO_FAR).any(1)] = 0.0  # such a motion counts for nothing
        return shapes, kept

    def score(self, parts: Floats) -> Floats:
        """(shapes,) what their information is worth, larger is better."""
        totals = parts.sum(axis=2) + self.known
        criterion = self._settings.criterion
        scores = [[compute_score(f, criterion) for f in one] for one in totals]
        return np.mean(scores, axis=0)

    def _rehearse(self, shapes: list[MotionShape]) -> tuple[Rehearsal, Floats]:
        """Every shape with every sample, and (shapes, joints) how far it goes."""
        count = len(self._e)
        references = [self._build(shape) for shape in shapes]
        worlds = [reference for reference in references for _ in range(count)]
        played = self._stage.rehearse(worlds, np.tile(self._e, (len(shapes), 1)))
        excess = find_excess(played, self._subject.limits, self._subject.home)
        return played, excess.reshape(len(shapes), count, -1).max(axis=1)

    def _measure(self, recordings: list[Recording], z: Floats) -> Floats:
        """(recordings, joints, d, d), joints in the order of labels."""
        problem = Problem(
            self._twin,
            recordings,
            self._subject.space,
            joints=None,
            noise=self._settings.noise,
            horizon=self._horizon,
        )
        if self._horizon is None:
            self._horizon = problem.horizon.seconds
        if self._colouring is None and problem.labels.any():
            few = problem.thinned(len(problem.pieces))
            starts = np.zeros((len(few.pieces), few.start_count))
            self._colouring = colour_roughly(few, differentiate(few, z, starts))
        return split_information(problem, z, self._colouring)

    def _record(self, played: Rehearsal, world: int) -> Recording:
        return played.to_recording(world, self._settings.noise, self._rng)

    def _by_joint(self, parts: Floats) -> Floats:
        """(recordings, moved joints, d, d) from those of all joints, sorted by name.

        What joints that nothing drives tell is counted with the first that moves.
        """
        names = sorted(self._stage.all_joints)
        moved = [names.index(joint) for joint in self._subject.joints]
        others = [i for i in range(len(names)) if i not in moved]
        out = parts[:, moved]
        out[:, 0] += parts[:, others].sum(axis=1)
        return out

    def _build(self, shape: MotionShape) -> Reference:
        return self._family.build(
            shape.genes, shape.scale, seconds=self.seconds, rate=self._subject.rate
        )


def _simplify(subject: ExcitationSubject, coarse: int) -> Twin:
    """The twin with longer time steps, and without contacts where nothing may touch."""
    twin, per_row = subject.twin, round(1 / (subject.rate * subject.timestep))
    factor = max(f for f in range(1, coarse + 1) if per_row % f == 0)
    longer = factor * subject.timestep
    twin = twin.edited(lambda spec: set_timestep(spec, longer))
    return twin if twin.base is not None else twin.edited(without_contacts)
