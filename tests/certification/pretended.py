"""Episodes whose outcome is a known function of e, in place of played ones."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from realworthy.certification.rollouts.episodes import Rollouts
from realworthy.certification.subject import Subject
from realworthy.certification.suite.condition import Condition
from realworthy.tasks.failures import Failure

Floats = NDArray[np.float64]
Succeed = Callable[[Floats], NDArray[np.bool_]]
"""(episodes, d) e → whether each succeeds."""
Rate = Callable[[Floats], Floats]
"""(episodes, d) e → return of each."""


class Pretended:
    """Stands for `play_condition`."""

    def __init__(self, succeed: Succeed, rate: Rate | None = None) -> None:
        self._succeed, self._rate = succeed, rate
        self.count = 0
        """Episodes so far."""

    def __call__(
        self,
        subject: Subject,
        condition: Condition,
        count: int,
        *,
        seed: int,
        rows: Floats | None = None,
        names: tuple[str, ...] = (),
        numbers: NDArray[np.intp] | None = None,
    ) -> Rollouts:
        assert rows is not None
        assert rows.shape == (count, len(names))
        self.count += count
        success = self._succeed(rows)
        score = np.ones(count) if self._rate is None else self._rate(rows)
        return Rollouts(
            success=success,
            invalid=np.zeros(count, np.bool_),
            failure=np.where(success, 0, int(Failure.FALL)),
            score=score,
            seconds=np.full(count, 2.0),
            trace=None,
            observed=None,
            signals=None,
        )
