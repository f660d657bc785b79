"""On a GPU nothing in a rollout waits for the device."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from realworthy.learning.ppo import Ppo, PpoSettings
from tests.learning.toys import Frozen

pytestmark = pytest.mark.gpu


@contextmanager
def no_waiting() -> Iterator[None]:
    """Whatever waits for the device raises."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_graph_of_an_update_is_the_update():
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    found = []
    for capture in (False, True):
        environment = Frozen(64, torch.device("cuda"))
        s = PpoSettings(actor_widths=(32,), critic_widths=(32,), capture=capture)
        learner = Ppo(environment, s, seed=1)
        for _ in range(5):
            learner.collect(environment)
            metrics = learner.update()
        modules = (learner.actor, learner.critic)
        weights = [x.detach() for m in modules for x in m.parameters()]
        found.append((weights, metrics))
    (plain, first), (captured, second) = found
    for a, b in zip(plain, captured, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)
    assert second.kl == pytest.approx(first.kl, rel=0.02)
    assert second.learning_rate == pytest.approx(first.learning_rate)


def test_collecting_and_learning_do_not_wait():
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    environment = Frozen(64, torch.device("cuda"))
    learner = Ppo(environment, PpoSettings(actor_widths=(32,), critic_widths=(32,)))
    learner.collect(environment)
    learner.update()
    with no_waiting():
        learner.collect(environment)
        samples, _ = learner._judge()
        seen = [learner._descend(minibatch) for minibatch in samples]
    assert torch.stack(seen).isfinite().all()
