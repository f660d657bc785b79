"""The story: a wrong twin, a hidden truth, and the loop that closes the gap."""

import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, ParamSpec, TypeVar

import msgspec

from realworthy.artefacts import (
    is_vacant,
    locked_folder,
    make_folder,
    put_contents_aside,
)
from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.results import Share, to_share
from realworthy.certification.certify import CertifySettings, certify
from realworthy.certification.examination.parts import start_processes
from realworthy.certification.rollouts.realities import play_reality
from realworthy.certification.subject import build_subject
from realworthy.certification.suite.suite import Coverage, Suite, quick_suite
from realworthy.diagnosis import diagnose
from realworthy.diagnosis.search import SearchSettings
from realworthy.errors import RealworthyError
from realworthy.gap import measure
from realworthy.identification import calibrate
from realworthy.identification.excitation import record
from realworthy.identification.excitation.design_task import ExcitationSettings
from realworthy.identification.excitation.excite import excite
from realworthy.progress import Progress, ignore
from realworthy.realities import RealityFile, StandIn, make_reality, save_reality
from realworthy.recordings import Recording, save_recording
from realworthy.recordings.motion import save_motion
from realworthy.reports.elements.numbers import find_units, join_units
from realworthy.tasks.catalogue import find_task
from realworthy.tasks.trial_play import check_task
from realworthy.tours.hidden_truth import hide, record_sines
from realworthy.tours.robots import TourRobot, find_robot
from realworthy.tours.tour import (
    HiddenParameter,
    PolicyResult,
    Tour,
    TourDiagnosis,
    TourSettings,
)
from realworthy.tours.training import Way, train_way
from realworthy.tours.trials import RealTrials, WireTrials, wait_for
from realworthy.twins import load_twin, save_twin

_MIN_SECONDS_TO_FIT = 1.0
"""[s] of a recording that is worth fitting; a stopped one may be shorter."""
_MOTION = 8.0
"""[s] of the motion that is designed."""
_UNSEEN_SECONDS = 3.0
"""[s] of the recordings by which the twin is measured."""
_GLANCE, _PATIENCE = 2.0, 20.0
"""[s] of each that are diagnosed, whose time goes with their length, and [s] after
which no further cause is looked for."""
_AHEAD = 0.5
"""[s] that trials are predicted: what a policy holds up would fall in a replay."""
_NICE = 10
"""Of training and certificates: calibration and diagnosis, which others wait for, go
first."""
_UNFINISHED = ".unfinished"
"""The file in a tour's folder that says so: a tour cannot go on, and must not block."""
_ELSEWHERE = 17
"""From a tour's seed to that of the episodes on the robot."""
_STAGES = 11
"""Lines that every tour tells."""
_ON_THE_WIRE = 4
"""And with trials in real time."""
P = ParamSpec("P")
T = TypeVar("T")


def tour(
    robot: TourRobot | str = "pendulum",
    *,
    output: Path | str | None = None,
    settings: TourSettings | None = None,
    finish: Callable[[Tour], None] | None = None,
    progress: Progress = ignore,
) -> Tour:
    """Once around the loop; the folder `output` keeps every file that a step makes.

    A robot of one's own is a `TourRobot` with its task, or the name of one in a file:
    `my_file.py:MY_ROBOT`. By default the folder is `tour_ROBOT_SEED`. What a tour that
    was killed or stopped has left there is moved to `<folder>.1`. `finish` is the last
    step, such as writing a page.
    """
    settings = settings or TourSettings()
    robot = find_robot(robot)
    folder = Path(output or f"tour_{robot.name}_{settings.seed}")
    check_task(find_task(robot.task), load_twin(robot.model))
    hint = "Close other programs, and try again."
    with (
        _unfinished(folder),
        start_processes(len(Way), hint=hint, nice=_NICE) as pool,
    ):
        taken = _Story(robot, folder, settings, pool, progress).tell_it()
        if finish is not None:
            finish(taken)
    return taken


