"""Two processes on the CPU learn as one."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.learning.distributed import average_over_processes, share_weights
from realworthy.learning.ppo import Ppo, PpoSettings
from tests.learning.toys import Noise

WORLDS = 16


def settings() -> PpoSettings:
    return PpoSettings(actor_widths=(16,), critic_widths=(16,), horizon=8)


def learn(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    environment = Noise(WORLDS, seed=10 + rank)
    seen: list[tuple[list[Tensor], list[Tensor]]] = []

    def average(tensors: list[Tensor]) -> None:
        before = [x.clone() for x in tensors]
        average_over_processes(tensors)
        seen.append((before, [x.clone() for x in tensors]))

    learner = Ppo(environment, settings(), seed=rank, average=average)
    share_weights(learner.actor, learner.critic)
    for _ in range(3):
        learner.collect(environment)
        learner.update()
    torch.save(
        {
            "weights": {**learner.actor.state_dict(), **learner.critic.state_dict()},
            "rate": learner.learning_rate,
            "seen": seen,
            "observations": learner.state_dict()["observations"],
        },
        f"{folder}/{rank}.pt",
    )
    dist.destroy_process_group()


def test_two_processes_follow_the_same_weights(tmp_path: Path):
    mp.start_processes(learn, (str(tmp_path),), nprocs=2, start_method="spawn")
    first, second = (
        torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1)
    )
    assert not torch.equal(
        first["observations"]["actor"], second["observations"]["actor"]
    )
    for name, weights in first["weights"].items():
        assert torch.equal(weights, second["weights"][name]), name
    assert torch.equal(first["rate"], second["rate"])
    assert len(first["seen"]) == len(second["seen"]) > 100
    for one, other in zip(first["seen"], second["seen"], strict=True):
        for mine, theirs, result in zip(one[0], other[0], one[1], strict=True):
            torch.testing.assert_close(result, (mine + theirs) / 2)


def test_a_process_on_its_own_is_told_what_to_do():
    with pytest.raises(RealworthyError, match="this process is alone"):
        average_over_processes([torch.zeros(1)])
