"""Threads of tensors while worlds are played."""

import pytest
import torch
from torch import Tensor

from realworthy.tasks.classic.cartpole import CartpoleBalance
from realworthy.tasks.environment.devices import FEW_WORLDS, spare_threads
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.environment.worlds import TaskWorlds


def test_few_worlds_take_one_thread_and_many_keep_theirs():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with spare_threads(FEW_WORLDS):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with spare_threads(FEW_WORLDS + 1):
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_worlds_spare_threads_whoever_steps_them():
    seen = []
    task = CartpoleBalance()
    reward = task.compute_rewards

    def look(scene: Scene) -> dict[str, Tensor]:
        seen.append(torch.get_num_threads())
        return reward(scene)

    task.compute_rewards = look
    worlds = TaskWorlds(task, 2, thread_count=1)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        worlds.step(torch.zeros(2, 1))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1]


def test_threads_come_back_after_an_error():
    before = torch.get_num_threads()
    with pytest.raises(RuntimeError, match="broken"), spare_threads(1):
        raise RuntimeError("broken")
    assert torch.get_num_threads() == before
