"""A biped that walks as it is told, to the beat of a clock.

The clock is an input: sine and cosine of the left foot's phase, both zero when it shall
stand. A foot swings in the first half of its phase; the right one is half a turn later.
Terms and weights follow a published minimal set for humanoids, see the methods; the
selection for legs of six joints is ours.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import torch
from torch import Tensor

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
    require_legs,
)
from realworthy.tasks.legged.stance import (
    Beginning,
    Stance,
    choose_action_scale,
    read_stance,
)
from realworthy.tasks.legged.walk_metrics import WalkTally
from realworthy.tasks.prepared_twin import (
    PreparedTwin,
    describe_gains,
    prepare_home,
    prepare_walker,
)
from realworthy.tasks.task import Input, Start, Task
from realworthy.twins import Twin, load_twin
from realworthy.twins.roles import Foot

_CARE_STRIDE, _CARE_LEAN, _CARE_OTHER = 0.01, 1.0, 5.0
"""How much the pose of a joint matters: of a leg's first two pitches, hip and knee; of
the one that leans, the hip's roll; of others."""
_STRIDES = 2
"""Pitch joints of a leg that care is taken of: hip and knee."""
_SWING = 0.09
"""[m] that a foot is lifted."""
_HEIGHT_SCALE = 0.008
"""[m²] of squared height errors at which `swing` has fallen to 1/e."""
_NEAREST = 0.15
"""[m] between the feet, below which it costs."""
_SLOW = 0.1
"""Norm of a command below which the clock rests."""
_LEVEL = math.cos(math.radians(60))
"""Cosine of the largest tilt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BipedSettings:
    """What is asked of it and what it may do."""

    seconds: float = 20.0
    """[s] of an episode."""
    commands: CommandSettings = field(
        default_factory=lambda: CommandSettings(forward=0.8, left=0.3, turn=0.8)
    )
    gait: float = 0.7
    """[s] from one left step to the next."""
    action_scale: float = 0.25
    """[rad] that a joint's target moves per unit of action."""
    action_clip: float = 3.0
    """Largest action."""
    lowest: float = 0.6
    """Share of its standing height below which it has fallen."""
    tolerance: float = 0.2
    """[m/s] mean velocity error up to which an episode without a fall succeeds: few
    commands are so slow that standing still would do."""


