"""Our own simulators put to the contract, by name."""

from collections.abc import Sequence

from realworthy.simulators.conformance.check import DOUBLE, SINGLE, check_simulator
from realworthy.simulators.conformance.robot import Build
from realworthy.simulators.simulator import Simulator
from realworthy.twins import BoundTwin


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
        console.print(f"Choose one of: {', '.join(OURS)}")
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
