"""Trials over the wire: the stand-in in a process of its own, in real time."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np

from realworthy.artefacts import make_folder
from realworthy.deployment.session import TrialOutcome
from realworthy.deployment.state_machine import Phase
from realworthy.errors import RealworthyError
from realworthy.recordings import Recording, load_recording
from realworthy.tours.robots import TourRobot

_START = 20.0
"""[s] until a stand-in must have said where it listens."""
_PATIENCE = 30.0
"""[s] beyond its trials that a policy may take: checks, ways back, the start."""
_LEAVE = 5.0
"""[s] that a process which was asked to end may take for it."""
_POLL = 0.1
_CLEAN = 6
"""Trials from which on a policy moves at full speed: a stand-in hurts nobody."""
_BUSY = (
    "This machine was busy: close other programs and take the tour again, or say "
    "--no-wire"
)
_RUN = (sys.executable, "-m", "realworthy")


@dataclass(frozen=True, kw_only=True, slots=True)
class RealTrials:
    """What came of a policy's trials."""

    successes: tuple[bool, ...]
    """As an onlooker sees it."""
    recordings: tuple[Path, ...]
    refusal: str = ""
    """What a check before the trials found wrong, where there were none."""
    stopped: tuple[str, ...] = ()
    """Why guards stopped trials, one reason for each that they did."""

    @property
    def summary(self) -> str:
        """Successes of all and what stopped others, or why there were none: a busy
        machine is no robot."""
        if not self.successes:
            outcome = f"not tried: {self.refusal or 'no trial was recorded'}"
            return (
                f"{outcome}. {_BUSY}" if self.refusal.startswith("clock") else outcome
            )
        share = f"{sum(self.successes)} of {len(self.successes)}"
        if not self.stopped:
            return share
        why = "; ".join(dict.fromkeys(self.stopped))
        return f"{share}, {len(self.stopped)} stopped: {why}"

    def load(self) -> list[Recording]:
        return [load_recording(path) for path in self.recordings]


@dataclass(frozen=True, slots=True)
class _Turn:
    """Trials in which a policy is told the same."""

    inputs: Mapping[str, float]
    count: int
    folder: Path

    @property
    def report(self) -> Path:
        return self.folder / "deploy.json"


