"""Rapid motor adaptation of a lift whose load and motor are hidden, and change.

Kumar et al. 2021 (RMA). A carriage on a vertical rail must hold a height. What it
carries and how strong its motor is are unknown and jump within an episode, so no one
command holds it: a policy that sees one instant stops beside its goal, one that is told
e does not, and RMA reads what it needs from the last half second.

The same by commands, beside this file:

    realworthy adapt rma adapt_lift.py:Lift --output runs/lift \\
        --unknown carriage.mass=0.5:2.5 motor.gear=0.6:1.2 --change-every 1
    realworthy adapt strategy runs/lift --robot sim:lift.reality.yaml --output runs/best

    python recipes/adapt_lift.py
"""

import argparse
import tempfile
from pathlib import Path
from types import MappingProxyType

from torch import Tensor

import realworthy as rw
from realworthy.learning.ppo_presets import arrive
from realworthy.learning.presets import Preset
from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Linear
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.task import Start, Task
from realworthy.twins import Twin, parse_twin

MODEL = """
<mujoco model="lift">
  <option timestep="0.005" integrator="implicitfast"/>
  <worldbody>
    <body name="carriage">
      <joint name="rail" type="slide" axis="0 0 1" damping="8"/>
      <geom type="box" size="0.1 0.1 0.1" mass="1"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="motor" joint="rail" ctrlrange="-50 50"/>
  </actuator>
</mujoco>
"""
DELAY = 0.06
"""[s] from a command until the motor follows it: what keeps gains low, and a policy of
one instant from holding any load by stiffness alone."""
NEAR = 0.03
"""[m] from the goal that counts as held."""


class Lift(Task):
    """Hold a height, whatever is carried and however strong the motor is."""

    name = "lift"
    period, seconds = 0.02, 4.0
    noise = MappingProxyType({".position": 0.001, ".velocity": 0.01})
    weights = MappingProxyType({"near": 1.0, "gentle": 0.01})
    presets = MappingProxyType(
        {"ppo": Preset(learner=arrive, world_count=128, minutes=2)}
    )

    def __init__(self, twin: Twin | None = None, *, force: float = 40.0) -> None:
        """`force` [N] of an action of 1."""
        twin = twin or parse_twin(MODEL, name=self.name)
        self.twin = twin.with_values({"all.delay": DELAY})
        self.terms = (
            Linear(name="height", signals=("rail.position",)),
            Linear(name="speed", signals=("rail.velocity",), scale=(0.5,)),
        )
        self.action = ActionMap(
            commands=("motor.command",), offset=(0.0,), scale=(force,)
        )

    def prepare(self, scene: Scene) -> None:
        self._off = scene.zeros()

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        u = 2 * chance.uniform("start", 1, worlds) - 1
        return Start(qpos=0.3 * u, qvel=scene.zeros(1))

    def advance(self, scene: Scene, chance: Chance) -> None:
        off = scene.qpos[:, 0].abs()  # averaged over about half a second
        self._off = self._off + self.period / 0.5 * (off - self._off)

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        off = scene.qpos[:, 0].abs()
        return {"near": -off.clamp(max=1.0), "gentle": -scene.action[:, 0].square()}

    def is_success(self, scene: Scene) -> Tensor:
        return self._off < NEAR


def main(folder: Path, *, glance: bool) -> None:
    settings = rw.AdaptSettings(
        unknown={"carriage.mass": (0.5, 2.5), "motor.gear": (0.6, 1.2)},
        change_every=1.0,
        steps=5_000 if glance else 600_000,
        student_steps=2_000 if glance else 150_000,
        evaluation_episodes=16 if glance else 256,
    )
    found = rw.adapt("rma", Lift, folder / "run", settings=settings)
    print(found)
    for arm in found.arms:
        print(f"  {arm.name:<11} {arm.mean:7.3f}  {arm.about}")
    print(*found.notes, sep="\n")
    print("The truth: what carriage and motor were is known to no arm but the expert.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "--glance", action="store_true", help="every step, and hardly any learning"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        main(Path(name), glance=arguments.glance)
