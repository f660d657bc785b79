"""One guarded connection to a robot: every command passes the same gate.

`GuardedRobot.step` is the only place from which anything writes to a robot: trials of a
policy, motions that are recorded, experiments on a bench. It reads, lets the watchdogs
judge, asks for a target, filters it, and sends what is left; on a fault it sends
nothing, brakes and says why.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment.decision import FINE, Decision, GuardVerdict, worst
from realworthy.deployment.drives import Drives
from realworthy.deployment.filter import (
    Activations,
    CommandFilter,
    Filtered,
    FilterSettings,
)
from realworthy.deployment.loop import Beat, Loop
from realworthy.deployment.signals import EmergencyStop
from realworthy.deployment.state_machine import Machine, Phase
from realworthy.deployment.trial_log import LogEntry, TrialLog
from realworthy.deployment.watchdogs import Sample, Watchdogs, WatchdogSettings
from realworthy.robots import Command, Mode, Robot, State
from realworthy.robots.clock import Clock, find_clock
from realworthy.robots.limits import Limits

Floats = NDArray[np.float64]
Choose = Callable[[State], Floats]
"""From a measurement to the commands that somebody would like to send."""
_LONGEST_HOLD_S = 0.5
"""[s] after which a hold that does not end becomes damping. By hand, 2026-11-15: a
robot whose operator is lost for 1 s (`operator_trip`) brakes half a second later."""
_PUSHING_EFFORT_SHARE = 0.05
"""Share of a drive's largest effort from which it must show in some measurement: less
may be what friction holds. By hand, 2026-11-18; not tuned."""
_BRAKING_ATTEMPTS = 4
"""Times that braking is tried where the driver itself fails; the last is a stop."""


@dataclass(kw_only=True, slots=True)
class GuardSettings:
    """How tight the guards are."""

    filter: FilterSettings = field(default_factory=FilterSettings)
    watchdogs: WatchdogSettings = field(default_factory=WatchdogSettings)


class GuardedRobot:
    """A robot, its clock and its guards, from `connect` to `brake`."""

    def __init__(
        self,
        robot: Robot,
        drives: Drives,
        period: float,
        clock: Clock | None = None,
        settings: GuardSettings | None = None,
        *,
        limits: Limits | None = None,
        log: TrialLog | None = None,
    ) -> None:
        """`limits` are those of the hardware; by default what bounds commands.

        `clock` is by default the machine's, or that of a robot which steps its time.
        """
        settings = settings or GuardSettings()
        clock = clock or find_clock(robot)
        self.robot, self.drives, self.clock, self.period = robot, drives, clock, period
        self.machine = Machine()
        self.loop = Loop(period, clock)
        self.filter = CommandFilter(drives, period, settings.filter)
        self.watchdogs = Watchdogs(
            robot.info,
            limits or drives.limits(robot.info),
            period,
            settings.watchdogs,
        )
        self.log = log or TrialLog(robot.info)
        self.braked = 0
        """Steps in which the robot braked by itself though it was commanded."""
        self.deviation: Floats | None = None
        """Of the last observation from training, in standard deviations."""
        self.beat: Callable[[], float | None] = lambda: None
        """[s] since the operator was last heard; None where nobody has to be."""
        ends = np.maximum(drives.command_upper, -drives.command_lower)
        self._strongest = np.minimum(ends, drives.torque)
        self._activations = Activations(period, settings.filter)
        self.is_slowed = False
        """Whether the operator asked for less speed than the policy may use."""
        self.interruption: KeyboardInterrupt | None = None
        """What the operator pressed while braking went on."""
        self._sequence = 0
        self._follows = False
        """Whether the robot has followed a command yet: until then it brakes
        rightly."""
        self._held_since: float | None = None

    def connect(self) -> State:
        """Connects; the robot brakes and is measured."""
        self.robot.connect()
        self.machine.change(Phase.PASSIVE, self.clock.now())
        state = self.robot.read()
        self.start_from(state)
        return state

    def start_from(self, state: State) -> None:
        """What is followed already: where the robot is, or nothing.

        A drive whose joint nobody knows is taken to be where it rests.
        """
        drives = self.drives
        rest = np.nan_to_num(np.broadcast_to(drives.rest, drives.width))
        at = np.where(drives.is_driven, drives.of_joints(state.position), rest)
        self.filter.reset(np.where(self.drives.is_position, at, 0.0))

    def step(
        self,
        choose: Choose,
        *,
        speed_share: float = 1.0,
        is_policy: bool = False,
        expected: tuple[str, ...] = (),
        rest: Floats | None = None,
    ) -> Decision:
        """One beat: GO where a command was sent; from DAMP on the robot brakes.

        `is_policy` adds what a policy or a planned motion is held to: it must not lean
        on its limits, but for those of the `expected` stages.
        `rest` (joints,) is where a robot lay that is led back, be it out of range.
        """
        beat = self.loop.wait()
        if not self.machine.may_follow:
            reason = f"no command may be sent in phase {self.machine.phase}"
            return self.fault(Decision(GuardVerdict.DAMP, "phase", reason))
        state = self.robot.read()
        read = self.clock.now()
        sample = self._take_sample(beat, state, read, is_policy=is_policy)
        braking = self._judge_braking(state)
        decision = self._judge_measured(sample, rest)
        if decision.is_fault:
            return self.fault(decision)
        holds = decision.verdict is GuardVerdict.HOLD
        target = self._hold() if holds else choose(state)
        filtered = self._bound(target, state, read, speed_share, rest)
        decision = worst([filtered.decision, decision])
        if is_policy and not holds and filtered.command is not None:
            leaning = self._judge_leaning(filtered.acted, speed_share, expected)
            decision = worst([leaning, decision])
        command = self._send_or_brake(filtered.command, decision)
        self.log.append(
            LogEntry(
                read=read,
                sent=self.clock.now(),
                late=beat.late,
                phase=self.machine.phase,
                state=state,
                target=target,
                command=command,
                acted=filtered.acted,
                verdict=decision.verdict,
                braking=braking,
            )
        )
        return decision

    def _take_sample(
        self, beat: Beat, state: State, read: float, *, is_policy: bool
    ) -> Sample:
        """What the watchdogs see of this step."""
        return Sample(
            now=read,
            state=state,
            command=self.filter.last,
            pushes=self._pushes(),
            overrun=beat.overrun,
            late=beat.late,
            deviation=self.deviation if is_policy else None,
            operator_age=self.beat(),
        )

    def _judge_measured(self, sample: Sample, rest: Floats | None) -> Decision:
        """Whether what was measured allows a command, holds the robot or brakes it."""
        self.watchdogs.rest = rest
        decision = worst(
            [
                self.watchdogs.judge(sample),
                self.watchdogs.judge_following(sample.now, sample.state),
                self._judge_log(),
            ]
        )
        return self._judge_hold(decision, sample.now)

    def _bound(
        self,
        target: Floats,
        state: State,
        read: float,
        speed_share: float,
        rest: Floats | None,
    ) -> Filtered:
        """The target within every limit; none where choosing it took too long."""
        took = self.clock.now() - read
        if took > self.watchdogs.settings.age_trip * self.period:
            reason = f"it took {1e3 * took:.0f} ms to choose a command"
            return Filtered(None, Decision(GuardVerdict.DAMP, "policy_time", reason))
        at = None if rest is None else self.drives.of_joints(rest)
        return self.filter.apply(
            target,
            state.position,
            state.velocity,
            speed_share=speed_share,
            widen=None if at is None else (at, at),
        )

    def _judge_leaning(
        self, acted: tuple[str, ...], speed_share: float, expected: tuple[str, ...]
    ) -> Decision:
        """Whether a policy leans on its limits; those of a slowed robot may act."""
        slowed = speed_share < 1 or self.is_slowed
        may = (*expected, *(("rate", "speed") if slowed else ()))
        return self._activations.judge(acted, expected=may)

    def _send_or_brake(
        self, command: Floats | None, decision: Decision
    ) -> Floats | None:
        """Writes a command that no guard refused, or brakes; what was sent."""
        if command is None or decision.is_fault:
            self.fault(decision)
            return None
        self._sequence += 1
        self.robot.write(Command(sequence=self._sequence, values=command))
        return command

    def fault(self, decision: Decision) -> Decision:
        """Brakes at once, or stops; the reason is kept."""
        stops = decision.verdict is GuardVerdict.STOP
        phase = Phase.STOPPED if stops else Phase.FAULT_DAMP
        self.machine.change(phase, self.clock.now(), decision.reason)
        self.brake(stops=stops)
        return decision

    def brake(self, *, stops: bool = False) -> str:
        """Makes the robot brake, or stop, whatever its driver does; what failed."""
        failure = ""
        for attempt in range(_BRAKING_ATTEMPTS):
            try:
                if stops or (attempt == _BRAKING_ATTEMPTS - 1 and failure):
                    self.robot.stop()
                else:
                    self.robot.damp()
                break
            except KeyboardInterrupt as error:  # braking comes first
                self.interruption = error
                stops = stops or isinstance(error, EmergencyStop)
            except BaseException as error:
                failure = f"braking failed: {error!r}"
        if stops:
            reason = "emergency stop"
            self.machine.change(Phase.STOPPED, self.clock.now(), reason)
        return failure

    def _judge_braking(self, state: State) -> bool:
        """Whether the robot brakes by itself now; such steps are counted."""
        self._follows |= state.mode is Mode.RUN
        braking = self._follows and state.mode is Mode.DAMP
        self.braked += braking
        return braking

    def _pushes(self) -> bool:
        """Whether an effort was sent last that is more than what friction may hold."""
        if self.filter.last is None or self.drives.can_hold:
            return False
        share = np.abs(self.filter.last) > _PUSHING_EFFORT_SHARE * self._strongest
        return bool((share & ~self.drives.is_position).any())

    def _judge_log(self) -> Decision:
        """A robot does not move on where what it does cannot be kept."""
        failure = self.log.journal.failure
        if failure is None:
            return FINE
        reason = f"what happens cannot be kept: {failure.strerror}"
        return Decision(GuardVerdict.DAMP, "disk", reason)

    def _hold(self) -> Floats:
        assert self.filter.last is not None
        return np.where(self.drives.is_position, self.filter.last, 0.0)

    def _judge_hold(self, decision: Decision, now: float) -> Decision:
        """A hold that lasts, or that a drive without a place to hold cannot do."""
        if decision.verdict is not GuardVerdict.HOLD:
            self._held_since = None
            return decision
        if self._held_since is None:
            self._held_since = now
        if not self.drives.can_hold or now - self._held_since > _LONGEST_HOLD_S:
            return Decision(GuardVerdict.DAMP, decision.guard, decision.reason)
        return decision
