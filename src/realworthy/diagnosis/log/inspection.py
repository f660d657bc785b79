"""Every check of a log, in the order in which they depend on each other."""

from realworthy.diagnosis.fix import apply_fix
from realworthy.diagnosis.log.attitude import inspect_attitude
from realworthy.diagnosis.log.clock import inspect_gaps, inspect_rate
from realworthy.diagnosis.log.finding import Finding
from realworthy.diagnosis.log.lags import inspect_lags
from realworthy.diagnosis.log.order import (
    inspect_command_order,
    inspect_velocity_order,
)
from realworthy.diagnosis.log.ranges import inspect_ranges
from realworthy.diagnosis.log.repeats import inspect_repeats
from realworthy.diagnosis.log.scales import (
    Limits,
    inspect_clock_unit,
    inspect_scales,
)
from realworthy.recordings import Recording
from realworthy.twins import Twin, bind
from realworthy.twins.layout import Layout


def inspect(
    recording: Recording, twin: Twin | None = None, *, limits: Limits | None = None
) -> tuple[Finding, ...]:
    """What the log says about itself: faults, notes, and what is in order.

    Load the recording with `check_units=False`, or wrong units never get here. A twin
    adds the ranges of its joints; `limits` are those that `read_limits` read before, so
    that many recordings do not compile the twin many times.

    A clock in the wrong unit, velocities and commands under wrong names are mended for
    the checks that follow, so applying all fixes in order gives the corrected log.
    `history_order` is never answered: a recording has no vectors of observations.
    """
    found = inspect_clock_unit(recording)
    if len(recording.time) < 3:
        return tuple(found)
    mended = _mend(recording, found)
    found += [*inspect_gaps(mended), *inspect_rate(mended), *inspect_repeats(mended)]
    order = inspect_velocity_order(mended) + inspect_command_order(mended)
    found += order
    mended = _mend(mended, order)
    found += inspect_scales(mended, limits or read_limits(twin))
    found += inspect_lags(mended)
    found += inspect_attitude(mended)
    found += inspect_ranges(mended)
    return tuple(found)


def read_limits(twin: Twin | None) -> Limits:
    """Ranges and torques of a twin's joints; empty without a twin."""
    if twin is None:
        return Limits()
    layout = Layout(bind(twin))
    torques = {
        joint: float(layout.torque_limits[layout.actuator(joint)])
        for joint in layout.driven_joints
    }
    return Limits(ranges=layout.joint_ranges(), torques=torques)


def _mend(recording: Recording, findings: list[Finding]) -> Recording:
    for finding in findings:
        if finding.is_fault and finding.fix is not None:
            recording = apply_fix(recording, finding.fix)
    return recording
