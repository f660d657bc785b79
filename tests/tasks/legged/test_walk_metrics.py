"""Walking, added up by hand."""

import pytest
import torch

from realworthy.simulators import MujocoCpu
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.legged.locomotion import BaseState, Feet
from realworthy.tasks.legged.walk_metrics import WalkTally
from realworthy.twins import load_twin

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")


def test_errors_slip_and_travel_are_what_the_hand_adds_up() -> None:
    simulator = MujocoCpu(load_twin("quadruped"), 2, substeps=4, thread_count=1)
    scene = Scene(simulator, torch.device("cpu"))
    tally, feet = WalkTally(scene), Feet(scene, FEET)
    # world 0: 0.6 m/s ahead, turning 0.2; asked 1.0 ahead, 0.3 left, 0; world 1 stands
    velocity = torch.tensor([[0.6, 0.0, 0.1], [0.0, 0.0, 0.0]])
    turning = torch.tensor([[0.0, 0.0, 0.2], [0.0, 0.0, 0.0]])
    motion = BaseState(
        position=torch.zeros(2, 3),
        orientation=torch.tensor([[1.0, 0, 0, 0]] * 2),
        velocity=velocity,
        turning=turning,
        gravity=torch.tensor([[0.0, 0, -1]] * 2),
    )
    command = torch.tensor([[1.0, 0.3, 0.0], [0.0, 0.0, 0.0]])
    # two feet stand, of which one slides 4 mm; two swing 24 mm
    feet.stands = torch.tensor([[True, True, False, False], [True] * 4])
    feet.moved = torch.zeros(2, 4, 3)
    feet.moved[0, :, 0] = torch.tensor([0.0, 0.004, 0.024, 0.024])
    for fell in (False, True):
        falls = torch.tensor([fell, False])
        tally.advance(motion, feet, command, falls)
    walked = tally.measure_running()
    assert walked.seconds.tolist() == pytest.approx([0.04, 0.04])
    assert walked.mean_error.tolist() == pytest.approx([0.5, 0.0])
    assert walked.velocity_error.tolist() == pytest.approx([0.5, 0.0])
    assert walked.yaw_error.tolist() == pytest.approx([0.2, 0.0])
    assert walked.slip.tolist() == pytest.approx(
        [0.1, 0.0]
    )  # 4 mm in 0.02 s, of two feet
    # 13 mm of a foot in a step, 12 mm of the base
    assert float(walked.foot_travel[0]) == pytest.approx(13 / 12)
    assert walked.falls.tolist() == [1, 0]
    tally.begin(torch.tensor([True, False]))
    assert tally.measure_ended().velocity_error.tolist() == pytest.approx([0.5, 0.0])
    assert tally.measure_ended().falls.tolist() == [1, 0]
    assert tally.measure_running().seconds.tolist() == pytest.approx([0.0, 0.04])
    total = tally.measure()
    assert float(total.velocity_error) == pytest.approx((0.25 / 2) ** 0.5)
    assert float(total.seconds) == pytest.approx(0.08)
    assert float(total.falls) == 1
    tally.restart()
    assert float(tally.measure().seconds) == 0


def test_a_world_that_diverged_does_not_spoil_the_total() -> None:
    simulator = MujocoCpu(load_twin("quadruped"), 2, substeps=4, thread_count=1)
    scene = Scene(simulator, torch.device("cpu"))
    tally, feet = WalkTally(scene), Feet(scene, FEET)
    broken = torch.tensor([[float("nan")] * 3, [0.0] * 3])
    motion = BaseState(
        position=torch.zeros(2, 3),
        orientation=torch.zeros(2, 4),
        velocity=broken,
        turning=torch.zeros(2, 3),
        gravity=torch.zeros(2, 3),
    )
    command = torch.tensor([[0.0, 0, 0], [0.5, 0, 0]])
    tally.advance(motion, feet, command, torch.zeros(2, dtype=torch.bool))
    assert float(tally.measure().velocity_error) == pytest.approx(0.5)
    assert float(tally.measure().seconds) == pytest.approx(0.02)
