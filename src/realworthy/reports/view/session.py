"""What happens behind the page, whoever looks at it: plays, e, time, verdicts."""

import math
import queue
import threading
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from realworthy.policies import Policy, load_policy
from realworthy.recordings import Recording
from realworthy.reports.view.play import EpisodeVerdict, Play, Reading
from realworthy.reports.view.policy_play import HoldPlay, PolicyPlay
from realworthy.reports.view.replay_play import ReplayPlay
from realworthy.reports.view.slider_ranges import SliderRanges, choose_slider_ranges
from realworthy.twins import Twin

if TYPE_CHECKING:
    from realworthy.tasks.catalogue import TaskLike
    from realworthy.tasks.definition import TaskDefinition

WINDOW = 8.0
"""[s] of the past that is kept to plot."""
_LINGER = 1.2
"""[s] for which the end of an episode is left in view."""
_AT_MOST = 0.1
"""[s] of the clock to catch up in one go; more than that is dropped, and said."""
_HARDEST = 10.0
"""[m/s or rad/s] of a push."""
_READINGS = 200
"""That are kept of the window."""


class Session:
    """One simulation, shared by all who look; one thread advances it.

    Others say what they want through `ask`, which is done before the next step.
    """

    def __init__(self, twin: Twin, plays: Sequence[Play], knobs: SliderRanges) -> None:
        self.twin, self.plays, self.knobs = twin, tuple(plays), knobs
        self.play = self.plays[0]
        self.values: dict[str, float] = {}
        """Numbers of e that were moved from their nominals."""
        self.told: dict[str, float] = {}
        self.is_playing = True
        self.speed = 1.0
        """Of simulated time over that of the clock."""
        self.verdict: EpisodeVerdict | None = None
        """How the last episode ended."""
        self.good_count = self.bad_count = 0
        """Episodes since something was changed."""
        self.history: deque[Reading] = deque()
        self.clock = 0.0
        """[s] simulated since the play was chosen or restarted."""
        self.changed = threading.Event()
        """Set when somebody has asked for something."""
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._owed = self._linger = 0.0
        self._due = 0.0
        self._must_write = False

    @property
    def lingers(self) -> bool:
        """Whether the end of an episode is being looked at."""
        return self._linger > 0

    def ask(self, wish: Callable[[], None]) -> None:
        """From any thread: something to do before the next step."""
        self._asked.put(wish)
        self.changed.set()

    def advance(self, seconds: float) -> float:
        """Does what was asked, then simulates for as long as the clock went on.

        Returns the simulated seconds; less than `seconds · speed` where the time is up,
        it is paused, or the end of an episode is looked at.
        """
        self._do_asked()
        if not self.is_playing:
            return 0.0
        if self._linger > 0:
            self._linger -= seconds
            return 0.0
        most = _AT_MOST * max(1.0, self.speed) + self.play.period  # a part is no delay
        self._owed = min(self._owed + seconds * self.speed, most)
        done = 0.0
        while self._owed >= self.play.period and not self._linger > 0:
            self._owed -= self.play.period
            done += self.play.period
            self.step()
        return done

    def step(self) -> None:
        """One step of the play, and what comes of it."""
        verdict = self.play.step()
        self.clock += self.play.period
        if verdict is not None:
            self.verdict = verdict
            self.good_count += verdict.is_good is True
            self.bad_count += verdict.is_good is False
            self._linger, self._owed = _LINGER, 0.0
        if self.clock >= self._due:
            self._note()

    def choose(self, name: str) -> None:
        """Another play, from its beginning; a name that is none changes nothing."""
        self.play = next((p for p in self.plays if p.name == name), self.play)
        self.let_go()
        self._must_write = True
        self.restart()

    def restart(self) -> None:
        """The play from its beginning, with e as it is."""
        self.play.restart()
        self.history.clear()
        self.clock = self._due = self._owed = self._linger = 0.0
        self._forget_verdicts()

    def set_value(self, name: str, value: float) -> None:
        """A number of e, in its unit; as far as its widest slider goes."""
        if name not in self.knobs.space or not math.isfinite(value):
            return  # from a page that is none of ours
        widest = self.knobs[name].widened()
        value = min(max(value, widest.lower), widest.upper)
        if math.isclose(value, self.knobs[name].nominal, rel_tol=1e-9, abs_tol=1e-12):
            self.values.pop(name, None)
        else:
            self.values[name] = value
        self._must_write = True

    def set_values(self, values: Mapping[str, float]) -> None:
        """All numbers of e: these, and nominal ones elsewhere."""
        self.values = {}
        for name, value in values.items():
            self.set_value(name, value)
        self._must_write = True

    def draw(self, seed: int) -> dict[str, float]:
        """A sample of the belief, which e becomes."""
        belief = self.twin.belief
        drawn = belief.space.values(belief.sample(1, seed=seed)[0])
        self.set_values(drawn)
        return drawn

    def tell(self, name: str, value: float) -> None:
        """One of the play's inputs, from now on, within its range."""
        if name not in self.play.inputs or not math.isfinite(value):
            return
        ends = self.play.inputs[name]
        self.told[name] = min(max(value, ends.lower), ends.upper)
        self.play.tell(self.told)

    def let_go(self) -> None:
        """Inputs are again as the play likes."""
        self.told = {}
        self.play.tell({})

    def push(self, speed: float) -> None:
        """See `World.push`; at most ten."""
        if math.isfinite(speed):
            self.play.push(min(max(speed, -_HARDEST), _HARDEST))

    def _do_asked(self) -> None:
        self.changed.clear()
        while True:
            try:
                wish = self._asked.get_nowait()
            except queue.Empty:
                break
            wish()
        if self._must_write:
            self._must_write = False
            self.play.write(self.values)
            self._forget_verdicts()

    def _forget_verdicts(self) -> None:
        self.verdict = None
        self.good_count = self.bad_count = 0

    def _note(self) -> None:
        """Keeps what is now, as often as the window has room for."""
        self._due = self.clock + WINDOW / _READINGS
        self.history.append(replace(self.play.read(), time=self.clock))
        while self.history[0].time < self.clock - WINDOW:
            self.history.popleft()


