"""A task of one's own in one file: a double pole that hangs from a cart.

A crane: the cart must carry two poles, one below the other, to a goal on its rail, and
leave them at rest. Model, task and randomization are in this file, and nothing in
Realworthy knows of it. It is trained, certified, watched and deployed on a stand-in
whose friction is hidden. The same by commands, beside this file:

    realworthy show tasks own_task.py:DoublePole
    realworthy train own_task.py:DoublePole --minutes 1 --output runs/crane
    realworthy certify runs/crane/policy.onnx --suite quick
    realworthy view double_pole.xml --policy runs/crane/policy.onnx
    realworthy deploy runs/crane/policy.onnx --robot udp://192.168.1.20:7000

The policy says which file and class it learned, and the file's hash: `certify` and
`view` refuse another content until it is named (`--task own_task.py:DoublePole`), and
`deploy` needs neither the file nor PyTorch.

Expect 97 % of the episodes or more to succeed after one to two minutes on two cores, a
certificate that passes, and a trial that ends within 1 cm of its goal:

    python recipes/own_task.py
"""

import argparse
import tempfile
from pathlib import Path
from types import MappingProxyType

import torch
from msgspec.structs import replace
from torch import Tensor

import realworthy as rw
from realworthy.certification.suite.suite import quick_suite
from realworthy.learning.ppo_presets import balance
from realworthy.learning.presets import Preset
from realworthy.parameters import IndependentBelief, LogUniform, Uniform
from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Linear
from realworthy.realities import RealityFile, RealityNoise, save_reality
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.failures import Failure
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Input, Start, Task
from realworthy.twins import Twin, parse_twin

MODEL = """
<mujoco model="double_pole">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002" integrator="implicitfast"/>
  <default>
    <geom contype="0" conaffinity="0"/>
  </default>
  <worldbody>
    <light pos="0 -2 3" dir="0 0.6 -1"/>
    <geom type="capsule" fromto="-1.1 0 0 1.1 0 0" size="0.02"/>
    <body name="cart">
      <joint name="cart" type="slide" axis="1 0 0" range="-1 1" damping="2"/>
      <geom type="box" size="0.1 0.06 0.04" mass="1"/>
      <body name="upper">
        <joint name="upper" axis="0 1 0" damping="0.004"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.35" size="0.015" mass="0.2"/>
        <body name="lower" pos="0 0 -0.35">
          <joint name="lower" axis="0 1 0" damping="0.004"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.015" mass="0.15"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="cart" joint="cart" ctrlrange="-8 8" forcerange="-8 8"/>
  </actuator>
  <keyframe>
    <key name="home" qpos="0 0 0"/>
  </keyframe>
</mujoco>
"""
JOINTS = ("cart", "upper", "lower")
NEAR, STILL = 0.05, 0.06
"""[m] of the cart from its goal, [rad] of both poles from hanging: arrived."""
HOLD = 1.0
"""[s] at the end of an episode for which they must be so."""


