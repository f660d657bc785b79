"""The contract of simulators: ours keeps it, and each way to break it is found out."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError, UnknownName
from realworthy.simulators.conformance import (
    CHECKS,
    build_cpu,
    check_simulator,
    main,
)
from realworthy.simulators.mujoco_cpu import MujocoCpu
from realworthy.simulators.simulator import Array, Simulator, Worlds
from realworthy.twins import BoundTwin


class Wrapped(Simulator):
    """A simulator that hands everything on; each subclass gets one thing wrong."""

    def __init__(self, bound: BoundTwin, world_count: int, substeps: int) -> None:
        self.inner = MujocoCpu(bound, world_count, substeps=substeps)
        self.bound, self.world_count, self.substeps = bound, world_count, substeps

    def column(self, name: str) -> int:
        return self.bound.space.index(name)

    def write(self, samples: ArrayLike, worlds: Worlds = None) -> None:
        self.inner.write(samples, worlds)

    def reset(
        self,
        worlds: Worlds = None,
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        command: ArrayLike | None = None,
    ) -> None:
        self.inner.reset(worlds, qpos=qpos, qvel=qvel, command=command)

    def step(self, command: ArrayLike | Array) -> None:
        self.inner.step(command)

    def array(self, name: str) -> Array:
        return self.inner.array(name)

    def field(self, name: str) -> NDArray[np.float64]:
        return self.inner.field(name)

    def state(self, worlds: Worlds = None) -> NDArray[np.float64]:
        return self.inner.state(worlds)

    def restore(self, state: ArrayLike, worlds: Worlds = None) -> None:
        self.inner.restore(state, worlds)

    def outcomes(self) -> NDArray[np.int64]:
        return self.inner.outcomes()


class Jittery(Wrapped):
    def step(self, command):
        noise = np.random.default_rng().normal(size=np.shape(command))
        self.inner.step(command + 1e-9 * noise)


class Crowded(Wrapped):
    def step(self, command):
        self.inner.step(command + 1e-9 * self.world_count)


class Hasty(Wrapped):
    def step(self, command):
        self.inner.substeps = self.substeps + 1
        self.inner.step(command)


class SharesMass(Wrapped):
    def write(self, samples, worlds=None):
        samples, mass = np.array(samples, ndmin=2), self.column("upper.mass")
        samples[:, mass] = samples[0, mass]
        self.inner.write(samples, worlds)


class KeepsConstants(Wrapped):
    def field(self, name):
        if name == "dof_invweight0":
            return np.repeat(self.inner.field(name)[:1], self.world_count, axis=0)
        return self.inner.field(name)


class Accumulates(Wrapped):
    def write(self, samples, worlds=None):
        before = self.inner.field("dof_damping").copy()
        self.inner.write(samples, worlds)
        self.inner.expand("dof_damping")[:] += 1e-6 * before


class WritesAtReset(Wrapped):
    late: Callable[[], None] | None = None

    def write(self, samples, worlds=None):
        self.late = lambda: self.inner.write(samples, worlds)

    def reset(self, worlds=None, **start):
        if self.late:
            self.late()
        self.inner.reset(worlds, **start)


class ForgetsHistories(Wrapped):
    def restore(self, state, worlds=None):
        self.inner.restore(state, worlds)
        fresh = MujocoCpu(self.bound, 1, substeps=1)
        ids = self.inner.check_worlds(worlds)
        self.inner.array("history")[ids] = fresh.array("history")[0]


class ResetsAll(Wrapped):
    def reset(self, worlds=None, **start):
        self.inner.reset(None, **start)


class Stale(Wrapped):
    def step(self, command):
        self.inner.array("ctrl")[:] = command
        self.inner._batch.step(None, self.substeps)  # without a stage after it


class Unprimed(Wrapped):
    def reset(self, worlds=None, *, command=None, **start):
        self.inner.reset(worlds, command=np.zeros(2), **start)


class IgnoresSensorDelay(Wrapped):
    def write(self, samples, worlds=None):
        samples = np.array(samples, ndmin=2)
        samples[:, self.column("elbow.position.sensor_delay")] = 0.0
        self.inner.write(samples, worlds)


class CapsDelay(Wrapped):
    def write(self, samples, worlds=None):
        space = self.bound.space
        self.inner.write(np.clip(samples, space.lower, space.upper), worlds)


class Optimist(Wrapped):
    def outcomes(self):
        return np.zeros(self.world_count, dtype=np.int64)


class Unnamed(Wrapped):
    @property
    def commands(self):
        return ["u0", "u1"]


class Copies(Wrapped):
    def array(self, name):
        return np.array(self.inner.array(name))


class Immovable(Wrapped):
    def write(self, samples, worlds=None):
        samples = np.array(samples, ndmin=2)
        samples[:, self.column("puck.push.duration")] = 0.0
        self.inner.write(samples, worlds)


class HoldsTorque(Wrapped):
    """Runs the laws once in a control step instead of once in a substep."""

    def step(self, command):
        inner = self.inner
        if not inner._laws:
            return inner.step(command)
        inner._laws.write_torques(np.asarray(command), inner.array("ctrl"))
        inner._advance(None, self.substeps)


BREAKERS: dict[str, type[Wrapped]] = {
    "determinism": Jittery,
    "batch independence": Crowded,
    "trace": Hasty,
    "parameters per world": SharesMass,
    "constants per world": KeepsConstants,
    "rewriting": Accumulates,
    "writing midway": WritesAtReset,
    "restart": ForgetsHistories,
    "masked reset": ResetsAll,
    "current sensors": Stale,
    "command delay": Unprimed,
    "sensor delay": IgnoresSensorDelay,
    "delay limit": CapsDelay,
    "quarantine": Optimist,
    "names": Unnamed,
    "live arrays": Copies,
    "pushes": Immovable,
    "explicit laws": HoldsTorque,
}


@pytest.mark.parametrize("name", CHECKS)
def test_cpu_keeps_the_promise(name):
    report = check_simulator(build_cpu, only=[name])
    assert report.passed, report


@pytest.mark.parametrize("name", CHECKS)
def test_breaking_the_promise_is_found_out(name):
    report = check_simulator(BREAKERS[name], only=[name])
    assert [check.name for check in report.failures] == [name]
    assert "Error" not in report.failures[0].detail, report


def test_a_simulator_that_hands_everything_on_keeps_all_promises():
    assert check_simulator(Wrapped).passed


def test_a_simulator_that_raises_breaks_every_promise():
    def build(bound: BoundTwin, world_count: int, substeps: int) -> Simulator:
        raise RealworthyError("no such engine")

    report = check_simulator(build)
    assert len(report.failures) == len(CHECKS)
    assert "no such engine" in str(report)


def test_a_check_that_does_not_exist_is_an_error():
    with pytest.raises(UnknownName, match="no check 'trase'"):
        check_simulator(build_cpu, only=["trase"])


def test_the_command_prints_a_table_and_ends_with_zero(capsys):
    assert main(["mujoco_cpu"]) == 0
    assert "masked reset" in capsys.readouterr().out


def test_the_command_lists_what_it_knows(capsys):
    assert main(["bullet"]) == 2
    assert "mujoco_cpu, mujoco_gpu" in capsys.readouterr().out
