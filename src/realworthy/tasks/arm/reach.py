"""Reach: an arm brings its tip to a point and holds it there.

Goals are points that random poses of the arm reach without touching anything, joints in
the middle half of their ranges; they are given in the frame of the base.
"""

from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.policies.action import ActionMap, Bound
from realworthy.policies.terms import Linear, Term
from realworthy.tasks.arm.chain import Chain
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.prepared_twin import add_servos, prepare_home
from realworthy.tasks.task import Controller, Input, Start, Task
from realworthy.twins import Twin, bind, load_twin
from realworthy.twins.commands import CommandLine, find_gains
from realworthy.twins.layout import Layout
from realworthy.twins.roles import MissingRole, RobotPart

_POOL = 2048
"""Goals that are drawn from."""
_SHARE = 0.5
"""Of the joints' ranges that goals are drawn from: an arm's ends are rarely of use."""
_GOAL_TOLERANCE = 0.02
"""[m] from the goal that counts as there."""
_HOLD = 0.2
"""[s] at the end of an episode for which it must be there."""
_SCATTER = 0.05
"""[rad] about the home pose in which episodes begin."""
_LEAD = 0.95
"""Of the distance at which a drive gives all its torque: where guards begin to act."""
_RANGE = 0.9
"""Of a joint's range that commands use, about its middle."""
_SMOOTHING = 0.3
"""α of actions: a step of 20 ms goes this part of the way to a new one."""
_SPEED = 2.0
"""[rad/s or m/s] that a joint should reach where no datasheet says more."""
_CHOOSE = "Where the model has a point to bring somewhere, say so: --role tip=SITE"
_AXES = ("x", "y", "z")


