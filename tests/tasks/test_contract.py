"""Policies of every task fit the robot that the task is for."""

import pytest

from realworthy.realities import RealityFile, StandIn, make_reality
from realworthy.tasks.catalogue import TASKS, build_task
from realworthy.tasks.contract import build_contract
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.twins.commands import describe_commands


@pytest.mark.parametrize("name", TASKS)
def test_a_policy_of_a_task_fits_its_robot(name: str):
    worlds = TaskWorlds(build_task(name), 1)
    contract = build_contract(worlds)
    robot = StandIn(make_reality("robot", RealityFile(schema=1, twin=TASKS[name].twin)))
    lacks = [f"It does not measure '{signal}" for signal in worlds.task.unmeasured]
    misfits = contract.find_misfits(robot.info)
    assert not [m for m in misfits if not m.startswith(tuple(lacks))]


def test_what_reach_does_not_move_rests_where_the_twin_has_it():
    worlds = TaskWorlds(build_task("reach"), 1)
    contract = build_contract(worlds)
    every = {line.signal for line in describe_commands(worlds.bound)}
    assert {*contract.resting} == every - {*contract.action.commands}
    assert contract.resting  # the arm has a gripper
    home = worlds.scene.initial_command
    for signal, value in contract.resting.items():
        assert value == pytest.approx(
            float(home[worlds.simulator.commands.index(signal)])
        )
        assert signal.partition(".command")[0] in contract.gains
