"""A policy learned on a twin that a task had to fit is certified on that twin again."""

from pathlib import Path

import pytest
import torch

from realworthy.certification.subject import build_subject
from realworthy.errors import RealworthyError
from realworthy.learning.train import train
from realworthy.policies import load_contract
from realworthy.robots.roles import RoleChoices
from realworthy.tasks.environment.worlds import TaskWorlds
from tests.tasks.test_prepared_twin import MOTORS


def test_a_policy_says_its_twin_and_the_parts_that_were_chosen(tmp_path: Path) -> None:
    model = tmp_path / "beam.xml"
    model.write_text(MOTORS)
    training = train(
        "reach",
        output=tmp_path / "run",
        twin=model,
        roles=RoleChoices(tip="two", gains=(60.0, 6.0)),
        world_count=8,
        steps=128,
        evaluation_episodes=4,
        thread_count=1,
    )
    assert "2 torque motors" in training.added[0]
    contract = load_contract(training.folder.policy)
    assert contract.twin.reference == str(model)
    assert contract.roles == RoleChoices(tip="two", gains=(60.0, 6.0))
    assert contract.gains["upper"].kp == 60.0

    subject = build_subject(training.folder.policy)
    assert subject.twin.space["lower.kd"].nominal == 6.0
    task = subject.build_task()
    assert task.parts["tip"].value == "two"
    worlds = TaskWorlds(task, 2, thread_count=1)
    assert not worlds.step(torch.zeros(2, 2)).invalid.any()


def test_a_role_that_no_part_has_leaves_no_folder(tmp_path: Path) -> None:
    output = tmp_path / "run"
    with pytest.raises(RealworthyError, match="no site, shape or body"):
        train("reach", output=output, roles=RoleChoices(tip="tpi"), steps=10)
    assert not output.exists()