class Reach(Task):
    """The tip at the goal within two seconds, for arms of two to seven joints.

    Joints take position commands; what does not move the tip, such as a gripper, stays
    at home. An action of ±1 is the far end of a joint's range.
    """

    name = "reach"
    period = 0.02
    seconds = 2.0
    noise = MappingProxyType({".position": 0.002, ".velocity": 0.05})
    weights = MappingProxyType(
        {"far": 1.0, "near": 1.0, "there": 5.0, "action_rate": 0.6, "slow": 1e-4}
    )

    tip = ""
    """A site of the twin, or else a body; empty: the twin's role of that name."""

    def __init__(self, twin: Twin | None = None, *, tip: str | None = None) -> None:
        """`tip` is a site of the twin, or else a body."""
        at_home = prepare_home(twin or load_twin("arm"))
        tip = self._choose_tip(at_home.twin, tip or "")
        prepared = add_servos(at_home)
        self.twin, self.added = prepared.twin, prepared.added
        self.chain = chain = Chain(bind(self.twin), tip)
        lines = chain.lines
        if not 2 <= len(lines) <= 7:
            raise RealworthyError(
                f"'{tip}' of twin '{self.twin.name}' is moved by {len(lines)} joints; "
                "Reach is for two to seven.",
                hint="Name a tip further out or further in.",
            )
        names = [str(line.joint) for line in lines]
        commands = tuple(line.signal for line in lines)
        home = tuple(chain.home.tolist())
        goal = tuple(f"goal.{axis}" for axis in _AXES)
        self.terms: tuple[Term, ...] = (
            Linear(
                name="pose", signals=tuple(f"{n}.position" for n in names), offset=home
            ),
            Linear(
                name="speed",
                signals=tuple(f"{n}.velocity" for n in names),
                scale=(0.2,),
            ),
            Linear(name="goal", signals=goal),
            Linear(name="last_action", signals=tuple(f"{c}.action" for c in commands)),
        )
        far = np.maximum(chain.upper - chain.home, chain.home - chain.lower)
        self.action = ActionMap(
            commands=commands,
            offset=home,
            scale=tuple(far.tolist()),
            smoothing=_SMOOTHING,
            bounds=_find_bounds(chain),
        )
        self._pool = chain.draw_points(_POOL, seed=0, share=_SHARE)
        low, high, middle = (f(self._pool, axis=0) for f in (np.min, np.max, np.median))
        self.inputs = tuple(
            Input(name, float(low[i]), float(high[i]), "m", float(middle[i]))
            for i, name in enumerate(goal)
        )

    def _choose_tip(self, twin: Twin, asked: str) -> str:
        """As asked, else as the twin's roles choose, else the task's or proposed."""
        roles = twin.roles
        part = roles.tip
        if asked or (self.tip and not twin.role_choices.tip):
            part = RobotPart(asked or self.tip, "the task names it")
        self.parts = {"tip": part, "gripper": roles.gripper, "home": roles.home}
        if part.value is None:
            raise MissingRole(twin.owner, "tip", part.reason, _CHOOSE)
        return part.value

    def prepare(self, scene: Scene) -> None:
        chain = self.chain
        names = [str(line.joint) for line in chain.lines]
        self._places, self._dofs = scene.find_joints(names)
        to = {"dtype": torch.float32, "device": scene.device}
        self._goals = torch.tensor(self._pool, **to)
        self._origin, self._turn = (
            torch.tensor(x, **to) for x in (chain.origin, chain.turn)
        )
        self.goal, self._held = scene.zeros(3), scene.zeros()

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        u = chance.uniform("start", 1 + len(self._places), worlds)
        drawn = self._goals[(u[:, 0] * len(self._goals)).to(torch.int64)]
        self.goal = torch.where(worlds[:, None], drawn, self.goal)
        self._held = torch.where(worlds, 0.0, self._held)
        qpos = scene.initial_qpos.repeat(scene.world_count, 1)
        qpos[:, self._places] += _SCATTER * (2 * u[:, 1:] - 1)
        return Start(qpos=qpos, qvel=scene.zeros(scene.nv))

    def advance(self, scene: Scene, chance: Chance) -> None:
        near = self.measure_miss(scene) < _GOAL_TOLERANCE
        self._held = torch.where(near, self._held + self.period, 0.0)

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        miss = self.measure_miss(scene)
        return {
            "far": torch.exp(-miss / 0.3),
            "near": torch.exp(-(miss / 0.1).square()),
            "there": torch.exp(-miss / 0.05),
            "action_rate": -(scene.action - scene.last_action).square().sum(dim=1),
            "slow": -scene.qvel[:, self._dofs].square().sum(dim=1),
        }

    def is_success(self, scene: Scene) -> Tensor:
        return self._held > _HOLD - self.period / 2

    def read_inputs(self, scene: Scene) -> Tensor:
        return self.goal

    def observe_privileged(self, scene: Scene) -> Tensor:
        """(worlds, 3) from the tip to the goal [m]."""
        return self.goal - self.locate_tip(scene)

    def locate_tip(self, scene: Scene) -> Tensor:
        """(worlds, 3) [m] of the tip in the frame of the base."""
        places = scene.array("site_xpos" if self.chain.is_site else "xpos")
        return (places[:, self.chain.tip] - self._origin) @ self._turn

    def measure_miss(self, scene: Scene) -> Tensor:
        """(worlds,) [m] from the tip to the goal."""
        return (self.goal - self.locate_tip(scene)).norm(dim=1)

    def build_reference(self, scene: Scene) -> Controller:
        """Inverse kinematics once per goal; an integral makes up for the servos' sag.

        It works on the host, world by world, and on nominal numbers.
        """
        goal, pose = torch.full_like(self.goal, torch.nan), scene.qpos[:, self._places]
        sag = torch.zeros_like(pose)
        offset, scale = (
            torch.tensor(x, device=scene.device)
            for x in (self.action.offset, self.action.scale)
        )

        def act(scene: Scene) -> Tensor:
            is_new = (self.goal != goal).any(dim=1)
            for world in is_new.nonzero()[:, 0].tolist():
                found = self.chain.solve(self.goal[world].cpu().double().numpy())
                pose[world] = torch.tensor(found, dtype=torch.float32)
            goal.copy_(self.goal)
            error = pose - scene.qpos[:, self._places]
            grown = sag + 3.0 * self.period * error * (error.abs() < 0.15)
            sag.copy_(torch.where(is_new[:, None], 0.0, grown))
            wanted, last = (pose + sag - offset) / scale, scene.action
            return last + (wanted - last) / self.action.smoothing

        return act

    def memory(self) -> dict[str, Tensor]:
        return {"goal": self.goal, "held": self._held}


def _find_bounds(chain: Chain) -> tuple[Bound, ...]:
    """Commands ask for hardly more than all the torque of their drives."""
    layout, found = Layout(chain.bound), []
    for line, lower, upper in zip(chain.lines, chain.lower, chain.upper, strict=True):
        width = float(upper - lower)
        lead = _LEAD * _find_reach(chain.bound.twin, layout, line)
        found.append(
            Bound(
                signal=f"{line.joint}.position",
                lead=min(lead, width),
                lower=float(lower) + (1 - _RANGE) / 2 * width,
                upper=float(upper) - (1 - _RANGE) / 2 * width,
            )
        )
    return tuple(found)


def _find_reach(twin: Twin, layout: Layout, line: CommandLine) -> float:
    """[rad or m] at which a drive gives all its torque; ∞ where that moves it little.

    A drive that is damped by its own gain needs its command further ahead the faster it
    goes.
    """
    gains, joint = find_gains(twin, line), str(line.joint)
    sheet = twin.datasheet.get(joint)
    speed = _SPEED if sheet is None else sheet.speed_limit or _SPEED
    torque = float(layout.torque_limits[layout.actuator(joint)])
    if gains is None or gains[0] == 0 or torque <= gains[1] * speed:
        return np.inf
    return torque / gains[0]


class ReachWrist(Reach):
    """The wrist at the goal: fewer joints move it."""

    name = "reach_wrist"
    tip = "wrist"