class DoublePole(Task):
    """Carry two hanging poles to a goal, and leave them at rest."""

    name = "double_pole"
    period, seconds = 0.02, 6.0
    noise = MappingProxyType({".position": 0.001, ".velocity": 0.02})
    weights = MappingProxyType({"near": 1.0, "there": 1.0, "calm": 1.0, "gentle": 0.1})
    inputs = (Input("goal.x", -0.6, 0.6, "m"),)
    presets = MappingProxyType(
        {"ppo": Preset(learner=balance, world_count=128, minutes=2, target=0.97)}
    )

    def __init__(self, twin: Twin | None = None, *, force: float = 8.0) -> None:
        """`force` [N] is what the drive may give; `--set force=6` for a command."""
        self.twin = twin or parse_twin(MODEL, name=self.name)
        positions = tuple(f"{joint}.position" for joint in JOINTS)
        velocities = tuple(f"{joint}.velocity" for joint in JOINTS)
        self.terms = (
            Linear(name="pose", signals=positions),
            Linear(name="speeds", signals=velocities, scale=(0.3,)),
            Linear(name="goal", signals=("goal.x",)),
            Linear(name="last_action", signals=("cart.command.action",)),
        )
        self.action = ActionMap(
            commands=("cart.command",), offset=(0.0,), scale=(force,)
        )

    @classmethod
    def choose_randomization(cls, twin: Twin) -> Randomization:
        """Friction within a factor of two, another load, commands up to 20 ms late."""
        friction = twin.space["cart.damping"].nominal
        load = twin.space["lower.mass"].nominal
        ranges = {
            "cart.damping": LogUniform(friction / 2, friction * 2),
            "lower.mass": Uniform(0.7 * load, 1.5 * load),
            "all.delay": Uniform(0.0, 0.02),
        }
        space = twin.space.select(list(ranges))
        return Randomization(belief=IndependentBelief(space, ranges), noise=1.0)

    def prepare(self, scene: Scene) -> None:
        self.goal, self._held = scene.zeros(), scene.zeros()

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        u = 2 * chance.uniform("start", 4, worlds) - 1
        self.goal = torch.where(worlds, 0.6 * u[:, 0], self.goal)
        self._held = torch.where(worlds, 0.0, self._held)
        spread = torch.tensor([0.6, 0.2, 0.2], device=scene.device)
        return Start(qpos=spread * u[:, 1:], qvel=scene.zeros(3))

    def advance(self, scene: Scene, chance: Chance) -> None:
        is_there = (self._miss(scene) < NEAR) & (self._swing(scene) < STILL)
        self._held = torch.where(is_there, self._held + self.period, 0.0)

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        miss, swing = self._miss(scene), self._swing(scene)
        return {
            "near": torch.exp(-miss / 0.4),
            "there": torch.exp(-(miss / 0.08).square() - (swing / 0.1).square()),
            "calm": torch.exp(-(scene.qvel[:, 1:] / 1.5).square().sum(dim=1)),
            "gentle": -(scene.action - scene.last_action).square().sum(dim=1),
        }

    def find_failures(self, scene: Scene) -> Tensor:
        at_end = scene.qpos[:, 0].abs() > 0.99
        return torch.where(at_end, int(Failure.JOINT_LIMIT), int(Failure.NONE))

    def is_success(self, scene: Scene) -> Tensor:
        return self._held > HOLD - self.period / 2

    def read_inputs(self, scene: Scene) -> Tensor:
        return self.goal[:, None]

    def _miss(self, scene: Scene) -> Tensor:
        """(worlds,) [m] of the cart from its goal."""
        return (scene.qpos[:, 0] - self.goal).abs()

    def _swing(self, scene: Scene) -> Tensor:
        """(worlds,) [rad] of either pole from hanging, the larger; the lower one's
        joint is between the poles."""
        upper, lower = scene.qpos[:, 1], scene.qpos[:, 1] + scene.qpos[:, 2]
        return torch.maximum(upper.abs(), lower.abs())


def main(folder: Path, *, glance: bool) -> None:
    model = folder / "double_pole.xml"
    model.write_text(MODEL)  # a stand-in, like a robot, is another program
    truth = {"cart.damping": 3.1, "all.delay": 0.012}
    hidden = RealityFile(
        schema=1,
        twin=model.name,
        parameters=truth,
        noise=RealityNoise(position=0.001, velocity=0.02),
    )
    save_reality(hidden, folder / "hidden.reality.yaml")

    steps = 4000 if glance else None
    training = rw.train(DoublePole, twin=model, steps=steps, output=folder / "run")
    print("train   ", training)
    suite = quick_suite()
    if glance:
        suite = replace(suite, cells=suite.cells[:1], margins=(), coverage=None)
    certificate = rw.certify(training.policy, settings=rw.CertifySettings(suite=suite))
    print("certify ", certificate)
    print("view    ", end="", flush=True)
    rw.view(model, policy=training.policy, port=0, seconds=1.0)
    robot = f"sim:{folder / 'hidden.reality.yaml'}"
    trials, goal = folder / "trials", {"goal.x": 0.4}
    deployment = rw.deploy(training.policy, robot, trials, inputs=goal)
    print("deploy  ", deployment)
    path = deployment.trials[0].recording
    assert path is not None  # the robot took no command
    trial = rw.load_recording(path)
    place = trial.signals["cart.position"][-1]
    print(f"The cart ended at {place:.3f} m, its goal was {goal['goal.x']} m; {truth=}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "--glance", action="store_true", help="every step, and hardly any learning"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        main(Path(name), glance=arguments.glance)
