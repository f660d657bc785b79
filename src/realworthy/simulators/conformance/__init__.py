"""A contract that every simulator can be put to, ours and those of others.

    def build(bound: BoundTwin, world_count: int, substeps: int) -> Simulator: ...

    report = check_simulator(build)
    assert report.passed, report

`python -m realworthy.simulators.conformance mujoco_cpu` does it for our own; the exit
status is 0 if all is kept, 1 if not.

Here live the promises (`world_promises`, `time_promises`), the robot that they are
tried on, and the answer. Not here: the contract's text, which is
`simulators.simulator`, and the contract of robots, which is `robots.conformance`.
"""

from realworthy.simulators.conformance.check import (
    CHECKS,
    DOUBLE,
    SINGLE,
    ConformanceCheck,
    ConformanceReport,
    check_simulator,
)
from realworthy.simulators.conformance.our_simulators import (
    OURS,
    build_cpu,
    build_gpu,
    main,
)

__all__ = [
    "CHECKS",
    "DOUBLE",
    "OURS",
    "SINGLE",
    "ConformanceCheck",
    "ConformanceReport",
    "build_cpu",
    "build_gpu",
    "check_simulator",
    "main",
]
