"""A policy at a robot: commands by hand, and the same ones in any order of joints."""

import msgspec
import numpy as np
import pytest
import torch

from realworthy.errors import RealworthyError, UnknownName
from realworthy.learning.export import export_policy
from realworthy.learning.networks import Activation, Actor, Mlp
from realworthy.policies import ActionMap, Linear, Pilot, load_policy
from realworthy.policies.contract import DriveGains
from realworthy.realities import StandIn, load_reality
from realworthy.robots import Command, RobotInfo, State
from tests.policies.actors import actor, write
from tests.policies.examples import ACTION, JOINTS, TERMS, bounds, contract, robot

PLAIN = {
    "activation": Activation.ELU,
    "output_gain": 1.0,
    "generator": torch.Generator().manual_seed(0),
}


def state(info: RobotInfo, step: int) -> State:
    """Measurements that depend on names and time, not on order."""

    def numbers(names: tuple[str, ...], kind: str) -> np.ndarray:
        seeds = [[step, *f"{name} {kind}".encode()] for name in names]
        return np.array([np.random.default_rng(seed).normal() for seed in seeds])

    return State(
        time=0.02 * step,
        sequence=step,
        position=numbers(info.joints, "position"),
        velocity=numbers(info.joints, "velocity"),
        torque=numbers(info.joints, "torque"),
        others=numbers(info.other_signals, "other"),
    )


def test_commands_follow_names_whatever_the_order(any_path):
    path, _ = any_path
    one = robot()
    orders = [("foot", "hip", "knee"), ("knee", "foot", "hip")]
    for order in orders:
        other = robot(order, other_signals=one.other_signals[::-1])
        first = Pilot(load_policy(path), one)
        second = Pilot(load_policy(path), other)
        for step in range(20):
            a = dict(zip(one.commands, first.act(state(one, step)), strict=True))
            b = dict(zip(other.commands, second.act(state(other, step)), strict=True))
            assert a == b


@pytest.mark.parametrize("feedback", ["used", "raw"])
def test_commands_are_those_of_the_terms_the_network_and_the_map(tmp_path, feedback):
    conventions = msgspec.structs.replace(
        contract().conventions, action_feedback=feedback
    )
    path = tmp_path / "leg.onnx"
    write(path, actor(), contract(conventions=conventions))
    info, network = robot(), load_policy(path, engine="numpy")
    pilot = Pilot(load_policy(path), info)
    pilot.set_inputs({"command.forward": -0.5})
    used, raw, past = np.zeros(3), np.zeros(3), []
    for step in range(5):
        now = state(info, step)
        past.append(now.position)
        last = raw if feedback == "raw" else used
        seen = np.concatenate(
            [
                *(past[max(step - age, 0)] for age in (2, 1, 0)),
                TERMS[1].compute(now.others[:4]),
                np.clip(0.05 * now.velocity, -1, 1),
                [-1.0],
                last,
            ]
        )
        raw = network.act(seen)
        used = 0.5 * np.clip(raw, -1, 1) + 0.5 * used
        expected = np.array(ACTION.offset) + np.array(ACTION.scale) * used
        assert pilot.act(now) == pytest.approx(expected, abs=1e-5)
        assert pilot.used == pytest.approx(used, abs=1e-5)
        assert pilot.action == pytest.approx(raw, abs=1e-5)


def test_bounded_commands_stay_near_the_joints_of_their_names(tmp_path):
    action = msgspec.structs.replace(ACTION, bounds=bounds(*JOINTS))
    free, near = tmp_path / "free.onnx", tmp_path / "near.onnx"
    write(free, actor(), contract())
    write(near, actor(), contract(action=action))
    info = robot(("knee", "foot", "hip"))
    asking, pilot = Pilot(load_policy(free), info), Pilot(load_policy(near), info)
    cut = 0
    for step in range(20):
        now = state(info, step)
        asked, sent = asking.act(now), pilot.act(now)
        assert sent == pytest.approx(asked.clip(now.position - 0.1, now.position + 0.1))
        cut += int((sent != asked).sum())
    assert 0 < cut < 60


