"""`adapt`: one method by name, from a task to an adapted policy and what it gained."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from realworthy.adaptation.adaptation import Adaptation
from realworthy.adaptation.conditioned import AdaptProblem
from realworthy.adaptation.match import adapt_simopt
from realworthy.adaptation.memory import adapt_memory
from realworthy.adaptation.on_robot import (
    OnRobot,
    adapt_strategy,
    compare_on_robot,
)
from realworthy.adaptation.planning import adapt_mppi
from realworthy.adaptation.rma import adapt_rma, adapt_up_osi
from realworthy.adaptation.settings import AdaptSettings
from realworthy.adaptation.teacher_student import adapt_teacher_student
from realworthy.adaptation.trials import Score
from realworthy.artefacts import locked_folder, writing
from realworthy.errors import RealworthyError, UnknownName
from realworthy.learning.runs import RunFolder
from realworthy.progress import Progress, ignore, part
from realworthy.robots import Robot
from realworthy.robots.address import open_robot
from realworthy.tasks.catalogue import TaskLike
from realworthy.tasks.contract import build_contract

RESULT = "adaptation.json"


@dataclass(frozen=True, slots=True)
class AdaptMethod:
    """A method of `adapt`."""

    about: str
    """What it does and what it is good for, in a line."""
    prepare: Callable[..., Adaptation] | None
    """From an `AdaptProblem` to a policy, before a robot is needed; None: it goes on
    with the folder of another method, on a robot."""


METHODS: dict[str, AdaptMethod] = {
    "teacher_student": AdaptMethod(
        "a history student copies a teacher that knows e, on its own states (DAgger)",
        adapt_teacher_student,
    ),
    "rma": AdaptMethod(
        "a latent of e from the last half second, which may change as it runs",
        adapt_rma,
    ),
    "up_osi": AdaptMethod(
        "e itself, estimated from the last half second, told to a universal policy",
        adapt_up_osi,
    ),
    "memory": AdaptMethod(
        "a recurrent policy, and a probe of which numbers of e its memory holds",
        adapt_memory,
    ),
    "mppi": AdaptMethod(
        "plans on the twin's physics as it runs, at the calibrated e or over p(e)",
        adapt_mppi,
    ),
    "strategy": AdaptMethod(
        "what fills a policy's slot is searched by return on a robot, not from e",
        None,
    ),
    "simopt": AdaptMethod(
        "p(e) moves until a policy's simulated trials look like its real ones",
        None,
    ),
}
"""Name → method."""
ON_ROBOT = {"strategy": adapt_strategy, "simopt": adapt_simopt}
"""Name → what goes on with the folder of another method, on a robot."""


def adapt(
    method: str,
    subject: TaskLike | Path,
    output: Path | str,
    *,
    settings: AdaptSettings | None = None,
    robot: Robot | str | None = None,
    score: Score | None = None,
    confirm: Callable[[str], bool] | None = None,
    progress: Progress = ignore,
) -> Adaptation:
    """An adapted policy in the folder `output`, compared with doing nothing.

    `subject` is a task, by name, `my_file.py:MyTask` or class; for `strategy` it is the
    folder that `rma` or `up_osi` made, for `simopt` one with a policy. With a `robot`,
    or its address, policies are compared there as well. `score` says what a trial's
    recording was worth; None: the task's own reward of what was measured. `confirm`
    asks a person, as in `deploy`. The folder gets `adaptation.json` and a `policy.onnx`
    or twin; it is made anew and never replaced.
    """
    if method not in METHODS:
        raise UnknownName("method", method, METHODS, owner="adapt")
    settings = settings or AdaptSettings()
    settings.check()
    folder = RunFolder(output)
    folder.check_free()
    there = None
    if robot is not None:
        there = OnRobot(robot=open_robot(robot), score=score, confirm=confirm)
    found = _run(method, subject, folder.path, settings, there, progress)
    tree = {**found.to_tree(), "settings": msgspec.to_builtins(settings)}
    with writing(found.folder / RESULT, overwrite=True) as temporary:
        plain = msgspec.json.encode(tree, enc_hook=str)
        temporary.write_bytes(msgspec.json.format(plain))
    return found


def _run(
    method: str,
    subject: TaskLike | Path,
    folder: Path,
    settings: AdaptSettings,
    there: OnRobot | None,
    progress: Progress,
) -> Adaptation:
    prepare = METHODS[method].prepare
    if prepare is None:
        if there is None:
            raise RealworthyError(
                f"'{method}' learns from trials on a robot, and none was given.",
                hint="Give its address: --robot sim:REALITY, udp://HOST:PORT.",
            )
        if not isinstance(subject, str | Path):
            raise RealworthyError(
                f"'{method}' goes on with a folder of `adapt`, not with {subject!r}.",
                hint="Make one: realworthy adapt rma TASK --output FOLDER, or up_osi.",
            )
        go_on = ON_ROBOT[method]
        with locked_folder(folder):
            return go_on(Path(subject), folder, there, settings, progress=progress)
    task = str(subject) if isinstance(subject, Path) else subject
    problem = AdaptProblem.of(task, settings)
    if there is not None:  # what does not fit is refused before anything is learned
        worlds = problem.build_worlds(1, settings.seed)
        build_contract(worlds).check_against(there.robot.info)
    with locked_folder(folder), problem.definition.blamed():
        if there is None:
            return prepare(problem, folder, progress=progress)
        found = prepare(problem, folder, progress=part(progress, 0.0, 0.9))
        last = part(progress, 0.9, 1.0)
        return compare_on_robot(found, there, settings, progress=last)
