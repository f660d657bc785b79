"""Tasks that a reality's robot plays: what it sees, what is true, who succeeds."""

from collections.abc import Callable, Mapping

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.parameters import Fixed, IndependentBelief
from realworthy.policies.observer import Observer
from realworthy.realities import (
    Effect,
    Interface,
    Reality,
    RealityFile,
    RealityNoise,
    StandIn,
    load_reality,
    make_reality,
)
from realworthy.realities.effects import (
    Backlash,
    Flexibility,
    Slosh,
    Stribeck,
    ThermalFade,
)
from realworthy.robots import Command
from realworthy.simulators import MujocoCpu
from realworthy.tasks.arm.reach import Reach
from realworthy.tasks.classic.cartpole import CartpoleBalance
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.evaluate import evaluate
from realworthy.tasks.environment.reality import SeenAsTwin, build_real_worlds
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.failures import Failure
from realworthy.tasks.legged.quadruped import QuadrupedSettings, QuadrupedVelocity
from realworthy.tasks.legged.terrain import TerrainSettings
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Start, Task
from realworthy.tasks.wheels.drive import DriveVelocity
from realworthy.twins import Twin

Build = Callable[[Twin], Task]


def describe(
    twin: str,
    *effects: Effect,
    parameters: Mapping[str, float] | None = None,
    interface: Interface | None = None,
    noise: RealityNoise | None = None,
    timestep_factor: float = 1.0,
) -> Reality:
    file = RealityFile(
        schema=1,
        twin=twin,
        effects=list(effects),
        parameters=dict(parameters or {}),
        interface=interface or Interface(),
        noise=noise or RealityNoise(),
        timestep_factor=timestep_factor,
    )
    return make_reality("test", file)


def find_truth(worlds: TaskWorlds) -> MujocoCpu:
    assert isinstance(worlds.simulator, SeenAsTwin)
    return worlds.simulator.worlds.simulator


def wave(worlds: TaskWorlds, step: int) -> Tensor:
    """Actions that differ between worlds and inputs."""
    places = torch.arange(worlds.world_count * worlds.action_width)
    phase = 0.3 * step + places.reshape(worlds.world_count, -1)
    return 0.3 * torch.sin(phase)


PLAIN = [
    (PendulumSwingUp, "pendulum", {"joint.damping": 0.09, "all.delay": 0.012}),
    (CartpoleBalance, "cartpole", {"pole.mass": 0.14}),
    (Reach, "arm", {"all.kp": 0.8, "all.coulomb_friction": 1.5}),
    (QuadrupedVelocity, "quadruped", {"trunk.mass": 8.0, "all.kd": 1.2}),
]


@pytest.mark.parametrize(("build", "twin", "e"), PLAIN)
def test_a_reality_of_another_e_alone_is_the_twin_with_that_e(build, twin, e):
    """Bit for bit, over ends of episodes too."""
    reality = describe(twin, parameters=e)
    space = reality.twin.space.select(list(e))
    belief = IndependentBelief(space, {name: Fixed(x) for name, x in e.items()})
    task, same = build(reality.twin), build(reality.twin)
    task.seconds = same.seconds = 20 * task.period
    real = build_real_worlds(task, reality, 3, seed=5, thread_count=1)
    twins = TaskWorlds(
        same,
        3,
        randomization=Randomization(belief=belief),
        given=np.tile(space.vector(e), (3, 1)),
        seed=5,
        thread_count=1,
    )
    for k in range(45):
        one, other = (worlds.step(wave(worlds, k)) for worlds in (real, twins))
        for name in ("reward", "terminated", "truncated", "success", "failure"):
            assert torch.equal(getattr(one, name), getattr(other, name)), name
        assert torch.equal(real.scene.qpos, twins.scene.qpos)
        assert torch.equal(one.observations["policy"], other.observations["policy"])


