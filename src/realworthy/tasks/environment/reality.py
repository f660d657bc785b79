"""A task on a reality: played by a robot's stand-ins, many at once, judged by truth."""

from collections.abc import Callable

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError
from realworthy.policies.terms import list_signals
from realworthy.realities import Reality
from realworthy.realities.control_link import ControlLink
from realworthy.realities.worlds import RealityWorlds
from realworthy.simulators import Simulator
from realworthy.simulators.simulator import Array, Worlds, rows_of, to_numpy
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.task import Task
from realworthy.twins import BoundTwin, Twin, bind
from realworthy.twins.signal_sensors import command_names, signal_names
from realworthy.twins.structure import flex_joint, play_joint

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]
_WIDTHS = {mujoco.mjtJoint.mjJNT_FREE: (7, 6), mujoco.mjtJoint.mjJNT_BALL: (4, 3)}
"""Of joints in `qpos` and `qvel`; others have one number in each."""
_OF_BODIES, _OF_SITES = ("xpos", "xquat", "xmat", "xipos"), ("site_xpos", "site_xmat")
_SHARED_ARRAYS = ("time", "outcome", "ctrl")
"""Arrays that mean the same in the model of the task and in that of the reality."""


def build_real_worlds(
    task: Task | Callable[[Twin], Task],
    reality: Reality,
    world_count: int,
    *,
    seed: int = 0,
    thread_count: int = 0,
    numbers: NDArray[np.intp] | None = None,
) -> TaskWorlds:
    """Worlds of a task in which the robot is a reality.

    The actor sees what the robot reports and its commands go through the robot's
    interface (`realities.control_link`); rewards, endings and success are those of the
    truth. Episodes begin where the task says. `task` is of the reality's twin, with
    whatever nominal numbers, or builds itself on that twin. Worlds differ in starts and
    noise; those of equal `numbers` (worlds,) have equal starts.
    """
    task = task if isinstance(task, Task) else task(reality.twin)
    _check_robot(task, reality)
    worlds = RealityWorlds(reality, world_count, seed=seed, thread_count=thread_count)
    link = ControlLink(reality, worlds)
    _check_measured(task, reality, link)
    substeps = _count_substeps(task, reality, worlds.timestep)
    return TaskWorlds(
        task,
        world_count,
        seed=seed,
        simulate=lambda bound, _, shown: SeenAsTwin(link, bound, shown, substeps),
        numbers=numbers,
        link=link,
    )


class SeenAsTwin(Simulator):
    """Worlds of a reality under the names and at the places of its twin.

    What is read is true. A link behind play or flex that the twin lacks is where it
    really is; liquids and the like are not seen. Commands are as sent to the robot.
    """

    def __init__(
        self, link: ControlLink, bound: BoundTwin, substeps: int, true_substeps: int
    ) -> None:
        """`substeps` are those of the twin in a step, the others the reality's."""
        self._link, self.worlds = link, link.worlds
        self._true, self._true_substeps = link.worlds.simulator, true_substeps
        self.bound, self.substeps = bound, substeps
        self.world_count = self._true.world_count
        ours, there = bound.model, self._true.bound.model
        bodies = _find_kept(_list_bodies(ours), _list_bodies(there))
        sites = _find_kept(_list_sites(ours), _list_sites(there))
        self._qpos, self._more_qpos = _find_places(ours, there, 0)
        self._qvel, self._more_qvel = _find_places(ours, there, 1)
        names = self._true.signals
        self._columns = {
            "sensordata": np.array([names.index(x) for x in self.signals], np.intp),
            **dict.fromkeys(_OF_BODIES, bodies),
            **dict.fromkeys(_OF_SITES, sites),
        }

    def write(self, samples: ArrayLike, worlds: Worlds = None) -> None:
        raise RealworthyError(
            "A reality has its own e.", hint="Another e is another reality file."
        )

    def reset(
        self,
        worlds: Worlds = None,
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        command: ArrayLike | None = None,
    ) -> None:
        """Play, flex, liquids and heat start again too."""
        ids = self.check_worlds(worlds)
        if not len(ids):
            return
        true = self._true
        positions = np.array(true.field("own.initial_qpos")[ids])
        velocities = np.array(true.field("own.initial_qvel")[ids])
        if qpos is not None:
            positions[:, self._qpos] = rows_of(qpos, ids, self.world_count)
        if qvel is not None:
            velocities[:, self._qvel] = rows_of(qvel, ids, self.world_count)
        self.worlds.begin(ids, qpos=positions, qvel=velocities, command=command)
        self._link.begin(ids)

    def step(self, command: ArrayLike | Array) -> None:
        sent = np.asarray(to_numpy(command), dtype=np.float64)
        shape = (self.world_count, sent.shape[-1])
        self._link.step(np.broadcast_to(sent, shape), self._true_substeps)

    def refresh(self) -> None:
        self._true.refresh()

    def array(self, name: str) -> Array:
        """(worlds, …) values, not to be written into."""
        known = ("qpos", "qvel", *self._columns, *_SHARED_ARRAYS)
        if name not in known:
            raise RealworthyError(
                f"'{name}' of a reality has no place in its twin.",
                hint=f"There are {', '.join(known)}.",
            )
        values = self._true.array(name)
        if name == "qpos":
            return _gather(values, self._qpos, self._more_qpos)
        if name == "qvel":
            return _gather(values, self._qvel, self._more_qvel)
        return values[:, self._columns[name]] if name in self._columns else values

    def field(self, name: str) -> Floats:
        """(worlds, …) of the true model, at its own places."""
        return self._true.field(name)

    def state(self, worlds: Worlds = None) -> Floats:
        raise RealworthyError("Worlds of a reality cannot be resumed exactly.")

    def restore(self, state: ArrayLike, worlds: Worlds = None) -> None:
        raise RealworthyError("Worlds of a reality cannot be resumed exactly.")

    def outcomes(self) -> NDArray[np.int64]:
        return self._true.outcomes()


