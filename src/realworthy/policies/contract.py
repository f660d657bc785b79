"""What a policy expects of a robot, and what is known of it: a policy's metadata."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta

from realworthy.errors import RealworthyError
from realworthy.policies.action import ActionMap
from realworthy.policies.measured_signals import find_unmeasured, list_measured
from realworthy.policies.observer import count_width
from realworthy.policies.runner import Wiring
from realworthy.policies.terms import Term
from realworthy.recordings.sidecar import CommandKind
from realworthy.robots import RobotInfo
from realworthy.robots.roles import RoleChoices

SCHEMA = 2
PARITY_COUNT = 16
"""Pairs of observation and action that a policy carries."""
_Positive = Annotated[float, Meta(gt=0)]
_NotNegative = Annotated[float, Meta(ge=0)]
_Length = Annotated[int, Meta(ge=1, le=1 << 20)]
_Shape = Annotated[tuple[_Length, ...], Meta(min_length=1, max_length=4)]
_SAME_RATE = 0.01
"""Share by which rates may differ and be the same."""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class TwinReference(_Part, frozen=True, kw_only=True):
    """The twin that a policy learned on."""

    name: str
    reference: str
    """A built-in name, a file or `menagerie:<robot>`, as `load_twin` takes it."""


TaskSetting: TypeAlias = bool | int | float | str
"""What a task may be set to."""


class TaskFile(_Part, frozen=True, kw_only=True):
    """The Python file that a user's own task is in; a policy runs without it."""

    path: str
    """As it was named in training."""
    name: str
    """Of the class in it."""
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    """Of the file as the policy learned from it."""


class DriveGains(_Part, frozen=True, kw_only=True):
    """What the drive closes its loop with."""

    kp: _NotNegative
    """[N·m/rad or N/m]"""
    kd: _NotNegative
    """[N·m·s/rad or N·s/m]"""


class JointLimits(_Part, frozen=True, kw_only=True):
    """What training assumed of a joint; None: it knew no limit."""

    lower: float | None = None
    upper: float | None = None
    """[rad or m]"""
    velocity: _Positive | None = None
    """[rad/s or m/s]"""
    effort: _Positive | None = None
    """[N·m or N]"""


class InputRange(_Part, frozen=True, kw_only=True):
    """A number that somebody gives the policy, such as `goal.x`."""

    lower: float
    upper: float
    default: float
    unit: str = ""


class ImageInput(_Part, frozen=True, kw_only=True):
    """An input of the network that is an image, (1, channels, height, width)."""

    channels: _Length
    height: _Length
    width: _Length
    lower: float = 0.0
    upper: float = 1.0
    """What its darkest and its brightest values are."""
    camera: str
    """Of the robot, which it comes from."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.channels, self.height, self.width


class Delays(_Part, frozen=True, kw_only=True):
    """What training assumed, least and most [s]."""

    observation: tuple[_NotNegative, _NotNegative]
    """From what is measured until the policy sees it."""
    action: tuple[_NotNegative, _NotNegative]
    """From what the policy says until the drive follows it."""


class Conventions(_Part, frozen=True, kw_only=True):
    """What signs, frames and orders mean; said, so that nobody has to guess."""

    quaternion: Literal["wxyz"]
    gyro_frame: Literal["base"]
    """The base's own axes."""
    gravity: Literal["down"]
    """The direction of falling: (0, 0, −1) when upright."""
    action_feedback: Literal["used", "raw"]
    """`<command>.action` is the action after clip and smoothing, or before."""


class Spread(_Part, frozen=True, kw_only=True):
    """Which values of one physical number training drew."""

    lower: float
    upper: float
    quantiles: tuple[float, float, float] | None = None
    """5 %, 50 % and 95 %, where they say more than the ends."""


