"""The most informative motion within the limits, over the belief.

An evolution of Fourier motions. A joint's own rows are most informative about its
drive. So every generation takes each joint's motion from the candidate where that joint
is most informative (`choose_mix`), rehearses the mixture, and keeps it if it is better.
"""

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.excitation.design_task import (
    ExcitationSettings,
    ExcitationSubject,
)
from realworthy.identification.excitation.information import choose_mix
from realworthy.identification.excitation.motion_family import (
    MotionFamily,
    MotionShape,
    choose_harmonics,
    mix_shapes,
)
from realworthy.identification.excitation.motion_judge import MotionJudge
from realworthy.progress import Progress, ignore
from realworthy.recordings.motion import Reference
from realworthy.simulators.clearance import Clearance
from realworthy.twins import bind

Floats = NDArray[np.float64]
_FIRST_SPREAD, _MIN_SPREAD = 0.5, 0.05
"""Sd of the genes of children, at first and at the end."""
_CHANGED = 0.5
"""Share of joints that a child moves otherwise."""
_TOUCHES, _SMALLER = 200, 0.8
"""Steps towards a motion that keeps clear, and what a joint keeps of it in each."""
_CLEARANCE_MARGIN = 0.02
"""[m] beyond the clearance within which distances are known."""
_MAX_JOINTS_FOR_MIXING = 20
"""Motions of one joint that are looked at for as much time as four of many joints."""
_DRAWS = 5
"""Random motions of which the roomiest is kept."""
_POSES = 10.0
"""[Hz] at which poses are looked at for collisions."""


class Designer:
    """Searches a family of motions for the most telling one."""

    def __init__(
        self,
        subject: ExcitationSubject,
        settings: ExcitationSettings,
        *,
        known: Floats | None = None,
    ) -> None:
        """`known` is (d, d) information about z from earlier recordings."""
        self.subject, self.settings = subject, settings
        self.family = make_family(subject, settings)
        self._judge = MotionJudge(subject, settings, self.family, known=known)
        self._rng = np.random.default_rng(settings.seed)
        self.clearance = Clearance(
            bind(subject.twin),
            subject.joints,
            reach=subject.clearance + _CLEARANCE_MARGIN,
        )
        self.scores: list[float] = []
        """Of the best motion after each generation, larger is better."""

    def draw(self) -> MotionShape:
        """A random motion that keeps clear."""
        genes = self.family.draw(self._rng)
        return self.keep_clear(MotionShape(genes, np.ones(len(genes))))

    def search(self, progress: Progress = ignore) -> MotionShape:
        """The best motion found."""
        settings, total = self.settings, self.settings.generation_count
        shapes, parts = self._judge.judge(self._draw_large())
        spread = _FIRST_SPREAD
        for generation in range(total):
            scores = self._judge.score(parts)
            winner = int(np.argmax(scores))
            self.scores.append(float(scores[winner]))
            order = [winner, *(i for i in range(len(shapes)) if i != winner)]
            shapes = [shapes[i] for i in order]
            parts = parts[:, order]
            best = shapes[0]
            done = generation + 1
            progress(done / total, f"motions, generation {done} of {total}")
            if generation + 1 == total:
                return best
            chosen = choose_mix(parts, self._judge.known, settings.criterion)
            if generation and not winner and not chosen.any():
                spread = max(_MIN_SPREAD, 0.7 * spread)
            mixed = self.keep_clear(mix_shapes(shapes, chosen))
            others, found = self._judge.judge(
                [mixed, *self._breed(best, mixed, spread)]
            )
            shapes = [best, *others]
            parts = np.concatenate([parts[:, :1], found], axis=1)
        raise AssertionError("there is at least one generation")

    def _draw_large(self) -> list[MotionShape]:
        """Of several random motions those that have the most room to move."""
        count = self.settings.first_count or max(
            6, _MAX_JOINTS_FOR_MIXING // len(self.subject.joints)
        )
        drawn = [self.draw() for _ in range(_DRAWS * count)]
        room = [float(np.mean(np.log(shape.scale + 1e-3))) for shape in drawn]
        return [drawn[i] for i in np.argsort(room)[::-1][:count]]

    def _breed(
        self, best: MotionShape, mixed: MotionShape, spread: float
    ) -> list[MotionShape]:
        count = self.settings.child_count
        count = (
            max(4, _MAX_JOINTS_FOR_MIXING // len(self.subject.joints))
            if count is None
            else count
        )
        return [self._change(mixed if i % 2 else best, spread) for i in range(count)]

    def build(self, shape: MotionShape, seconds: float) -> Reference:
        return self.family.build(
            shape.genes, shape.scale, seconds=seconds, rate=self.subject.rate
        )

    def keep_clear(self, shape: MotionShape) -> MotionShape:
        """The same motion, made smaller until no parts come too close."""
        every = max(1, int(self.subject.rate / _POSES))
        scale, home = shape.scale.copy(), self.subject.home
        reference = self.build(
            MotionShape(shape.genes, np.ones(len(scale))), self._judge.seconds
        )
        away = reference.position[::every] - home
        for _ in range(_TOUCHES):
            distance, _ = self.clearance.measure(home + scale * away)
            row = int(np.argmin(distance))
            if distance[row] >= self.subject.clearance:
                return MotionShape(shape.genes, scale)
            joint = self.clearance.find_culprit(home + scale * away[row], home)
            if joint is None:
                scale *= _SMALLER
            else:
                scale[joint] *= _SMALLER
        return MotionShape(shape.genes, np.zeros(len(scale)))

    def _change(self, shape: MotionShape, spread: float) -> MotionShape:
        """A child: some joints move otherwise, and may grow again."""
        size = shape.genes.shape
        changed = self._rng.random((size[0], 1)) < max(_CHANGED, 1 / size[0])
        change = spread * self._rng.standard_normal(size) * changed
        scale = np.where(changed[:, 0], np.minimum(1.0, 1.3 * shape.scale), shape.scale)
        return self.keep_clear(MotionShape(shape.genes + change, scale))


def make_family(
    subject: ExcitationSubject, settings: ExcitationSettings
) -> MotionFamily:
    """The motions from which one is chosen."""
    period = min(settings.period, settings.seconds)
    return MotionFamily(
        limits=subject.limits,
        home=subject.home,
        period=period,
        harmonics=choose_harmonics(
            period, settings.highest_frequency, settings.harmonic_count
        ),
        fade=min(settings.fade, 0.25 * settings.seconds),
    )
