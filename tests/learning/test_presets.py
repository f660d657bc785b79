"""Presets: what a learner is paid for is what the task wants."""

import torch
from torch import Tensor

from realworthy.learning.ars import ArsSettings
from realworthy.learning.catalogue import LEARNERS
from realworthy.learning.ppo import PpoSettings
from realworthy.learning.presets import PRESETS, find_preset
from realworthy.tasks.catalogue import TASKS
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.task import Controller
from realworthy.tasks.wheels.drive import DriveGoal


def test_every_task_has_one() -> None:
    assert set(PRESETS) == set(TASKS)


def test_a_gpu_gets_more_worlds_for_the_same_target() -> None:
    for name in ("quadruped", "biped"):
        here, there = find_preset(name).on("cpu"), find_preset(name).on("cuda:1")
        assert here is find_preset(name)
        assert there.world_count == 4 * here.world_count
        assert there.target == here.target
        large, small = there.learner(), here.learner()
        assert isinstance(large, PpoSettings)
        assert isinstance(small, PpoSettings)
        assert large.actor_widths > small.actor_widths
    assert find_preset("pendulum").on("cuda") is find_preset("pendulum")


def test_every_preset_is_of_the_learner_that_it_names() -> None:
    for task, presets in PRESETS.items():
        for name, preset in presets.items():
            assert type(preset.learner()) is LEARNERS[name].Settings, (task, name)
            assert find_preset(task, name) is preset


def test_a_learner_without_a_preset_has_its_defaults_in_the_worlds_of_another() -> None:
    first, found = find_preset("quadruped"), find_preset("quadruped", "ars")
    assert found.learner() == ArsSettings()
    assert found.world_count == first.world_count
    assert found.randomize is first.randomize
    assert found.on("cuda") is found


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
    settings = find_preset("drive_goal").learner()
    assert isinstance(settings, PpoSettings)
    discount = settings.discount

    def turn(scene: Scene) -> Tensor:
        left = task.find_errors(scene)[:, 2]
        motion = torch.stack([torch.zeros_like(left), 3.0 * left], dim=1)
        return task.turn_wheels(motion)

    drives = pay(worlds, task.build_reference(worlds.scene), discount)
    assert bool((drives > pay(worlds, turn, discount) + 0.5).all())
