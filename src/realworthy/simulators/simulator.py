"""The contract of every simulator: many worlds of one twin, each with its own e."""

import enum
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError, UnknownName
from realworthy.twins import BoundTwin
from realworthy.twins.compiled_model import object_names
from realworthy.twins.signal_sensors import command_names, signal_names

Array: TypeAlias = Any
"""A numpy array, or a torch tensor on the simulator's device; shared, not copied."""
Worlds: TypeAlias = (
    "Sequence[int] | NDArray[np.intp] | NDArray[np.bool_] | Array | None"
)
"""Which worlds, by number or as a mask; None means all."""


class Outcome(enum.IntEnum):
    """How a world has fared since its last reset."""

    OK = 0
    DIVERGED = 1
    """Its state is not finite or beyond reason; it stands still until reset."""
    CONTACT_OVERFLOW = 2
    """It had more contacts or constraints than there was room for."""


class Simulator(ABC):
    """Many worlds of one twin, stepped together.

    A *step* is one control period: `substeps` physics steps with one command held.
    Arrays that it hands out are live and shared: read them after each call, copy what
    must last. Whatever goes wrong inside a world is its `Outcome`, never an exception.
    """

    bound: BoundTwin
    world_count: int
    substeps: int

    @property
    def timestep(self) -> float:
        """[s] of one physics step."""
        return float(self.bound.model.opt.timestep)

    @property
    def period(self) -> float:
        """[s] of one control step."""
        return self.timestep * self.substeps

    @property
    def signals(self) -> list[str]:
        """Names of the columns of `array("sensordata")`, as in a recording."""
        return signal_names(self.bound.model)

    @property
    def commands(self) -> list[str]:
        """Names of the columns of a command, as in a recording."""
        return command_names(self.bound.model)

    @abstractmethod
    def write(self, samples: ArrayLike, worlds: Worlds = None) -> None:
        """Gives worlds their own e: (n, d) samples of the bound space, or (d,) for all.

        Starts from the nominals; everything that MuJoCo derives is recomputed.
        """

    @abstractmethod
    def reset(
        self,
        worlds: Worlds = None,
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        command: ArrayLike | None = None,
    ) -> None:
        """Puts worlds back to time zero, at rest in the initial pose unless told.

        Histories are filled as if `command` (the home keyframe's) and the resulting
        measurements had held for ever. Values are (…) for all, (n, …) for the n worlds,
        or (world_count, …), of which the rows of those worlds are taken.
        """

    @abstractmethod
    def step(self, command: ArrayLike | Array) -> None:
        """One control period with (worlds, inputs) commands held."""

    @abstractmethod
    def array(self, name: str) -> Array:
        """Live (worlds, …) values: `qpos`, `qvel`, `time`, `sensordata`, `outcome`, ….

        After `step` everything that depends on position and velocity is current; forces
        and accelerations are those of the last substep. After `reset` and `restore` all
        of it is current. Who writes into `qpos` or `qvel` calls `refresh`.
        """

    @abstractmethod
    def field(self, name: str) -> NDArray[np.float64]:
        """(worlds, …) per-world values of a model field, ours included; read-only."""

    @abstractmethod
    def state(self, worlds: Worlds = None) -> NDArray[np.float64]:
        """(n, …) everything that the future depends on, delay histories included."""

    @abstractmethod
    def restore(self, state: ArrayLike, worlds: Worlds = None) -> None:
        """Puts worlds into recorded states."""

    @abstractmethod
    def outcomes(self) -> NDArray[np.int64]:
        """(worlds,) `Outcome` of each world since its reset."""

    def refresh(self) -> None:
        """Recomputes what follows from `qpos` and `qvel` once they were set by hand."""
        self.restore(self.state())

    def sensor(self, name: str) -> Array:
        """Live (worlds, width) values of a named sensor, such as `knee.position`."""
        model = self.bound.model
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, name)
        if index < 0:
            names = object_names(model, mujoco.mjtObj.mjOBJ_SENSOR)
            owner = f"twin '{self.bound.twin.name}'"
            raise UnknownName("sensor", name, names, owner=owner, hint="")
        first = int(model.sensor_adr[index])
        data = self.array("sensordata")
        return data[:, first : first + int(model.sensor_dim[index])]

    def check_worlds(self, worlds: Worlds) -> NDArray[np.intp]:
        """World numbers as an array; raises for one that does not exist."""
        if worlds is None:
            return np.arange(self.world_count)
        ids = np.atleast_1d(to_numpy(worlds))
        if ids.dtype == np.bool_:
            ids = np.flatnonzero(ids)
        ids = ids.astype(np.intp)
        if len(ids) and (ids.min() < 0 or ids.max() >= self.world_count):
            missing = ids.min() if ids.min() < 0 else ids.max()
            raise RealworthyError(
                f"There is no world {missing}; there are {self.world_count}, from 0."
            )
        return ids


def to_numpy(array: Any) -> NDArray[Any]:
    """The values of an array on the host, wherever it lives; shared where it can be."""
    on_host = array.cpu() if hasattr(array, "cpu") else array
    return on_host.numpy() if hasattr(on_host, "numpy") else np.asarray(on_host)


def rows_of(values: ArrayLike, ids: NDArray[np.intp], world_count: int) -> NDArray:
    """The rows for some worlds out of one for all, one for each, or every world's."""
    rows = np.asarray(values, dtype=np.float64)
    by_world = rows.ndim > 1 and len(rows) == world_count != len(ids)
    return rows[ids] if by_world else rows


def describe_outcomes(outcomes: NDArray[np.int64], *, substeps: int) -> str:
    """One sentence on worlds that did not fare well; empty if all did."""
    parts = []
    for outcome, remedy in (
        (Outcome.DIVERGED, f"try substeps={2 * substeps} at half the time step"),
        (Outcome.CONTACT_OVERFLOW, "allow more contacts per world"),
    ):
        bad = np.flatnonzero(outcomes == outcome)
        if len(bad):
            what = outcome.name.lower().replace("_", " ")
            count = f"{len(bad)} of {len(outcomes)} worlds: {what}"
            parts.append(f"{count} (first: world {bad[0]}); {remedy}.")
    return " ".join(parts)
