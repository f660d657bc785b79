"""What causes cost a task: the same policy on the twin, and on stand-ins with causes.

The largest residual is not always the one that hurts. Every cause that a stand-in can
have is built into one (`realities`), alone and together with the others, and the policy
drives it in closed loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, Protocol

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.deployment import drive
from realworthy.diagnosis.diagnosis import Cause, Diagnosis, TaskLoss
from realworthy.errors import RealworthyError
from realworthy.gap.intervals import compute_paired_bootstrap
from realworthy.progress import Progress, ignore
from realworthy.realities import StandIn
from realworthy.realities.effects import EFFECTS
from realworthy.realities.file import RealityFile, RealityNoise
from realworthy.realities.reality import Reality
from realworthy.realities.truth import build_truth
from realworthy.recordings import Recording
from realworthy.robots import State
from realworthy.twins import Twin

Floats = NDArray[np.float64]
_OFFSETS = ("encoder_offset", "default_pose")
_NOISE = RealityNoise(position=0.001, velocity=0.01, process=0.01)
_CLEARLY = 0.5
"""Share of the sum of single losses by which a joint loss must differ to be told."""


class Attempts(Protocol):
    """A task that a policy attempts on stand-ins."""

    @property
    def measure(self) -> str:
        """`success` or `return`."""
        ...

    @property
    def noise(self) -> RealityNoise:
        """Of every stand-in."""
        ...

    def play(self, reality: Reality, seed: int) -> Floats:
        """(attempts,) scores on one; attempt k begins alike on each."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """A task: a policy in closed loop, and what its recordings are worth."""

    policy: Callable[[State], ArrayLike]
    """Command for what the robot has just measured; called once a control period."""
    score: Callable[[Recording], float]
    """1 or 0 for success, or a return, of one trial."""
    measure: Literal["success", "return"]
    seconds: float
    """Length of a trial."""
    count: int = 20
    """Trials of each stand-in; more make intervals narrower."""
    begin: Callable[[], None] = lambda: None
    """Called before each trial, for policies with a memory."""
    noise: RealityNoise = _NOISE

    def play(self, reality: Reality, seed: int) -> Floats:
        """(count,) scores, one trial after the other."""
        robot, scores = StandIn(reality, seed=seed), []
        for _ in range(self.count):
            self.begin()
            recording = drive(robot, self.policy, seconds=self.seconds)
            scores.append(float(self.score(recording)))
        return np.array(scores)


def weigh(
    twin: Twin,
    found: Diagnosis,
    trials: Attempts,
    *,
    seed: int = 0,
    progress: Progress = ignore,
) -> Diagnosis:
    """The diagnosis with causes ranked by what they cost the task.

    A loss is the score on the twin minus that on a stand-in with the cause, trial by
    trial with the same noise. Causes that no stand-in can have keep none, and come
    last; a warning names one that should have had a stand-in.
    """
    wanted = [cause for cause in found.causes if _is_playable(cause)]
    count = 1 + len(wanted) + len(wanted) * (len(wanted) - 1) // 2
    progress(0.0, "the task on the twin")
    plain = _score(twin, (), trials, seed)
    alone, played, refused = dict[int, Floats](), list[Cause](), list[str]()
    for i, cause in enumerate(wanted, start=1):
        progress(i / count, f"the task with {cause.name}")
        try:
            alone[id(cause)] = _score(twin, (cause,), trials, seed)
            played.append(cause)
        except RealworthyError as error:
            refused.append(
                f"What {cause.name} costs the task is not known: {error.problem}"
            )
    weighed = [
        _weigh(cause, plain, alone.get(id(cause)), trials) for cause in found.causes
    ]
    weighed.sort(key=lambda c: -np.inf if c.task_loss is None else -c.task_loss.mean)
    weighed.sort(key=lambda c: c.task_loss is None)
    told = []
    for i, (first, second) in enumerate(combinations(played, 2), 1 + len(wanted)):
        progress(i / count, f"the task with {first.name} and {second.name}")
        both = plain - _score(twin, (first, second), trials, seed)
        apart = 2 * plain - alone[id(first)] - alone[id(second)]
        told += _tell(first, second, both, apart, trials)
    return replace(
        found,
        causes=tuple(weighed),
        interactions=tuple(told),
        warnings=(*found.warnings, *refused),
    )


def to_reality(
    twin: Twin, causes: Sequence[Cause], *, noise: RealityNoise | None = None
) -> Reality:
    """A stand-in that has these causes, with the numbers that were estimated."""
    parameters: dict[str, float] = {}
    effects: list[msgspec.Struct] = []
    interface: dict[str, object] = {}
    for cause in causes:
        if cause.name in EFFECTS:
            effects.append(_effect(cause))
        elif cause.name in _OFFSETS:
            offsets = {cause.joints[0]: cause.estimates[0].value}
            interface[cause.name] = {**interface.get(cause.name, {}), **offsets}  # pyright: ignore
        elif cause.name == "joint_sign":
            interface["joint_sign"] = list(cause.joints)
        else:
            parameters |= {e.name: e.value for e in cause.estimates}
    file = msgspec.convert(
        {
            "schema": 1,
            "twin": twin.name,
            "parameters": parameters,
            "effects": [msgspec.to_builtins(e) for e in effects],
            "interface": interface,
            "noise": msgspec.to_builtins(noise or RealityNoise()),
        },
        RealityFile,
    )
    truth = build_truth(file, twin)
    return Reality(name="diagnosed", file=file, twin=twin, truth=truth)


def _is_playable(cause: Cause) -> bool:
    if cause.name in ("contact", "unknown", "slosh", "quantisation"):
        return False
    return bool(cause.estimates) or cause.name == "joint_sign"


def _effect(cause: Cause) -> msgspec.Struct:
    numbers = {e.name.rsplit(".", 1)[-1]: max(e.value, 1e-9) for e in cause.estimates}
    kind = EFFECTS[cause.name]
    known = {name: numbers[name] for name in kind.__struct_fields__ if name in numbers}
    joint = {"joint": cause.joints[0]} if "joint" in kind.__struct_fields__ else {}
    return msgspec.convert({"kind": cause.name, **joint, **known}, kind)


def _score(twin: Twin, causes: Sequence[Cause], trials: Attempts, seed: int) -> Floats:
    """(attempts,) scores on a stand-in with these causes."""
    return trials.play(to_reality(twin, causes, noise=trials.noise), seed)


def _weigh(
    cause: Cause, plain: Floats, scores: Floats | None, trials: Attempts
) -> Cause:
    if scores is None:
        return cause
    interval = compute_paired_bootstrap(plain, scores)
    loss = TaskLoss(
        mean=float(np.mean(plain - scores)),
        interval=(interval.lower, interval.upper),
        measure=trials.measure,
    )
    return replace(cause, task_loss=loss)


def _tell(
    first: Cause, second: Cause, both: Floats, apart: Floats, trials: Attempts
) -> list[str]:
    """A sentence where two causes cost more, or less, together than one by one."""
    together, summed = float(both.mean()), float(apart.mean())
    spread = float((both - apart).std(ddof=1) / np.sqrt(len(both))) + 1e-12
    off = together - summed
    scale = max(abs(together), abs(summed))
    if abs(off) < _CLEARLY * scale or abs(off) < 3 * spread:
        return []
    word = "more" if off > 0 else "less"
    return [
        f"{first.name} and {second.name} cost {word} together than one by one: "
        f"{together:.3g} against {summed:.3g} of {trials.measure}."
    ]
