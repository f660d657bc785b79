"""A contract that every simulator can be put to, ours and those of others.

    def build(bound: BoundTwin, world_count: int, substeps: int) -> Simulator: ...

    report = check_simulator(build)
    assert report.passed, report

`python -m realworthy.simulators.conformance mujoco_cpu` does it for our own; the exit
status is 0 if all is kept, 1 if not.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from realworthy.errors import UnknownName
from realworthy.simulators import conformance_time, conformance_worlds
from realworthy.simulators.conformance_bench import Build
from realworthy.simulators.conformance_subject import Broken, ConformanceSubject
from realworthy.simulators.simulator import Simulator
from realworthy.twins import BoundTwin

DOUBLE, SINGLE = 1e-6, 1e-4
"""Tolerances [rad, m] for simulators in 64-bit and 32-bit floats."""
CHECKS: dict[str, Callable[[ConformanceSubject], str]] = {
    "determinism": conformance_worlds.check_determinism,
    "batch independence": conformance_worlds.check_batch_independence,
    "trace": conformance_worlds.check_trace,
    "parameters per world": conformance_worlds.check_parameters,
    "constants per world": conformance_worlds.check_constants,
    "rewriting": conformance_worlds.check_rewriting,
    "writing midway": conformance_worlds.check_writing_midway,
    "restart": conformance_time.check_restart,
    "masked reset": conformance_time.check_masked_reset,
    "current sensors": conformance_time.check_sensors,
    "command delay": conformance_time.check_command_delay,
    "sensor delay": conformance_time.check_sensor_delay,
    "delay limit": conformance_time.check_delay_limit,
    "quarantine": conformance_time.check_quarantine,
    "names": conformance_time.check_names,
    "live arrays": conformance_time.check_arrays,
    "pushes": conformance_worlds.check_pushes,
    "explicit laws": conformance_worlds.check_laws,
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


def build_cpu(bound: BoundTwin, world_count: int, substeps: int) -> Simulator:
    from realworthy.simulators.mujoco_cpu import MujocoCpu

    return MujocoCpu(bound, world_count, substeps=substeps)


def build_gpu(bound: BoundTwin, world_count: int, substeps: int) -> Simulator:
    """On CUDA where there is one, repeatable to the last bit."""
    from realworthy.simulators.mujoco_gpu import MujocoGpu

    return MujocoGpu(bound, world_count, substeps=substeps, deterministic=True)


OURS: dict[str, tuple[Build, float]] = {
    "mujoco_cpu": (build_cpu, DOUBLE),
    "mujoco_gpu": (build_gpu, SINGLE),
}


def main(arguments: Sequence[str]) -> int:
    """Checks one of our own simulators by name and prints a table."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if len(arguments) != 1 or arguments[0] not in OURS:
        console.print(f"Say one of: {', '.join(OURS)}")
        return 2
    build, tolerance = OURS[arguments[0]]
    with console.status("checking") as status:
        report = check_simulator(
            build, tolerance=tolerance, on_check=lambda check: status.update(check.name)
        )
    table = Table("promise", "", "found", title=arguments[0])
    for check in report.checks:
        verdict = "[green]kept[/]" if check.passed else "[red]broken[/]"
        table.add_row(check.name, verdict, check.detail)
    console.print(table)
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