class TrainingEvaluation(_Part, frozen=True, kw_only=True):
    """How well it did after training, in the simulator it learned in."""

    episode_count: Annotated[int, Meta(ge=1)]
    success: Annotated[float, Meta(ge=0, le=1)]
    """Share of the episodes."""
    success_interval: tuple[float, float]
    """95 %"""
    mean_return: float
    return_interval: tuple[float, float]
    """95 % of the mean"""


class NormaliserRecord(_Part, frozen=True, kw_only=True):
    """What the graph does to observations first: (x − mean) / sd; to look at only."""

    mean: tuple[float, ...]
    sd: tuple[_Positive, ...]


class PolicyProvenance(_Part, frozen=True, kw_only=True):
    """Where a policy came from."""

    created: str
    """When, as ISO 8601."""
    versions: dict[str, str]
    """Of the tools, by name; the simulator's among them."""
    settings_hash: str
    """SHA-256 of the run's resolved settings."""
    git: str
    """Commit of the training code; empty where there was none."""


class Parity(_Part, frozen=True, kw_only=True):
    """What the network answered when it was exported, in order from a fresh state."""

    observations: tuple[tuple[float, ...], ...]
    """Of all terms, in their order."""
    actions: tuple[tuple[float, ...], ...]
    images: dict[str, tuple[bytes, ...]] = {}
    """By input: rows of bytes, 0 the image's `lower` value and 255 its `upper` one."""
    arrays: dict[str, tuple[tuple[float, ...], ...]] = {}
    """By input, each flat."""


