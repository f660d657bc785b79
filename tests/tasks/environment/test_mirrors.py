"""A task in the mirror: what is seen there moves as the world itself would."""

import numpy as np
import pytest
import torch

from realworthy.errors import RealworthyError
from realworthy.parameters import Fixed, IndependentBelief, ParameterSpace
from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Goal, Gravity, Linear, Term
from realworthy.tasks.arm.reach import Reach
from realworthy.tasks.classic.cartpole import CartpoleSwingUp
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.mirrors import Mirrors, Reflection
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.twins import load_twin

ZERO = {"offset": (0.0, 0.0), "scale": (1.0, 1.0)}
LEGS = ("left", "right")
SWAPPED = Reflection(
    joints={"left": ("right", -1.0), "right": ("left", -1.0)},
    signals={"base.gyro.x": ("base.gyro.x", -1.0)},
    bodies={"left_foot": "right_foot", "right_foot": "left_foot"},
    privileged=((1, 1.0), (0, 1.0)),
)
BASE = ("base.position.x", "base.position.y")
QUATERNION = tuple(f"base.orientation.{axis}" for axis in "wxyz")


def build(*terms: Term, space: ParameterSpace | None = None) -> Mirrors:
    action = ActionMap(commands=tuple(f"{leg}.command" for leg in LEGS), **ZERO)
    return Mirrors(
        SWAPPED,
        terms=terms,
        action=action,
        space=space or ParameterSpace([]),
        device=torch.device("cpu"),
    )


def legs(name: str, kind: str, **more: object) -> Linear:
    signals = tuple(f"{leg}.{kind}" for leg in LEGS)
    return Linear(name=name, signals=signals, **more)  # pyright: ignore


@pytest.mark.parametrize(
    ("task", "twin", "offsets"),
    [
        (CartpoleSwingUp, "cartpole", {}),
        (CartpoleSwingUp, "cartpole", {"cart": 0.1, "pole": -0.3}),
        (PendulumSwingUp, "pendulum", {}),
        (PendulumSwingUp, "pendulum", {"joint": 0.15}),
    ],
)
@pytest.mark.parametrize("is_believed", [False, True])
def test_mirrored_actions_move_a_mirrored_world(
    task: type[CartpoleSwingUp | PendulumSwingUp],
    twin: str,
    offsets: dict[str, float],
    is_believed: bool,
):
    """Encoders that are off are off in the mirror as they are: it is one robot."""
    values = {f"{joint}.position.sensor_bias": x for joint, x in offsets.items()}
    told, belief = load_twin(twin), None
    if is_believed and values:
        space = told.space.select(list(values))
        belief = IndependentBelief(space, {n: Fixed(x) for n, x in values.items()})
    else:
        told = told.with_values(values)
    worlds = TaskWorlds(
        task(told), 2, randomization=Randomization(belief=belief), thread_count=1
    )
    count = worlds.scene.nq
    qpos, qvel = [0.1, 2.5][-count:], [0.2, -1.0][-count:]
    worlds.simulator.reset(qpos=np.outer([1, -1], qpos), qvel=np.outer([1, -1], qvel))
    worlds.scene.renew()
    for i in range(30):
        one = torch.tensor([np.sin(0.4 * i)], dtype=torch.float32)
        step = worlds.step(torch.stack([one, worlds.mirror_action(one)]))
        for group in worlds.groups:
            seen, other = step.observations[group]
            torch.testing.assert_close(
                worlds.mirror(group, seen), other, atol=1e-5, rtol=0
            )
            twice = worlds.mirror(group, worlds.mirror(group, seen))
            torch.testing.assert_close(twice, seen, atol=1e-6, rtol=0)


