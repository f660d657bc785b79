"""Trials over the wire: the stand-in in a process of its own, in real time."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from realworthy.errors import RealworthyError
from realworthy.recordings import Recording, load_recording
from realworthy.tour.robots import TourRobot

_PATIENCE = 30.0
"""[s] beyond its trials that a deployment may take: checks, ways back, the start."""
_CLEAN = 6
"""Trials from which on a policy moves at full speed: a stand-in hurts nobody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RealTrials:
    """What came of a policy's trials."""

    outcomes: tuple[str, ...]
    """`done`, `fault`, …, of each."""
    successes: tuple[bool, ...]
    """By what the robot measured itself."""
    recordings: tuple[Path, ...]
    late_us: float
    """[µs] by which the loop was late, 99 % of steps at most."""

    def load(self) -> list[Recording]:
        return [load_recording(path) for path in self.recordings]


class Deployment:
    """A robot and a policy that are under way; several may be at once."""

    def __init__(
        self,
        robot: TourRobot,
        *,
        twin: str,
        reality: Path,
        policy: Path,
        folder: Path,
        trials: int,
        inputs: Mapping[str, float],
    ) -> None:
        self._robot, self._folder, self._inputs = robot, folder, inputs
        self._seconds = trials * robot.seconds
        folder.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            (*_RUN, "robot", twin, "--reality", str(reality), *_LISTEN),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline().split()
        if not said:
            raise RealworthyError("The stand-in robot did not start.")
        given = [f"{name}={value}" for name, value in inputs.items()]
        self._child = subprocess.Popen(
            [*_RUN, "deploy", str(policy), "--robot", said[0], "--yes", "--no-wiggle"]
            + ["--trials", str(trials), "--seconds", str(robot.seconds)]
            + ["--clean-before", str(_CLEAN), "--output", str(folder), "--overwrite"]
            + ["--json", str(folder / "deploy.json")]
            + (["--input", *given] if given else []),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self) -> RealTrials:
        """Waits for the last trial, and ends the robot."""
        try:
            _, wrong = self._child.communicate(timeout=3 * self._seconds + _PATIENCE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            raise RealworthyError("The trials did not end.") from None
        finally:
            self._process.terminate()
            self._process.wait(10)
        report = self._folder / "deploy.json"
        if not report.exists():
            raise RealworthyError(f"The policy was not deployed: {wrong.strip()}")
        tree = json.loads(report.read_text())
        kept = [Path(trial["recording"]) for trial in tree["trials"]]
        return RealTrials(
            outcomes=tuple(trial["outcome"] for trial in tree["trials"]),
            successes=tuple(self._judge(path) for path in kept),
            recordings=tuple(kept),
            late_us=float(tree["loop"]["p99_us"]),
        )

    def _judge(self, path: Path) -> bool:
        return self._robot.succeeded(load_recording(path), self._inputs)


_LISTEN = ("--listen", "udp://127.0.0.1:0")
_RUN = (sys.executable, "-m", "realworthy")
