"""What lies between a policy and its worlds: late, lost and held numbers."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from realworthy.certification.suite.condition import Condition
from realworthy.policies import Policy
from realworthy.sensors.stages import (
    fill,
    find_share,
    follow,
    hold,
    recall,
    remember,
)

Floats = NDArray[np.floating]


class DisturbedLink:
    """A policy that acts in many worlds through a link with the faults of a condition.

    Chance is by seed: the same seed loses the same samples.
    """

    def __init__(
        self, policy: Policy, condition: Condition, *, period: float, seed: int
    ) -> None:
        self._policy, self._condition = policy, condition
        self._chance = np.random.default_rng((seed, 7))
        self._share = find_share(period, condition.lag)
        self.begin()

    def begin(self) -> None:
        """A fresh episode everywhere."""
        self._policy.reset()
        self._step = 0
        self._seen: Floats | None = None
        self._sent: Floats | None = None
        """(worlds, steps, …) what arrived, and what was sent; the newest first."""
        self._held: Floats | None = None
        self._followed: Floats | None = None
        self.is_number = np.ones(self._policy.worlds, dtype=np.bool_)
        """(worlds,) whether every action so far was one."""
        self.asked: Floats = np.zeros(0)
        """(worlds, actions) what the policy said last."""

    @property
    def others(self) -> tuple[str, ...]:
        """What the policy sees beside the terms of its observation."""
        return tuple(self._policy.contract.others)

    def act(
        self, observation: Floats, others: Mapping[str, Floats] | None = None
    ) -> Floats:
        """(worlds, actions) that reach the drives, for (worlds, width) observed.

        `others` are seen as they are: faults are those of signals.
        """
        seen = self._receive(observation)
        if others:
            self.asked = self._policy.act({**self._policy.split(seen), **others})
        else:
            self.asked = self._policy.act(seen)
        good = np.isfinite(self.asked).min(axis=1, initial=True)
        self.is_number &= good
        self.asked = np.where(good[:, None], self.asked, 0.0)
        action = self._send(self.asked)
        self._step += 1
        return action

    def _receive(self, observation: Floats) -> Floats:
        condition, seen = self._condition, self._seen
        if not (condition.dropout or condition.jitter_steps):
            return observation
        if seen is None:
            seen = fill(observation, condition.jitter_steps + 1)
        else:
            if condition.dropout:
                arrives = self._draw(observation) >= condition.dropout
                observation = hold(arrives, observation, seen[:, 0])
            seen = remember(seen, observation)
        self._seen = seen
        if not condition.jitter_steps:
            return seen[:, 0]
        age = self._chance.integers(0, condition.jitter_steps + 1, len(observation))
        return recall(seen, age)

    def _send(self, action: Floats) -> Floats:
        condition = self._condition
        if condition.loss or condition.hold_steps > 1:
            held = action if self._held is None else self._held
            if self._step % condition.hold_steps:
                action = held
            elif condition.loss:
                action = hold(self._draw(action) >= condition.loss, action, held)
            self._held = action
        if condition.delay_steps:
            sent = self._sent
            if sent is None:
                sent = fill(np.zeros_like(action), condition.delay_steps + 1)
            self._sent = sent = remember(sent, action)
            action = sent[:, -1]
        if condition.lag:
            last = np.zeros_like(action) if self._followed is None else self._followed
            action = self._followed = follow(last, action, self._share)
        return action

    def _draw(self, rows: Floats) -> Floats:
        """(worlds,) uniform numbers."""
        return self._chance.random(len(rows))