def test_a_servo_of_the_other_side_has_an_offset_of_its_own():
    """Left reads 0.1 rad at zero, right 0.3: what is 0.5 on the left, 0.4 from zero,
    is −0.4 from zero on the right, which reads −0.1; so do targets, 2 rad to a unit."""
    action = ActionMap(
        commands=("left.command", "right.command"), offset=(0.0, 0.0), scale=(2.0, 2.0)
    )
    mirrors = Mirrors(
        SWAPPED,
        terms=(legs("pose", "position", scale=(10.0,)), legs("last", "command.action")),
        action=action,
        space=ParameterSpace([]),
        device=torch.device("cpu"),
        zeros={
            "left.position": 0.1,
            "right.position": 0.3,
            "left.command.action": 0.05,
            "right.command.action": 0.15,
        },
    )
    seen = mirrors.mirror("policy", torch.tensor([5.0, 0.0, 0.25, 0.0]))
    assert seen.tolist() == pytest.approx([4.0, -1.0, 0.2, -0.05])
    moved = mirrors.mirror("action", torch.tensor([0.25, 0.0]))
    assert moved.tolist() == pytest.approx([0.2, -0.05])
    # a critic sees true positions, and the actions as they were
    true = mirrors.mirror("truth", torch.tensor([5.0, 0.0, 0.25, 0.0, 1.0]))
    assert true.tolist() == pytest.approx([0.0, -5.0, 0.2, -0.05, 1.0])
    assert mirrors.mirror("privileged", torch.tensor([7.0, 8.0])).tolist() == [8, 7]


def test_a_mirror_image_of_a_mirror_image_is_the_thing():
    mirrors = build(
        legs("pose", "position", offset=(0.1, -0.1), history=3),
        Gravity(name="gravity", signals=QUATERNION),
        Linear(name="gyro", signals=("base.gyro.x",)),
    )
    x = torch.arange(2 * 3 + 3 + 1, dtype=torch.float32) + 1
    seen = mirrors.mirror("policy", x)
    by_hand = [-2, -1, -4, -3, -6, -5, 7, -8, 9, -10]
    assert seen.tolist() == by_hand
    assert torch.equal(mirrors.mirror("policy", seen), x)
    # pose, gravity, gyro; the time that is left
    truth = torch.arange(7, dtype=torch.float32) + 1
    assert mirrors.mirror("truth", truth).tolist() == [-2, -1, 3, -4, 5, -6, 7]
    assert mirrors.mirror("privileged", torch.tensor([8.0, 9.0])).tolist() == [9, 8]
    assert mirrors.mirror("action", torch.tensor([[0.2, 0.5]])).tolist() == [
        pytest.approx([-0.5, -0.2])
    ]


def test_goals_ahead_stay_ahead():
    goal = Goal(
        name="goal",
        signals=(*BASE, *QUATERNION, "goal.x", "goal.y", "goal.yaw"),
    )
    seen = build(goal).mirror("policy", torch.tensor([1.0, 2.0, 0.6, 0.8]))
    assert seen.tolist() == pytest.approx([1.0, -2.0, -0.6, 0.8])


def test_e_changes_sides():
    names = ["FL_hip.position.sensor_bias", "FR_hip.position.sensor_bias"]
    names += ["FL_thigh.mass", "FR_thigh.mass", "trunk.centre_of_mass.y"]
    names += ["trunk.centre_of_mass.x", "FL_hip.damping", "FR_hip.damping"]
    mirrors = Mirrors(
        Reflection(
            joints={"FL_hip": ("FR_hip", -1.0), "FR_hip": ("FL_hip", -1.0)},
            bodies={"FL_thigh": "FR_thigh", "FR_thigh": "FL_thigh"},
        ),
        terms=(),
        action=ActionMap(commands=("FL_hip.command", "FR_hip.command"), **ZERO),
        space=load_twin("quadruped").space.select(names),
        device=torch.device("cpu"),
    )
    seen = mirrors.mirror("e", torch.arange(8, dtype=torch.float32) + 1)
    # a bias has the sign of its joint, damping has none
    assert seen.tolist() == [-2, -1, 4, 3, -5, 6, 8, 7]
    assert mirrors.mirror("truth", torch.zeros(1)).tolist() == [0]  # the time left


def test_a_term_without_its_mirror_image_is_refused():
    with pytest.raises(RealworthyError, match=r"not its mirror 'right\.position'"):
        build(Linear(name="pose", signals=("left.position",)))


def test_a_pose_that_is_not_even_is_refused():
    with pytest.raises(RealworthyError, match="no mirror images"):
        build(legs("pose", "position", offset=(0.1, 0.1)))


def test_a_task_without_symmetry_says_so():
    worlds = TaskWorlds(Reach(), 1, thread_count=1)
    assert worlds.mirror_count == 1
    with pytest.raises(RealworthyError, match="no symmetry"):
        worlds.mirror("policy", torch.zeros(1, 4))
