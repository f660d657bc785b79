"""A quadruped that walks as it is told: velocities ahead, to the left, and turning.

The actor sees what a robot measures: gyro, gravity from its orientation, joints, its
last action and the command; no linear velocity. Terms and weights are our own selection
from two published sets, mjlab's for velocities and MuJoCo Playground's for the Go1.
"""

import math
from dataclasses import dataclass, field
from types import MappingProxyType

import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.parameters import IndependentBelief, Marginal, Uniform
from realworthy.tasks.chance import Chance
from realworthy.tasks.failures import Failure
from realworthy.tasks.legged import (
    Base,
    BaseMotion,
    CommandSettings,
    Feet,
    VelocityCommands,
    require_base,
)
from realworthy.tasks.mirrors import Reflection, Swap
from realworthy.tasks.randomization import Pushes, Randomization
from realworthy.tasks.scene import Scene
from realworthy.tasks.stance import Beginning, Stance, read_stance
from realworthy.tasks.task import Input, Start, Task
from realworthy.tasks.terrain import Terrain, TerrainSettings, Walkers, reflect_scan
from realworthy.tasks.walking import WalkTally
from realworthy.twins import Twin, load_twin

LEGS = ("FL", "FR", "RL", "RR")
FEET = tuple(f"{leg}_foot" for leg in LEGS)
_SIGMA = {"hip": 0.3, "thigh": 0.4, "calf": 0.6}
"""[rad] from home that a joint may be without much loss of `pose`."""
_OTHER_SIDE = {"FL": "FR", "FR": "FL", "RL": "RR", "RR": "RL"}
_LEVEL = math.cos(math.radians(70))
"""Cosine of the largest tilt."""
_SOFT = 0.9
"""Share of a joint's range in which nothing is charged."""
_STEP = 0.25
"""[s] in the air that a step is wanted to take; longer ones gain."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuadrupedSettings:
    """What is asked of it and what it may do."""

    seconds: float = 20.0
    """[s] of an episode."""
    commands: CommandSettings = field(default_factory=CommandSettings)
    action_scale: float = 0.3
    """[rad] that a joint's target moves per unit of action."""
    action_clip: float = 3.0
    """Largest action."""
    lowest: float = 0.5
    """Share of its standing height below which the trunk counts as touching."""
    tolerance: float = 0.3
    """[m/s] mean velocity error up to which an episode without a fall succeeds."""
    terrain: TerrainSettings | None = None
    """Uneven ground, with a curriculum in practice; none: flat."""


