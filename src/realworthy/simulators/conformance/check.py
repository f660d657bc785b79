"""Every promise of the contract, put to one simulator."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from realworthy.errors import UnknownName
from realworthy.simulators.conformance import time_promises, world_promises
from realworthy.simulators.conformance.robot import Build
from realworthy.simulators.conformance.subject import Broken, ConformanceSubject

DOUBLE, SINGLE = 1e-6, 1e-4
"""Tolerances [rad, m] for simulators in 64-bit and 32-bit floats."""
CHECKS: dict[str, Callable[[ConformanceSubject], str]] = {
    "determinism": world_promises.check_determinism,
    "batch independence": world_promises.check_batch_independence,
    "trace": world_promises.check_trace,
    "parameters per world": world_promises.check_parameters,
    "constants per world": world_promises.check_constants,
    "rewriting": world_promises.check_rewriting,
    "writing midway": world_promises.check_writing_midway,
    "restart": time_promises.check_restart,
    "masked reset": time_promises.check_masked_reset,
    "current sensors": time_promises.check_sensors,
    "command delay": time_promises.check_command_delay,
    "sensor delay": time_promises.check_sensor_delay,
    "delay limit": time_promises.check_delay_limit,
    "quarantine": time_promises.check_quarantine,
    "names": time_promises.check_names,
    "live arrays": time_promises.check_arrays,
    "pushes": world_promises.check_pushes,
    "explicit laws": world_promises.check_laws,
}


@dataclass(frozen=True, slots=True)
class ConformanceCheck:
    """One promise: whether it was kept, and what was found."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """Every promise of the contract."""

    checks: tuple[ConformanceCheck, ...]

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> tuple[ConformanceCheck, ...]:
        return tuple(check for check in self.checks if not check.passed)

    def __str__(self) -> str:
        return "\n".join(
            f"{'kept  ' if check.passed else 'BROKEN'} {check.name}: {check.detail}"
            for check in self.checks
        )


def check_simulator(
    build: Build,
    *,
    tolerance: float = DOUBLE,
    only: Sequence[str] = (),
    on_check: Callable[[ConformanceCheck], None] = lambda check: None,
) -> ConformanceReport:
    """Puts a simulator to the contract; a check that raises has failed.

    `build(bound_twin, world_count, substeps)` makes the simulator. `tolerance` [rad, m]
    bounds its distance from plain `mj_step`; everything else is compared bit for bit.
    `only` names some checks, and `on_check` hears of each as it ends.
    """
    for name in only:
        if name not in CHECKS:
            raise UnknownName("check", name, CHECKS, owner="The contract", hint="")
    subject = ConformanceSubject(build, tolerance)
    checks = []
    for name in only or CHECKS:
        checks.append(_run(name, subject))
        on_check(checks[-1])
    return ConformanceReport(tuple(checks))


def _run(name: str, subject: ConformanceSubject) -> ConformanceCheck:
    try:
        return ConformanceCheck(name, True, CHECKS[name](subject))
    except Broken as broken:
        return ConformanceCheck(name, False, str(broken))
    except Exception as error:  # whatever a stranger's simulator raises is its answer
        return ConformanceCheck(name, False, f"{type(error).__name__}: {error}")
