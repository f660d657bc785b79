"""A quadruped that walks as it is told: velocities ahead, to the left, and turning.

The actor sees what a robot measures: gyro, gravity from its orientation, joints, its
last action and the command; no linear velocity. Terms and weights are our own selection
from two published sets, mjlab's for velocities and MuJoCo Playground's for the Go1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import torch
from torch import Tensor

from realworthy.parameters import IndependentBelief, Marginal, Uniform
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.mirrors import Reflection
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.failures import Failure
from realworthy.tasks.legged.locomotion import (
    Base,
    BaseState,
    CommandSettings,
    Feet,
    VelocityCommands,
    require_base,
    require_legs,
)
from realworthy.tasks.legged.stance import (
    Beginning,
    Stance,
    choose_action_scale,
    read_stance,
)
from realworthy.tasks.legged.terrain import (
    Terrain,
    TerrainSettings,
    Walkers,
    reflect_scan,
)
from realworthy.tasks.legged.walk_metrics import WalkTally
from realworthy.tasks.prepared_twin import (
    PreparedTwin,
    describe_gains,
    prepare_home,
    prepare_walker,
)
from realworthy.tasks.randomization.randomization import Pushes, Randomization
from realworthy.tasks.task import Input, Start, Task
from realworthy.twins import Twin, load_twin
from realworthy.twins.roles import Foot

_SIGMA = (0.3, 0.4, 0.6)
"""[rad] from home that a leg's joints may be without much loss of `pose`: those at the
trunk, at the thigh and further down."""
_OTHER_SIDE = (1, 0, 3, 2)
"""Places of the feet in the mirror: front left, front right, rear left, rear right."""
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

    A twin needs a free base with four legs of two joints or more, which are driven.
    What else it lacks, a floor, feet that feel, position servos, is added, and `added`
    says so.
    Joints that are no leg's, such as an arm's, stay at home.
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
        feet, prepared = self._prepare_twin(twin or load_twin("quadruped"))
        self.twin, self.added = prepared.twin, prepared.added
        self._sites = tuple(foot.site for foot in feet)
        self.terrain = None if s.terrain is None else Terrain(s.terrain)
        if self.terrain is not None:
            self.twin = self.terrain.add_to(self.twin)
        self.seconds = s.seconds
        legs = {joint: i for foot in feet for i, joint in enumerate(foot.joints)}
        self.stance = read_stance(self.twin, legs)
        self._places = [legs[joint] for joint in self.stance.joints]
        c = s.commands
        self.inputs = (
            Input("command.forward", -c.forward, c.forward, "m/s"),
            Input("command.left", -c.left, c.left, "m/s"),
            Input("command.turn", -c.turn, c.turn, "rad/s"),
        )
        self.terms = self.stance.build_terms(self.inputs)
        scale = choose_action_scale(self.twin, s.action_scale)
        self.action = self.stance.build_action(scale, s.action_clip)
        gains = describe_gains(prepared, self.stance.commands)
        self.parts = {**self.parts, "gains": gains, "action_scale": scale}
        self.reflection = _reflect(
            self.stance, self._image, with_scan=self.terrain is not None
        )

    def _prepare_twin(self, twin: Twin) -> tuple[tuple[Foot, ...], PreparedTwin]:
        """Its feet, and the twin with what it lacked."""
        at_home = prepare_home(twin)
        roles = at_home.twin.roles
        self.parts = {"trunk": roles.trunk, "feet": roles.feet, "home": roles.home}
        feet = require_legs(at_home.twin, 4, least_joints=2)
        self._image = roles.mirror_image
        return feet, prepare_walker(at_home, feet)

    def prepare(self, scene: Scene) -> None:
        stance, device = self.stance, scene.device
        self.base, self.feet = Base(scene), Feet(scene, self._sites)
        self.commands = VelocityCommands(scene, self.settings.commands)
        self.tally = WalkTally(scene)
        self.walkers = None if self.terrain is None else Walkers(scene, self.terrain)
        self._beginning = Beginning(scene, stance)
        self._joints, _ = scene.find_joints(stance.joints)
        self._torques = scene.find(*(f"{joint}.torque" for joint in stance.joints))
        self._home = torch.tensor(stance.angles, device=device)
        sigma = [_SIGMA[min(place, len(_SIGMA) - 1)] for place in self._places]
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

    def _find_height(self, motion: BaseState) -> Tensor:
        """(worlds,) [m] of the base above the ground under it."""
        height = motion.position[:, 2]
        if self.walkers is None:
            return height
        return height - self.walkers.find_height(motion.position[:, :2])

    def _judge(self, motion: BaseState) -> Tensor:
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


def _reflect(
    stance: Stance,
    image: Mapping[str, tuple[str, float]] | None,
    *,
    with_scan: bool,
) -> Reflection | None:
    """Left and right exchanged; None where the robot's sides differ."""
    swaps = stance.find_swaps(image)
    if swaps is None:
        return None
    turned = [f"{stance.gyro}.x", f"{stance.gyro}.z", "command.left", "command.turn"]
    velocity = [(0, 1.0), (1, -1.0), (2, 1.0)]
    feet = [(4 + place, 1.0) for place in _OTHER_SIDE]
    scan = reflect_scan(8) if with_scan else []
    return Reflection(
        joints=swaps,
        signals={name: (name, -1.0) for name in turned},
        privileged=(*velocity, (3, 1.0), *feet, *scan),
    )
