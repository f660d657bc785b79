"""Settings with which each task is learned untouched."""

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace

from realworthy.errors import RealworthyError, UnknownName
from realworthy.learning.ppo import PpoSettings, cpu, small
from realworthy.parameters import Belief, JoinedBelief, Parameter
from realworthy.parameters.tables import TABLES
from realworthy.tasks.acrobot import acrobot_randomization
from realworthy.tasks.quadruped import quadruped_randomization
from realworthy.tasks.randomization import Randomization
from realworthy.tasks.tables import Tabled, apply_table, from_belief
from realworthy.tasks.task import Task
from realworthy.twins import Twin

_ON_GPU = 4096
"""Worlds in which a GPU practises."""


class Randomize(enum.Enum):
    """How worlds differ from the twin."""

    PRESET = "preset"
    """As the task's preset says, or by the belief of a calibrated twin."""
    BELIEF = "belief"
    """By the twin's belief alone: its posterior, widened, where it was calibrated."""
    NONE = "none"
    """Not at all, and measured exactly."""


class Grow(enum.Enum):
    """How worlds come to differ so while a policy practises."""

    AT_ONCE = "at_once"
    """From the start; where a number of steps is set, over these."""
    SUCCESS = "success"
    """From a tenth as different on, more as episodes succeed, less as they fail."""
    AUTOMATIC = "automatic"
    """Each number of e on its own, from the twin's on, as far as the policy copes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OnGpu:
    """How a task is learned in thousands of worlds, and how long that takes."""

    ppo: Callable[[], PpoSettings]
    minutes: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """How a task is learned, and how long that takes on two cores."""

    ppo: Callable[[], PpoSettings]
    world_count: int
    minutes: float
    """After which training ends, unless the target was reached before."""
    target: float = 0.98
    """Share of successes in held-out worlds at which training ends early."""
    randomize: Callable[[Twin], Randomization]
    """How worlds differ where nobody says so."""
    coarse: bool = False
    """Whether worlds that are practised in have twice the twin's time step."""
    ease_steps: int = 0
    """Control steps over which worlds grow as different as that."""
    on_gpu: OnGpu | None = None
    """What is other on a GPU, where that wants more worlds and larger networks."""

    def on(self, device: str) -> "Preset":
        """The same for a device such as `cuda:1`."""
        there = self.on_gpu
        if there is None or device == "cpu":
            return self
        return replace(
            self,
            ppo=there.ppo,
            minutes=there.minutes,
            world_count=_ON_GPU,
            coarse=False,
        )


def _believe(twin: Twin) -> Randomization:
    """Worlds as different as the twin's belief, measured as well as the task says."""
    return Randomization(belief=twin.belief, noise=1.0)


def _balance() -> PpoSettings:
    """A joint or two: small networks, long rollouts of few worlds."""
    return small()


def _pass_often(s: PpoSettings, *, horizon: int, std: float) -> PpoSettings:
    """Short rollouts, and many passes over what they did."""
    s.horizon, s.std = horizon, std
    s.epochs = 8
    s.kl_target = 0.02
    return s


def _at_once(s: PpoSettings, *, std: float) -> PpoSettings:
    """What an action did shows within a fraction of a second."""
    s.discount = 0.93
    s.entropy_weight = 0.0
    return _pass_often(s, horizon=16, std=std)


def _swing() -> PpoSettings:
    return _pass_often(small(), horizon=32, std=0.7)


def _from_both_sides(s: PpoSettings, *, entropy: float) -> PpoSettings:
    """Left and right learn from each other, and values may move freely."""
    s.entropy_weight = entropy
    s.clip_value = False
    s.mirror_samples = True
    return s


def _swing_up() -> PpoSettings:
    """A way up is found by trying much."""
    return _from_both_sides(_pass_often(small(), horizon=32, std=1.0), entropy=0.01)


def _acrobot() -> PpoSettings:
    """What is learnt is a small feedback, so little is tried."""
    return _from_both_sides(_pass_often(small(), horizon=32, std=0.5), entropy=0.001)


def _arm() -> PpoSettings:
    """Servos do what is far off."""
    s = PpoSettings()
    s.actor_widths = s.critic_widths = (64, 64)
    s = _at_once(s, std=0.4)
    s.kl_target = 0.03
    return s


def _drive() -> PpoSettings:
    """Along a path, which is a second away."""
    s = small()
    s.horizon = 32
    s.discount = 0.97
    return s


def _arrive() -> PpoSettings:
    """At a place, and every step nearer shows at once."""
    return _from_both_sides(_pass_often(_drive(), horizon=32, std=0.5), entropy=0.001)


