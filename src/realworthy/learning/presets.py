"""Settings with which each task is learned untouched, by each learner."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from realworthy.errors import RealworthyError, UnknownName
from realworthy.learning import off_policy_presets as off_policy
from realworthy.learning import ppo_presets as ppo
from realworthy.learning.ars import ArsSettings
from realworthy.learning.candidates import Normalisation
from realworthy.learning.catalogue import find_learner
from realworthy.learning.es import EsSettings
from realworthy.learning.learner import LearnerSettings
from realworthy.learning.ppo import PpoSettings
from realworthy.parameters import Belief, JoinedBelief, Parameter
from realworthy.parameters.published_tables import TABLES
from realworthy.tasks.catalogue import TASKS, TaskLike, find_task
from realworthy.tasks.classic.acrobot import acrobot_randomization
from realworthy.tasks.definition import TaskDefinition
from realworthy.tasks.legged.quadruped import quadruped_randomization
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.randomization.tables import Tabled, apply_table, from_belief
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

    learner: Callable[[], LearnerSettings]
    minutes: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """How a task is learned, and how long that takes on two cores."""

    learner: Callable[[], LearnerSettings]
    world_count: int
    minutes: float
    """After which training ends, unless the target was reached before."""
    target: float = 0.98
    """Share of successes in held-out worlds at which training ends early."""
    randomize: Callable[[Twin], Randomization] | None = None
    """How worlds differ where nobody says so; None: as the task itself says."""
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
            learner=there.learner,
            minutes=there.minutes,
            world_count=_ON_GPU,
            coarse=False,
        )


def _believe(twin: Twin) -> Randomization:
    """Worlds as different as the twin's belief, measured as well as the task says."""
    return Randomization(belief=twin.belief, noise=1.0)


def _balance_linearly() -> ArsSettings:
    s = ArsSettings()
    s.noise = s.step_size = 0.3
    s.normalisation = Normalisation.FULL
    s.warm_up = 5  # while random policies still have the pole near upright
    return s


def _balance_blindly() -> EsSettings:
    s = EsSettings()
    s.pairs = 16
    s.sigma, s.learning_rate = 0.3, 0.2
    s.widths = (8,)
    s.normalisation = Normalisation.FULL
    s.warm_up = 5  # while random policies still have the pole near upright
    return s


PRESETS: dict[str, dict[str, Preset]] = {
    "pendulum": {
        "ppo": Preset(
            learner=ppo.swing_up, world_count=128, minutes=2, randomize=_believe
        ),
        "fastsac": Preset(
            learner=off_policy.swing_up_softly,
            world_count=16,
            minutes=3,
            randomize=_believe,
        ),
        "fasttd3": Preset(
            learner=off_policy.swing_up_surely,
            world_count=16,
            minutes=3,
            randomize=_believe,
        ),
    },
    "cartpole_balance": {
        "ppo": Preset(
            learner=ppo.balance, world_count=128, minutes=2, randomize=_believe
        ),
        "ars": Preset(
            learner=_balance_linearly, world_count=32, minutes=4, randomize=_believe
        ),
        "es": Preset(
            learner=_balance_blindly, world_count=32, minutes=8, randomize=_believe
        ),
    },
    "cartpole_swing_up": {
        "ppo": Preset(learner=ppo.swing, world_count=256, minutes=5, randomize=_believe)
    },
    "acrobot_balance": {
        "ppo": Preset(
            learner=ppo.acrobot,
            world_count=256,
            minutes=8,
            target=0.95,
            randomize=acrobot_randomization,
        )
    },
    "acrobot_swing_up": {
        "ppo": Preset(
            learner=ppo.acrobot,
            world_count=256,
            minutes=15,
            target=0.95,
            randomize=acrobot_randomization,
        )
    },
    "reach": {
        "ppo": Preset(learner=ppo.arm, world_count=512, minutes=6, randomize=_believe)
    },
    "reach_wrist": {
        "ppo": Preset(learner=ppo.arm, world_count=256, minutes=3, randomize=_believe),
        "fastsac": Preset(
            learner=off_policy.reach_softly,
            world_count=16,
            minutes=3,
            randomize=_believe,
        ),
        "fasttd3": Preset(
            learner=off_policy.reach_surely,
            world_count=16,
            minutes=3,
            randomize=_believe,
        ),
    },
    "drive_goal": {
        "ppo": Preset(
            learner=ppo.arrive, world_count=256, minutes=4, randomize=_believe
        )
    },
    "drive_path": {
        "ppo": Preset(learner=ppo.drive, world_count=256, minutes=4, randomize=_believe)
    },
    "drive_velocity": {
        "ppo": Preset(learner=ppo.speed, world_count=256, minutes=4, randomize=_believe)
    },
    "quadruped": {
        "ppo": Preset(
            learner=ppo.four_legged,
            world_count=1024,
            minutes=10,
            randomize=quadruped_randomization,
            coarse=True,
            on_gpu=OnGpu(learner=PpoSettings, minutes=2),
        ),
        "fastsac": Preset(
            learner=off_policy.walk_softly,
            world_count=64,
            minutes=10,
            randomize=quadruped_randomization,
            coarse=True,
            on_gpu=OnGpu(learner=off_policy.walk_softly_on_gpu, minutes=2),
        ),
        "fasttd3": Preset(
            learner=off_policy.walk_surely,
            world_count=64,
            minutes=10,
            randomize=quadruped_randomization,
            coarse=True,
            on_gpu=OnGpu(learner=off_policy.walk_surely_on_gpu, minutes=2),
        ),
    },
    "biped": {
        "ppo": Preset(
            learner=ppo.legged,
            world_count=1024,
            minutes=30,
            randomize=_believe,
            on_gpu=OnGpu(learner=ppo.legged_on_gpu, minutes=10),
        )
    },
}
"""Task → learner → how it learns it; the first is the learner where none is named."""
_UNTUNED = Preset(learner=PpoSettings, world_count=256, minutes=5)
"""Of a task for which nobody has chosen anything: a cart with two poles learns in three
of these minutes on two cores (recipes/own_task.py)."""


