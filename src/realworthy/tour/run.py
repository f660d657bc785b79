"""The story: a wrong twin, a hidden truth, and the loop that closes the gap."""

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from realworthy.certification.certificate import Certificate
from realworthy.certification.certify import CertifySettings, certify
from realworthy.certification.examine import to_share
from realworthy.certification.realities import play_reality
from realworthy.certification.results import Share
from realworthy.certification.subject import build_subject
from realworthy.certification.suite import Coverage, Suite, quick_suite
from realworthy.diagnosis import diagnose
from realworthy.errors import RealworthyError, UnknownName
from realworthy.gap import measure
from realworthy.identification import calibrate
from realworthy.identification.excitation import record_motion
from realworthy.identification.excitation.excite import excite
from realworthy.identification.excitation.limits import LimitSettings
from realworthy.identification.excitation.settings import ExcitationSettings
from realworthy.realities import StandIn, save_reality
from realworthy.recordings import Recording, save_recording
from realworthy.recordings.motion import save_motion
from realworthy.tasks.catalogue import TASKS
from realworthy.tour.hidden import hide, record_sines
from realworthy.tour.robots import ROBOTS, TourRobot
from realworthy.tour.trials import Deployment, RealTrials
from realworthy.tour.ways import Way, train_way
from realworthy.twins import load_twin, save_twin

EPISODES = 200
"""On the hidden reality, faster than real time."""
TRIALS = 3
"""Of each policy over the wire, in real time."""
_LEAST = 1.0
"""[s] of a recording that is worth fitting."""
_MOTION = 8.0
"""[s] of the motion that is designed."""
_SHORT = 3.0
"""[s] of the recordings that are diagnosed."""
Tell = Callable[[str, str], None]
"""The command of a step, and what it found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fared:
    """How one policy fared."""

    way: Way
    policy: Path
    simulated: float
    """Share of successes in worlds like those it was trained in."""
    certificate: Certificate
    real: Share
    """On the hidden reality, faster than real time."""
    trials: RealTrials | None
    """Over the wire, in real time."""

    @property
    def gap(self) -> float:
        """What simulation promised beyond what the robot showed."""
        return self.simulated - self.real.mean


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A number of the twin: as published, as calibrated, and the truth."""

    name: str
    unit: str
    nominal: float
    mean: float
    sd: float
    truth: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Explained:
    """Why twin and robot differ, before anything was fitted."""

    summary: str
    causes: tuple[tuple[str, float], ...]
    """Name and share of the gap, the largest first."""