class Contract(_Part, frozen=True, kw_only=True):
    """Signals in, commands out, and all that lies between and around them."""

    schema: int = SCHEMA
    task: str
    twin: TwinReference
    joints: tuple[str, ...]
    """That it reads or moves; it goes by their names, not by their order."""
    terms: tuple[Term, ...]
    """Of the observation, in order."""
    action: ActionMap
    history_layout: Literal["term_major_oldest_first"]
    """Term after term, and within a term the oldest value first."""
    period: _Positive
    """[s] between actions."""
    substeps: Annotated[int, Meta(ge=1)]
    """Physics steps of one period where it was judged; practice may have had fewer."""
    command_kind: CommandKind
    gains: dict[str, DriveGains]
    """By the first part of a command's name; needed where commands are positions."""
    limits: dict[str, JointLimits]
    """By joint."""
    inputs: dict[str, InputRange]
    """By name; empty for a policy that is told nothing."""
    delays: Delays
    conventions: Conventions
    drives: dict[str, str] = {}
    """Command → the joint that it drives, where its name is an actuator's."""
    resting: dict[str, float] = {}
    """Commands that no action moves, such as a gripper's, and where they stay [the
    command's unit]."""
    task_file: TaskFile | None = None
    """Where a task of a user's own is; None: one of ours, or in no file."""
    task_settings: dict[str, TaskSetting] = {}
    """What of the task was set otherwise than by default."""
    roles: RoleChoices = RoleChoices()
    """Parts of the twin that were chosen for the task, by name."""
    vectors: dict[str, tuple[str, ...]] = {}
    """Input of the network → its terms, where they are not all in one input."""
    images: dict[str, ImageInput] = {}
    """Input of the network → what it shows."""
    arrays: dict[str, _Shape] = {}
    """Input of the network → shape of numbers that no signal gives: a program does."""
    outputs: dict[str, _Shape] = {}
    """Outputs of the network beside the action → shape."""
    states: dict[str, str] = {}
    """Input that holds what the network remembers → output that it comes from; `h_in`
    and `c_in` from `h_out` and `c_out` need not be listed."""
    envelope: dict[str, Spread] = {}
    """Physical number → values it was trained on; outside them nothing is promised."""
    evaluation: TrainingEvaluation | None = None
    normaliser: NormaliserRecord | None = None
    provenance: PolicyProvenance | None = None
    parity: Parity | None = None
    """The last three are in every policy that Realworthy wrote."""

    def __post_init__(self) -> None:
        if problem := next(self._find_problems(), ""):
            raise RealworthyError(problem)

    @property
    def width(self) -> int:
        """Numbers in one observation."""
        return count_width(self.terms)

    @property
    def wiring(self) -> Wiring:
        """What the graph's inputs and outputs have to be."""
        widths = {term.name: term.width * term.history for term in self.terms}
        vectors = {k: sum(widths[x] for x in v) for k, v in self.vectors.items()}
        return Wiring(
            action_width=self.action.width,
            vectors=vectors if self.vectors or not self.terms else None,
            others=self.others,
            outputs=self.outputs,
            states=self.states,
        )

    @property
    def others(self) -> dict[str, tuple[int, ...]]:
        """Input of the network that no term is in → shape of one world's."""
        return {**{k: v.shape for k, v in self.images.items()}, **self.arrays}

    @property
    def command_owners(self) -> tuple[str, ...]:
        """What each command is sent to: joints or actuators, in the action's order."""
        return tuple(name.partition(".command")[0] for name in self.action.commands)

    @property
    def rest_commands(self) -> dict[str, float]:
        """Every command of a zero action [its unit]."""
        moved = zip(self.action.commands, self.action.offset, strict=True)
        return {**dict(moved), **self.resting}

    def find_misfits(self, info: RobotInfo) -> tuple[str, ...]:
        """What this policy needs and a robot does not have, a sentence each."""
        return tuple(self._find_misfits(info))

    def check_against(self, info: RobotInfo) -> None:
        """Raises where the policy cannot run on a robot."""
        if misfits := self.find_misfits(info):
            raise RealworthyError(
                f"The policy of task '{self.task}' does not fit robot '{info.name}':\n"
                + "\n".join(f"  - {misfit}" for misfit in misfits),
                hint="Map the robot's names in its address or settings; a policy for"
                " other signals or rates has to be trained for them.",
            )

    def _find_misfits(self, info: RobotInfo) -> Iterator[str]:
        for joint in self.joints:
            if joint not in info.joints:
                has = ", ".join(info.joints) or "none"
                yield f"It has no joint '{joint}'; it has {has}."
        given, measured = {*self.inputs, *self.action.names}, list_measured(info)
        unmeasured = find_unmeasured(self.terms, {*measured, *given})
        bounded = {bound.signal for bound in self.action.bounds}
        for name in (*unmeasured, *sorted(bounded - {*measured, *unmeasured})):
            if name.rpartition(".")[0] not in {*self.joints} - {*info.joints}:
                yield f"It does not measure '{name}'."
        for name, image in self.images.items():
            size = f"{image.channels} × {image.height} × {image.width}"
            yield f"It has no camera '{image.camera}', whose {size} are input '{name}'."
        for name, shape in self.arrays.items():
            size = " × ".join(map(str, shape))
            yield f"It does not measure {size} numbers of input '{name}'."
        for name in self.action.commands:
            if name not in info.commands:
                has = ", ".join(info.commands) or "none"
                yield f"It takes no command '{name}'; it takes {has}."
        for name in info.commands:
            if name not in self.action.commands and name not in self.resting:
                yield f"It needs a command '{name}', which the policy does not give."
        for name in self.resting:
            if name not in info.commands:
                yield f"It takes no command '{name}', which the policy lets rest."
        if info.command_kind not in (self.command_kind, None):
            yield (
                f"Its commands are of kind {info.command_kind}; the policy's are of"
                f" kind {self.command_kind}."
            )
        rate = 1 / self.period
        if info.rate < rate * (1 - _SAME_RATE):
            yield f"It takes {info.rate:g} commands/s; the policy gives {rate:g}."
        ends = zip(info.commands, info.command_lower, info.command_upper, strict=True)
        for name, lower, upper in ends:
            rest = self.rest_commands.get(name, lower)
            if not lower <= rest <= upper:
                yield (
                    f"'{name}' of a zero action is {rest:g}, outside the robot's"
                    f" {lower:g} … {upper:g}."
                )

    def _find_problems(self) -> Iterator[str]:
        """What contradicts itself, the first of which is worth an error."""
        counts = Counter(term.name for term in self.terms)
        for name, count in counts.items():
            if count > 1:
                yield f"terms: two are called '{name}'."
        for field, values in (
            ("commands", self.action.commands),
            ("offset", self.action.offset),
            ("scale", self.action.scale),
            ("bounds", self.action.bounds or self.action.commands),
        ):
            if len(values) != self.action.width or not values:
                yield f"action.{field} has {len(values)} entries, not one per command."
        if not self.terms and not self.others:
            yield "terms: there are none."
        yield from self._find_tangles()
        if unknown := {*self.drives.values()} - {*self.joints}:
            yield f"drives: '{min(unknown)}' is not among the joints."
        if both := {*self.resting} & {*self.action.commands}:
            yield f"resting: '{min(both)}' is moved by the action."
        if not all(map(math.isfinite, self.resting.values())):
            yield "resting: some are not numbers."
        resting = (name.partition(".command")[0] for name in self.resting)
        owners = {*self.command_owners, *resting}
        if self.command_kind == "position" and (missing := owners - {*self.gains}):
            yield f"gains: there are none of '{min(missing)}', which takes positions."
        if unknown := {*self.limits} - {*self.joints}:
            yield f"limits: '{min(unknown)}' is not among the joints."
        for name, input in self.inputs.items():
            if not input.lower <= input.default <= input.upper:
                yield f"inputs.{name}: the default is outside its range."
        for name in ("observation", "action"):
            least, most = getattr(self.delays, name)
            if least > most:
                yield f"delays.{name}: the least is above the most."
        if (n := self.normaliser) and {len(n.mean), len(n.sd)} != {self.width}:
            yield f"normaliser: the observation has {self.width} numbers."
        if self.parity is not None:
            yield from self._find_uneven(self.parity)

    def _find_tangles(self) -> Iterator[str]:
        """Inputs and outputs that contradict each other."""
        names = [term.name for term in self.terms]
        if self.vectors and [x for v in self.vectors.values() for x in v] != names:
            yield f"vectors: they have to be {', '.join(names)}, in this order."
        if empty := [name for name, terms in self.vectors.items() if not terms]:
            yield f"vectors: '{empty[0]}' has no terms."
        goes_in = Counter((*self.vectors, *self.images, *self.arrays, *self.states))
        comes_out = Counter((*self.outputs, *self.states.values()))
        for what, counts in (("inputs", goes_in), ("outputs", comes_out)):
            if twice := [name for name, count in counts.items() if count > 1]:
                yield f"Two {what} of the network are called '{twice[0]}'."
        for name, image in self.images.items():
            if not -math.inf < image.lower < image.upper < math.inf:
                yield f"images.{name}: `lower` has to be below `upper`."

    def _find_uneven(self, parity: Parity) -> Iterator[str]:
        if len(parity.observations) != len(parity.actions):
            yield "parity: there are not as many actions as observations."
        if any(len(row) != self.width for row in parity.observations):
            yield f"parity.observations: the observation has {self.width} numbers."
        if any(len(row) != self.action.width for row in parity.actions):
            yield f"parity.actions: there are {self.action.width} commands."
        if not all(np.isfinite(parity.actions).ravel()):
            yield "parity.actions: some are not numbers."
        for key in ("images", "arrays"):
            rows, shapes = getattr(parity, key), getattr(self, key)
            if {*rows} != {*shapes}:
                yield f"parity.{key}: inputs are {', '.join(shapes) or 'none'}."
            for name in {*rows} & {*shapes}:
                size = math.prod(self.others[name])
                if [len(x) for x in rows[name]] != [size] * len(parity.actions):
                    yield f"parity.{key}.{name}: each row has {size} numbers."