@contextmanager
def _unfinished(folder: Path) -> Iterator[None]:
    """A folder for one tour, marked as unfinished until the block ends well."""
    mark = folder / _UNFINISHED
    with locked_folder(folder):
        if mark.exists():
            aside = put_contents_aside(folder)
            warnings.warn(f"What an unfinished tour left is in {aside}.", stacklevel=4)
        if not is_vacant(folder):
            raise RealworthyError(
                f"'{folder}' is not empty.",
                hint="Give the tour a folder of its own, or remove this one.",
            )
        mark.touch()
        yield
        mark.unlink()


def try_way(
    robot: str, way: Way, *, folder: Path, settings: TourSettings
) -> tuple[float, Share]:
    """One policy of a tour alone: its successes in its own worlds, and on the robot.

    Only what decides them is done: no diagnosis, no certificate, no trials.
    """
    make_folder(folder)
    story = _Story(find_robot(robot), folder, settings, None, ignore)
    if way is Way.CALIBRATED:
        recordings, unseen = story.meet()
        story.calibrate(recordings, unseen)
    policy, simulated = story.plan_training(way)()
    return simulated, story.plan_judgement(policy)()


@dataclass(frozen=True, slots=True)
class _Work(Generic[T]):
    """What another process does for a step."""

    step: str
    future: "Future[tuple[T, float]]"


@dataclass(frozen=True, slots=True)
class _Judged:
    """A policy, and what is being found out about it."""

    policy: Path
    simulated: float
    certificate: _Work[Certificate]
    real: _Work[Share]


