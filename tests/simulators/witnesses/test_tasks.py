"""Tasks run on a witness as they are."""

import numpy as np
import pytest
import torch

from realworthy.simulators.witnesses import WITNESSES
from realworthy.tasks.catalogue import build_task
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.failures import Failure
from realworthy.tasks.randomization.randomization import Randomization
from tests.simulators.witnesses.engines import ENGINES

every_engine = pytest.mark.parametrize("engine", ENGINES)


def run(task: str, engine: str | None, steps: int, world_count: int = 2) -> TaskWorlds:
    """Worlds after some steps of the reference controller, or of no action."""
    simulate = None if engine is None else WITNESSES[engine]
    worlds = TaskWorlds(build_task(task), world_count, seed=4, simulate=simulate)
    act = None if task == "quadruped" else worlds.task.build_reference(worlds.scene)
    still = torch.zeros((world_count, worlds.action_width))
    for _ in range(steps):
        step = worlds.step(still if act is None else act(worlds.scene))
        assert not bool(step.invalid.any())
        assert bool((step.failure != int(Failure.NUMERICAL)).all())
        assert bool(torch.isfinite(step.observations["policy"]).all())
    return worlds


@every_engine
@pytest.mark.parametrize(
    ("task", "steps"), [("pendulum", 40), ("drive_goal", 25), ("reach", 40)]
)
def test_a_reference_controller_does_on_a_witness_what_it_does_here(
    engine: str, task: str, steps: int
):
    expected, found = run(task, None, steps), run(task, engine, steps)
    start = expected.scene.initial_qpos
    moved = (expected.scene.qpos - start).abs().max()
    assert float(moved) > 0.05
    gap = (found.scene.qpos - expected.scene.qpos).abs().max()
    assert float(gap) < 0.03


@every_engine
def test_the_quadruped_stands_on_a_witness(engine: str):
    worlds = run("quadruped", engine, 20, world_count=1)
    expected = run("quadruped", None, 20, world_count=1)
    height, wanted = worlds.scene.qpos[0, 2], expected.scene.qpos[0, 2]
    assert float(height) == pytest.approx(float(wanted), abs=0.01)


@every_engine
def test_worlds_of_a_task_have_an_e_of_their_own(engine: str):
    task = build_task("pendulum")
    worlds = TaskWorlds(
        task,
        3,
        randomization=Randomization(belief=task.twin.belief),
        seed=2,
        simulate=WITNESSES[engine],
    )
    assert len(np.unique(worlds.e[:, 0])) == 3
    worlds.step(torch.ones((3, worlds.action_width)))
    assert len(np.unique(worlds.simulator.array("qvel")[:, 0])) == 3