def list_presets(task: TaskLike) -> Mapping[str, Preset]:
    """Learner → how it learns a task; of a user's own, its attribute `presets`."""
    definition = find_task(task)
    if definition.name in PRESETS:
        return PRESETS[definition.name]
    presets = getattr(definition.kind, "presets", {})
    if not (
        isinstance(presets, Mapping)
        and all(isinstance(each, Preset) for each in presets.values())
    ):
        raise RealworthyError(
            f"`presets` of task '{definition.name}' is {presets!r}.",
            hint="It maps names of learners to realworthy.learning.presets.Preset.",
        )
    for name in presets:
        find_learner(name)
    return presets


def find_preset(
    task: TaskLike, learner: str = "", settings: type[LearnerSettings] | None = None
) -> Preset:
    """How a learner learns a task; empty: the task's first learner.

    Without a preset of its own a learner has its default settings, and the worlds and
    minutes of the task's first one; a task without any has PPO's. `settings` are the
    learner's, where they are known already.
    """
    presets = list_presets(task)
    if learner in presets:
        return presets[learner]
    if not learner and presets:
        return next(iter(presets.values()))
    settings = settings or find_learner(learner or "ppo").Settings
    first = next(iter(presets.values()), _UNTUNED)
    return replace(first, learner=settings, on_gpu=None)


def _randomize(definition: TaskDefinition, twin: Twin) -> Randomization:
    """How worlds differ where nobody says so: by preset, else as the task says."""
    preset = find_preset(definition)
    return (preset.randomize or definition.randomize)(twin)


def choose_randomization(task: TaskLike, twin: Twin, how: Randomize) -> Randomization:
    """How worlds of a task on a twin differ."""
    if how is Randomize.NONE:
        return Randomization()
    preset = _randomize(find_task(task), twin)
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
    known = task.name if task.name in TASKS else type(task)
    preset = _randomize(task.definition or find_task(known), task.twin)
    tabled = apply_table(TABLES[table], task.twin, period=task.period)
    how = tabled.randomization
    if how.belief is None:
        raise RealworthyError(
            f"Table '{table}' has no range that twin '{task.twin.name}' could take.",
            hint=" ".join(tabled.left_out[:2]),
        )
    mixed = replace(preset, belief=how.belief, pushes=how.pushes or preset.pushes)
    return Tabled(mixed, tabled.left_out)