def _gather(values: Floats, places: Ids, more: list[tuple[int, int]]) -> Floats:
    gathered = values[:, places]
    for column, there in more:
        gathered[:, column] += values[:, there]
    return gathered


def _find_places(
    here: mujoco.MjModel, there: mujoco.MjModel, row: int
) -> tuple[Ids, list[tuple[int, int]]]:
    """Where the twin's `qpos` (row 0) or `qvel` (1) is in the truth's.

    Then pairs of its places and true ones that add to them: play and flex.
    """
    first, second = (
        (model.jnt_qposadr if row == 0 else model.jnt_dofadr) for model in (here, there)
    )
    places, more = np.zeros(here.nq if row == 0 else here.nv, np.intp), []
    names, true = _list_joints(here), _list_joints(there)
    for i, j in enumerate(_find_kept(names, true)):
        kind = mujoco.mjtJoint(int(here.jnt_type[i]))
        width = np.arange(_WIDTHS.get(kind, (1, 1))[row])
        places[int(first[i]) + width] = int(second[j]) + width
        added = [
            true.index(part)
            for part in (play_joint(names[i]), flex_joint(names[i]))
            if part in true and part not in names
        ]
        more += [(int(first[i]), int(second[k])) for k in added]
    return places, more


def _find_kept(names: list[str], true: list[str]) -> Ids:
    """Numbers in the truth of the twin's things; effects add some between them."""
    known = set(names)
    return np.array([i for i, name in enumerate(true) if name in known], np.intp)


def _list_bodies(model: mujoco.MjModel) -> list[str]:
    return [model.body(i).name for i in range(model.nbody)]


def _list_joints(model: mujoco.MjModel) -> list[str]:
    return [model.joint(i).name for i in range(model.njnt)]


def _list_sites(model: mujoco.MjModel) -> list[str]:
    return [model.site(i).name for i in range(model.nsite)]


def _check_robot(task: Task, reality: Reality) -> None:
    """Raises unless the task's twin is the reality's, but for numbers."""
    ours, there = bind(task.twin).model, bind(reality.twin).model
    for kind, describe in (
        ("bodies", _list_bodies),
        ("joints", _list_joints),
        ("sites", _list_sites),
        ("signals", signal_names),
        ("commands", command_names),
        ("shapes", lambda model: model.geom_type.tolist()),
    ):
        if describe(ours) != describe(there):
            raise RealworthyError(
                f"Task '{task.name}' is of {task.twin.owner}, reality "
                f"'{reality.name}' of {reality.twin.owner}: they differ in {kind}.",
                hint="Choose a reality of that robot, or build the task on its twin.",
            )


def _check_measured(task: Task, reality: Reality, link: ControlLink) -> None:
    missing = [x for x in list_signals(task.terms) if x in link.unreported]
    if missing:
        raise RealworthyError(
            f"Task '{task.name}' observes '{missing[0]}', which the robot of reality "
            f"'{reality.name}' does not measure."
        )


def _count_substeps(task: Task, reality: Reality, timestep: float) -> int:
    substeps = round(task.period / timestep)
    if not substeps or abs(substeps * timestep - task.period) > 1e-9:
        raise RealworthyError(
            f"Task '{task.name}' acts every {task.period * 1e3:g} ms, which is no "
            f"multiple of reality '{reality.name}''s time step, {timestep * 1e3:g} ms.",
            hint="Give the reality another timestep_factor, such as 0.5.",
        )
    return substeps