def build_session(
    twin: Twin,
    *,
    policy: Policy | Path | str | None = None,
    recordings: Sequence[Recording] = (),
    task: "TaskLike | None" = None,
) -> Session:
    """A session with a play for the policy or task, one for each recording.

    A policy is judged by its task where the twin can do that task; with `task` alone
    its reference controller acts.
    """
    if policy is not None and not isinstance(policy, Policy):
        policy = load_policy(policy)
    definition = _find_task(twin, policy, task)
    if definition is not None:
        twin = _fit(twin, policy, definition)
    knobs = choose_slider_ranges(twin)
    plays: list[Play] = []
    if policy is not None or definition is not None:
        is_asked = task is not None
        acting = _build_acting(twin, knobs, policy, definition, is_asked=is_asked)
        plays.append(acting)
    plays += [ReplayPlay(twin, knobs.space, recording) for recording in recordings]
    plays.append(HoldPlay(twin, knobs.space))
    return Session(twin, _name_apart(plays), knobs)


def _find_task(
    twin: Twin, policy: Policy | None, task: "TaskLike | None"
) -> "TaskDefinition | None":
    """The task that is asked for, or else the policy's own.

    None: there is none, or it is not to be had here. A policy can be watched without.
    """
    from realworthy.errors import RealworthyError
    from realworthy.tasks.catalogue import find_learned_task, find_task
    from realworthy.tasks.trial_play import check_task

    if task is not None:
        definition = find_task(task)
        if policy is not None and definition.is_task_of(policy.contract):
            learned = policy.contract.task_settings
            definition = definition.with_settings({**learned, **definition.settings})
        check_task(definition, twin)
        return definition
    if policy is None:
        return None
    try:
        definition = find_learned_task(policy.contract, policy.path)
        check_task(definition, twin)
        return definition
    except RealworthyError as error:
        if policy.contract.task_file is not None:
            warnings.warn(f"Successes are not counted: {error}", stacklevel=3)
        return None


def _fit(twin: Twin, policy: Policy | None, task: "TaskDefinition") -> Twin:
    """The twin with what the task adds to it; as it is where it cannot do the task."""
    from realworthy.errors import RealworthyError
    from realworthy.tasks.catalogue import prepare_twin

    try:
        return prepare_twin(task, twin, policy.contract.roles if policy else None)
    except RealworthyError:
        return twin  # said where the task is needed


def _build_acting(
    twin: Twin,
    knobs: SliderRanges,
    policy: Policy | None,
    task: "TaskDefinition | None",
    *,
    is_asked: bool,
) -> Play:
    from realworthy.errors import RealworthyError

    judged = None
    if task is not None:
        try:
            judged = _build_judged(twin, knobs, policy, task, is_asked=is_asked)
        except RealworthyError:
            if is_asked or policy is None:
                raise
            # nobody asked for the task, and this twin cannot do it
    if judged is not None:
        return judged
    assert policy is not None
    return PolicyPlay(twin, knobs.space, policy)


def _build_judged(
    twin: Twin,
    knobs: SliderRanges,
    policy: Policy | None,
    task: "TaskDefinition",
    *,
    is_asked: bool,
) -> Play | None:
    from realworthy.errors import RealworthyError
    from realworthy.reports.view.task_play import TaskPlay, can_judge

    built = task.build(twin)
    if policy is None or can_judge(built, policy):
        return TaskPlay(built, knobs.space, policy)
    if is_asked:
        raise RealworthyError(
            f"Task '{task.name}' cannot judge {policy.path.name}: its actions or its "
            "rate are not those of the task.",
            hint="Leave out --task to watch the policy without counting successes.",
        )
    return None


def _name_apart(plays: list[Play]) -> list[Play]:
    """Gives plays of one name numbers, so that each can be chosen."""
    names = [play.name for play in plays]
    for place, play in enumerate(plays):
        if names.count(names[place]) > 1:
            play.name = f"{play.name} ({names[: place + 1].count(names[place])})"
    return plays
