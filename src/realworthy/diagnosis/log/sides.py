"""Which side of a contradiction is wrong: commands, or measurements?

The log alone cannot tell; the twin's gravity and inertia often can. Where they cannot,
commands are taken, as one number per joint that passes through the most software.
"""

from collections.abc import Sequence
from dataclasses import replace

from realworthy.diagnosis.fix import Fix, Side, fix_order, fix_sign
from realworthy.diagnosis.log.finding import Finding
from realworthy.diagnosis.log.torque_residual import (
    MIN_LOG_RATIO,
    compare_torque_residual,
)
from realworthy.errors import RealworthyError
from realworthy.recordings import Recording
from realworthy.twins import Twin

_COMMANDS_OF = {"joint_sign", "joint_order"}


def choose_side(
    twin: Twin, recordings: Sequence[Recording], finding: Finding
) -> Finding:
    """The finding with its fix on the side that leaves less torque unexplained.

    Only signs and orders of commands are asked; any other finding stays as it is.
    """
    fix = finding.fix
    if finding.name not in _COMMANDS_OF or fix is None or not fix.mapping:
        return finding
    if not all(".command" in name for name in fix.mapping):
        return finding
    other = _turn_to_measurements(recordings[0], finding, fix)
    if other is None:
        return finding
    try:
        commands, measurements = compare_torque_residual(twin, recordings, [fix, other])
    except RealworthyError:  # the twin cannot be laid along this log at all
        return finding
    if abs(commands - measurements) < MIN_LOG_RATIO:
        return replace(
            finding,
            evidence=f"{finding.evidence} Gravity and inertia of the twin do not tell "
            "which of the two.",
        )
    chosen, side = (
        (fix, "commands") if commands < measurements else (other, "measurements")
    )
    return replace(
        finding,
        fix=chosen,
        evidence=f"{finding.evidence} By the twin's gravity and inertia it is the "
        f"{side}.",
    )


def _turn_to_measurements(
    recording: Recording, finding: Finding, fix: Fix
) -> Fix | None:
    if finding.name == "joint_sign":
        return fix_sign(recording, finding.joints, side=Side.MEASUREMENTS)
    names = {
        name.split(".command")[0]: entry.source.split(".command")[0]
        for name, entry in fix.mapping.items()
        if entry.source is not None
    }
    # A command found under another's name is a measurement under the other's: inverse.
    inverse = {source: joint for joint, source in names.items()}
    if sorted(inverse) != sorted(names) or not set(names) <= set(recording.joints):
        return None
    return fix_order(recording, inverse, side=Side.MEASUREMENTS)
