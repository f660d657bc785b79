"""Terms by hand arithmetic and rotation matrices."""

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from realworthy.errors import RealworthyError
from realworthy.policies import ActionMap, Goal, Gravity, Linear, SineCosine
from realworthy.policies.action import Bound
from realworthy.policies.terms import list_signals
from tests.policies.examples import ORIENTATION

BASE = ("base.position.x", "base.position.y", *ORIENTATION)


def quaternions(count: int, seed: int = 0) -> tuple[Rotation, np.ndarray]:
    """Random rotations, and the same as w-x-y-z."""
    rotations = Rotation.random(count, random_state=seed)
    return rotations, rotations.as_quat(scalar_first=True)


def test_linear_takes_the_offset_first_and_cuts_last():
    term = Linear(
        name="a", signals=("x", "y"), offset=(1.0, -1.0), scale=(2.0,), clip=3.0
    )
    assert term.compute(np.array([2.0, 4.0])) == pytest.approx([2.0, 3.0])


def test_gravity_is_the_turned_direction_of_falling_whatever_the_length():
    rotations, quaternion = quaternions(100)
    term = Gravity(name="g", signals=ORIENTATION)
    expected = rotations.inv().apply([0.0, 0.0, -1.0])
    length = np.linspace(0.5, 2.0, 100)[:, None]
    assert term.compute(quaternion * length) == pytest.approx(expected, abs=1e-12)


def test_turn_gives_all_sines_then_all_cosines():
    values = SineCosine(name="t", signals=("x", "y")).compute(np.array([0.5, 2.0]))
    expected = [np.sin(0.5), np.sin(2.0), np.cos(0.5), np.cos(2.0)]
    assert values == pytest.approx(expected)


def test_goal_is_seen_from_the_base_however_it_leans():
    yaw, lean = 0.7, 0.3
    rotation = Rotation.from_euler("ZYX", [yaw, lean, 0.2])
    base, goal = np.array([1.0, 2.0]), np.array([4.0, -1.0])
    row = [*base, *rotation.as_quat(scalar_first=True), *goal, 1.5]
    term = Goal(name="goal", signals=(*BASE, "goal.x", "goal.y", "goal.yaw"), scale=0.1)
    flat = Rotation.from_euler("z", yaw).as_matrix()[:2, :2]
    ahead = 0.1 * flat.T @ (goal - base)
    expected = [*ahead, np.sin(1.5 - yaw), np.cos(1.5 - yaw)]
    assert term.compute(np.array(row)) == pytest.approx(expected)
    short = Goal(name="goal", signals=(*BASE, "goal.x", "goal.y"), scale=0.1)
    assert short.compute(np.array(row[:-1])) == pytest.approx(ahead)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (
            lambda: Linear(name="a", signals=("x", "y"), offset=(1.0,)),
            "offset has 1 entries, not 0 or 2",
        ),
        (
            lambda: Linear(name="a", signals=("x", "y"), scale=(1.0,) * 3),
            "scale has 3 entries, not 0 or 1 or 2",
        ),
        (lambda: Gravity(name="g", signals=("x",)), "signals has 1 entries, not 4"),
        (lambda: Goal(name="g", signals=BASE), "signals has 6 entries, not 8 or 9"),
        (
            lambda: SineCosine(name="t", signals=("x",), clip=0.0),
            "clip should be above zero",
        ),
    ],
)
def test_terms_that_cannot_be_are_refused(build, said: str):
    with pytest.raises(RealworthyError, match=said):
        build()


def test_signals_are_listed_once_in_the_order_of_first_use():
    terms = (
        SineCosine(name="t", signals=("b", "a")),
        Linear(name="l", signals=("a", "c")),
    )
    assert list_signals(terms) == ("b", "a", "c")


def test_an_action_is_cut_then_smoothed_then_scaled():
    action = ActionMap(
        commands=("a.command", "b.command"),
        offset=(1.0, 2.0),
        scale=(0.5, 3.0),
        clip=2.0,
        smoothing=0.25,
    )
    used = action.smooth(np.array([10.0, -1.0]), np.array([1.0, 1.0]))
    assert used == pytest.approx([0.25 * 2 + 0.75, -0.25 + 0.75])
    assert action.compute(used) == pytest.approx([1 + 0.5 * 1.25, 2 + 3 * 0.5])
    assert action.names == ("a.command.action", "b.command.action")


@pytest.mark.parametrize("library", [np.array, torch.tensor])
def test_commands_stay_near_their_joints_and_within_their_ranges(library):
    bounds = (
        Bound(signal="a.position", lead=0.2, lower=-1.0, upper=1.0),
        Bound(signal="b.position", lead=0.5, lower=-1.0, upper=1.0),
    )
    action = ActionMap(
        commands=("a.command", "b.command"),
        offset=(0.0, 0.0),
        scale=(2.0, 2.0),
        bounds=bounds,
    )
    used = library([[0.5, 0.1], [-0.5, 0.6], [0.9, -0.9]])
    measured = library([[0.3, 0.0], [0.3, 0.8], [1.4, -2.0]])
    wanted = [
        [0.5, 0.2],  # 1.0 is too far from 0.3; 0.2 is near enough
        [0.1, 1.0],  # -1.0 is too far from 0.3; 1.2 is near, but out of range
        [1.0, -1.0],  # beyond its range a joint is called back
    ]
    assert np.allclose(action.compute(used, measured), wanted)
