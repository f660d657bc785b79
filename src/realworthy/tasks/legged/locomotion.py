"""What legged robots share: how the base moves, what feet do, what is commanded.

Frames: the base's own is x ahead, y left, z up; turning is that of the base, in it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from realworthy.errors import RealworthyError, UnknownName
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.scene import Scene
from realworthy.twins import Twin
from realworthy.twins.floating_base import FloatingBase
from realworthy.twins.roles import Foot, MissingRole

_TOUCH = 1.0
"""[N] above which a foot counts as standing."""


@dataclass(frozen=True, slots=True)
class BaseState:
    """The base of every world, from the truth."""

    position: Tensor
    """(worlds, 3) [m] in the world."""
    orientation: Tensor
    """(worlds, 4) w-x-y-z in the world."""
    velocity: Tensor
    """(worlds, 3) [m/s] of its origin, in its own frame."""
    turning: Tensor
    """(worlds, 3) [rad/s] in its own frame."""
    gravity: Tensor
    """(worlds, 3) direction of gravity in its own frame; (0, 0, −1) when upright."""

    @property
    def heading(self) -> Tensor:
        """(worlds, 2) cosine and sine of the yaw; not defined looking straight up."""
        w, x, y, z = self.orientation.unbind(1)
        ahead = torch.stack([0.5 - y * y - z * z, x * y + w * z], dim=1)
        return torch.nn.functional.normalize(ahead, dim=1)


class Base:
    """Finds the floating base and reads how it moves."""

    def __init__(self, scene: Scene) -> None:
        require_base(scene.simulator.bound.twin)
        base = scene.find_base()
        assert base is not None
        self.qpos, self.dof = base

    def read(self, scene: Scene) -> BaseState:
        """As of the last step."""
        pose = scene.qpos[:, self.qpos : self.qpos + 7]
        motion = scene.qvel[:, self.dof : self.dof + 6]
        w, v = pose[:, 3:4], pose[:, 4:7]
        return BaseState(
            position=pose[:, :3],
            orientation=pose[:, 3:],
            velocity=_turn_back(w, v, motion[:, :3]),
            turning=motion[:, 3:],
            gravity=_find_gravity(w, v),
        )


def require_base(twin: Twin) -> FloatingBase:
    """The floating base of a twin; raises where it is fixed."""
    if twin.base is None:
        raise RealworthyError(
            f"Twin '{twin.name}' has no floating base.",
            hint="Legged tasks need a body with a free joint; `base: free` in a twin "
            "file gives the robot one.",
        )
    return twin.base


def require_legs(twin: Twin, count: int, *, least_joints: int) -> tuple[Foot, ...]:
    """The feet of a twin's legs; raises where there are not so many."""
    require_base(twin)
    part = twin.roles.feet
    names = {2: "two", 4: "four"}
    wanted = f"{names.get(count, count)} legs"
    hint = "Where the model has feet, say so: --role feet=" + ",".join(["BODY"] * count)
    if part.value is None:
        raise MissingRole(twin.owner, wanted, part.reason, hint)
    feet = part.value
    if len(feet) != count:
        seen = ", ".join(foot.body for foot in feet)
        ends = f"{len(feet)} links end at the ground ({seen})"
        raise MissingRole(twin.owner, wanted, ends, hint)
    short = [foot for foot in feet if len(foot.joints) < least_joints]
    if short:
        count = len(short[0].joints)
        reason = f"'{short[0].body}' is moved by {count} joint{'s' * (count != 1)}"
        raise MissingRole(
            twin.owner, wanted, reason, f"A leg has {least_joints} or more."
        )
    return feet