@dataclass(kw_only=True, slots=True)
class Tour:
    """Everything that was found on the way."""

    robot: TourRobot
    seed: int
    folder: Path
    truth: dict[str, float] = field(default_factory=dict)
    gap_before: float = 0.0
    """[rad or m] replay error of the twin as published."""
    gap_after: float = 0.0
    """Of the calibrated twin, on recordings that it was not fitted to."""
    gap_again: float | None = None
    """Of the calibrated twin, on the trials of its own policy."""
    diagnosis: Explained | None = None
    estimates: tuple[Estimate, ...] = ()
    fared: tuple[Fared, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    """[s] of each step; some ran side by side."""

    @property
    def helped(self) -> bool:
        """Whether calibration did better than the twin as published, beyond doubt."""
        shares = {each.way: each.real for each in self.fared}
        return shares[Way.CALIBRATED].lower > shares[Way.NOMINAL].upper


def take_tour(
    robot: str = "pendulum",
    *,
    folder: Path,
    seed: int = 0,
    with_wire: bool = True,
    tell: Tell | None = None,
) -> Tour:
    """Once around the loop; `folder` keeps every file that a step makes."""
    if robot not in ROBOTS:
        hint = "All: realworthy tour --help"
        raise UnknownName("robot", robot, ROBOTS, owner="The tour", hint=hint)
    if folder.exists() and any(folder.iterdir()):
        raise RealworthyError(
            f"'{folder}' is not empty.", hint="Give the tour a folder of its own."
        )
    folder.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        return _Story(ROBOTS[robot], folder, seed, pool, tell or _say_nothing).tell_it(
            with_wire=with_wire
        )


class _Story:
    def __init__(
        self,
        robot: TourRobot,
        folder: Path,
        seed: int,
        pool: ProcessPoolExecutor,
        tell: Tell,
    ) -> None:
        self.robot, self.folder, self.seed = robot, folder, seed
        self.pool, self.tell = pool, tell
        self.tour = Tour(robot=robot, seed=seed, folder=folder)
        self.twin = load_twin(TASKS[robot.task].twin)
        self.calibrated = folder / "calibrated.twin.yaml"
        self._reality = hide(robot, self.twin, seed=seed)
        self._began = time.perf_counter()

    def tell_it(self, *, with_wire: bool) -> Tour:
        trained = {
            way: self._train(way) for way in (Way.NOMINAL, Way.WIDE)
        }  # needs nothing of the robot: runs beside what follows
        recordings = self._record()
        self._measure(recordings)
        examined = self.pool.submit(_diagnose, self.twin.reference, self._short())
        self._calibrate([*recordings, *self._excite()])
        trained[Way.CALIBRATED] = self._train(Way.CALIBRATED)
        self._hear(examined.result())
        done = {way: future.result() for way, future in trained.items()}
        self._tick("train")
        for way, (_, simulated) in done.items():
            self.tell("train", f"{way}: {simulated:.0%} of its own worlds succeed.")
        papers = self._certify({way: policy for way, (policy, _) in done.items()})
        trials = self._deploy(done) if with_wire else {}
        self.tour.fared = tuple(
            Fared(
                way=way,
                policy=policy,
                simulated=simulated,
                certificate=papers[way],
                real=self._judge(policy),
                trials=trials.get(way),
            )
            for way, (policy, simulated) in done.items()
        )
        self._tick("judge")
        self._measure_again(trials)
        self.tour.truth = dict(self._reality.file.parameters)
        return self.tour

    def _train(self, way: Way) -> "Future[tuple[Path, float]]":
        return self.pool.submit(
            train_way,
            self.robot.task,
            way,
            calibrated=self.calibrated,
            output=self.folder / "runs" / way,
            steps=self.robot.steps,
            seed=self.seed,
        )

    def _record(self) -> list[Recording]:
        found = record_sines(self.robot, self._reality, count=3, seconds=6.0)
        self._keep(found, "first")
        self.tell("record", f"{len(found)} motions of 6 s on the robot.")
        return found

    def _short(self) -> list[Recording]:
        """For the diagnosis, whose time goes with their length."""
        return record_sines(self.robot, self._reality, count=2, seconds=_SHORT, first=7)

    def _keep(self, recordings: list[Recording], name: str) -> None:
        place = self.folder / "recordings"
        place.mkdir(exist_ok=True)
        for i, recording in enumerate(recordings, 1):
            save_recording(recording, place / f"{name}_{i}.npz")

    def _measure(self, recordings: list[Recording]) -> None:
        self.tour.gap_before = measure(self.twin, recordings).replay.position_rmse
        self._tick("measure")
        self.tell(
            "measure", f"The twin is off by {self.tour.gap_before:.3g} rad on replay."
        )

    def _excite(self) -> list[Recording]:
        """The motion that tells most about the twin's drives, on the robot."""
        settings = ExcitationSettings(
            seconds=_MOTION, period=_MOTION, generation_count=2, check_count=4
        )
        gentle = LimitSettings(speed=2.5, acceleration=10.0, torque_share=0.5)
        found = excite(self.twin, settings=settings, limits=gentle)
        save_motion(found.motion, self.folder / "motion.csv")
        done = record_motion(StandIn(self._reality), found.motion, self.twin)
        self._tick("excite")
        lasted = done.recording.duration
        self._keep([done.recording], "excited")
        said = f"A motion that tells most about its drives: {lasted:.1f} s recorded."
        if done.reason:
            said += f" The guard ended it: {done.reason}."
        self.tell("excite", said)
        return [done.recording] if lasted >= _LEAST else []

    def _calibrate(self, recordings: list[Recording]) -> None:
        found = calibrate(self.twin, recordings)
        save_twin(found.twin, self.calibrated)
        self.tour.gap_after = found.after
        true = self._reality.file.parameters
        self.tour.estimates = tuple(
            Estimate(
                name=one.name,
                unit=one.unit,
                nominal=one.before,
                mean=one.mean,
                sd=one.sd,
                truth=true.get(one.name, self.twin.space[one.name].nominal),
            )
            for one in found.estimates
            if one.is_fitted
        )
        self._tick("calibrate")
        self.tell(
            "calibrate",
            f"Unseen motions: off by {found.before:.3g}, now {found.after:.3g} rad.",
        )

    def _hear(self, found: Explained) -> None:
        self.tour.diagnosis = found
        self._tick("diagnose")
        self.tell("diagnose", found.summary)

    def _certify(self, policies: dict[Way, Path]) -> dict[Way, Certificate]:
        asked = {
            way: self.pool.submit(
                _certify, policy, str(self.calibrated), self.folder / "papers" / way
            )
            for way, policy in policies.items()
        }
        found = {way: future.result() for way, future in asked.items()}
        self._tick("certify")
        for way, paper in found.items():
            lower = paper.success.lower
            self.tell("certify", f"{way}: {paper.verdict}, at least {lower:.0%}.")
        return found

    def _deploy(self, done: dict[Way, tuple[Path, float]]) -> dict[Way, RealTrials]:
        reality = self.folder / "hidden.reality.yaml"
        save_reality(self._reality.file, reality)
        under_way = {
            way: Deployment(
                self.robot,
                twin=TASKS[self.robot.task].twin,
                reality=reality,
                policy=policy,
                folder=self.folder / "trials" / way,
                trials=TRIALS,
                inputs=self.robot.inputs[0],
            )
            for way, (policy, _) in done.items()
        }
        found = {way: deployment.finish() for way, deployment in under_way.items()}
        self._tick("deploy")
        for way, trials in found.items():
            good, count = sum(trials.successes), len(trials.successes)
            self.tell("deploy", f"{way}: {good} of {count} trials over the wire.")
        return found

    def _judge(self, policy: Path) -> Share:
        subject = build_subject(policy, twin=self.twin)
        found = play_reality(subject, self._reality, EPISODES, seed=self.seed + 17)
        return to_share(found.success_count, found.valid_count)

    def _measure_again(self, trials: dict[Way, RealTrials]) -> None:
        own = trials.get(Way.CALIBRATED)
        if own is None or not own.recordings:
            return
        found = measure(load_twin(str(self.calibrated)), own.load())
        self.tour.gap_again = found.replay.position_rmse
        self.tell("measure", f"Its own trials: off by {self.tour.gap_again:.3g} rad.")

    def _tick(self, step: str) -> None:
        now = time.perf_counter()
        self.tour.seconds[step] = now - self._began


def _diagnose(twin: str, recordings: list[Recording]) -> Explained:
    found = diagnose(load_twin(twin), recordings)
    return Explained(
        summary=found.summary,
        causes=tuple((cause.name, cause.share) for cause in found.causes),
    )


def _certify(policy: Path, twin: str, output: Path) -> Certificate:
    return certify(
        policy, twin=twin, output=output, settings=CertifySettings(suite=tour_suite())
    )


def tour_suite() -> Suite:
    """MuJoCo and SAPIEN, stress, and the limits; in seconds."""
    suite = quick_suite()
    return msgspec.structs.replace(
        suite, name="tour", coverage=Coverage(realities=40, episodes=32, scales=(1.0,))
    )


def _say_nothing(_step: str, _found: str) -> None:
    pass
