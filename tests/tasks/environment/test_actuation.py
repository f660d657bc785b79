"""Commands as they reach the simulator: those of the action, and noise of e."""

import numpy as np
import pytest
import torch

from realworthy.parameters import Fixed, IndependentBelief, Uniform
from realworthy.tasks.arm.reach import Reach
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization
from tests.tasks.arm.test_reach import make_arm
from tests.tasks.environment.test_measurements import fix
from tests.tasks.environment.test_worlds import (
    assert_equal,
    make_actions,
    make_short,
    play,
)


def read_commands(worlds: TaskWorlds) -> torch.Tensor:
    """(worlds, inputs) that the simulator got last."""
    return torch.as_tensor(worlds.simulator.array("ctrl")).to(torch.float32, copy=True)


def build_arms(count: int, told: dict[str, float], **others) -> TaskWorlds:
    drawn = Randomization(belief=fix(make_arm(2), told))
    task = Reach(make_arm(2), tip="tip")
    return TaskWorlds(task, count, randomization=drawn, thread_count=1, **others)


def find_noise(worlds: TaskWorlds, step_count: int) -> torch.Tensor:
    """(steps, worlds, inputs) what was added to commands."""
    found = []
    for action in make_actions(step_count, worlds.world_count, worlds.action_width):
        worlds.step(action)
        found.append(read_commands(worlds) - worlds.scene.command)
    return torch.stack(found)


@pytest.mark.parametrize("with_warp", [False, True])
def test_commands_get_noise_of_the_stated_sd(with_warp: bool):
    if with_warp:
        pytest.importorskip("mujoco_warp", reason="MujocoGpu needs mujoco_warp")
    told = {"joint0.action_noise": 0.02}
    noise = find_noise(build_arms(400, told, with_warp=with_warp), 10)
    assert float(noise[..., 0].std()) == pytest.approx(0.02, rel=0.05)
    assert float(noise[..., 0].mean()) == pytest.approx(0.0, abs=0.002)
    assert not noise[..., 1].any()  # not asked for
    fresh = noise[1:, :, 0] * noise[:-1, :, 0]
    assert float(fresh.mean().abs()) < 0.1 * 0.02**2  # another one in every step


def test_each_world_has_command_noise_of_its_own_e():
    space = make_arm(2).space.select(["all.action_noise"])
    belief = IndependentBelief(space, {"all.action_noise": Uniform(0.01, 0.05)})
    drawn, task = Randomization(belief=belief), Reach(make_arm(2), tip="tip")
    task.seconds = 200 * task.period
    worlds = TaskWorlds(task, 12, randomization=drawn, thread_count=1)
    for _ in range(2):
        sd = torch.from_numpy(worlds.e[:, 0]).to(torch.float32)
        noise = find_noise(worlds, 199).transpose(0, 1).flatten(1)
        torch.testing.assert_close(noise.std(dim=1), sd, rtol=0.15, atol=0)
        assert worlds.step(torch.zeros(12, 2)).truncated.all()  # and starts again


def test_a_twin_may_have_command_noise_itself():
    twin = make_arm(2).with_values({"all.action_noise": 0.03})
    worlds = TaskWorlds(Reach(twin, tip="tip"), 200, thread_count=1)
    noise = find_noise(worlds, 10)
    assert float(noise.std()) == pytest.approx(0.03, rel=0.05)


def test_a_false_encoder_misreads_the_noisy_command():
    told = {"joint0.position.sensor_bias": 0.1, "joint0.position.sensor_scale": 2.0}
    noise = find_noise(build_arms(400, told | {"joint0.action_noise": 0.02}), 5)
    plain = find_noise(build_arms(400, told), 5)
    added = (noise - plain)[0, :, 0]  # before measurements differ
    assert float(added.std()) == pytest.approx(0.01, rel=0.1)


def test_without_command_noise_nothing_is_drawn():
    worlds = build_arms(4, {"joint0.damping": 0.2})
    before = worlds.chance.generator.get_state()
    assert not find_noise(worlds, 5).any()
    assert torch.equal(worlds.chance.generator.get_state(), before)


def test_noise_of_sd_zero_changes_nothing():
    drawn = fix(make_arm(2), {"joint0.damping": 0.2, "all.action_noise": 0.0})
    task = Reach(make_arm(2), tip="tip")
    zero = TaskWorlds(task, 4, randomization=Randomization(belief=drawn))
    none = build_arms(4, {"joint0.damping": 0.2})
    actions = make_actions(20, 4, 2)
    for one, other in zip(play(zero, actions), play(none, actions), strict=True):
        assert torch.equal(one.reward, other.reward)
        assert torch.equal(one.observations["policy"], other.observations["policy"])


def test_noisy_commands_go_on_exactly_where_they_were_saved():
    def build() -> TaskWorlds:
        twin = PendulumSwingUp().twin
        belief = IndependentBelief(
            twin.space.select(["pendulum.mass", "all.action_noise"]),
            {"pendulum.mass": Fixed(0.7), "all.action_noise": Uniform(0.1, 0.5)},
        )
        drawn = Randomization(belief=belief, noise=1.0)
        task = make_short(1.0, PendulumSwingUp())
        return TaskWorlds(task, 5, randomization=drawn, thread_count=1)

    actions = make_actions(40, 5)
    whole = play(build(), actions)
    first, again = build(), build()
    play(first, actions[:10])
    play(again, actions[:30])
    again.load_state_dict(first.state_dict())
    for one, other in zip(play(again, actions[10:]), whole[10:], strict=True):
        assert_equal(one, other)
    assert np.ptp(again.e[:, 1]) > 0.1
