import math

import pytest
import torch
from torch import Tensor

from realworthy.adaptation.recovery import find_recovery


def build(seconds: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Rewards of 100 worlds, whose e changes every second, at 50 Hz: the adapted policy
    lacks 1 for so long, randomization always."""
    since = (torch.arange(200) % 50)[:, None].expand(200, 100)
    best = torch.zeros(200, 100)
    return torch.where(since < 50 * seconds, -1.0, 0.0), best, best - 1, since


@pytest.mark.parametrize("seconds", [0.2, 0.4])
def test_recovery_ends_when_the_gap_does(seconds: float):
    found = find_recovery(*build(seconds), period=0.02)
    assert found == pytest.approx(seconds, abs=0.1)  # what gaps are averaged over


def test_what_never_recovers_and_what_never_loses():
    assert math.isinf(find_recovery(*build(1.0), period=0.02))
    assert find_recovery(*build(0.0), period=0.02) == 0.0
    mine, best, plain, since = build(0.2)
    nothing = torch.full_like(since, -1)
    assert math.isnan(find_recovery(mine, best, plain, nothing, period=0.02))