class WireTrials:
    """A robot and a policy that are under way; several may be at once.

    Nothing of it outlives its block.
    """

    def __init__(
        self,
        robot: TourRobot,
        *,
        twin: str,
        reality: Path,
        policy: Path,
        folder: Path,
        trials: int,
        truth: Mapping[str, float],
    ) -> None:
        self._robot, self._policy, self._folder = robot, policy, folder
        self._truth = truth
        self._waiting = _share_out(robot.inputs, trials, folder)
        self._turns = tuple(self._waiting)
        self._deadline = 0.0
        self._child: subprocess.Popen[bytes] | None = None
        make_folder(folder)
        longest = _START + sum(self._limit(turn) for turn in self._turns)
        where = ("--listen", "udp://127.0.0.1:0", "--seconds", str(longest))
        with self._log.open("ab") as log:
            self._stand_in = subprocess.Popen(
                (*_RUN, "robot", twin, "--reality", str(reality), *where),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                process_group=0,  # Ctrl-C is our business: we end it
            )

    def __enter__(self) -> "WireTrials":
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def advance(self) -> bool:
        """Whether all trials are over; begins those whose turn has come. Waits for
        nothing but, at first, the robot."""
        if self._child is not None and self._child.poll() is None:
            if time.monotonic() > self._deadline:
                raise RealworthyError(
                    "The trials did not end.", hint=f"Its whole output: {self._log}"
                )
            return False
        if self._child is None:
            self._address = self._hear()
        if not self._waiting:
            return True
        self._begin(self._waiting.pop(0))
        return False

    def read(self) -> RealTrials:
        """What came of the trials, once all are over."""
        judged = [
            (path, is_done and self._judge(path, turn))
            for turn in self._turns
            for path, is_done in self._list_recordings(turn)
        ]
        refusals = [find_refusals(turn.report) for turn in self._turns]
        return RealTrials(
            successes=tuple(good for _, good in judged),
            recordings=tuple(path for path, _ in judged),
            refusal="; ".join(dict.fromkeys(filter(None, refusals))),
            stopped=tuple(why for t in self._turns for why in find_stops(t.report)),
        )

    def _judge(self, path: Path, turn: _Turn) -> bool:
        trial = find_run(load_recording(path), path.with_suffix(".log.npz"))
        return self._robot.succeeded(trial, turn.inputs, self._truth)

    def close(self) -> None:
        """Ends both processes, however far they are; twice is once."""
        for process in (self._child, self._stand_in):
            if process is None:
                continue
            process.terminate()
            try:
                process.wait(_LEAVE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        assert self._stand_in.stdout is not None
        self._stand_in.stdout.close()

    @property
    def _log(self) -> Path:
        return self._folder / "deploy.log"

    def _hear(self) -> str:
        """The address at which the robot listens: its first word."""
        pipe = self._stand_in.stdout
        assert pipe is not None
        output = b""
        end = time.monotonic() + _START
        while not output.endswith(b"\n"):
            left = end - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise RealworthyError(
                    f"The stand-in robot sent nothing for {_START:g} s.",
                    hint="The machine may be busy with other work; try again later.",
                )
            more = os.read(pipe.fileno(), 4096)
            if not more:
                raise RealworthyError(
                    f"The stand-in robot did not start: {self._read_last_word()}",
                    hint=f"Its whole output: {self._log}",
                )
            output += more
        return output.split()[0].decode()

    def _begin(self, turn: _Turn) -> None:
        inputs = [f"{name}={value}" for name, value in turn.inputs.items()]
        seconds = self._robot.seconds
        turn.folder.mkdir(exist_ok=True)
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                [*_RUN, "deploy", str(self._policy), "--robot", self._address]
                + ["--yes", "--no-wiggle", "--clean-before", str(_CLEAN)]
                + ["--trials", str(turn.count), "--seconds", str(seconds)]
                + ["--output", str(turn.folder), "--json", str(turn.report)]
                + (["--input", *inputs] if inputs else []),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        self._deadline = time.monotonic() + self._limit(turn)

    def _limit(self, turn: _Turn) -> float:
        """[s] that a turn may take."""
        return 3 * turn.count * self._robot.seconds + _PATIENCE

    def _read_last_word(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it wrote no message."

    def _list_recordings(self, turn: _Turn) -> list[tuple[Path, bool]]:
        """Each with whether the trial went to its end."""
        if not turn.report.exists():
            raise RealworthyError(
                f"The policy was not deployed: {self._read_last_word()}",
                hint=f"Its whole output: {self._log}",
            )
        trials = json.loads(turn.report.read_text())["trials"]
        return [
            (Path(one["recording"]), one["outcome"] == TrialOutcome.DONE)
            for one in trials
            if one["recording"]
        ]


def find_run(trial: Recording, log: Path) -> Recording:
    """The part of a trial in which the policy led; ways there and back are ours."""
    with np.load(log) as kept:
        times = kept["state_time"][kept["phase"] == Phase.RUN]
    return trial.crop(float(times[0]), float(times[-1]))


def find_refusals(report: Path) -> str:
    """Checks that kept a policy from being tried, in their own words."""
    checks = json.loads(report.read_text())["checks"]
    return ", ".join(f"{c['name']}: {c['text']}" for c in checks if not c["passed"])


def find_stops(report: Path) -> list[str]:
    """Why guards stopped trials, in their own words."""
    trials = json.loads(report.read_text())["trials"]
    return [one["reason"] for one in trials if one["outcome"] == TrialOutcome.FAULT]


def wait_for(deployments: Sequence[WireTrials]) -> None:
    """Until all trials of all are over; they run side by side."""
    under_way = list(deployments)
    while under_way:
        under_way = [one for one in under_way if not one.advance()]
        time.sleep(_POLL)


def _share_out(
    inputs: Sequence[Mapping[str, float]], trials: int, folder: Path
) -> list[_Turn]:
    """Trials in turn to what a policy may be told; those told alike follow another."""
    turns = []
    for k, settings in enumerate(inputs[:trials]):
        place = folder if len(inputs) == 1 else folder / f"input_{k + 1}"
        turns.append(_Turn(settings, len(range(k, trials, len(inputs))), place))
    return turns
