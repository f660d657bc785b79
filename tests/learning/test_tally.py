"""What rollouts brought, worked by hand."""

import math

import pytest
import torch

from realworthy.learning.tally import Tally
from realworthy.tasks.environment.environment import Step


def make(
    reward: list[float],
    *,
    terminated: list[int] | None = None,
    truncated: list[int] | None = None,
    success: list[int] | None = None,
    invalid: list[int] | None = None,
) -> Step:
    def flag(worlds: list[int] | None) -> torch.Tensor:
        found = torch.zeros(len(reward), dtype=torch.bool)
        found[worlds or []] = True
        return found

    values = torch.tensor(reward)
    return Step(
        observations={},
        reward=values,
        terminated=flag(terminated),
        truncated=flag(truncated),
        final={},
        terms={"speed": 2 * values},
        failure=torch.zeros(len(reward), dtype=torch.long),
        success=flag(success),
        invalid=flag(invalid),
    )


def test_episodes_are_counted_by_hand():
    tally = Tally(3, torch.device("cpu"))
    tally.add(make([1.0, 2.0, 4.0], terminated=[0]))
    tally.add(make([1.0, 2.0, math.nan], terminated=[2], invalid=[2]))
    tally.add(make([1.0, 2.0, 5.0], truncated=[1], success=[1]))
    found = tally.read()
    assert found.step_count == 9
    assert found.invalid_count == 1
    assert found.reward == pytest.approx(18 / 8)
    assert found.terms == {"speed": pytest.approx(36 / 8)}
    assert found.episode_count == 2
    assert found.episode_return == pytest.approx((1 + 6) / 2)
    assert found.episode_steps == pytest.approx((1 + 3) / 2)
    assert found.terminated == 0.5
    assert found.success == 0.5


def test_episodes_go_on_after_a_reading():
    tally = Tally(1, torch.device("cpu"))
    tally.add(make([1.0]))
    assert math.isnan(tally.read().episode_return)
    tally.add(make([2.0], terminated=[0]))
    found = tally.read()
    assert (found.step_count, found.episode_return, found.episode_steps) == (1, 3.0, 2)
