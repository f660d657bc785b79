"""Presets: what a learner is paid for is what the task wants."""

import torch
from torch import Tensor

from realworthy.learning.presets import PRESETS, find_preset
from realworthy.tasks.catalogue import TASKS
from realworthy.tasks.drive import DriveGoal
from realworthy.tasks.scene import Scene
from realworthy.tasks.task import Controller
from realworthy.tasks.worlds import TaskWorlds


def test_every_task_has_one() -> None:
    assert set(PRESETS) == set(TASKS)


def test_a_gpu_gets_more_worlds_for_the_same_target() -> None:
    for name in ("quadruped", "biped"):
        here, there = find_preset(name).on("cpu"), find_preset(name).on("cuda:1")
        assert here is find_preset(name)
        assert there.world_count == 4 * here.world_count
        assert there.target == here.target
        assert there.ppo().actor_widths > here.ppo().actor_widths
    assert find_preset("pendulum").on("cuda") is find_preset("pendulum")


def pay(worlds: TaskWorlds, act: Controller, discount: float) -> Tensor:
    """(worlds,) discounted return of whole first episodes."""
    worlds.rewind()
    worlds.reset()
    total, worth = torch.zeros(worlds.world_count), 1.0
    running = torch.ones(worlds.world_count)
    for _ in range(worlds.step_limit):
        step = worlds.step(act(worlds.scene))
        total += running * worth * step.reward
        running *= (~step.done).to(running.dtype)
        worth *= discount
    return total


def test_driving_there_pays_more_than_turning_on_the_spot() -> None:
    task = DriveGoal()
    worlds = TaskWorlds(task, 12, seed=2, thread_count=1)
    discount = find_preset("drive_goal").ppo().discount

    def turn(scene: Scene) -> Tensor:
        left = task.find_errors(scene)[:, 2]
        motion = torch.stack([torch.zeros_like(left), 3.0 * left], dim=1)
        return task.turn_wheels(motion)

    drives = pay(worlds, task.build_reference(worlds.scene), discount)
    assert bool((drives > pay(worlds, turn, discount) + 0.5).all())
