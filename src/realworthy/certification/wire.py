"""What lies between a policy and its worlds: late, lost and held numbers."""

import math

import numpy as np
from numpy.typing import NDArray

from realworthy.certification.condition import Condition
from realworthy.policies import Policy

Floats = NDArray[np.floating]


class Wire:
    """A policy that acts in many worlds through a link with the faults of a condition.

    Chance is by seed: the same seed loses the same samples.
    """

    def __init__(
        self, policy: Policy, condition: Condition, *, period: float, seed: int
    ) -> None:
        self._policy, self._condition = policy, condition
        self._chance = np.random.default_rng((seed, 7))
        self._share = 1.0
        if condition.lag:
            self._share = 1 - math.exp(-period / condition.lag)
        self.begin()

    def begin(self) -> None:
        """A fresh episode everywhere."""
        self._policy.reset()
        self._step = 0
        self._seen: list[Floats] = []
        self._sent: list[Floats] = []
        self._held: Floats | None = None
        self._followed: Floats | None = None
        self.is_number = np.ones(self._policy.worlds, dtype=np.bool_)
        """(worlds,) whether every action so far was one."""
        self.asked: Floats = np.zeros(0)
        """(worlds, actions) what the policy said last."""

    def act(self, observation: Floats) -> Floats:
        """(worlds, actions) that reach the drives, for (worlds, width) observed."""
        self.asked = self._policy.act(self._receive(observation))
        good = np.isfinite(self.asked).min(axis=1, initial=True)
        self.is_number &= good
        self.asked = np.where(good[:, None], self.asked, 0.0)
        action = self._send(self.asked)
        self._step += 1
        return action

    def _receive(self, observation: Floats) -> Floats:
        condition = self._condition
        if not (condition.dropout or condition.jitter_steps):
            return observation
        observation = observation.copy()  # kept, whatever its owner writes into it
        if condition.dropout and self._seen:
            lost = self._chance.random(len(observation)) < condition.dropout
            observation = np.where(lost[:, None], self._seen[-1], observation)
        self._seen = [*self._seen, observation][-1 - condition.jitter_steps :]
        if not condition.jitter_steps:
            return observation
        age = self._chance.integers(0, condition.jitter_steps + 1, len(observation))
        places = np.maximum(len(self._seen) - 1 - age, 0)
        return np.stack(self._seen)[places, np.arange(len(observation))]

    def _send(self, action: Floats) -> Floats:
        condition = self._condition
        if condition.loss or condition.hold_steps > 1:
            held = action if self._held is None else self._held
            if self._step % condition.hold_steps:
                action = held
            elif condition.loss:
                lost = self._chance.random(len(action)) < condition.loss
                action = np.where(lost[:, None], held, action)
            self._held = action
        if condition.delay_steps:
            self._sent = [*self._sent, action][-1 - condition.delay_steps :]
            late = len(self._sent) <= condition.delay_steps
            action = np.zeros_like(action) if late else self._sent[0]
        if condition.lag:
            last = np.zeros_like(action) if self._followed is None else self._followed
            action = self._followed = last + self._share * (action - last)
        return action