class FromHome:
    """A task that begins exactly where a stand-in does."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        type(self.task).begin(self.task, scene, worlds, chance)
        home = scene.simulator.bound.compiled.own["own.initial_qpos"]
        rest = torch.zeros((scene.world_count, scene.nv), dtype=torch.float64)
        return Start(torch.from_numpy(np.tile(home, (scene.world_count, 1))), rest)


ROBOTS = [
    (
        PendulumSwingUp,
        describe(
            "pendulum",
            Stribeck(joint="joint", static=0.15),
            Backlash(joint="joint", width=0.02),
            ThermalFade(joint="joint", time_constant=0.5, loss=0.4, rated_torque=1.0),
            interface=Interface(joint_sign=["joint"], encoder_offset={"joint": 0.03}),
        ),
    ),
    (Reach, load_reality("arm_2_tired")),
    (QuadrupedVelocity, load_reality("quadruped_2_swapped")),
]


@pytest.mark.parametrize(("build", "reality"), ROBOTS, ids=["1", "7", "12"])
def test_the_actor_sees_what_a_stand_in_reports(build, reality: Reality):
    """From home, with the same commands, for a second; noise is that of its trial 0."""
    task = build(reality.twin)
    task.begin = FromHome(task).begin
    worlds = build_real_worlds(task, reality, 1, seed=reality.file.seed)
    scene, robot, told = worlds.scene, StandIn(reality), task.action
    kinds, info = ("position", "velocity", "torque"), robot.info
    n = len(info.joints)
    signals = [f"{joint}.{kind}" for kind in kinds for joint in info.joints]
    inputs = [one.name for one in task.inputs]
    names = (*signals, *info.other_signals, *told.names, *inputs)
    observer = Observer(task.terms, told, names)
    command = scene.initial_command.clone()
    places = [info.commands.index(name) for name in told.commands]
    near = [names.index(bound.signal) for bound in told.bounds]
    row = np.zeros(len(names))
    row[: len(signals)] = np.concatenate([robot.read().position, np.zeros(2 * n)])
    for k in range(round(1.0 / task.period)):
        step = worlds.step(wave(worlds, k))
        used = scene.action[0].double().numpy()
        command[places] = torch.from_numpy(told.compute(used, row[near])).float()
        robot.write(Command(sequence=k, values=command.double().numpy()))
        robot.wait(task.period)
        state, goal = robot.read(), task.read_inputs(scene)
        known = [scene.action[0]] if goal is None else [scene.action[0], goal[0]]
        said = (state.position, state.velocity, state.torque, state.others)
        row = np.concatenate([*said, *(x.double().numpy() for x in known)])
        seen = step.observations["policy"][0]
        np.testing.assert_allclose(seen, observer.observe(row), atol=2e-6)


def test_a_false_encoder_of_e_is_the_robot_s_and_a_false_one_of_the_twin_is_not():
    """A policy's goal is where the robot's encoder reads it, whatever the twin has."""
    bias = {"elbow_flex.position.sensor_bias": 0.1}
    goals = []
    for e, nominal in ((bias, {}), ({}, bias), ({}, {}), (bias, bias)):
        reality = describe("arm", parameters={"all.coulomb_friction": 0.01, **e})
        task = Reach(reality.twin.with_values(nominal))
        task.begin = FromHome(task).begin
        worlds = build_real_worlds(task, reality, 1)
        for _ in range(99):
            worlds.step(torch.zeros(1, worlds.action_width))
        place, _ = worlds.scene.find_joints(["elbow_flex"])
        goals.append(float(worlds.scene.qpos[0, place]))
    assert goals[0] == pytest.approx(goals[2] - 0.1, abs=5e-3)
    assert goals[1] == pytest.approx(goals[2], abs=1e-6)
    assert goals[3] == pytest.approx(goals[0], abs=1e-6)


def test_behind_play_and_flex_the_truth_is_where_the_link_is():
    play, flex = (
        Backlash(joint="cart", width=0.02),
        Flexibility(joint="cart", stiffness=50.0),
    )
    liquid = Slosh(body="cart", mass=0.1, length=0.05)
    reality = describe("cartpole", play, flex, liquid)
    worlds = build_real_worlds(CartpoleBalance, reality, 2, thread_count=1)
    true = find_truth(worlds)
    begun = worlds.scene.qpos.clone()
    u = 2 * worlds.chance.uniform("start", 4, torch.ones(2, dtype=torch.bool)) - 1
    torch.testing.assert_close(begun, torch.tensor([0.5, 0.15]) * u[:, :2])
    worlds.step(torch.ones(2, 1))
    for k in range(20):
        worlds.step(wave(worlds, k))
    for world in range(2):
        data = true.data(world)
        parts = [data.joint(f"cart{x}").qpos[0] for x in ("", ".play", ".flex")]
        pole = data.joint("pole").qpos[0]
        assert abs(parts[1]) > 1e-4
        assert abs(parts[2]) > 1e-4
        wanted = [sum(parts), pole]
        np.testing.assert_allclose(worlds.scene.qpos[world], wanted, atol=1e-6)
        speed = sum(data.joint(f"cart{x}").qvel[0] for x in ("", ".play", ".flex"))
        wanted = [speed, data.joint("pole").qvel[0]]
        np.testing.assert_allclose(worlds.scene.qvel[world], wanted, atol=1e-6)
        motor = worlds.scene.read(worlds.scene.find("cart.position"))[world]
        assert float(motor) == pytest.approx(parts[0], abs=1e-6)


def test_bodies_and_sites_keep_their_places_when_liquid_is_added():
    liquid = Slosh(body="base", mass=0.1, length=0.05)
    reality = load_reality("arm_1_soft")
    first = reality.twin.compiled.model.body(1).name
    reality = describe("arm", msgspec.structs.replace(liquid, body=first))
    worlds = build_real_worlds(Reach, reality, 1, thread_count=1)
    for k in range(10):
        worlds.step(wave(worlds, k))
    data, model = find_truth(worlds).data(0), worlds.bound.model
    assert data.model.nbody == model.nbody + 1
    for name, count in (("body", model.nbody), ("site", model.nsite)):
        array = worlds.scene.array("xpos" if name == "body" else "site_xpos")[0]
        for i in range(count):
            called = getattr(model, name)(i).name
            place = getattr(data, name)(called).xpos
            np.testing.assert_allclose(array[i], place, atol=1e-6)


def test_worlds_differ_in_noise_and_repeat_with_their_seed():
    reality = describe("cartpole", noise=RealityNoise(position=0.01, velocity=0.1))
    numbers = np.zeros(4, dtype=np.intp)  # so that all start alike

    def play(worlds: TaskWorlds) -> tuple[Tensor, Tensor]:
        step = worlds.step(torch.zeros(4, 1))
        return step.observations["policy"], worlds.scene.qpos

    def build(seed: int) -> TaskWorlds:
        return build_real_worlds(
            CartpoleBalance, reality, 4, seed=seed, numbers=numbers
        )

    one, other = build(1), build(2)
    seen, truth = play(one)
    assert torch.equal(truth, truth[:1].expand(4, -1))
    assert len({float(x) for x in seen[:, 0]}) == 4
    assert torch.equal(seen, play(build(1))[0])
    assert not (seen[:, :4] == play(other)[0][:, :4]).any()
    other.reseed(1)
    other.reset()
    assert torch.equal(seen, play(other)[0])


def test_measurement_noise_is_the_reality_s_and_not_the_task_s():
    reality = describe("cartpole", noise=RealityNoise(position=0.02))
    worlds = build_real_worlds(CartpoleBalance, reality, 2000)
    step = worlds.step(torch.zeros(2000, 1))
    error = step.observations["policy"] - step.observations["truth"][:, :6]
    assert float(error[:, 0].std()) == pytest.approx(0.02, rel=0.05)
    assert not error[:, 3:].any()


def judge(build: Build, reality: Reality, count: int = 8) -> float:
    """Share of episodes in which the reference controller does it."""
    worlds = build_real_worlds(build, reality, count, seed=1)
    reference = worlds.task.build_reference(worlds.scene)
    return evaluate(worlds, lambda _: reference(worlds.scene)).success


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (PendulumSwingUp, "pendulum_1_easy"),
        (CartpoleBalance, "cartpole_1_easy"),
        (DriveVelocity, "diffdrive_1_worn_wheel"),
    ],
)
def test_references_succeed_in_easy_realities(build: Build, name: str):
    assert judge(build, load_reality(name)) == 1.0


CART, WHEEL = (Interface(joint_sign=[x]) for x in ("cart", "left_wheel"))
FAR = [
    (PendulumSwingUp, describe("pendulum", parameters={"joint.coulomb_friction": 1.5})),
    (CartpoleBalance, describe("cartpole", interface=CART)),
    (DriveVelocity, describe("diffdrive", interface=WHEEL)),
]


@pytest.mark.parametrize(("build", "reality"), FAR, ids=["rubs", "cart", "wheel"])
def test_references_fail_where_the_robot_is_another_one(build: Build, reality: Reality):
    assert judge(build, reality) == 0.0


def test_episodes_begin_cold():
    """The second episode of a world goes as its first did, though the motor was hot."""
    fade = ThermalFade(joint="joint", time_constant=0.2, loss=0.6, rated_torque=0.5)
    task = PendulumSwingUp()
    task.seconds = 0.8
    task.begin = FromHome(task).begin
    worlds = build_real_worlds(task, describe("pendulum", fade), 1, thread_count=1)
    courses = []
    for _ in range(2):
        steps = [worlds.step(torch.ones(1, 1)) for _ in range(worlds.step_limit)]
        courses.append(torch.cat([step.final["truth"][:, :3] for step in steps]))
    assert torch.equal(*courses)
    task = PendulumSwingUp()
    task.begin = FromHome(task).begin
    strong = build_real_worlds(task, describe("pendulum"), 1, thread_count=1)
    last = [strong.step(torch.ones(1, 1)) for _ in range(20)][-1]
    assert not torch.allclose(courses[0][-1], last.final["truth"][0, :3], atol=0.05)


def test_a_finer_time_step_keeps_the_control_period():
    reality = describe("cartpole", timestep_factor=0.5)
    worlds = build_real_worlds(CartpoleBalance, reality, 1)
    assert worlds.period == pytest.approx(CartpoleBalance.period)
    worlds.step(torch.zeros(1, 1))
    assert float(worlds.simulator.array("time").item()) == pytest.approx(worlds.period)
    coarse = describe("cartpole", timestep_factor=3.0)
    with pytest.raises(RealworthyError, match="no multiple of reality 'test'"):
        build_real_worlds(CartpoleBalance, coarse, 1)


def test_a_reality_of_another_robot_is_refused():
    with pytest.raises(RealworthyError) as caught:
        build_real_worlds(PendulumSwingUp(), load_reality("cartpole_1_easy"), 1)
    assert str(caught.value) == (
        "Task 'pendulum' is of twin 'pendulum', reality 'cartpole_1_easy' of twin "
        "'cartpole': they differ in bodies.\n"
        "  Choose a reality of that robot, or build the task on its twin."
    )


def test_a_ground_that_the_reality_lacks_is_refused():
    task = QuadrupedVelocity(settings=QuadrupedSettings(terrain=TerrainSettings()))
    with pytest.raises(RealworthyError, match="differ in shapes"):
        build_real_worlds(task, load_reality("quadruped_1_loaded"), 1)


def test_what_a_reality_cannot_do_says_so():
    reality = describe("cartpole")
    worlds = build_real_worlds(CartpoleBalance, reality, 1)
    with pytest.raises(RealworthyError, match="cannot be resumed"):
        worlds.state_dict()
    with pytest.raises(RealworthyError, match="no place in its twin"):
        worlds.scene.array("qfrc_actuator")
    with pytest.raises(RealworthyError, match="own e"):
        worlds.simulator.write(np.zeros((1, 0)))
    with pytest.raises(RealworthyError, match="have its noise"):
        worlds.randomize(Randomization(noise=1.0))


def test_a_world_that_diverges_ends_and_begins_anew():
    worlds = build_real_worlds(CartpoleBalance, describe("cartpole"), 2, thread_count=1)
    find_truth(worlds).array("qvel")[1] = np.nan
    step = worlds.step(torch.zeros(2, 1))
    assert step.invalid.tolist() == [False, True]
    assert int(step.failure[1]) == int(Failure.NUMERICAL)
    assert step.observations["policy"].isfinite().all()
    assert worlds.step(torch.zeros(2, 1)).observations["policy"].isfinite().all()