class Feet:
    """Where feet are, whether they stand, and how far they travel in a step."""

    def __init__(self, scene: Scene, sites: tuple[str, ...]) -> None:
        """A foot is a site with a touch sensor `<site>_contact`."""
        self._sites = torch.tensor(_find_sites(scene, sites), device=scene.device)
        self._contacts = scene.find(*(f"{name}_contact" for name in sites))
        self._period = scene.period
        count = len(sites)
        self.position = scene.zeros(count, 3)
        """(worlds, feet, 3) [m] in the world, at the end of the last step."""
        self.moved = scene.zeros(count, 3)
        """(worlds, feet, 3) [m] in the last step; zero in the first of an episode."""
        self.stands = scene.zeros(count).to(torch.bool)
        """(worlds, feet) whether each stood at the end of the last step."""
        self.landed = scene.zeros(count).to(torch.bool)
        """(worlds, feet) whether each came down in the last step."""
        self.air_time = scene.zeros(count)
        """(worlds, feet) [s] since each left the ground; before landing, where it has
        just landed."""
        self._air = scene.zeros(count)
        self._begun = scene.zeros().to(torch.bool)

    def begin(self, worlds: Tensor) -> None:
        """Forgets what was, in the worlds of a mask."""
        self._begun = self._begun | worlds
        self._air = torch.where(worlds[:, None], 0.0, self._air)

    def advance(self, scene: Scene) -> None:
        """Takes note of the step that was just made."""
        position = self.read_positions(scene)
        begun = self._begun[:, None]
        self.moved = torch.where(begun[..., None], 0.0, position - self.position)
        self.position = position
        stands = self.read_contacts(scene)
        self.landed = stands & (self._air > 0) & ~begun
        self.air_time = self._air + self._period
        self._air = torch.where(stands, 0.0, self.air_time)
        self.stands = stands
        self._begun = torch.zeros_like(self._begun)

    def read_positions(self, scene: Scene) -> Tensor:
        """(worlds, feet, 3) [m] in the world, now."""
        return scene.array("site_xpos")[:, self._sites]

    def read_tilt(self, scene: Scene) -> Tensor:
        """(worlds, feet, 2) the vertical's components along each sole, now."""
        turned = scene.array("site_xmat").reshape(scene.world_count, -1, 9)
        return turned[:, self._sites, 6:8]

    def read_contacts(self, scene: Scene) -> Tensor:
        """(worlds, feet) bool: which stand now."""
        return scene.read(self._contacts) > _TOUCH

    @property
    def speed(self) -> Tensor:
        """(worlds, feet) [m/s] over the ground, mean of the last step."""
        return self.moved[..., :2].norm(dim=-1) / self._period

    def memory(self) -> dict[str, Tensor]:
        return {k: v for k, v in vars(self).items() if isinstance(v, Tensor)}


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandSettings:
    """Which velocities are asked for, and for how long."""

    forward: float = 1.0
    """[m/s] at most, ahead and back."""
    left: float = 0.5
    """[m/s] at most, to either side."""
    turn: float = 1.0
    """[rad/s] at most, either way."""
    hold: tuple[float, float] = (3.0, 8.0)
    """[s] for which a command stays: shortest and longest."""
    standing: float = 0.1
    """Share of commands that ask to stand still."""


class VelocityCommands:
    """Draws velocities to be tracked, each world at times of its own."""

    def __init__(self, scene: Scene, settings: CommandSettings) -> None:
        s = self._settings = settings
        self._most = torch.tensor([s.forward, s.left, s.turn], device=scene.device)
        self.now = scene.zeros(3)
        """(worlds, 3) ahead [m/s], to the left [m/s], turn [rad/s]: asked from now on.
        """
        self.held = scene.zeros(3)
        """(worlds, 3) what was asked in the last step."""
        self.due = scene.zeros()
        """(worlds,) [s] into the episode at which the next command comes."""

    @property
    def is_moving(self) -> Tensor:
        """(worlds,) bool: the last step was not asked to stand still."""
        return (self.held != 0).any(dim=1)

    def begin(self, worlds: Tensor, chance: Chance) -> None:
        """Draws the first command of the worlds of a mask."""
        u = chance.uniform("command", 5, worlds)
        self._draw(u, worlds, torch.zeros_like(self.due))

    def advance(self, scene: Scene, chance: Chance) -> None:
        """Draws the next command where the last one's time is over."""
        self.held = self.now
        now = scene.time >= self.due
        u = chance.uniform("next command", 5, now, step=scene.step_count)
        self._draw(u, now, scene.time)

    def _draw(self, u: Tensor, worlds: Tensor, time: Tensor) -> None:
        s = self._settings
        drawn = self._most * (2 * u[:, :3] - 1)
        drawn = torch.where(u[:, 3:4] < s.standing, 0.0, drawn)
        self.now = torch.where(worlds[:, None], drawn, self.now)
        least, most = s.hold
        due = time + least + u[:, 4] * (most - least)
        self.due = torch.where(worlds, due, self.due)

    def memory(self) -> dict[str, Tensor]:
        return {"now": self.now, "held": self.held, "due": self.due}


def _find_sites(scene: Scene, names: tuple[str, ...]) -> list[int]:
    model = scene.simulator.bound.model
    known = {model.site(i).name: i for i in range(model.nsite)}
    for name in names:
        if name not in known:
            owner = f"twin '{scene.simulator.bound.twin.name}'"
            raise UnknownName("site", name, known, owner=owner, hint="")
    return [known[name] for name in names]


def _turn_back(w: Tensor, v: Tensor, x: Tensor) -> Tensor:
    """(…, 3) x of the world in the frame of the quaternion (w, v)."""
    twice = 2 * torch.linalg.cross(v, x)
    return x - w * twice + torch.linalg.cross(v, twice)


def _find_gravity(w: Tensor, v: Tensor) -> Tensor:
    """(…, 3) the world's −z in the frame of the quaternion (w, v)."""
    x, y, z = v.unbind(-1)
    w = w[..., 0]
    return torch.stack(
        [2 * (w * y - x * z), -2 * (w * x + y * z), 2 * (x * x + y * y) - 1], dim=-1
    )