class QuadrupedVelocity(Task):
    """Velocity tracking.

    A twin needs a free base; twelve joints with position input, whose names hold a leg
    (FL, FR, RL, RR) and a part (hip, thigh, calf); and at each foot a site `<leg>_foot`
    with a touch sensor `<leg>_foot_contact`. `fit_quadruped` adds what others lack.
    """

    name = "quadruped"
    period = 0.02
    noise = MappingProxyType(
        {".position": 0.01, ".velocity": 0.5, "gyro": 0.1, "orientation": 0.01}
    )
    weights = MappingProxyType(
        {
            "velocity": 1.5,
            "yaw": 0.75,
            "pose": 0.3,
            "bounce": -0.5,
            "rocking": -0.05,
            "tilt": -2.0,
            "rate": -0.01,
            "torque": -2e-4,
            "limits": -1.0,
            "slip": -0.1,
            "air": 0.5,
            "still": -0.2,
            "fall": -50.0,
        }
    )

    def __init__(
        self, twin: Twin | None = None, *, settings: QuadrupedSettings | None = None
    ) -> None:
        self.settings = s = settings or QuadrupedSettings()
        self.twin = twin or load_twin("quadruped")
        self.terrain = None if s.terrain is None else Terrain(s.terrain)
        if self.terrain is not None:
            self.twin = self.terrain.add_to(self.twin)
        self.seconds = s.seconds
        self.stance = read_stance(self.twin)
        self._parts = [_find_part(joint, self.twin) for joint in self.stance.joints]
        c = s.commands
        self.inputs = (
            Input("command.forward", -c.forward, c.forward, "m/s"),
            Input("command.left", -c.left, c.left, "m/s"),
            Input("command.turn", -c.turn, c.turn, "rad/s"),
        )
        self.terms = self.stance.build_terms(self.inputs)
        self.action = self.stance.build_action(s.action_scale, s.action_clip)
        self.reflection = _reflect(self.stance, with_scan=self.terrain is not None)

    def prepare(self, scene: Scene) -> None:
        stance, device = self.stance, scene.device
        self.base, self.feet = Base(scene), Feet(scene, FEET)
        self.commands = VelocityCommands(scene, self.settings.commands)
        self.tally = WalkTally(scene)
        self.walkers = None if self.terrain is None else Walkers(scene, self.terrain)
        self._beginning = Beginning(scene, stance)
        self._joints, _ = scene.find_joints(stance.joints)
        self._torques = scene.find(*(f"{joint}.torque" for joint in stance.joints))
        self._home = torch.tensor(stance.angles, device=device)
        sigma = [_SIGMA[part] for _, part in self._parts]
        self._sigma = torch.tensor(sigma, device=device)
        low, high = torch.tensor([stance.lower, stance.upper], device=device)
        self._middle, self._reach = (low + high) / 2, _SOFT * (high - low) / 2
        self._motion = self.base.read(scene)
        self._failure = scene.zeros().to(torch.int64)

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        return self._begin(scene, worlds, chance, is_practice=False)

    def begin_practice(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        """On terrain, harder where the last episode went well."""
        return self._begin(scene, worlds, chance, is_practice=True)

    def _begin(
        self, scene: Scene, worlds: Tensor, chance: Chance, *, is_practice: bool
    ) -> Start:
        self.tally.begin(worlds)
        self.commands.begin(worlds, chance)
        self.feet.begin(worlds)
        u = chance.uniform("start", self._beginning.width, worlds)
        start = self._beginning.draw(scene, u)
        if self.walkers is not None:
            at = self.walkers.begin(worlds, is_practice=is_practice)
            place = self.base.qpos
            start.qpos[:, place : place + 2] += at
        return start

    def advance(self, scene: Scene, chance: Chance) -> None:
        self._motion = motion = self.base.read(scene)
        self.feet.advance(scene)
        self.commands.advance(scene, chance)
        self._failure = self._judge(motion)
        command, falls = self.commands.held, self._failure != 0
        if self.walkers is not None:
            self.walkers.advance(motion, command)
        self.tally.advance(motion, self.feet, command, falls)

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        motion, feet, command = self._motion, self.feet, self.commands.held
        error = (motion.velocity[:, :2] - command[:, :2]).square().sum(1)
        turn_error = (motion.turning[:, 2] - command[:, 2]).square()
        away = scene.qpos[:, self._joints] - self._home
        beyond = (away + self._home - self._middle).abs() - self._reach
        moving = self.commands.is_moving
        steps = (feet.landed * (feet.air_time - _STEP)).sum(1)
        return {
            "velocity": torch.exp(-4 * error),
            "yaw": torch.exp(-4 * turn_error),
            "pose": torch.exp(-(away / self._sigma).square().mean(1)),
            "bounce": motion.velocity[:, 2].square(),
            "rocking": motion.turning[:, :2].square().sum(1),
            "tilt": motion.gravity[:, :2].square().sum(1),
            "rate": (scene.action - scene.last_action).square().sum(1),
            "torque": scene.read(self._torques).square().sum(1),
            "limits": beyond.clamp(min=0).sum(1),
            "slip": (feet.stands * feet.speed.square()).sum(1),
            "air": moving * steps,
            "still": ~moving * away.abs().sum(1),
            "fall": (self._failure != 0).to(error.dtype),
        }

    def find_failures(self, scene: Scene) -> Tensor:
        return self._failure

    def is_success(self, scene: Scene) -> Tensor:
        walked = self.tally.measure_running().mean_error <= self.settings.tolerance
        return walked & (self._failure == 0)

    def read_inputs(self, scene: Scene) -> Tensor:
        return self.commands.now

    def observe_privileged(self, scene: Scene) -> Tensor:
        """Velocity [m/s] of the base, its height [m], and which feet stand.

        On terrain the height above nine places of the ground around follows.
        """
        motion = self.base.read(scene)
        stands = self.feet.read_contacts(scene).to(torch.float32)
        parts = [motion.velocity, self._find_height(motion)[:, None], stands]
        if self.walkers is not None:
            parts.append(self.walkers.scan(motion))
        return torch.cat(parts, dim=1)

    def memory(self) -> dict[str, Tensor]:
        parts = {"feet": self.feet, "commands": self.commands, "tally": self.tally}
        if self.walkers is not None:
            parts["walkers"] = self.walkers
        return {
            f"{owner}.{name}": x
            for owner, part in parts.items()
            for name, x in part.memory().items()
        }

    def _find_height(self, motion: BaseMotion) -> Tensor:
        """(worlds,) [m] of the base above the ground under it."""
        height = motion.position[:, 2]
        if self.walkers is None:
            return height
        return height - self.walkers.find_height(motion.position[:, :2])

    def _judge(self, motion: BaseMotion) -> Tensor:
        """(worlds,) `Failure` codes."""
        fell = motion.gravity[:, 2] > -_LEVEL
        least = self.settings.lowest * self.stance.height
        touches = self._find_height(motion) < least
        code = torch.where(touches, int(Failure.BASE_CONTACT), int(Failure.NONE))
        return torch.where(fell, int(Failure.FALL), code)


def quadruped_randomization(
    twin: Twin | None = None, *, pushes: bool = True
) -> Randomization:
    """The usual ranges for walking: ground, load, gains, delay, noise and pushes."""
    twin = twin or load_twin("quadruped")
    space, trunk = twin.space, require_base(twin).body
    mass = space[f"{trunk}.mass"].nominal
    marginals: dict[str, Marginal] = {
        "all.contact_friction": Uniform(0.3, 1.2),
        f"{trunk}.mass": Uniform(mass - 1.0, mass + 1.0),
        "all.kp": Uniform(0.8, 1.2),
        "all.kd": Uniform(0.8, 1.2),
        "all.delay": Uniform(0.0, 0.02),
    }
    for axis in "xyz":
        name = f"{trunk}.centre_of_mass.{axis}"
        centre = space[name].nominal
        marginals[name] = Uniform(centre - 0.03, centre + 0.03)
    return Randomization(
        belief=IndependentBelief(space.select(list(marginals)), marginals),
        noise=1.0,
        pushes=Pushes(speed=1.0, every=(1.0, 3.0), start=5.0) if pushes else None,
    )


def _reflect(stance: Stance, *, with_scan: bool) -> Reflection:
    """Left and right exchanged; hips turn the other way. The imu looks ahead."""
    swaps: dict[str, Swap] = {}
    stems = (command.removesuffix(".command") for command in stance.commands)
    for name in (*stance.joints, *stems):
        leg = next(leg for leg in LEGS if leg in name)
        factor = -1.0 if "hip" in name else 1.0
        swaps[name] = (name.replace(leg, _OTHER_SIDE[leg]), factor)
    turned = [f"{stance.gyro}.x", f"{stance.gyro}.z", "command.left", "command.turn"]
    velocity = [(0, 1.0), (1, -1.0), (2, 1.0)]
    feet = [(4 + LEGS.index(_OTHER_SIDE[leg]), 1.0) for leg in LEGS]
    scan = reflect_scan(8) if with_scan else []
    return Reflection(
        joints=swaps,
        signals={name: (name, -1.0) for name in turned},
        privileged=(*velocity, (3, 1.0), *feet, *scan),
    )


def _find_part(joint: str, twin: Twin) -> tuple[str, str]:
    """Leg and part of a joint, from its name."""
    leg = next((leg for leg in LEGS if leg in joint), None)
    part = next((part for part in _SIGMA if part in joint), None)
    if leg is None or part is None:
        raise RealworthyError(
            f"Joint '{joint}' of {twin.owner} is no joint of a quadruped's leg.",
            hint=f"Names should hold one of {', '.join(LEGS)} and one of "
            f"{', '.join(_SIGMA)}, such as FL_thigh.",
        )
    return leg, part