def test_a_reset_forgets_everything_but_the_inputs(any_path):
    path, _ = any_path
    info = robot()
    pilot = Pilot(load_policy(path), info)
    first = [pilot.act(state(info, step)) for step in range(4)]
    pilot.reset()
    again = [pilot.act(state(info, step)) for step in range(4)]
    assert np.array(first).tolist() == np.array(again).tolist()
    pilot.set_inputs({"command.forward": 1.0})
    pilot.reset()
    assert pilot.inputs == {"command.forward": 1.0}
    assert pilot.act(state(info, 0)).tolist() != first[0].tolist()


def test_inputs_stay_within_what_was_trained(policy_path):
    pilot = Pilot(load_policy(policy_path), robot())
    assert pilot.inputs == {"command.forward": 0.25}
    with pytest.raises(RealworthyError, match=r"= 2 is outside -1 … 1"):
        pilot.set_inputs({"command.forward": 2.0})
    with pytest.raises(RealworthyError, match="outside"):
        pilot.set_inputs({"command.forward": float("nan")})
    with pytest.raises(UnknownName, match=r"no input 'command\.foward'"):
        pilot.set_inputs({"command.foward": 0.0})
    assert pilot.inputs == {"command.forward": 0.25}


def test_a_command_that_no_action_moves_rests(tmp_path):
    """A gripper between two joints: the policy's numbers go round it."""
    resting = {"gripper.command": 0.7}
    gains = {j: DriveGains(kp=20.0, kd=1.0) for j in (*JOINTS, "gripper")}
    path = tmp_path / "leg.onnx"
    write(path, actor(), contract(resting=resting, gains=gains))
    info = robot((JOINTS[0], "gripper", *JOINTS[1:]))
    plain, pilot = Pilot(load_policy(path), info), Pilot(load_policy(path), info)
    sent = pilot.act(state(info, 0))
    assert sent[1] == 0.7
    assert np.delete(sent, 1) == pytest.approx(
        np.array(ACTION.offset) + np.array(ACTION.scale) * pilot.used
    )
    assert plain.act(state(info, 0)).tolist() == sent.tolist()


@pytest.mark.parametrize(
    ("resting", "complaint"),
    [
        ({"hip.command": 0.0}, "'hip.command' is moved by the action"),
        ({"tail.command": float("nan")}, "some are not numbers"),
        ({"tail.command": 0.0}, "there are none of 'tail'"),
    ],
)
def test_what_rests_is_checked(resting, complaint):
    with pytest.raises(RealworthyError, match=complaint):
        contract(resting=resting)


def test_a_robot_must_have_what_rests():
    gains = {j: DriveGains(kp=20.0, kd=1.0) for j in (*JOINTS, "tail")}
    with_tail = contract(resting={"tail.command": 0.0}, gains=gains)
    (misfit,) = with_tail.find_misfits(robot())
    assert "lets rest" in misfit


def test_a_robot_that_does_not_fit_gets_no_pilot(policy_path):
    with pytest.raises(RealworthyError, match="does not fit robot 'leg'"):
        Pilot(load_policy(policy_path), robot(JOINTS[:2]))


def test_a_proportional_law_as_a_policy_drives_a_stand_in(tmp_path):
    robot = StandIn(load_reality("pendulum_1_easy"), seed=0)
    signals = ("joint.position", "joint.velocity")
    command = ActionMap(commands=("joint.command",), offset=(0.0,), scale=(2.0,))
    layer = torch.nn.Linear(2, 1, bias=False)
    layer.weight.data[:] = torch.tensor([[-0.5, -0.1]])
    law = Actor(Mlp(2, (), 1, **PLAIN), 2, 1, std=1.0)
    law.network.layers[0] = layer  # type: ignore[union-attr]
    law.normaliser.variance[:] = (1 - 0.01) ** 2  # and so a scale of one
    written = contract(
        joints=("joint",),
        terms=(Linear(name="state", signals=signals),),
        action=command,
        command_kind="torque",
        gains={},
        limits={},
        inputs={},
        normaliser=None,
        parity=None,
    )
    path = tmp_path / "hold.onnx"
    export_policy(path, law, written, measured=robot.info)
    with robot:
        pilot = Pilot(load_policy(path), robot.info)
        for sequence in range(50):
            now = robot.read()
            sent = pilot.act(now)
            asked = np.clip(-0.5 * now.position - 0.1 * now.velocity, -1, 1)
            assert sent == pytest.approx(2 * asked, abs=1e-5)
            robot.write(Command(sequence=sequence, values=sent))
            robot.wait(written.period)
        assert np.isfinite(robot.read().position).all()
