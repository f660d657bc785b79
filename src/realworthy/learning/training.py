"""What a run is asked for, where it stands, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack

from realworthy.errors import RealworthyError
from realworthy.learning.catalogue import name_settings
from realworthy.learning.learner import Learner, LearnerSettings, Metrics
from realworthy.learning.learner_files import check_learner
from realworthy.learning.presets import Grow, Randomize, find_preset
from realworthy.learning.runs import RunFolder
from realworthy.policies.contract import TaskSetting
from realworthy.robots.roles import RoleChoices
from realworthy.tasks.catalogue import TaskLike, find_task
from realworthy.tasks.environment.devices import find_device
from realworthy.tasks.environment.evaluate import Evaluation
from realworthy.tasks.environment.variety import Variety

EPISODES = 256
"""Held-out worlds, unless otherwise asked: 95 % are told to within 3 points."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainSettings:
    """What is learned, how long, and in which worlds; `choose_settings` fills it in."""

    task: str
    """By name: one of `TASKS`, or `my_file.py:MyTask`."""
    task_settings: dict[str, TaskSetting] = field(default_factory=dict)
    """What of the task is set otherwise than by default: its keyword arguments."""
    twin: str = ""
    """As `load_twin` takes it; empty: the task's own."""
    roles: RoleChoices = field(default_factory=RoleChoices)
    """Parts of the twin that were chosen; see `Twin.with_roles`."""
    randomize: Randomize = Randomize.PRESET
    table: str = ""
    """Published ranges in place of the preset's, by name; see `TABLES`."""
    grow: Grow = Grow.AT_ONCE
    """On the CPU; policies are looked at and judged in worlds as different as asked."""
    terrain: float = 0.0
    """Legged tasks on ground so many times as uneven as `TerrainSettings`; 0: flat."""
    payload: dict[str, float] = field(default_factory=dict)
    """Body → [kg] at most of a load that comes and goes within an episode."""
    learner: LearnerSettings
    """Whose kind says which learner it is."""
    start_from: str = ""
    """Folder of another run, whose best weights are the first; empty: drawn anew."""
    world_count: int = 1024
    minutes: float | None = None
    """[min] of training, looking included; none: until another bound is met."""
    steps: int | None = None
    """Control steps of all worlds together; none: until another bound is met."""
    target: float | None = None
    """Share of successes in held-out worlds at which to stop; none, or 2: never early.
    """
    evaluation_episodes: int = EPISODES
    """Held-out worlds in which the policy is looked at, and judged in the end."""
    coarse: bool = False
    """Practise with twice the twin's time step, where the control period allows it;
    policies are looked at and judged with its own."""
    ease_steps: int = 0
    """Control steps over which worlds grow from a tenth as different, noisy and pushed
    as asked to the whole of it; 0: all of it at once. On a GPU always so."""
    seed: int = 0
    device: str = "cpu"
    thread_count: int = 0
    """Of the physics; 0: all cores."""

    def check(self) -> None:
        """Raises where training would never end or could not begin."""
        if self.minutes is None and self.steps is None and self.target is None:
            raise RealworthyError(
                "Training has no end: neither minutes, nor steps, nor a target."
            )
        for name in ("minutes", "steps", "world_count", "evaluation_episodes"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise RealworthyError(f"{name} should be above zero, not {value}.")
        if self.target is not None and not (0 <= self.target <= 1 or self.target == 2):
            raise RealworthyError(
                f"A target is a share of successes, 0 … 1, not {self.target:g}.",
                hint="0.9 is 90 %; 2 never ends training early.",
            )
        if self.table and self.randomize is not Randomize.PRESET:
            raise RealworthyError(
                f"Both table '{self.table}' and '{self.randomize.value}' were asked for"
                " as what differs between worlds.",
                hint="Choose one.",
            )
        if self.grow is not Grow.AT_ONCE and self.device != "cpu":
            raise RealworthyError(
                f"Worlds grow different by '{self.grow.value}' on the CPU only.",
                hint="Leave --grow out, or --device.",
            )
        find_device(self.device)


class TrainOptions(TypedDict, total=False):
    """What is asked of a training; the rest is as presets say."""

    learner: str | type[Learner] | LearnerSettings
    """By name or class, with the settings of its preset, or with settings; PPO unless
    said."""
    task_settings: Mapping[str, TaskSetting]
    start_from: str | Path
    twin: str | Path
    roles: RoleChoices
    randomize: Randomize
    table: str
    grow: Grow
    terrain: float
    payload: Mapping[str, float]
    world_count: int | None
    minutes: float | None
    """With neither minutes nor steps both are the preset's."""
    steps: int | None
    target: float | None
    evaluation_episodes: int
    seed: int
    device: str
    thread_count: int


def choose_settings(task: TaskLike, **options: Unpack[TrainOptions]) -> TrainSettings:
    """Everything that a run needs: as asked, else by the preset of task and learner.

    Command and Python ask here, so that both train alike.
    """
    definition = find_task(task).with_settings(options.get("task_settings", {}))
    device = options.get("device", "cpu")
    asked = options.get("learner", "")
    if isinstance(asked, str):
        preset = find_preset(definition, asked)
    else:
        if isinstance(asked, type):
            check_learner(asked, asked.__qualname__)
        kind = asked.Settings if isinstance(asked, type) else type(asked)
        preset = find_preset(definition, name_settings(kind), kind)
    preset = preset.on(device)
    learner = asked if isinstance(asked, LearnerSettings) else preset.learner()
    minutes, steps = options.get("minutes"), options.get("steps")
    target = options.get("target")
    return TrainSettings(
        task=definition.name,
        task_settings=dict(definition.settings),
        learner=learner,
        start_from=str(options.get("start_from", "")),
        twin=str(options.get("twin", "")),
        roles=options.get("roles", RoleChoices()),
        randomize=options.get("randomize", Randomize.PRESET),
        table=options.get("table", ""),
        grow=options.get("grow", Grow.AT_ONCE),
        terrain=options.get("terrain", 0.0),
        payload=dict(options.get("payload", {})),
        world_count=options.get("world_count") or preset.world_count,
        minutes=preset.minutes if minutes is None and steps is None else minutes,
        steps=steps,
        target=preset.target if target is None else target,
        evaluation_episodes=options.get("evaluation_episodes", EPISODES),
        coarse=preset.coarse,
        ease_steps=preset.ease_steps,
        seed=options.get("seed", 0),
        device=device,
        thread_count=options.get("thread_count", 0),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStatus:
    """Where training stands, after each update."""

    done: float
    """Share of what bounds it, 0 … 1."""
    seconds: float
    step_count: int
    steps_per_second: float
    """While practising and learning; looking apart."""
    metrics: Metrics
    evaluation: Evaluation | None
    """The latest evaluation of the policy."""

    def to_words(self) -> str:
        """In a line that fits into a terminal."""
        parts = [f"reward {self.metrics.rollout.reward:.3g}"]
        if self.evaluation is not None:
            parts.insert(0, f"success {self.evaluation.least_success:.0%}")
        parts.append(f"{_shorten(self.steps_per_second)} steps/s")
        if 0 < self.done < 1:
            left = self.seconds * (1 - self.done) / self.done
            parts.append(f"{int(left // 60)}:{int(left % 60):02d} left")
        return " · ".join(parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """How a policy did in held-out worlds, on the way."""

    step_count: int
    seconds: float
    """[s] of training until then, looking included."""
    reward: float
    """Mean of a step in practice, in the update before."""
    success: float
    """Share of all episodes; those whose physics diverged count as failed."""
    mean_return: float


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Training:
    """What came of a run."""

    folder: RunFolder
    task: str
    twin: str
    """As `load_twin` takes it."""
    variety: Variety
    """How the worlds differ in which it was judged."""
    grown: str
    """How far practice came to differ so, in words; empty: from the start."""
    looks: tuple[Look, ...]
    """At the policy on the way, the last one included."""
    step_count: int
    seconds: float
    steps_per_second: float
    evaluation: Evaluation
    """Of the best policy, in worlds that nobody has chosen by."""
    at_nominal: Evaluation
    """The same policy on the twin as it is: what randomization cost there."""
    invalid_count: int
    """Steps in which the physics diverged; nothing was learned from them."""
    update_count: int
    stopped_by: str
    """`minutes`, `steps` or `target`."""
    inference_us: float | None = None
    """[µs] in which the policy's file answers on one core of this machine, median."""
    added: tuple[str, ...] = ()
    """What the task added to the twin in simulation."""
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<training of task '{self.task}': success "
            f"{self.evaluation.success:.0%} of {self.evaluation.episode_count} "
            f"held-out episodes after {self.seconds:.0f} s, in {self.folder.path}>"
        )

    @property
    def policy(self) -> Path:
        """The file of the best policy."""
        return self.folder.policy


def _shorten(count: float) -> str:
    """Two digits: 41 k, 3.1 M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if count >= 0.995 * size:
            return f"{count / size:.{1 if count < 9.95 * size else 0}f} {letter}"
    return f"{count:.0f}"