class BipedVelocity(Task):
    """Velocity tracking on two legs.

    A twin needs a free base with two legs of three joints or more, which are driven.
    What else it lacks is added, and `added` says so. Joints that are no leg's, such as
    those of arms, stay at home.
    """

    name = "biped"
    period = 0.02
    noise = MappingProxyType(
        {".position": 0.01, ".velocity": 0.5, "gyro": 0.1, "orientation": 0.01}
    )
    weights = MappingProxyType(
        {
            "velocity": 2.0,
            "yaw": 1.5,
            "rocking": -0.1,
            "tilt": -10.0,
            "rate": -0.05,
            "swing": 5.0,
            "pose": -0.5,
            "near": -10.0,
            "sole": -5.0,
            "alive": 1.0,
            "fall": -50.0,
        }
    )

    def __init__(
        self, twin: Twin | None = None, *, settings: BipedSettings | None = None
    ) -> None:
        feet, prepared = self._prepare_twin(twin or load_twin("humanoid"))
        self.twin, self.added = prepared.twin, prepared.added
        self._sites = tuple(foot.site for foot in feet)
        self.settings = s = settings or BipedSettings()
        self.seconds = s.seconds
        self._care_of = _weigh_joints(feet)
        self.stance = read_stance(self.twin, self._care_of)
        c = s.commands
        self.inputs = (
            Input("command.forward", -c.forward, c.forward, "m/s"),
            Input("command.left", -c.left, c.left, "m/s"),
            Input("command.turn", -c.turn, c.turn, "rad/s"),
            Input("clock.sine", -1.0, 1.0, "1"),
            Input("clock.cosine", -1.0, 1.0, "1"),
        )
        self.terms = self.stance.build_terms(self.inputs)
        scale = choose_action_scale(self.twin, s.action_scale)
        self.action = self.stance.build_action(scale, s.action_clip)
        gains = describe_gains(prepared, self.stance.commands)
        self.parts = {**self.parts, "gains": gains, "action_scale": scale}
        self.reflection = reflect_biped(self.stance, self._image)

    def _prepare_twin(self, twin: Twin) -> tuple[tuple[Foot, ...], PreparedTwin]:
        """Its feet, and the twin with what it lacked."""
        at_home = prepare_home(twin)
        roles = at_home.twin.roles
        self.parts = {"trunk": roles.trunk, "feet": roles.feet, "home": roles.home}
        feet = require_legs(at_home.twin, 2, least_joints=3)
        self._image = roles.mirror_image
        return feet, prepare_walker(at_home, feet)

    def prepare(self, scene: Scene) -> None:
        stance, device = self.stance, scene.device
        self.base, self.feet = Base(scene), Feet(scene, self._sites)
        self.commands = VelocityCommands(scene, self.settings.commands)
        self.tally = WalkTally(scene)
        self._beginning = Beginning(scene, stance)
        self._joints, _ = scene.find_joints(stance.joints)
        self._home = torch.tensor(stance.angles, device=device)
        care = [self._care_of[joint] for joint in stance.joints]
        self._care = torch.tensor(care, device=device)
        self.phase = scene.zeros()
        """(worlds,) [rad] of the left foot."""
        self._failure = scene.zeros().to(torch.int64)
        self._motion = self.base.read(scene)
        self._ground = self._read_ground(scene)

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        self.tally.begin(worlds)
        self.commands.begin(worlds, chance)
        self.feet.begin(worlds)
        u = chance.uniform("start", self._beginning.width + 1, worlds)
        # either foot may go first
        first = torch.where(u[:, -1] < 0.5, 0.0, math.pi)
        self.phase = torch.where(worlds, first, self.phase)
        return self._beginning.draw(scene, u[:, :-1])

    def advance(self, scene: Scene, chance: Chance) -> None:
        self._motion = motion = self.base.read(scene)
        self.feet.advance(scene)
        self.commands.advance(scene, chance)
        turn = 2 * math.pi * self.period / self.settings.gait
        self.phase = torch.remainder(self.phase + turn, 2 * math.pi)
        self._failure = self._judge(motion)
        command, falls = self.commands.held, self._failure != 0
        self.tally.advance(motion, self.feet, command, falls)

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        motion, command = self._motion, self.commands.held
        error = (motion.velocity[:, :2] - command[:, :2]).square().sum(1)
        turn_error = (motion.turning[:, 2] - command[:, 2]).square()
        away = scene.qpos[:, self._joints] - self._home
        height = self.feet.position[..., 2] - self._ground
        lift_error = (height - self._find_lift()).square().sum(1)
        apart = self.feet.position[:, 0, :2] - self.feet.position[:, 1, :2]
        soles = self.feet.read_tilt(scene).square().sum((1, 2))
        return {
            "velocity": torch.exp(-4 * error),
            "yaw": torch.exp(-4 * turn_error),
            "rocking": motion.turning[:, :2].square().sum(1),
            "tilt": motion.gravity[:, :2].square().sum(1),
            "rate": (scene.action - scene.last_action).square().sum(1),
            "swing": torch.exp(-lift_error / _HEIGHT_SCALE),
            "pose": (self._care * away.square()).sum(1),
            "near": (apart.norm(dim=1) < _NEAREST).to(error.dtype),
            "sole": soles,
            "alive": (self._failure == 0).to(error.dtype),
            "fall": (self._failure != 0).to(error.dtype),
        }

    def find_failures(self, scene: Scene) -> Tensor:
        return self._failure

    def is_success(self, scene: Scene) -> Tensor:
        walked = self.tally.measure_running().mean_error <= self.settings.tolerance
        return walked & (self._failure == 0)

    def read_inputs(self, scene: Scene) -> Tensor:
        command = self.commands.now
        beats = (command.norm(dim=1) >= _SLOW).to(command.dtype)
        clock = [beats * torch.sin(self.phase), beats * torch.cos(self.phase)]
        return torch.cat([command, torch.stack(clock, dim=1)], dim=1)

    def observe_privileged(self, scene: Scene) -> Tensor:
        """Velocity [m/s] and height [m] of the base, and which feet stand."""
        motion = self.base.read(scene)
        stands = self.feet.read_contacts(scene).to(torch.float32)
        return torch.cat([motion.velocity, motion.position[:, 2:], stands], dim=1)

    def memory(self) -> dict[str, Tensor]:
        parts = {"feet": self.feet, "commands": self.commands, "tally": self.tally}
        return {"phase": self.phase} | {
            f"{owner}.{name}": x
            for owner, part in parts.items()
            for name, x in part.memory().items()
        }

    def _find_lift(self) -> Tensor:
        """(worlds, 2) [m] at which the feet should be, by the clock."""
        command = self.commands.held
        beats = command.norm(dim=1, keepdim=True) >= _SLOW
        phase = torch.stack([self.phase, self.phase + math.pi], dim=1)
        lift = _SWING * torch.sin(phase).clamp(min=0).square()
        return torch.where(beats, lift, 0.0)

    def _judge(self, motion: BaseState) -> Tensor:
        """(worlds,) `Failure` codes."""
        fell = motion.gravity[:, 2] > -_LEVEL
        low = motion.position[:, 2] < self.settings.lowest * self.stance.height
        return torch.where(fell | low, int(Failure.FALL), int(Failure.NONE))

    def _read_ground(self, scene: Scene) -> float:
        """[m] of the feet's sites when the robot stands: it does before it begins."""
        return float(self.feet.read_positions(scene)[0, :, 2].mean())


def reflect_biped(
    stance: Stance, image: Mapping[str, tuple[str, float]] | None
) -> Reflection | None:
    """Left and right exchanged, and the clock's halves; None where sides differ."""
    swaps = stance.find_swaps(image)
    if swaps is None:
        return None
    turned = [f"{stance.gyro}.x", f"{stance.gyro}.z", "command.left", "command.turn"]
    turned += ["clock.sine", "clock.cosine"]
    velocity = [(0, 1.0), (1, -1.0), (2, 1.0)]
    return Reflection(
        joints=swaps,
        signals={name: (name, -1.0) for name in turned},
        privileged=(*velocity, (3, 1.0), (5, 1.0), (4, 1.0)),
    )


def _weigh_joints(feet: Sequence[Foot]) -> dict[str, float]:
    """Joint of a leg → how much its pose matters."""
    care: dict[str, float] = {}
    for foot in feet:
        care |= dict.fromkeys(foot.joints, _CARE_OTHER)
        care |= dict.fromkeys(foot.pitches[:_STRIDES], _CARE_STRIDE)
        care[foot.leaning] = _CARE_LEAN
    return care