class _Story:
    def __init__(
        self,
        robot: TourRobot,
        folder: Path,
        settings: TourSettings,
        pool: ProcessPoolExecutor | None,
        progress: Progress,
    ) -> None:
        self.robot = replace(
            robot,
            steps=round(settings.training_share * robot.steps),
            seconds=settings.trial_share * robot.seconds,
        )
        self.folder, self.settings, self.seed = folder, settings, settings.seed
        self.pool, self.progress = pool, progress
        self._told = 0
        self.tour = Tour(robot=robot, seed=self.seed, folder=folder, note=settings.note)
        self.twin = load_twin(robot.model)
        self.calibrated = folder / "calibrated.twin.yaml"
        self.hidden = folder / "hidden.reality.yaml"
        self._reality = hide(robot, self.twin, seed=self.seed)
        self._began, self._used = time.perf_counter(), _read_processor()

    def tell_it(self) -> Tour:
        trained = {
            way: self._ask("train", self.plan_training(way))
            for way in (Way.NOMINAL, Way.WIDE)
        }  # needs nothing of the robot: runs beside what follows
        recordings, unseen = self.meet()
        self.calibrate(recordings, unseen)
        last = self.plan_training(Way.CALIBRATED)
        trained[Way.CALIBRATED] = self._ask("train", last)
        self._diagnose(unseen)
        judged = self._judge_each(trained)
        policies = {way: judged[way].policy for way in Way}
        fared = {way: self._conclude(way, judged[way]) for way in Way}
        # real time wants quiet cores: beside certificates, states come too late
        trials = self._deploy(policies) if self.settings.with_wire else {}
        self.tour.fared = tuple(
            replace(fared[way], trials=trials.get(way)) for way in Way
        )
        self._measure_again(trials)
        self.tour.truth = dict(self._reality.file.parameters)
        return self.tour

    def tell(self, step: str, finding: str) -> None:
        """A line that says what a step has found."""
        self._told += 1
        total = _STAGES + (self.robot.limits is not None)
        total += _ON_THE_WIRE * self.settings.with_wire
        self.progress(min(1.0, self._told / total), f"{step}: {finding}")

    def _ask(
        self, step: str, work: Callable[P, T], *args: P.args, **more: P.kwargs
    ) -> _Work[T]:
        assert self.pool is not None
        return _Work(step, self.pool.submit(_clock, work, *args, **more))

    def _get(self, work: _Work[T]) -> T:
        result, seconds = work.future.result()
        self._charge(work.step, seconds)
        return result

    def _charge(self, step: str, seconds: float) -> None:
        processor = self.tour.processor
        processor[step] = processor.get(step, 0.0) + seconds

    def _tick(self, step: str) -> None:
        """A step has ended; what this process did since the last one was for it."""
        self.tour.seconds[step] = time.perf_counter() - self._began
        used = _read_processor()
        self._charge(step, used - self._used)
        self._used = used

    def meet(self) -> tuple[list[Recording], list[Recording]]:
        """Recordings to fit, and others by which the twin is measured."""
        recordings = self._record("first", count=3, seconds=self.robot.recorded)
        unseen = self._record("unseen", count=2, seconds=_UNSEEN_SECONDS, first=7)
        self._measure(unseen)
        return recordings, unseen

    def plan_training(self, way: Way) -> Callable[[], tuple[Path, float]]:
        """To be done in any process; for the calibrated way, once there is a twin."""
        return partial(
            train_way,
            self.robot.task,
            way,
            nominal=self.robot.model,
            calibrated=self.calibrated,
            output=self.folder / "runs" / way,
            steps=self.robot.steps,
            episodes=self.settings.episodes,
            seed=self.seed,
        )

    def _record(
        self, name: str, *, count: int, seconds: float, first: int = 0
    ) -> list[Recording]:
        recordings = record_sines(
            self.robot, self._reality, count=count, seconds=seconds, first=first
        )
        self._keep(recordings, name)
        self._tick("record")
        self.tell("record", f"{count} motions of {seconds:g} s on the robot.")
        return recordings

    def _keep(self, recordings: list[Recording], name: str) -> None:
        place = self.folder / "recordings"
        place.mkdir(exist_ok=True)
        for i, recording in enumerate(recordings, 1):
            save_recording(recording, place / f"{name}_{i}.npz")

    def _measure(self, unseen: list[Recording]) -> None:
        gap = measure(self.twin, unseen)
        self.tour.gap_before = gap.replay.position_rmse
        self.tour.unit = join_units(find_units(gap).values())
        self._tick("measure")
        self.tell("measure", f"The twin is off by {self._say_gap()} on replay.")

    def _say_gap(self, gap: float | None = None) -> str:
        return f"{self.tour.gap_before if gap is None else gap:.3g} {self.tour.unit}"

    def _excite(self) -> list[Recording]:
        """The most informative motion for the twin's drives, on the robot."""
        if self.robot.limits is None:
            return []
        settings = ExcitationSettings(
            seconds=_MOTION, period=_MOTION, generation_count=2, check_count=4
        )
        design = excite(self.twin, settings=settings, limits=self.robot.limits)
        save_motion(design.motion, self.folder / "motion.csv")
        done = record(design.motion, StandIn(self._reality), self.twin)
        self._tick("excite")
        lasted = done.recording.duration
        self._keep([done.recording], "excited")
        text = f"The most informative motion for its drives: {lasted:.1f} s recorded."
        if done.reason:
            text += f" The guard ended it: {done.reason}."
        self.tell("excite", text)
        return [done.recording] if lasted >= _MIN_SECONDS_TO_FIT else []

    def calibrate(self, recordings: list[Recording], unseen: list[Recording]) -> None:
        """The twin, from these and a motion that is designed for it."""
        calibration = calibrate(self.twin, [*recordings, *self._excite()])
        save_twin(calibration.twin, self.calibrated)
        after = measure(load_twin(str(self.calibrated)), unseen)
        self.tour.gap_after = after.replay.position_rmse
        true = self.twin.with_values(self._reality.file.parameters).space
        self.tour.estimates = tuple(
            HiddenParameter(
                name=one.name,
                unit=one.unit,
                nominal=one.before,
                mean=one.mean,
                sd=one.sd,
                truth=true[one.name].nominal,
            )
            for one in calibration.estimates
            if one.is_fitted or true[one.name].nominal != one.before
        )
        self._tick("calibrate")
        was, now = self._say_gap(), self._say_gap(self.tour.gap_after)
        self.tell("calibrate", f"Held-out motions: error {was} before, {now} after.")

    def _diagnose(self, unseen: list[Recording]) -> None:
        """By the nominal model; beside training, which steps back for it."""
        parts = [recording.crop(0.0, _GLANCE) for recording in unseen]
        diagnosis = diagnose(
            self.twin, parts, settings=SearchSettings(seconds=_PATIENCE)
        )
        self.tour.diagnosis = TourDiagnosis(
            summary=diagnosis.summary,
            causes=tuple((cause.name, cause.share) for cause in diagnosis.causes),
        )
        self._tick("diagnose")
        self.tell("diagnose", diagnosis.summary)

    def _judge_each(
        self, trained: dict[Way, _Work[tuple[Path, float]]]
    ) -> dict[Way, _Judged]:
        """Certifies and tries every policy as soon as it is there, beside the rest."""
        ways = {work.future: way for way, work in trained.items()}
        judged = {}
        for future in as_completed(ways):
            way = ways[future]
            policy, simulated = self._get(trained[way])
            self._tick("train")
            self.tell("train", f"{way}: {100 * simulated:.0f} % success in simulation.")
            judged[way] = _Judged(
                policy,
                simulated,
                self._ask(
                    "certify",
                    _certify,
                    policy,
                    str(self.calibrated),
                    self.folder / "papers" / way,
                    self.settings.realities,
                ),
                self._ask("judge", self.plan_judgement(policy)),
            )
        return judged

    def plan_judgement(self, policy: Path) -> Callable[[], Share]:
        """Its successes on the robot; to be done in any process."""
        hidden, seed = self._reality.file, self.seed + _ELSEWHERE
        return partial(_judge, policy, hidden, self.settings.episodes, seed)

    def _conclude(self, way: Way, judged: _Judged) -> PolicyResult:
        paper = self._get(judged.certificate)
        self._tick("certify")
        lower = paper.success.lower
        self.tell("certify", f"{way}: {paper.verdict}, at least {100 * lower:.0f} %.")
        real = self._get(judged.real)
        self._tick("judge")
        return PolicyResult(
            way=way,
            simulated=judged.simulated,
            certificate=paper,
            real=real,
            trials=None,
        )

    def _deploy(self, policies: dict[Way, Path]) -> dict[Way, RealTrials]:
        save_reality(self._reality.file, self.hidden)
        with ExitStack() as stack:
            under_way = {
                way: stack.enter_context(
                    WireTrials(
                        self.robot,
                        twin=self.robot.model,
                        reality=self.hidden,
                        policy=policy,
                        folder=self.folder / "trials" / way,
                        trials=self.settings.trials,
                        truth=self._reality.file.parameters,
                    )
                )
                for way, policy in policies.items()
            }
            wait_for(tuple(under_way.values()))
            by_way = {way: one.read() for way, one in under_way.items()}
        self._tick("deploy")
        for way, trials in by_way.items():
            self.tell("deploy", f"{way}, over the wire: {trials.summary}.")
        return by_way

    def _measure_again(self, trials: dict[Way, RealTrials]) -> None:
        repeats = trials.get(Way.CALIBRATED)
        if repeats is None or not repeats.recordings:
            return
        gap = measure(load_twin(str(self.calibrated)), repeats.load())
        self.tour.gap_again = again = gap.horizons.get(_AHEAD)
        self._tick("measure again")
        if again is not None:  # trials that guards stopped may be too short
            off = self._say_gap(again)
            self.tell("measure", f"Its own trials, {_AHEAD:g} s ahead: off by {off}.")


def _clock(work: Callable[P, T], *args: P.args, **more: P.kwargs) -> tuple[T, float]:
    """What comes of the work, and its processor time [s]; in another process."""
    began = time.process_time()
    return work(*args, **more), time.process_time() - began


def _read_processor() -> float:
    """[s] of this process, and of those that it has started and seen end."""
    return sum(os.times()[:4])


def _certify(policy: Path, twin: str, output: Path, realities: int) -> Certificate:
    settings = CertifySettings(suite=tour_suite(realities))
    return certify(policy, twin=twin, output=output, settings=settings)


def _judge(policy: Path, hidden: RealityFile, count: int, seed: int) -> Share:
    reality = make_reality("hidden", hidden)
    subject = build_subject(policy, twin=reality.file.twin)
    outcomes = play_reality(subject, reality, count, seed=seed)
    return to_share(outcomes.success_count, outcomes.valid_count)


def tour_suite(realities: int) -> Suite:
    """MuJoCo and SAPIEN, stress, and the limits where there are realities to try."""
    coverage = Coverage(realities=realities, scales=(1.0,)) if realities else None
    return msgspec.structs.replace(quick_suite(), name="tour", coverage=coverage)
