"""How a base moves, what feet do and which commands come, against outside truths."""

import mujoco
import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from realworthy.errors import RealworthyError, UnknownName
from realworthy.simulators import MujocoCpu
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.legged.locomotion import (
    Base,
    CommandSettings,
    Feet,
    VelocityCommands,
)
from realworthy.twins import load_twin

CPU = torch.device("cpu")
FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")


def build_scene(world_count: int, twin: str = "quadruped") -> Scene:
    simulator = MujocoCpu(load_twin(twin), world_count, substeps=4, thread_count=1)
    return Scene(simulator, CPU)


def test_base_moves_as_mujoco_says() -> None:
    scene = build_scene(3)
    rng = np.random.default_rng(0)
    qpos = np.tile(scene.initial_qpos.numpy(), (3, 1)).astype(float)
    qpos[:, 3:7] = Rotation.random(3, rng=1).as_quat(scalar_first=True)
    qvel = rng.normal(size=(3, scene.nv))
    scene.simulator.reset(qpos=qpos, qvel=qvel)
    scene.renew()
    motion = Base(scene).read(scene)
    model = scene.simulator.bound.model
    for i in range(3):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = qpos[i], qvel[i]
        mujoco.mj_forward(model, data)
        found = np.zeros(6)
        body = model.body("trunk").id
        xbody = mujoco.mjtObj.mjOBJ_XBODY
        mujoco.mj_objectVelocity(model, data, xbody, body, found, 1)
        assert motion.turning[i].numpy() == pytest.approx(found[:3], abs=1e-5)
        assert motion.velocity[i].numpy() == pytest.approx(found[3:], abs=1e-5)
        down = data.xmat[body].reshape(3, 3).T @ [0, 0, -1]
        assert motion.gravity[i].numpy() == pytest.approx(down, abs=1e-6)
        assert motion.position[i].numpy() == pytest.approx(qpos[i, :3])


def test_a_robot_that_is_bolted_down_has_no_base() -> None:
    with pytest.raises(RealworthyError, match="no floating base"):
        Base(build_scene(1, "pendulum"))


def test_feet_are_named_sites() -> None:
    with pytest.raises(UnknownName, match="FL_paw"):
        Feet(build_scene(1), ("FL_paw",))


def test_feet_that_drop_land_after_their_time_in_the_air() -> None:
    scene = build_scene(2)
    qpos = np.tile(scene.initial_qpos.numpy(), (2, 1)).astype(float)
    qpos[0, 2] += 0.1  # 0.143 s of free fall; the other one stands
    scene.simulator.reset(qpos=qpos)
    feet = Feet(scene, FEET)
    feet.begin(torch.ones(2, dtype=torch.bool))
    home = np.tile(scene.initial_command.numpy(), (2, 1))
    home[0] = qpos[0, 7:]  # nothing to sag under while it falls
    landed, moved = {}, 0.0
    for k in range(1, 20):
        scene.simulator.step(home)
        scene.renew()
        feet.advance(scene)
        moved += float(feet.moved[0, :, 2].mean())
        if k == 1:
            assert not feet.moved.any()
            start = feet.position[0, :, 2].mean()
        if feet.landed[0].any() and not landed:
            landed = {"step": k, "air": float(feet.air_time[0].max())}
        assert not feet.landed[1].any()
        assert feet.stands[1].all()
    assert landed["step"] in (8, 9)  # 0.143 s of 0.02 s steps
    assert landed["air"] == pytest.approx(0.02 * landed["step"], abs=1e-6)
    assert moved == pytest.approx(float(feet.position[0, :, 2].mean() - start))


def test_commands_change_at_the_stated_times_and_stay_in_their_ranges() -> None:
    count = 400
    scene = build_scene(count, "pendulum")
    chance = Chance(3, count, CPU)
    commands = VelocityCommands(scene, CommandSettings())
    commands.begin(torch.ones(count, dtype=torch.bool), chance)
    drawn, spans = [commands.now], []
    last = torch.zeros(count)
    for _ in range(int(20 / scene.period)):
        scene.step_count += 1
        before = commands.now
        commands.advance(scene, chance)
        assert torch.equal(commands.held, before)
        changed = (commands.now != before).any(1)
        spans.append((scene.time - last)[changed])
        last = torch.where(changed, scene.time, last)
        drawn.append(commands.now[changed])
    values, spans = torch.cat(drawn), torch.cat(spans)
    moving = values[(values != 0).any(1)]
    most = torch.tensor([1.0, 0.5, 1.0])
    assert (moving.abs() <= most).all()
    assert moving.abs().amax(0).numpy() == pytest.approx(most.numpy(), rel=0.02)
    # uniform: sd is width / √12; the mean's own sd is that over √n
    sd = most * 2 / 12**0.5
    assert ((moving.mean(0) / sd).abs() < 4 / len(moving) ** 0.5).all()
    assert moving.std(0).numpy() == pytest.approx(sd.numpy(), rel=0.05)
    stood = 1 - len(moving) / len(values)
    assert stood == pytest.approx(0.1, abs=4 * (0.09 / len(values)) ** 0.5)
    # a command that follows one alike (standing) shows no change, so spans may add up
    assert spans.min() > 3.0 - 1e-4
    usual = spans[spans <= 8.0 + scene.period]
    assert len(usual) > 0.95 * len(spans)
    assert float(usual.mean()) == pytest.approx(5.2, abs=0.3)