def _speed() -> PpoSettings:
    """At a speed, which wheels take at once."""
    return _at_once(_drive(), std=0.5)


def _legged() -> PpoSettings:
    """Left and right learn from each other."""
    s = cpu()
    s.mirror_samples = True
    return s


def _four_legged() -> PpoSettings:
    """Steps are cheap, and two passes over them do."""
    s = _legged()
    s.epochs = 2
    return s


def _legged_on_gpu() -> PpoSettings:
    s = PpoSettings()
    s.mirror_samples = True
    return s


PRESETS: dict[str, Preset] = {
    "pendulum": Preset(ppo=_swing_up, world_count=128, minutes=2, randomize=_believe),
    "cartpole_balance": Preset(
        ppo=_balance, world_count=128, minutes=2, randomize=_believe
    ),
    "cartpole_swing_up": Preset(
        ppo=_swing, world_count=256, minutes=5, randomize=_believe
    ),
    "acrobot_balance": Preset(
        ppo=_acrobot,
        world_count=256,
        minutes=8,
        target=0.95,
        randomize=acrobot_randomization,
    ),
    "acrobot_swing_up": Preset(
        ppo=_acrobot,
        world_count=256,
        minutes=15,
        target=0.95,
        randomize=acrobot_randomization,
    ),
    "reach": Preset(ppo=_arm, world_count=512, minutes=6, randomize=_believe),
    "reach_wrist": Preset(ppo=_arm, world_count=256, minutes=3, randomize=_believe),
    "drive_goal": Preset(ppo=_arrive, world_count=256, minutes=4, randomize=_believe),
    "drive_path": Preset(ppo=_drive, world_count=256, minutes=4, randomize=_believe),
    "drive_velocity": Preset(
        ppo=_speed, world_count=256, minutes=4, randomize=_believe
    ),
    "quadruped": Preset(
        ppo=_four_legged,
        world_count=1024,
        minutes=10,
        randomize=quadruped_randomization,
        coarse=True,
        on_gpu=OnGpu(ppo=PpoSettings, minutes=2),
    ),
    "biped": Preset(
        ppo=_legged,
        world_count=1024,
        minutes=30,
        randomize=_believe,
        on_gpu=OnGpu(ppo=_legged_on_gpu, minutes=10),
    ),
}


def find_preset(task: str) -> Preset:
    """The preset of a task by its name."""
    if task not in PRESETS:
        raise UnknownName("preset for task", task, PRESETS, owner="Realworthy", hint="")
    return PRESETS[task]


def choose_randomization(task: str, twin: Twin, how: Randomize) -> Randomization:
    """How worlds of a task on a twin differ."""
    if how is Randomize.NONE:
        return Randomization()
    preset = find_preset(task).randomize(twin)
    if twin.belief_text is not None:
        belief = from_belief(twin).belief
        assert belief is not None
        if how is Randomize.PRESET:
            belief = _complete(belief, preset.belief)
        return replace(preset, belief=belief)
    if how is Randomize.BELIEF:
        return replace(preset, belief=twin.belief)
    return preset


def _complete(belief: Belief, preset: Belief | None) -> Belief:
    """With the preset's ranges of what a calibration did not look for.

    It knows only what it saw: a ground that was walked on once, no payload.
    """
    if preset is None:
        return belief
    told = list(belief.space)
    lacking = [p.name for p in preset.space if not any(_overlap(p, q) for q in told)]
    return JoinedBelief(belief, preset.marginal(lacking)) if lacking else belief


def _overlap(one: Parameter, other: Parameter) -> bool:
    """Whether both are about the same quantity of some part of the robot."""
    kinds = (one.kind, one.component), (other.kind, other.component)
    return kinds[0] == kinds[1] and not set(one.binding.elements).isdisjoint(
        other.binding.elements
    )


def apply_published(task: Task, table: str) -> Tabled:
    """Ranges of a published table, with noise and pushes of the task's preset."""
    if table not in TABLES:
        hint = "All: realworthy show tables"
        raise UnknownName(
            "table of ranges", table, TABLES, owner="Realworthy", hint=hint
        )
    preset = find_preset(task.name).randomize(task.twin)
    tabled = apply_table(TABLES[table], task.twin, period=task.period)
    how = tabled.randomization
    if how.belief is None:
        raise RealworthyError(
            f"Table '{table}' has no range that twin '{task.twin.name}' could take.",
            hint=" ".join(tabled.left_out[:2]),
        )
    mixed = replace(preset, belief=how.belief, pushes=how.pushes or preset.pushes)
    return Tabled(mixed, tabled.left_out)
