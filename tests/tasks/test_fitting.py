"""Quadrupeds of the Menagerie stand once they have what the task asks for."""

from pathlib import Path

import pytest
import torch

from realworthy.errors import RealworthyError
from realworthy.tasks.fitting import fit_quadruped
from realworthy.tasks.quadruped import QuadrupedVelocity
from realworthy.tasks.worlds import TaskWorlds
from realworthy.twins import load_twin


@pytest.mark.parametrize("robot", ["unitree_go1", "unitree_go2"])
def test_menagerie_quadrupeds_stand_on_four_feet(
    robot: str, menagerie_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    task = QuadrupedVelocity(fit_quadruped(load_twin(f"menagerie:{robot}")))
    worlds = TaskWorlds(task, 2, thread_count=1)
    for _ in range(50):
        step = worlds.step(torch.zeros(2, 12))
        assert not step.done.any()
    assert task.feet.stands.all()
    motion = task.base.read(worlds.scene)
    assert float(motion.velocity.abs().max()) < 0.05
    # the feet carry the whole weight
    names = [f"{leg}_foot_contact" for leg in ("FL", "FR", "RL", "RR")]
    carried = worlds.scene.read(worlds.scene.find(*names)).sum(1)
    weight = 9.81 * float(worlds.bound.model.body_mass.sum())
    assert carried.numpy() == pytest.approx(weight, rel=0.05)


def test_a_robot_without_named_feet_is_refused() -> None:
    with pytest.raises(RealworthyError, match="no sphere named 'FL'"):
        fit_quadruped(load_twin("pendulum"))
